// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Reads a Python module that only assigns constants, as torch's build writes version.py. No Python runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

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
