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
#include <vector>

#include "probes/audit/host_code/cpu_features.hpp"
#include "probes/audit/host_code/functions.hpp"

namespace pbprobe {

// Features by the bit of a word that the CPU or the system answers with; 0: none that pbprobe knows.
using FeatureBits = std::array<FeatureSet, 64>;

// Answer that a function stores at a known place: bits of a word, or a number that is zero or not.
struct StoredAnswer {
  const FeatureBits* bits = nullptr;  // nullptr if it is a number
  uint64_t mask = 0;
  int shift = 0;
  FeatureSet if_true = 0;
  FeatureSet if_false = 0;
  uint64_t bytes = 0;
  bool known = true;  // false: other values are stored there too
  bool operator==(const StoredAnswer&) const = default;
};

// Questions of a function to the CPU, and the features that are sure when its calls run.
struct Guards {
  FeatureSet asked = 0;                    // features whose bits it tests
  bool escapes = false;                    // true: stores or passes on an answer, which others may test
  bool loose = false;                      // true: stores or passes on a decision, so that paths do not show its effect
  std::map<uint64_t, FeatureSet> ensured;  // features that the CPU has then, by address that it calls, names or uses
  std::map<uint64_t, StoredAnswer> stored;  // keyed by place
  bool keeps_answer = false;                // true: stores a whole answer, of which others may test any bit
  bool reads_answer = false;                // true: tests answers that others stored, as read_answer() gives them
};

// Contiguous code of a function. Compilers place unlikely code in a second part.
struct CodePart {
  std::span<const uint8_t> code;
  uint64_t address = 0;
  std::vector<CallSite> sites;  // sorted
};

inline constexpr uint16_t kCallerSaved = 0x0FC7;  // rax, rcx, rdx, rsi, rdi, r8 to r11, by their numbers

// Returns the number of 1, 2, 4 or 8 bytes with a sign that is constant at a place.
using ReadMemory = std::function<std::optional<uint64_t>(uint64_t place, uint64_t bytes)>;

// Facts outside the code of a function. A function that is empty knows nothing.
struct CodeModel {
  std::function<std::optional<uint64_t>(uint64_t)> read_pointer;  // address that ld.so writes to a place
  ReadMemory read_memory;
  std::function<bool(uint64_t)> never_returns;  // true if a call of the address never returns
};

struct CpuModel : CodeModel {
  std::optional<uint64_t> first;                       // __cpu_model of libgcc, which __builtin_cpu_supports() reads
  std::optional<uint64_t> second;                      // __cpu_features2 of libgcc
  std::function<uint16_t(uint64_t)> find_overwritten;  // registers that a call of the address may overwrite
};

// Requires parts with at least one instruction; the function starts at the first.
[[nodiscard]] Guards read_guards_x86(std::span<const CodePart> parts, const CpuModel& model);

// Code that a function runs beside its own.
struct CallEffects {
  uint16_t overwritten = 0;     // registers that its own instructions write, by their numbers
  std::vector<uint64_t> calls;  // targets of direct calls, and of jumps out of the code
  bool unknown = false;         // calls through pointers, or contains bytes that are no instruction
};
[[nodiscard]] CallEffects read_call_effects(std::span<const uint8_t> code, uint64_t address);

struct HwcapSources : CodeModel {
  std::function<bool(uint64_t)> calls_getauxval;                     // true if a call to the address enters getauxval
  std::function<std::optional<StoredAnswer>(uint64_t)> read_answer;  // answer that code stores at a place
};

// A resolver gets AT_HWCAP in x0.
[[nodiscard]] Guards read_guards_aarch64(std::span<const CodePart> parts, bool resolver, const HwcapSources& sources);

// asked_features.cpp.
enum class CpuidRegister : uint8_t { eax, ebx, ecx, edx };
[[nodiscard]] const FeatureBits& get_cpuid_bits(uint32_t leaf, uint32_t subleaf, CpuidRegister reg);
[[nodiscard]] const FeatureBits& get_model_bits(uint64_t word);   // word 0 is in __cpu_model, others in __cpu_features2
[[nodiscard]] const FeatureBits& get_hwcap_bits(uint64_t entry);  // AT_HWCAP, AT_HWCAP2 of the auxiliary vector

// Adds the features that each CPU with these features has.
[[nodiscard]] FeatureSet add_implied_features(uint16_t machine, FeatureSet features);

// Features that some question can ask for; pbprobe does not know the bits of others.
[[nodiscard]] FeatureSet list_askable_features(uint16_t machine);

}  // namespace pbprobe
