// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Versions stated by the small files of an artifact, read as text. Runs no Python.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct Versions {
  std::optional<std::string> torch;  // "2.11.0+cu130"
  std::optional<std::string> cuda;   // "13.0"; null for a CPU build, or if unknown
  std::optional<std::string> git;
  std::vector<StatedVersion> stated;  // assignments of version.py, and the versions of other files
  std::vector<Error> problems;        // faults of these files
};

// Reads version.py (the last assignment counts), else build-version and build-hash (libtorch archives), else
// TorchConfigVersion.cmake.
[[nodiscard]] Versions read_versions(const std::map<std::string, std::string>& texts);

struct Assignment {
  std::string name;
  std::string text = {};  // value of a quoted text
  bool is_text = false;   // false for None, a number, a list …
  size_t line = 0;        // counted from 1
};

// Returns every assignment in order. Errors: malformed, with the line, for a statement other than an assignment of a
// constant, an import, a text or a comment: only running it would show its effect.
[[nodiscard]] Result<std::vector<Assignment>> read_assignments(std::string_view module);

}  // namespace pbprobe
