// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Lines of a recipe without comments, for line patterns. This is not a parser of Nix.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe {

struct LineValue {
  size_t line = 0;  // 1-based
  std::string value;
};

// Lines of a Nix recipe without comments, for searches.
class RecipeLines {
 public:
  explicit RecipeLines(std::string_view text);

  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

  // Returns the first line with the whole word: a letter, digit, _ or - at its ends is not next to another one.
  [[nodiscard]] std::optional<size_t> find(std::string_view word) const;

  // Returns the values of `key = "…"`.
  [[nodiscard]] std::vector<LineValue> values(std::string_view key) const;

  // Returns the strings between `key = [` and its `]`; nullopt without such a list.
  [[nodiscard]] std::optional<std::vector<std::string>> list(std::string_view key, size_t& line) const;

  // Returns every string literal that starts with `prefix`.
  [[nodiscard]] std::vector<LineValue> strings(std::string_view prefix) const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace pbprobe
