// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Search for the programs, libraries and folders that torch.compile and Triton use, by the rules of their sources. Runs
// and writes nothing.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/facts/preflight.hpp"

namespace pbprobe {

struct PreflightSources {
  std::function<std::optional<std::string>(const char* name)>
      variable;      // reads an environment variable; nullopt if unset or empty
  std::string root;  // prefix of /sbin, /tmp and the folders of ldconfig's cache; empty on a real machine
  std::optional<std::string> user;  // name of this process's user; null if the number has no name
};

[[nodiscard]] PreflightSources preflight_sources();

// Returns the folder that this torch is imported from; nullopt if it is not installed for Python.
[[nodiscard]] std::optional<std::filesystem::path> find_packages_folder(const Inventory& inventory);

// Runs the search. `packages` is the folder that contains torch.
[[nodiscard]] Preflight find_compile_tools(const std::filesystem::path& packages, const PreflightSources& sources);

}  // namespace pbprobe
