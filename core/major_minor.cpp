// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/major_minor.hpp"

#include <charconv>

namespace pbprobe {
namespace {

std::optional<int64_t> parse_whole_number(std::string_view text) {
  int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<MajorMinor> parse_major_minor(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto rest = text.substr(dot + 1);
  const auto major = parse_whole_number(text.substr(0, dot));
  const auto minor = parse_whole_number(rest.substr(0, rest.find('.')));
  if (!major || !minor) return std::nullopt;
  return MajorMinor{*major, *minor};
}

}  // namespace pbprobe
