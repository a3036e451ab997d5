// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Looks for what torch.compile and Triton call, link and write to, as their own sources look for it. Nothing is run or
// written.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/facts/preflight.hpp"

namespace pbprobe {

struct PreflightSources {
  std::function<std::optional<std::string>(const char* name)> variable;  // of the environment; null: not set, or empty
  std::string root;  // put before /sbin, /tmp and the folders of ldconfig's cache; empty on a real machine
  std::optional<std::string> user;  // by the number of this process's user; null: it has no name
};

[[nodiscard]] PreflightSources preflight_sources();

// The folder that this torch is imported from; null: it is none that is installed for Python.
[[nodiscard]] std::optional<std::filesystem::path> packages_of(const Inventory& inventory);

// `packages`: the folder that has torch in it.
[[nodiscard]] Preflight look_before_compiling(const std::filesystem::path& packages, const PreflightSources& sources);

}  // namespace pbprobe
