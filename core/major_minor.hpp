// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The first two numbers of a release, which tell CUDA's and glibc's lines apart: "13.0" of "13.0.2".
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

// "12.9", "12.9.1". Null: fewer than two numbers, anything but digits in the first two.
[[nodiscard]] std::optional<MajorMinor> parse_major_minor(std::string_view text);

}  // namespace pbprobe
