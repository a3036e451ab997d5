// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// aarch64 Linux: HWCAP and HWCAP2 (asm/hwcap.h of the kernel), and each core's MIDR_EL1.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/host/cpu_bits.hpp"
#include "core/host/detect.hpp"
#include "core/host/files.hpp"

namespace pbprobe::host {
namespace {

constexpr int kSveBit = 22;  // HWCAP

struct Core {
  uint32_t implementer;
  uint32_t part;
  std::string_view name;
};

// Source: Arm's technical reference manuals, MIDR_EL1.
constexpr Core kCores[] = {
    {0x41, 0xd03, "Cortex-A53"},  {0x41, 0xd05, "Cortex-A55"},  {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},  {0x41, 0xd09, "Cortex-A73"},  {0x41, 0xd0a, "Cortex-A75"},
    {0x41, 0xd0b, "Cortex-A76"},  {0x41, 0xd0c, "Neoverse-N1"}, {0x41, 0xd0d, "Cortex-A77"},
    {0x41, 0xd40, "Neoverse-V1"}, {0x41, 0xd41, "Cortex-A78"},  {0x41, 0xd42, "Cortex-A78AE"},
    {0x41, 0xd44, "Cortex-X1"},   {0x41, 0xd46, "Cortex-A510"}, {0x41, 0xd47, "Cortex-A710"},
    {0x41, 0xd48, "Cortex-X2"},   {0x41, 0xd49, "Neoverse-N2"}, {0x41, 0xd4d, "Cortex-A715"},
    {0x41, 0xd4e, "Cortex-X3"},   {0x41, 0xd4f, "Neoverse-V2"}, {0x41, 0xd80, "Cortex-A520"},
    {0x41, 0xd81, "Cortex-A720"}, {0x41, 0xd82, "Cortex-X4"},   {0x41, 0xd83, "Neoverse-V3AE"},
    {0x41, 0xd84, "Neoverse-V3"}, {0x41, 0xd85, "Cortex-X925"}, {0x41, 0xd87, "Cortex-A725"},
    {0x41, 0xd8e, "Neoverse-N3"}, {0x46, 0x001, "A64FX"},
};

constexpr std::pair<uint32_t, std::string_view> kVendors[] = {
    {0x41, "ARM"},    {0x42, "Broadcom"}, {0x46, "Fujitsu"}, {0x48, "HiSilicon"},
    {0x4e, "NVIDIA"}, {0x51, "Qualcomm"}, {0x61, "Apple"},   {0xc0, "Ampere"},
};

uint32_t get_implementer(uint32_t midr) {
  return midr >> 24;
}

std::string core_name(uint32_t midr) {
  for (const auto& core : kCores) {
    if (core.implementer == get_implementer(midr) && core.part == ((midr >> 4) & 0xFFF)) return std::string(core.name);
  }
  return fmt::format("MIDR {:#010x}", midr);
}

std::string vendor_name(uint32_t midr) {
  for (const auto& [implementer, name] : kVendors) {
    if (implementer == get_implementer(midr)) return std::string(name);
  }
  return fmt::format("implementer {:#04x}", get_implementer(midr));
}

// One block of /proc/cpuinfo as a MIDR_EL1 (architecture field 0xf), null where a field is missing.
std::optional<uint32_t> midr_of_block(std::string_view block) {
  uint64_t midr = 0xFU << 16;
  constexpr std::pair<std::string_view, int> kFields[] = {
      {"CPU implementer", 24}, {"CPU variant", 20}, {"CPU part", 4}, {"CPU revision", 0}};
  for (const auto& [key, shift] : kFields) {
    const auto text = find_value(block, key);
    const auto value = text ? parse_number(*text) : std::nullopt;
    if (!value || *value > 0xFFF) return std::nullopt;
    midr |= *value << shift;
  }
  return static_cast<uint32_t>(midr);
}

std::vector<uint32_t> read_cpuinfo_midrs(const HostSources& sources) {
  std::vector<uint32_t> midrs;
  auto text = read_text(sources.root, "/proc/cpuinfo").value_or("");
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto next = rest.find("\nprocessor", 1);
    if (const auto midr = midr_of_block(rest.substr(0, next))) midrs.push_back(*midr);
    if (next == std::string_view::npos) break;
    rest.remove_prefix(next);
  }
  return midrs;
}

// Reads the MIDR of every core from sysfs, or from /proc/cpuinfo if sysfs is hidden.
std::vector<uint32_t> read_midrs(const HostSources& sources, const std::vector<int64_t>& online) {
  std::vector<uint32_t> midrs;
  for (const auto cpu : online) {
    const auto line =
        read_line(sources.root, fmt::format("/sys/devices/system/cpu/cpu{}/regs/identification/midr_el1", cpu));
    const auto midr = line ? parse_number(*line) : std::nullopt;
    if (!midr || *midr > UINT32_MAX) return read_cpuinfo_midrs(sources);
    midrs.push_back(static_cast<uint32_t>(*midr));
  }
  return midrs.empty() ? read_cpuinfo_midrs(sources) : midrs;
}

template <size_t N>
void add_features(uint64_t word, const std::array<std::string_view, N>& names, Cpu& cpu) {
  for (size_t bit = 0; bit < N; ++bit) {
    if (((word >> bit) & 1U) != 0) cpu.features.emplace_back(names[bit]);
  }
}

}  // namespace

void detect_aarch64(const HostSources& sources, const std::vector<int64_t>& online, Cpu& cpu) {
  add_features(sources.hwcap, kHwcap, cpu);
  add_features(sources.hwcap2, kHwcap2, cpu);
  if (((sources.hwcap >> kSveBit) & 1U) != 0) {
    if (const auto bytes = sources.sve_bytes()) cpu.sve_bits = *bytes * 8;
  }
  const auto midrs = read_midrs(sources, online);
  for (const auto midr : midrs) {
    const auto name = core_name(midr);
    auto& classes = cpu.core_classes;
    const auto found = std::ranges::find_if(classes, [&](const auto& c) { return c.name == name; });
    if (found == classes.end()) {
      classes.push_back({name, 1});
    } else {
      ++found->count;
    }
  }
  cpu.vendor = midrs.empty() ? "unknown" : vendor_name(midrs.front());
  for (const auto& core : cpu.core_classes) cpu.name += (cpu.name.empty() ? "" : " + ") + core.name;
  if (cpu.name.empty()) cpu.name = "unknown (neither sysfs nor /proc/cpuinfo gives a MIDR)";
}

}  // namespace pbprobe::host
