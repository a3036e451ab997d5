// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GPU architecture in CUDA's naming: the one type, parser and order for fatbin entries, claims and reports. Source:
// CUDA C++ Programming Guide, "Compute capabilities" and "Architecture- and family-specific compilation targets".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pbprobe {

// GPU architecture. Ordered by capability, then suffix: sm_80 < sm_100 < sm_100a < sm_100f.
struct Sm {
  int64_t major = 0;
  int64_t minor = 0;
  char suffix = '\0';  // 'a': only this capability; 'f': the family, from 10.0 on; '\0': also later minor versions

  friend auto operator<=>(const Sm&, const Sm&) = default;
};

// Converts the number in a fatbin entry or in cubin flags: 103 becomes 10.3. Every number is valid, even if no such GPU
// exists.
[[nodiscard]] constexpr Sm make_sm(int64_t number, char suffix = '\0') {
  return {number / 10, number % 10, suffix};
}

// Returns 103 for 10.3, without the suffix.
[[nodiscard]] constexpr int64_t get_sm_number(const Sm& sm) {
  return sm.major * 10 + sm.minor;
}

// Parses "sm_90a", "compute_90a", "90a", "9.0" or "9.0a". Returns nullopt for other text, a capability below 1.0, and a
// number of more than three digits.
[[nodiscard]] std::optional<Sm> parse_sm(std::string_view text);

[[nodiscard]] std::string sm_name(const Sm& sm);            // "sm_90a": machine code
[[nodiscard]] std::string compute_name(const Sm& sm);       // "compute_90a": PTX
[[nodiscard]] std::string format_capability(const Sm& sm);  // "9.0"

// Reports whether both have the same capability, ignoring suffixes.
[[nodiscard]] constexpr bool same_capability(const Sm& one, const Sm& other) {
  return one.major == other.major && one.minor == other.minor;
}

// Reports whether a cubin runs on a GPU: same major version and at least its minor version; with `a`, exactly its
// capability.
[[nodiscard]] bool cubin_runs_on(const Sm& cubin, const Sm& gpu);

// Reports whether the driver can compile the PTX for a GPU: its capability or a later one; with `a` or `f`, the GPUs on
// which a cubin with this suffix runs.
[[nodiscard]] bool ptx_runs_on(const Sm& ptx, const Sm& gpu);

}  // namespace pbprobe
