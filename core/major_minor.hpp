// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// First two numbers of a release, which identify a line of CUDA or glibc: "13.0" of "13.0.2".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pbprobe {

struct MajorMinor {
  int64_t major = 0;
  int64_t minor = 0;

  friend auto operator<=>(const MajorMinor&, const MajorMinor&) = default;
};

// Parses "12.9" or "12.9.1"; nullopt if `text` has fewer than two numbers, or one of the first two is not decimal.
[[nodiscard]] std::optional<MajorMinor> parse_major_minor(std::string_view text);

}  // namespace pbprobe
