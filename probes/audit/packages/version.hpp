// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Versions as the artifact's own small files say them. They are read as text; no Python runs.
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
  std::optional<std::string> cuda;   // "13.0"; null: a CPU build, or not known
  std::optional<std::string> git;
  std::vector<StatedVersion> stated;  // each assignment of version.py; of the others what they say
  std::vector<Error> problems;        // what in these files is not as they are written
};

// From version.py, whose last assignment counts, else build-version and build-hash (libtorch archives), else
// TorchConfigVersion.cmake.
[[nodiscard]] Versions read_versions(const std::map<std::string, std::string>& texts);

struct Assignment {
  std::string name;
  std::string text = {};  // of a quoted text
  bool is_text = false;   // else None, a number, a list …
  size_t line = 0;        // counted from 1
};

// Every assignment in its order. Errors: malformed, naming the line, where a statement is not an assignment of a
// constant (nor an import, a mere text or a comment): what it does is known only when it runs.
[[nodiscard]] Result<std::vector<Assignment>> read_assignments(std::string_view module);

}  // namespace pbprobe
