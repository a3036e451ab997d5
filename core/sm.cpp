// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/sm.hpp"
#include "core/strings.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace pbprobe {
namespace {

// Families exist from here on.
constexpr int64_t kFirstFamilyMajor = 10;

std::optional<int64_t> parse_sm_number(std::string_view digits) {
  const bool plain = !digits.empty() && digits.size() <= 3 && std::ranges::all_of(digits, is_digit);
  if (!plain || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string format_digits(const Sm& sm) {
  std::string text = fmt::format("{}", get_sm_number(sm));
  if (sm.suffix != '\0') text += sm.suffix;
  return text;
}

}  // namespace

std::optional<Sm> parse_sm(std::string_view text) {
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    break;
  }
  Sm sm;
  if (text.ends_with('a') || text.ends_with('f')) {
    sm.suffix = text.back();
    text.remove_suffix(1);
  }
  if (const auto dot = text.find('.'); dot != std::string_view::npos) {
    const auto major = parse_sm_number(text.substr(0, dot));
    const auto minor = parse_sm_number(text.substr(dot + 1));
    if (!major || !minor || *major == 0 || *minor > 9) return std::nullopt;
    sm.major = *major;
    sm.minor = *minor;
    return sm;
  }
  const auto number = parse_sm_number(text);
  if (!number || *number < 10) return std::nullopt;
  return make_sm(*number, sm.suffix);
}

std::string sm_name(const Sm& sm) {
  return "sm_" + format_digits(sm);
}

std::string compute_name(const Sm& sm) {
  return "compute_" + format_digits(sm);
}

std::string format_capability(const Sm& sm) {
  return fmt::format("{}.{}", sm.major, sm.minor);
}

bool cubin_runs_on(const Sm& cubin, const Sm& gpu) {
  if (cubin.suffix == 'a') return same_capability(cubin, gpu);
  if (cubin.suffix == 'f' && gpu.major < kFirstFamilyMajor) return false;
  return cubin.major == gpu.major && cubin.minor <= gpu.minor;
}

bool ptx_runs_on(const Sm& ptx, const Sm& gpu) {
  if (ptx.suffix != '\0') return cubin_runs_on(ptx, gpu);
  return ptx.major < gpu.major || (ptx.major == gpu.major && ptx.minor <= gpu.minor);
}

}  // namespace pbprobe
