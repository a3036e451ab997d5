// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CPU features that machine code needs, instruction by instruction. The code is never executed.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "probes/audit/host_code/cpu_features.hpp"

namespace pbprobe {

struct CodeCount {
  int64_t instructions = 0;
  FeatureSet features = 0;  // of all of them together
  std::vector<std::pair<FeatureSet, int64_t>>
      counts;                  // instructions that need exactly this set; base ones are not here
  int64_t unknown = 0;         // bytes that decode as no instruction
  uint64_t first_unknown = 0;  // the address of the first of them
  bool asks = false;           // it asks the CPU what it is: cpuid, xgetbv, an ID register
  bool sse = false;            // contains moves of SSE2 in their old encoding, which a compiler with -mavx never writes
};

// How a function goes on elsewhere, as far as can be known without running it.
struct CodeTrace {
  std::vector<uint64_t> calls;    // direct calls and jumps, and calls through a register that was just loaded
  std::vector<uint64_t> through;  // places in memory whose pointer it calls
  std::vector<uint64_t> taken;    // addresses that it takes
  std::vector<uint64_t> data;     // other places in memory that it names
  bool asks = false;              // it asks the CPU what it is
  bool indirect = false;          // it calls through what cannot be known
  bool flushes = false;           // it sets MXCSR's FTZ or DAZ, or FPCR's FZ: subnormal numbers become zero
  FeatureSet features = 0;
};

// Where code leads: targets of direct calls and jumps out of it, and of addresses that it takes.
using CodeTargets = std::vector<uint64_t>;

// x86-64: lengths by our own tables, and what each VEX, EVEX or escaped opcode needs by Zydis, asked once per form.
// What decodes as no instruction is passed over byte by byte. `targets` may be null.
[[nodiscard]] CodeCount count_x86(std::span<const uint8_t> code, uint64_t address, CodeTargets* targets);

[[nodiscard]] CodeTrace trace_x86(std::span<const uint8_t> code, uint64_t address);

// aarch64: by bit masks, a word at a time.
[[nodiscard]] CodeCount count_aarch64(std::span<const uint8_t> code, uint64_t address, CodeTargets* targets);

[[nodiscard]] CodeTrace trace_aarch64(std::span<const uint8_t> code, uint64_t address);

// One instruction of x86-64: its length, 0 where it is none, and what it needs. For tests and for those who ask little.
struct Instruction {
  size_t length = 0;
  FeatureSet features = 0;
};
[[nodiscard]] Instruction decode_x86(std::span<const uint8_t> code);

// CPU features of one word of aarch64 code.
[[nodiscard]] FeatureSet decode_aarch64(uint32_t word);

}  // namespace pbprobe
