// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/strings.hpp"

#include <charconv>
#include <cstdint>

namespace pbprobe {
namespace {

uint64_t next_number(std::string_view& text) {
  uint64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(result.ptr - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks(" \t\r\n\0", 5);
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_lines(std::string_view text) {
  if (text.empty()) return {};
  if (text.ends_with('\n')) text.remove_suffix(1);
  return split(text, '\n');
}

bool version_less(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const uint64_t left = next_number(a);
    const uint64_t right = next_number(b);
    if (left != right) return left < right;
  }
  return false;
}

}  // namespace pbprobe
