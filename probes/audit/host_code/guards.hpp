// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Features that a function asks the CPU for, and what it calls only if the CPU has them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "probes/audit/host_code/cpu_features.hpp"

namespace pbprobe {

struct Guards {
  FeatureSet asked = 0;                    // features whose bits it tests
  bool escapes = false;                    // true: stores or passes on an answer, which others may test
  bool loose = false;                      // true: stores or passes on a decision, so that paths do not show its effect
  std::map<uint64_t, FeatureSet> ensured;  // features that the CPU has then, by address that it calls or passes on
};

// Places where a file finds what libgcc's __builtin_cpu_supports reads.
struct CpuModel {
  std::optional<uint64_t> first;                                  // __cpu_model
  std::optional<uint64_t> second;                                 // __cpu_features2
  std::function<std::optional<uint64_t>(uint64_t)> read_pointer;  // address that ld.so writes to a place
};

[[nodiscard]] Guards read_guards_x86(std::span<const uint8_t> code, uint64_t address, const CpuModel& model);

// `calls_getauxval` reports whether a call to the address enters getauxval. A resolver gets AT_HWCAP in x0.
[[nodiscard]] Guards read_guards_aarch64(std::span<const uint8_t> code, uint64_t address, bool resolver,
                                         const std::function<bool(uint64_t)>& calls_getauxval);

// asked_features.cpp. Features by the bit of a word that the CPU or the system answers with; 0: none that pbprobe
// knows.
using FeatureBits = std::array<FeatureSet, 64>;
enum class CpuidRegister : uint8_t { eax, ebx, ecx, edx };
[[nodiscard]] const FeatureBits& get_cpuid_bits(uint32_t leaf, uint32_t subleaf, CpuidRegister reg);
[[nodiscard]] const FeatureBits& get_model_bits(uint64_t word);   // word 0 is in __cpu_model, others in __cpu_features2
[[nodiscard]] const FeatureBits& get_hwcap_bits(uint64_t entry);  // AT_HWCAP, AT_HWCAP2 of the auxiliary vector

// Adds the features that each CPU with these features has.
[[nodiscard]] FeatureSet add_implied_features(uint16_t machine, FeatureSet features);

// Features that some question can ask for; pbprobe does not know the bits of others.
[[nodiscard]] FeatureSet list_askable_features(uint16_t machine);

}  // namespace pbprobe
