// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/targets.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Lists torch's CPU capabilities from least to best, without torch's default.
std::vector<std::string> known_cpu_capabilities() {
  std::vector<std::string> capabilities;
  for (const auto& target : all_targets()) {
    if (target.torch_cpu_capability &&
        std::find(capabilities.begin(), capabilities.end(), *target.torch_cpu_capability) == capabilities.end())
      capabilities.push_back(*target.torch_cpu_capability);
  }
  return capabilities;
}

Answer cpu_has_target(const Facts& facts) {
  const Cpu& cpu = facts.host->cpu;
  if (!cpu.targets.empty()) return {};
  return {.seen = {{.what = say("{} has the features of no target of the table", cpu.name)}}};
}

Answer takes_best_cpu_capability(const Facts& facts) {
  if (!facts.run->cpu_capability) return {};
  const std::string& capability = *facts.run->cpu_capability;
  const auto capabilities = known_cpu_capabilities();
  auto expected = capabilities.end();
  for (const auto& id : facts.host->cpu.targets) {
    const Target* target = find_target(id);
    if (target == nullptr || !target->torch_cpu_capability) continue;
    const auto at = std::find(capabilities.begin(), capabilities.end(), *target->torch_cpu_capability);
    if (expected == capabilities.end() || at > expected) expected = at;
  }
  if (expected == capabilities.end()) return {};
  const auto seen = std::find(capabilities.begin(), capabilities.end(), capability);
  const bool is_default = capability == "DEFAULT" || capability == "NO AVX";
  if (!is_default && (seen == capabilities.end() || seen >= expected)) return {};
  return {.seen = {{.what = say("libtorch takes its {} code on a CPU that can run {}", capability, *expected),
                    .where = facts.run->path}}};
}

}  // namespace

std::vector<Check> cpu_checks() {
  using enum Need;
  return {
      {.id = "PB201",
       .subject = Subject::cpu,
       .severity = Severity::note,
       .needs = {host},
       .remedy = "use a build for the processor's base instruction set",
       .ask = cpu_has_target},
      {.id = "PB202",
       .subject = Subject::cpu,
       .level = Level::executed,
       .severity = Severity::warn,
       .needs = {host, run},
       .remedy = "unset ATEN_CPU_CAPABILITY; if it is not set, this build has lost its CPU capability: use another",
       .ask = takes_best_cpu_capability},
  };
}

}  // namespace pbprobe
