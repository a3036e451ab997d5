// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/device_code/kernel_family.hpp"

#include "core/demangle.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Removes a substitution from the start of `rest`: "St", "S_", "S0_". Returns whether there was one.
bool take_substitution(std::string_view& rest) {
  if (!rest.starts_with('S') || rest.size() < 2) return false;
  const bool numbered = rest[1] == '_' || kDigits.find(rest[1]) != kDigits.npos || (rest[1] >= 'A' && rest[1] <= 'Z');
  const size_t end = numbered ? rest.find('_') : 1;
  if (end == rest.npos) return false;
  rest.remove_prefix(end + 1);
  return true;
}

}  // namespace

// Follows the grammar of the Itanium C++ ABI, 5.1.2: the last identifier of a nested name before template arguments
// counts.
std::string_view find_kernel_family(std::string_view name) {
  std::string_view family = name;
  std::string_view rest = name;
  if (rest.starts_with("_Z")) {
    rest.remove_prefix(2);
    const bool nested = rest.starts_with('N');
    if (nested) rest.remove_prefix(1);
    while (!rest.empty()) {
      if (rest.starts_with('L')) rest.remove_prefix(1);
      if (take_substitution(rest)) continue;
      const std::string_view identifier = take_identifier(rest);
      if (identifier.empty()) break;
      family = identifier;
      if (!nested) break;
    }
  }
  family = family.substr(0, family.find_first_of(kDigits));
  const size_t last = family.find_last_not_of('_');
  return last == family.npos ? name : family.substr(0, last + 1);
}

}  // namespace pbprobe
