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
        std::ranges::find(capabilities, *target.torch_cpu_capability) == capabilities.end())
      capabilities.push_back(*target.torch_cpu_capability);
  }
  return capabilities;
}

bool contains_fbgemm(const Inventory& inventory) {
  return std::ranges::any_of(inventory.files, [&](const File& file) {
    return is_own(inventory, file) && file.links &&
           std::ranges::find(file.links->contains, "FBGEMM") != file.links->contains.end();
  });
}

// torch computes on any x86-64 CPU, with one exception: a CPU without AVX gets oneDNN as engine of quantized layers,
// and its dynamic ones call fbgemm::FindMinMax(), which is built for AVX (seen with torch 2.11 on an emulated Nehalem).
Answer cpu_has_target(const Facts& facts) {
  const Cpu& cpu = facts.host->cpu;
  if (!cpu.targets.empty()) return {};
  const bool has_avx = std::ranges::find(cpu.features, "avx") != cpu.features.end();
  if (cpu.architecture != "x86_64" || has_avx || facts.inventory == nullptr || !contains_fbgemm(*facts.inventory))
    return {.seen = {{.what = say("{} has the CPU features of none of pbprobe's targets", cpu.name)}}};
  return {.seen = {{.what = say("{} has no avx: torch computes with its code for every CPU, and dynamically quantized "
                                "layers can end in an illegal instruction (fbgemm::FindMinMax)",
                                cpu.name),
                    .remedy = "for quantized layers, set torch.backends.quantized.engine = \"qnnpack\""}}};
}

Answer takes_best_cpu_capability(const Facts& facts) {
  if (!facts.run->cpu_capability) return {};
  const std::string& capability = *facts.run->cpu_capability;
  const auto capabilities = known_cpu_capabilities();
  auto expected = capabilities.end();
  for (const auto& id : facts.host->cpu.targets) {
    const Target* target = find_target(id);
    if (target == nullptr || !target->torch_cpu_capability) continue;
    const auto at = std::ranges::find(capabilities, *target->torch_cpu_capability);
    if (expected == capabilities.end() || at > expected) expected = at;
  }
  if (expected == capabilities.end()) return {};
  const auto seen = std::ranges::find(capabilities, capability);
  const bool is_default = capability == "DEFAULT" || capability == "NO AVX";
  if (!is_default && (seen == capabilities.end() || seen >= expected)) return {};
  return {
      .seen = {{.what = say("libtorch selects its {} code on a CPU that can run its {} code", capability, *expected),
                .where = facts.run->path}}};
}

}  // namespace

std::vector<Check> cpu_checks() {
  using enum Need;
  return {
      {.id = "PB201",
       .severity = Severity::note,
       .needs = {host},
       .remedy = "use a build for the processor's base instruction set",
       .ask = cpu_has_target},
      {.id = "PB202",
       .level = Level::executed,
       .severity = Severity::warn,
       .needs = {host, run},
       .remedy = "unset ATEN_CPU_CAPABILITY; if it is not set, this build lacks code for the CPU capability: use "
                 "another build",
       .ask = takes_best_cpu_capability},
  };
}

}  // namespace pbprobe
