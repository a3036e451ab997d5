// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where the torch of this user may lie: the folders of Python environments, found without running Python.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/measurement.hpp"

namespace pbprobe {

// Reads an environment variable; passed in, so that tests need no environment of their own.
using GetEnv = std::function<std::optional<std::string>(const char*)>;
[[nodiscard]] GetEnv system_env();

// Folders to search for a torch, best first: the torch that `python -m pbprobe` names (PBPROBE_TORCH), an activated
// environment (VIRTUAL_ENV, CONDA_PREFIX), then the prefix of the python3 on PATH, its user site, and `.venv` of the
// current folder.
[[nodiscard]] std::vector<std::filesystem::path> torch_search_roots(const GetEnv& env);

// Starts these words with the path of a file after them, and reads the areas that are in it then, the later of two that
// are named alike. What ends its process or takes longer is the problem of the last one.
[[nodiscard]] std::vector<LibtorchArea> ask_python(const std::vector<std::string>& words, double seconds);

}  // namespace pbprobe
