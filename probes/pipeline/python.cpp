// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/python.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// bin/python3 → the prefix that holds lib/python3.x: beside the link as it stands on PATH (a virtual environment), or
// behind it (pyenv, a distribution's python3).
void add_prefixes_of_python(const fs::path& folder, std::vector<fs::path>& roots) {
  std::error_code error;
  const fs::path python = folder / "python3";
  if (!fs::exists(python, error)) return;
  roots.push_back(folder.parent_path());
  const fs::path real = fs::canonical(python, error);
  if (!error) roots.push_back(real.parent_path().parent_path());
}

}  // namespace

GetEnv system_env() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
  };
}

std::vector<fs::path> torch_search_roots(const GetEnv& env) {
  std::vector<fs::path> roots;
  for (const char* name : {"PBPROBE_TORCH", "VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (auto prefix = env(name)) roots.emplace_back(*prefix);
  }
  std::istringstream path(env("PATH").value_or(""));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (!folder.empty()) add_prefixes_of_python(folder, roots);
  }
  if (auto home = env("HOME")) roots.push_back(fs::path(*home) / ".local");
  roots.emplace_back(".venv");
  std::vector<fs::path> unique;
  for (const auto& root : roots) {
    if (std::find(unique.begin(), unique.end(), root) == unique.end()) unique.push_back(root);
  }
  return unique;
}

}  // namespace pbprobe
