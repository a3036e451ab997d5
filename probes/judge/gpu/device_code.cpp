// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/gpu/device_code.hpp"

#include <algorithm>

#include "core/demangle.hpp"

namespace pbprobe {
namespace {

bool exceeds(int64_t part, double limit, int64_t whole) {
  return static_cast<double>(part) > limit * static_cast<double>(whole);
}

}  // namespace

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

std::optional<Sentence> find_idle_code(const SmCensus& code, const IdleLimits& limits, std::string_view file,
                                       std::string_view target) {
  if (code.cubins == 0) return std::nullopt;
  if (code.kernels == 0)
    return say("{} is claimed, and no cubin of {} for it holds a kernel (cubins for it: {})", target, file,
               code.cubins);
  if (exceeds(code.empty_cubins, limits.empty_cubins, code.cubins))
    return say("{} is claimed, and {} of the {} cubins of {} for it {} no kernel", target, code.empty_cubins,
               code.cubins, file, select_by_number(code.empty_cubins, "holds", "hold"));
  const std::string first = code.idle.empty() ? "" : kernel_name(code.idle.front());
  if (exceeds(code.idle_kernels, limits.idle_kernels, code.kernels))
    return say("{} is claimed, and {} of the {} kernels of {} for it {} nothing: {}", target, code.idle_kernels,
               code.kernels, file, select_by_number(code.idle_kernels, "does", "do"), first);
  if (exceeds(code.idle_cubins.value_or(0), limits.idle_cubins, code.cubins))
    return say("{} is claimed, and all kernels of {} of the {} cubins of {} for it do nothing: {}", target,
               *code.idle_cubins, code.cubins, file, first);
  return std::nullopt;
}

}  // namespace pbprobe
