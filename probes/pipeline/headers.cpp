// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/headers.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <unistd.h>
#include <wordexp.h>

#include <fmt/ranges.h>

#include "core/program.hpp"
#include "core/statuses.hpp"
#include "core/strings.hpp"
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

using Words = std::vector<std::string>;

// Splits `text` as a shell does: CXX may be "ccache c++". Returns nullopt if a quote is not closed, or if splitting
// would run commands.
std::optional<Words> split_words(const char* text) {
  wordexp_t split{};
  if (wordexp(text, &split, WRDE_NOCMD) != 0) return std::nullopt;
  Words words(split.we_wordv, split.we_wordv + split.we_wordc);
  wordfree(&split);
  if (words.empty()) return std::nullopt;
  return words;
}

std::optional<Words> find_compiler() {
  if (const char* const chosen = std::getenv("CXX"); chosen != nullptr && *chosen != '\0') return split_words(chosen);
  const char* const path = std::getenv("PATH");
  for (const char* name : {"c++", "g++", "clang++"}) {
    for (const std::string_view folder : split(path == nullptr ? "/usr/bin" : path, ':'))
      if (!folder.empty() && access((fs::path(folder) / name).c_str(), X_OK) == 0) return Words{name};
  }
  return std::nullopt;
}

// Returns the first line with "error" in it, which is the most informative.
std::string main_line(const std::string& text) {
  std::string_view first;
  for (const std::string_view line : split_lines(text)) {
    if (first.empty()) first = line;
    if (line.find("error") != std::string::npos) return std::string(line.substr(0, 300));
  }
  return std::string(first.substr(0, 300));
}

// Exceeded time or memory, and a broken compiler, are not faults of torch.
Error not_run(std::string_view what, const Error& error) {
  Error reported = make_error(error.code, "{}: {}", what, error.message);
  if (error.code == ErrorCode::limit) reported.obstacle = Obstacle::time_limit;
  if (error.code == ErrorCode::not_found) reported.obstacle = Obstacle::missing;
  return reported;
}

// Tests the compiler itself before using torch's headers.
Result<void> try_compiler(const Words& compiler, const fs::path& scratch, double seconds) {
  std::ofstream(scratch / "empty.cpp") << "#include <vector>\nint main() {}\n";
  Words words = compiler;
  words.insert(words.end(), {"-std=c++20", (scratch / "empty.cpp").string(), "-o", (scratch / "empty").string()});
  const auto built = run_program({.arguments = words, .seconds = seconds});
  if (!built.ok()) return not_run("starting the C++ compiler", built.error());
  if (built->exit_code == 0) return {};
  return make_error(Obstacle::missing, ErrorCode::failed_child,
                    "the C++ compiler {} cannot build an empty program: {}; set CXX to a working compiler",
                    fmt::join(compiler, " "), main_line(built->err));
}

template <class... Args>
Error wrong(const std::string& printed, fmt::format_string<Args...> format, Args&&... args) {
  Error reported = make_error(ErrorCode::failed_child, format, std::forward<Args>(args)...);
  reported.obstacle = classify_message(printed);
  return reported;
}

Result<void> build_and_run(const Words& compiler, const fs::path& include, const std::string& libraries,
                           const fs::path& scratch, double seconds) {
  PBPROBE_CHECK(try_compiler(compiler, scratch, seconds));
  std::ofstream(scratch / "program.cpp") << kProgram;
  Words words = compiler;
  words.insert(words.end(), {"-std=c++20", "-w", "-I", include.string(), "-I",
                             (include / "torch/csrc/api/include").string(), (scratch / "program.cpp").string(), "-o",
                             (scratch / "program").string(), "-L" + libraries, "-Wl,-rpath," + libraries,
                             // Finds the dependencies of libraries linked with -ltorch.
                             "-Wl,-rpath-link," + libraries, "-Wl,--no-as-needed"});
  for (const char* name : {"torch", "torch_cpu", "c10"}) {
    std::error_code error;
    if (fs::exists(fs::path(libraries) / fmt::format("lib{}.so", name), error))
      words.push_back(fmt::format("-l{}", name));
  }
  const auto built = run_program({.arguments = words, .seconds = seconds});
  if (!built.ok()) return not_run("building a program", built.error());
  if (built->exit_code != 0)
    return wrong(built->err, "a program that includes <torch/torch.h> does not build: {}", main_line(built->err));
  const auto ran = run_program({.arguments = {(scratch / "program").string()}, .seconds = seconds});
  if (!ran.ok()) return not_run("the test program that was built with torch's headers", ran.error());
  if (ran->exit_code != 0)
    return wrong(ran->err, "the test program that was built with torch's headers ended with exit code {}: {}",
                 ran->exit_code, main_line(ran->err));
  return {};
}

}  // namespace

LibtorchArea try_headers(const std::string& libtorch_dir, double seconds) {
  LibtorchArea area{"program against its headers", "cpu", {}, {}, {}};
  const fs::path include = fs::path(libtorch_dir).parent_path() / "include";
  std::error_code error;
  if (!fs::exists(include / "torch/csrc/api/include/torch/torch.h", error)) {
    area.skipped = fmt::format("{} has no torch/csrc/api/include/torch/torch.h", include.string());
    return area;
  }
  const auto compiler = find_compiler();
  const auto scratch = TempFolder::make();
  if (!compiler || !scratch.ok()) {
    area.skipped = compiler ? scratch.error().message : "no C++ compiler is on PATH, or CXX names none: install g++";
    return area;
  }
  const auto ended = build_and_run(*compiler, include, libtorch_dir, scratch->path(), seconds);
  if (ended.ok()) return area;
  area.problem = ended.error().message;
  area.obstacle = ended.error().obstacle;
  return area;
}

}  // namespace pbprobe
