// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "core/facts/environment.hpp"
#include "core/facts/other_package.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

constexpr size_t kMaxOffenders = 3;  // per file; JSON has more

std::string_view describe_class(CodeClass code_class) {
  switch (code_class) {
    case CodeClass::unguarded: return "unguarded";
    case CodeClass::static_initializer: return "at load";
    case CodeClass::default_capability: return "default CPU capability";
    case CodeClass::capability_leak: return "taken from a CPU capability";
    case CodeClass::unclassified: return "unclassified";
    case CodeClass::cpu_capability:
    case CodeClass::dispatched:
    case CodeClass::replaced: break;
  }
  return name_of(code_class);
}

std::string names_with_counts(const std::map<std::string, int64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{}{}{}", name, kNoBreak, count));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string cpu_capabilities_line(const std::map<std::string, CapabilityCode>& capabilities) {
  std::vector<std::string> parts;
  for (const auto& [name, capability] : capabilities)
    parts.push_back(fmt::format("{}{}{}", name, kNoBreak, capability.functions));
  return fmt::format("CPU capabilities, with functions: {}", fmt::join(parts, ", "));
}

// Skips files that use only the base instruction set, unless torch's CPU capabilities show more code.
bool is_telling(const HostCode& code) {
  return !code.features.empty() || !code.cpu_capabilities.empty();
}

// Reports whether to show an offender of a package that is not torch: its features are needed by what is known, and it
// is not the code that the package selects at run time.
bool counts(const CodeOffender& offender, const MinimumCpu& cpu) {
  return offender.code_class != CodeClass::unclassified && missing_features(offender.features, cpu.features).empty();
}

// `cpu`: for a file that is not of torch, whose functions may be guarded by a caller; null for torch.
void add_code(Page& page, const File& file, const HostCode& code, const std::optional<MinimumCpu>& cpu) {
  page.paragraph(file.path, 2);
  page.paragraph(cpu ? "minimum CPU: " + describe(*cpu) : minimum_cpu_line(code), 6);
  if (!code.cpu_capabilities.empty()) page.paragraph(cpu_capabilities_line(code.cpu_capabilities), 6);
  if (!code.dispatchers.empty())
    page.paragraph("chosen at run time, functions: " + names_with_counts(code.dispatchers), 6);
  size_t shown = 0;
  for (const auto& offender : code.offenders) {
    if (cpu ? !counts(offender, *cpu) : offender.code_class == CodeClass::unclassified) continue;
    if (shown++ >= kMaxOffenders) break;
    const bool unguarded = offender.code_class == CodeClass::unguarded;
    page.paragraph(
        fmt::format("{}: {} in {} needs {}", cpu && unguarded ? "guard not known" : describe_class(offender.code_class),
                    offender.function, offender.section, fmt::join(offender.features, ", ")),
        6);
  }
}

}  // namespace

std::string minimum_cpu_line(const HostCode& code) {
  if (!code.minimum_cpu_at_most) return "minimum CPU: " + code.minimum_cpu;
  if (*code.minimum_cpu_at_most == kUnknownCpu)
    return fmt::format("minimum CPU: {} or more: nothing tells what guards the rest", code.minimum_cpu);
  return fmt::format("minimum CPU: {} to {}: nothing tells what guards {} of its functions", code.minimum_cpu,
                     *code.minimum_cpu_at_most,
                     code.functions.contains("unclassified") ? code.functions.at("unclassified") : 0);
}

void add_host_code(Page& page, const Inventory& inventory) {
  const auto telling = [](const File& file) { return file.host_code && is_telling(*file.host_code); };
  if (std::ranges::none_of(inventory.files, telling)) return;
  page.heading("Host code");
  const bool of_torch = other_package(inventory) == nullptr;
  for (const auto& file : inventory.files) {
    if (!telling(file)) continue;
    add_code(page, file, *file.host_code, of_torch ? std::nullopt : find_minimum_cpu(std::span(&file, 1)));
  }
}

}  // namespace pbprobe::text
