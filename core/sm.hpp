// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A GPU architecture as CUDA names it, from a fatbin's entry to the report: one type, one way to read it, one order.
// CUDA C++ Programming Guide, "Compute capabilities" and "Architecture- and family-specific compilation targets".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pbprobe {

// By capability, then suffix: sm_80 < sm_100 < sm_100a < sm_100f.
struct Sm {
  int64_t major = 0;
  int64_t minor = 0;
  char suffix = '\0';  // 'a': only this capability; 'f': its family, from 10.0 on; none: also later minors

  friend auto operator<=>(const Sm&, const Sm&) = default;
};

// Of the number in a fatbin's entry or a cubin's flags: 103 is 10.3. Any number has an Sm, be it one that nobody made.
[[nodiscard]] constexpr Sm sm_of_number(int64_t number, char suffix = '\0') {
  return {number / 10, number % 10, suffix};
}

[[nodiscard]] constexpr int64_t number_of(const Sm& sm) {
  return sm.major * 10 + sm.minor;
}

// "sm_90a", "compute_90a", "90a", "9.0", "9.0a". Null: none of these, a capability below 1.0, a number of more than
// three digits.
[[nodiscard]] std::optional<Sm> parse_sm(std::string_view text);

[[nodiscard]] std::string sm_name(const Sm& sm);        // "sm_90a": machine code
[[nodiscard]] std::string compute_name(const Sm& sm);   // "compute_90a": PTX
[[nodiscard]] std::string capability_of(const Sm& sm);  // "9.0"

// Both are made for the same capability, whatever their suffixes.
[[nodiscard]] constexpr bool same_capability(const Sm& one, const Sm& other) {
  return one.major == other.major && one.minor == other.minor;
}

// A cubin runs on its own major from its own minor on; with `a` on exactly its capability.
[[nodiscard]] bool cubin_runs_on(const Sm& cubin, const Sm& gpu);

// PTX is compiled for its own capability and every later one; with `a` or `f` where a cubin of that suffix runs.
[[nodiscard]] bool ptx_runs_on(const Sm& ptx, const Sm& gpu);

}  // namespace pbprobe
