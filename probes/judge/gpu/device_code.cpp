// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/gpu/device_code.hpp"

#include <algorithm>

#include "core/demangle.hpp"

namespace pbprobe {

std::optional<Sm> get_target_sm(const Target& target) {
  return parse_sm(target.capability.value_or(""));
}

std::vector<std::string> list_unit_cubins(const std::string& unit_set) {
  std::vector<std::string> cubins;
  for (size_t start = 0; start < unit_set.size();) {
    const size_t end = std::min(unit_set.find(' ', start), unit_set.size());
    cubins.push_back(unit_set.substr(start, end - start));
    start = end + 1;
  }
  return cubins;
}

Units count_sm_units(const DeviceCode& code, const Sm& chip) {
  const auto is_for_chip = [&](const std::string& cubin) {
    const auto sm = parse_sm(cubin);
    return sm && same_capability(*sm, chip);
  };
  Units units;
  for (const auto& [set, count] : code.unit_sets) {
    const auto cubins = list_unit_cubins(set);
    units.all += count;
    if (std::ranges::any_of(cubins, is_for_chip)) units.with += count;
  }
  units.all += code.units_without_code;
  return units;
}

void add_census(SmCensus& sum, const SmCensus& census) {
  sum.kernels += census.kernels;
  sum.cubins += census.cubins;
  sum.empty_cubins += census.empty_cubins;
  sum.code_bytes += census.code_bytes;
  sum.idle_kernels += census.idle_kernels;
  if (census.idle_cubins) sum.idle_cubins = sum.idle_cubins.value_or(0) + *census.idle_cubins;
  if (sum.idle.empty()) sum.idle = census.idle;
  if (!census.repeated) return;
  if (!sum.repeated) sum.repeated.emplace();
  sum.repeated->cubins = std::max(sum.repeated->cubins, census.repeated->cubins);  // sm_90 and sm_90a share units
  sum.repeated->kernels += census.repeated->kernels;
  sum.repeated->code_bytes += census.repeated->code_bytes;
}

SmCensus sum_census(const Censuses& censuses, const Sm& chip) {
  SmCensus sum;
  for (const auto& [name, census] : censuses) {
    const auto cubin = parse_sm(name);
    if (cubin && same_capability(*cubin, chip)) add_census(sum, census);
  }
  return sum;
}

SmCensus census_that_runs(const Censuses& censuses, const Sm& chip) {
  constexpr int64_t kFew = 10;  // fewer than a tenth of the largest count
  std::map<int64_t, SmCensus> by_capability;
  int64_t most = 0;
  for (const auto& [name, census] : censuses) {
    const auto cubin = parse_sm(name);
    if (!cubin || !cubin_runs_on(*cubin, chip)) continue;
    SmCensus& sum = by_capability[get_sm_number(*cubin)];
    add_census(sum, census);
    most = std::max(most, sum.cubins);
  }
  const auto taken = std::find_if(by_capability.rbegin(), by_capability.rend(),
                                  [&](const auto& one) { return one.second.cubins * kFew >= most; });
  return taken == by_capability.rend() ? SmCensus{} : taken->second;
}

std::string kernel_name(const std::string& mangled) {
  return demangled(mangled, 100);
}

}  // namespace pbprobe
