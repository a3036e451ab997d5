// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "core/targets.hpp"
#include "probes/judge/questions.hpp"

namespace pbprobe::ask {
namespace {

// Tiers from least to best, in the table's order; what stands before the first is torch's default.
std::vector<std::string> known_tiers() {
  std::vector<std::string> tiers;
  for (const auto& target : all_targets()) {
    if (target.torch_tier && std::find(tiers.begin(), tiers.end(), *target.torch_tier) == tiers.end())
      tiers.push_back(*target.torch_tier);
  }
  return tiers;
}

}  // namespace

Answer cpu_has_target(const Facts& facts) {
  const Cpu& cpu = facts.host->cpu;
  if (!cpu.targets.empty()) return {};
  return {.seen = {{.what = say("{} has the features of no target of the table", cpu.name)}}};
}

Answer cpu_tier(const Facts& facts) {
  if (!facts.run->cpu_capability) return {};
  const std::string& tier = *facts.run->cpu_capability;
  const auto tiers = known_tiers();
  auto expected = tiers.end();
  for (const auto& id : facts.host->cpu.targets) {
    const Target* target = find_target(id);
    if (target == nullptr || !target->torch_tier) continue;
    const auto at = std::find(tiers.begin(), tiers.end(), *target->torch_tier);
    if (expected == tiers.end() || at > expected) expected = at;
  }
  if (expected == tiers.end()) return {};
  const auto seen = std::find(tiers.begin(), tiers.end(), tier);
  const bool is_default = tier == "DEFAULT" || tier == "NO AVX";
  if (!is_default && (seen == tiers.end() || seen >= expected)) return {};
  return {.seen = {{.what = say("libtorch takes its {} code on a CPU that can run {}", tier, *expected),
                    .where = facts.run->path}}};
}

}  // namespace pbprobe::ask
