// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A recipe's lines as line patterns see them: comments taken away. No parser of Nix.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe {

struct LineValue {
  size_t line = 0;  // from 1
  std::string value;
};

class RecipeLines {
 public:
  explicit RecipeLines(std::string_view text);

  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

  // First line that holds the word (no letter, digit, _ or - on either side of it where it begins or ends with one).
  [[nodiscard]] std::optional<size_t> find(std::string_view word) const;

  // Values of `key = "…"`.
  [[nodiscard]] std::vector<LineValue> values(std::string_view key) const;

  // Strings between `key = [` and its `]`; null where there is no such list.
  [[nodiscard]] std::optional<std::vector<std::string>> list(std::string_view key, size_t& line) const;

  // Every string literal that starts with `prefix`.
  [[nodiscard]] std::vector<LineValue> strings(std::string_view prefix) const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace pbprobe
