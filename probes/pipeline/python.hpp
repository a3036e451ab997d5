// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Search for the user's torch in the folders of Python environments, without running Python.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/measurement.hpp"

namespace pbprobe {

// Reads an environment variable; passed in, so that tests need no environment of their own.
using GetEnv = std::function<std::optional<std::string>(const char*)>;
[[nodiscard]] GetEnv system_env();

// Returns the folders to search for a torch, without repeats, best first; some may not exist. Order: the torch that
// `python -m pbprobe` names (PBPROBE_TORCH), an activated environment (VIRTUAL_ENV, CONDA_PREFIX), then the prefix of
// the python3 on PATH, its user site, and `.venv` of the current folder.
[[nodiscard]] std::vector<std::filesystem::path> torch_search_roots(const GetEnv& env);

// Returns this process's environment ("NAME=value") with writable folders moved to `scratch`. Packages of the user
// remain visible. `changed` replaces variables; an empty value removes a variable.
[[nodiscard]] std::vector<std::string> move_writable_folders(const std::filesystem::path& scratch,
                                                             const std::map<std::string, std::string>& changed);

// Runs a command with a file path appended, and reads the areas that it wrote to the file. The later of two areas with
// one name counts. If the process fails or exceeds its time, that is the problem of the last area.
[[nodiscard]] std::vector<LibtorchArea> ask_python(const std::vector<std::string>& words, double seconds);

}  // namespace pbprobe
