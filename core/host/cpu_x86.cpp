// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Detection of x86 CPUs: CPUID, and the register state that the operating system saves. Source of the bits: Intel SDM
// volume 2A, CPUID.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/host/cpu_bits.hpp"
#include "core/host/detect.hpp"
#include "core/host/files.hpp"
#include "core/strings.hpp"

namespace pbprobe::host {
namespace {

constexpr uint64_t kAvxState = 0x6;
constexpr uint64_t kAvx512State = 0xE6;
constexpr uint64_t kTileState = 0x60000;
constexpr int kOsxsaveBit = 27;  // leaf 1 ECX
constexpr int kTileBit = 24;     // leaf 7 EDX
constexpr int kHybridBit = 15;   // leaf 7 EDX
constexpr uint32_t kHybridLeaf = 0x1A;

bool test_bit(uint32_t value, int bit) {
  return ((value >> bit) & 1U) != 0;
}

// CPUID with the limits that it states itself: a leaf beyond them would answer another leaf's values.
class Cpuid {
 public:
  explicit Cpuid(const HostSources& sources) : sources_(sources) {
    basic_ = sources.cpuid(0, 0).eax;
    extended_ = sources.cpuid(0x80000000, 0).eax;
    subleaves_of_7_ = basic_ >= 7 ? sources.cpuid(7, 0).eax : 0;
  }

  [[nodiscard]] CpuidRegisters operator()(uint32_t leaf, uint32_t subleaf = 0) const {
    const bool is_extended = leaf >= 0x80000000;
    if (leaf > (is_extended ? extended_ : basic_) || (leaf == 7 && subleaf > subleaves_of_7_)) return {};
    return sources_.cpuid(leaf, subleaf);
  }

 private:
  const HostSources& sources_;
  uint32_t basic_ = 0;
  uint32_t extended_ = 0;
  uint32_t subleaves_of_7_ = 0;
};

uint32_t pick(const CpuidRegisters& registers, CpuidRegister reg) {
  switch (reg) {
    case CpuidRegister::eax: return registers.eax;
    case CpuidRegister::ebx: return registers.ebx;
    case CpuidRegister::ecx: return registers.ecx;
    case CpuidRegister::edx: return registers.edx;
  }
  return 0;
}

// Register state that the operating system saves; instructions of other states are unusable.
class SavedRegisters {
 public:
  SavedRegisters(const HostSources& sources, const Cpuid& cpuid) {
    if (test_bit(cpuid(1).ecx, kOsxsaveBit)) xcr0_ = sources.xcr0();
    if ((xcr0_ & kTileState) == kTileState && test_bit(cpuid(7).edx, kTileBit)) tiles_ = sources.amx_permission();
  }

  [[nodiscard]] bool operator()(SavedState state) const {
    switch (state) {
      case SavedState::none: return true;
      case SavedState::avx: return (xcr0_ & kAvxState) == kAvxState;
      case SavedState::avx512: return (xcr0_ & kAvx512State) == kAvx512State;
      case SavedState::amx: return tiles_;
    }
    return false;
  }

 private:
  uint64_t xcr0_ = 0;
  bool tiles_ = false;
};

void append(std::string& text, uint32_t value) {
  std::array<char, 4> bytes{};
  std::memcpy(bytes.data(), &value, bytes.size());
  text.append(bytes.data(), bytes.size());
}

std::string read_vendor(const Cpuid& cpuid) {
  const auto leaf = cpuid(0);
  std::string vendor;
  append(vendor, leaf.ebx);
  append(vendor, leaf.edx);
  append(vendor, leaf.ecx);
  return vendor;
}

std::string read_brand(const Cpuid& cpuid) {
  std::string brand;
  for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const auto registers = cpuid(leaf);
    for (const auto value : {registers.eax, registers.ebx, registers.ecx, registers.edx}) append(brand, value);
  }
  brand.resize(std::min(brand.size(), brand.find('\0')));
  return std::string(trim(brand));
}

// Returns "family 6 model 143 stepping 8", the form in which Intel and AMD list processors.
std::string format_signature(uint32_t eax) {
  uint32_t family = (eax >> 8) & 0xF;
  uint32_t model = (eax >> 4) & 0xF;
  if (family == 0x6 || family == 0xF) model |= ((eax >> 16) & 0xF) << 4;
  if (family == 0xF) family += (eax >> 20) & 0xFF;
  return fmt::format("family {} model {} stepping {}", family, model, eax & 0xF);
}

// P and E cores by CPUID 1AH, of the CPUs that this process may use.
std::vector<CoreClass> hybrid_classes(const HostSources& sources) {
  std::vector<CoreClass> classes;
  for (const auto leaf : sources.hybrid_leaves()) {
    const uint32_t type = leaf >> 24;
    const std::string name = type == 0x40 ? "P" : type == 0x20 ? "E" : fmt::format("core type {:#x}", type);
    const auto found = std::ranges::find_if(classes, [&](const auto& c) { return c.name == name; });
    if (found == classes.end()) {
      classes.push_back({name, 1});
    } else {
      ++found->count;
    }
  }
  return classes;
}

}  // namespace

void detect_x86(const HostSources& sources, Cpu& cpu) {
  const Cpuid cpuid(sources);
  const SavedRegisters saved(sources, cpuid);
  cpu.vendor = read_vendor(cpuid);
  cpu.name = read_brand(cpuid);
  const auto signature = format_signature(cpuid(1).eax);
  if (cpu.name.empty()) cpu.name = signature;
  for (const auto& row : kCpuidBits) {
    if (saved(row.state) && test_bit(pick(cpuid(row.leaf, row.subleaf), row.reg), row.bit))
      cpu.features.emplace_back(row.name);
  }
  const bool hybrid = test_bit(cpuid(7).edx, kHybridBit) && cpuid(kHybridLeaf).eax != 0;
  if (hybrid) cpu.core_classes = hybrid_classes(sources);
  if (cpu.core_classes.empty()) cpu.core_classes.push_back({signature, cpu.logical_cpus});
}

}  // namespace pbprobe::host
