// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Parts of a text. Results are views into the argument, which must outlive them.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe {

// Returns whether c is an ASCII digit. Unlike std::isdigit it does not depend on the locale, and takes every char.
[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns the part of `path` after the last slash, ignoring trailing slashes; all of `path` if it has no slash.
[[nodiscard]] constexpr std::string_view base_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

// Removes blanks, tabs, line ends and NUL from both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

// Returns the parts between separators, empty parts too; one part if there is no separator.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// Returns the lines without their ends; a text that ends in a line end has no empty last line.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

// Reports whether version `a` ("2.9") is lower than `b` ("2.28"), by numbers.
[[nodiscard]] bool version_less(std::string_view a, std::string_view b);

// Converts ASCII letters to upper case, as documents and Nix attributes write "AVX2".
[[nodiscard]] inline std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace pbprobe
