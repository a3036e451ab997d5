// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/nix_store.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <system_error>

#include "core/program.hpp"
#include "core/strings.hpp"
#include "probes/audit/packages/packages.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::array kOutputs{"", "-lib", "-dev", "-cxxdev", "-dist"};

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

// Nix separates name and version at the first dash without a letter after it.
size_t dash_before_version(std::string_view name) {
  for (size_t at = name.find('-'); at != std::string_view::npos; at = name.find('-', at + 1)) {
    if (at + 1 < name.size() && !is_letter(name[at + 1])) return at;
  }
  return std::string_view::npos;
}

// Returns "2.40-66" for "2.40-66-bin": the rest names an output.
std::string_view without_output(std::string_view version) {
  for (size_t at = version.find('-'); at != std::string_view::npos; at = version.find('-', at + 1)) {
    if (at + 1 < version.size() && is_letter(version[at + 1])) return version.substr(0, at);
  }
  return version;
}

std::string first_line(std::string_view text) {
  constexpr std::string_view kError = "error: ";
  if (const size_t at = text.find(kError); at != std::string_view::npos) text.remove_prefix(at + kError.size());
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

fs::path nix_store_dir() {
  const char* dir = std::getenv("NIX_STORE_DIR");
  std::error_code error;
  const fs::path given = dir != nullptr && *dir != '\0' ? dir : "/nix/store";
  const fs::path real = fs::canonical(given, error);
  return error ? given : real;
}

std::optional<fs::path> find_store_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return std::nullopt;
  const fs::path store = nix_store_dir();
  const auto [in_store, in_path] = std::mismatch(store.begin(), store.end(), real.begin(), real.end());
  if (in_store != store.end() || in_path == real.end()) return std::nullopt;
  return store / *in_path;
}

std::vector<fs::path> find_nix_outputs(const fs::path& artifact) {
  const fs::path plain = artifact.has_filename() ? artifact : artifact.parent_path();
  std::vector<fs::path> outputs;
  for (const char* output : kOutputs) {
    const auto path = find_store_path(plain.string() + output);
    if (path && std::ranges::find(outputs, *path) == outputs.end()) outputs.push_back(*path);
  }
  return outputs;
}

StorePath parse_store_path(std::string_view path) {
  StorePath parsed;
  parsed.path = path;
  std::string_view name = path.substr(path.rfind('/') + 1);
  const size_t hash_end = name.find('-');
  if (hash_end == std::string_view::npos) return parsed;
  name.remove_prefix(hash_end + 1);
  const size_t dash = dash_before_version(name);
  parsed.package = name.substr(0, dash);
  if (dash != std::string_view::npos) parsed.version = without_output(name.substr(dash + 1));
  parsed.component = component_of_store_package(parsed.package);
  return parsed;
}

std::vector<StorePath> parse_requisites(std::string_view text) {
  std::vector<StorePath> paths;
  for (const std::string_view line : split_lines(text))
    if (!line.empty()) paths.push_back(parse_store_path(line));
  return paths;
}

StoreClosure read_store_closure(const std::vector<fs::path>& outputs) {
  StoreClosure closure;
  ProgramCall call{.arguments = {"nix-store", "--query", "--requisites"}};
  for (const auto& output : outputs) {
    closure.outputs.push_back(output.string());
    call.arguments.push_back(output.string());
  }
  const auto answer = run_program(call);
  if (!answer) {
    closure.problem = answer.error().message + ": put Nix on PATH to have the closure read";
    return closure;
  }
  if (answer->exit_code != 0) {
    closure.problem = "nix-store does not tell the closure: " + first_line(answer->err);
    return closure;
  }
  closure.paths = parse_requisites(answer->out);
  std::error_code error;
  for (auto& path : closure.paths) path.there = fs::exists(fs::symlink_status(fs::path(path.path), error));
  return closure;
}

}  // namespace pbprobe
