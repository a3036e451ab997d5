// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/stable_abi.hpp"

#include <algorithm>
#include <iterator>

namespace pbprobe {
namespace {

struct StableSymbol {
  std::string_view name;
  int release;
};

#define PBPROBE_STABLE(release, name) {#name, release},
constexpr StableSymbol kStable[] = {
#include "probes/audit/packages/stable_abi.inc"
};
#undef PBPROBE_STABLE

constexpr auto kByName = [](const StableSymbol& left, const StableSymbol& right) { return left.name < right.name; };
static_assert(std::is_sorted(std::begin(kStable), std::end(kStable), kByName));

}  // namespace

std::optional<int> find_stable_release(std::string_view symbol) {
  const auto* const found = std::lower_bound(std::begin(kStable), std::end(kStable), StableSymbol{symbol, 0}, kByName);
  return found != std::end(kStable) && found->name == symbol ? std::optional(found->release) : std::nullopt;
}

}  // namespace pbprobe
