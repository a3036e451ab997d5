// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/headers.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <unistd.h>

#include <fmt/format.h>

#include "core/program.hpp"
#include "core/temp_folder.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = R"(#include <torch/torch.h>
int main() {
  const auto ones = torch::ones({3, 4});
  return torch::mm(ones, ones.t()).sum().item<double>() == 36 ? 0 : 1;
}
)";

std::optional<std::string> find_compiler() {
  if (const char* const chosen = std::getenv("CXX"); chosen != nullptr && *chosen != '\0') return chosen;
  const char* const path = std::getenv("PATH");
  for (const char* name : {"c++", "g++", "clang++"}) {
    std::stringstream folders(path == nullptr ? "/usr/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
      if (!folder.empty() && access((fs::path(folder) / name).c_str(), X_OK) == 0) return name;
  }
  return std::nullopt;
}

// The first line with "error" in it, which says most.
std::string main_line(const std::string& text) {
  std::istringstream lines(text);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    if (line.find("error") != std::string::npos) return line.substr(0, 300);
  }
  return first.substr(0, 300);
}

std::optional<std::string> build_and_run(const std::string& compiler, const fs::path& include,
                                         const std::string& libraries, const fs::path& scratch, double seconds) {
  std::ofstream(scratch / "program.cpp") << kProgram;
  std::vector<std::string> words{compiler, "-std=c++20", "-w", "-I", include.string(), "-I",
                                 (include / "torch/csrc/api/include").string(), (scratch / "program.cpp").string(),
                                 "-o", (scratch / "program").string(), "-L" + libraries, "-Wl,-rpath," + libraries,
                                 // Who links by -ltorch finds what those need beside them.
                                 "-Wl,-rpath-link," + libraries, "-Wl,--no-as-needed"};
  for (const char* name : {"torch", "torch_cpu", "c10"}) {
    std::error_code error;
    if (fs::exists(fs::path(libraries) / fmt::format("lib{}.so", name), error))
      words.push_back(fmt::format("-l{}", name));
  }
  const auto built = run_program({.arguments = words, .seconds = seconds});
  if (!built.ok()) return fmt::format("building a program: {}", built.error().message);
  if (built->exit_code != 0)
    return fmt::format("a program that includes <torch/torch.h> does not build: {}", main_line(built->err));
  const auto ran = run_program({.arguments = {(scratch / "program").string()}, .seconds = seconds});
  if (!ran.ok()) return fmt::format("the program that was built: {}", ran.error().message);
  if (ran->exit_code != 0)
    return fmt::format("the program that was built ended with exit code {}: {}", ran->exit_code, main_line(ran->err));
  return std::nullopt;
}

}  // namespace

LibtorchArea try_headers(const std::string& libtorch_dir, double seconds) {
  LibtorchArea area{"program against its headers", "cpu", {}, {}};
  const fs::path include = fs::path(libtorch_dir).parent_path() / "include";
  std::error_code error;
  if (!fs::exists(include / "torch/csrc/api/include/torch/torch.h", error)) {
    area.skipped = fmt::format("{} holds no torch/csrc/api/include/torch/torch.h", include.string());
    return area;
  }
  const auto compiler = find_compiler();
  const auto scratch = TempFolder::make();
  if (!compiler || !scratch.ok()) {
    area.skipped = compiler ? scratch.error().message : "no C++ compiler is on PATH: install g++";
    return area;
  }
  area.problem = build_and_run(*compiler, include, libtorch_dir, scratch->path(), seconds);
  return area;
}

}  // namespace pbprobe
