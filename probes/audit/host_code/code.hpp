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
  FeatureSet features = 0;  // union over all instructions
  std::vector<std::pair<FeatureSet, int64_t>>
      counts;                     // instructions that need exactly this set; omits base instructions
  int64_t unknown = 0;            // bytes that decode as no instruction
  uint64_t first_unknown = 0;     // the address of the first of them
  bool asks = false;              // reads the CPU's identity: cpuid, xgetbv, an ID register
  bool undecided_length = false;  // SVE code that may be for one vector length
  bool sse = false;  // contains moves of SSE2 in their old encoding, which a compiler with -mavx never writes
};

// Calls and addresses of a function, as far as they are known without running it.
struct CodeTrace {
  std::vector<uint64_t> calls;    // direct calls and jumps, and calls through a register that was just loaded
  std::vector<uint64_t> through;  // places in memory whose pointer it calls
  std::vector<uint64_t> taken;    // addresses that it takes
  std::vector<uint64_t> data;     // other places in memory that it names
  bool asks = false;              // reads the CPU's identity
  bool indirect = false;          // calls through an unknown pointer
  bool flushes = false;           // sets FTZ or DAZ of MXCSR, or FZ of FPCR: subnormal numbers become zero
  FeatureSet features = 0;
};

// Targets of direct calls and jumps out of the code, addresses that the code takes, and with kInPlace the 8-byte words
// that it reads or writes without taking their address.
using CodeTargets = std::vector<uint64_t>;
inline constexpr uint64_t kInPlace = uint64_t{1} << 63U;

// x86-64: computes lengths by the tables in code_x86.cpp, and asks Zydis once per form for the features of VEX, EVEX
// and escaped opcodes. Skips undecodable bytes one by one. `targets` may be null.
[[nodiscard]] CodeCount count_x86(std::span<const uint8_t> code, uint64_t address, CodeTargets* targets);

[[nodiscard]] CodeTrace trace_x86(std::span<const uint8_t> code, uint64_t address);

// aarch64: by bit masks, a word at a time.
[[nodiscard]] CodeCount count_aarch64(std::span<const uint8_t> code, uint64_t address, CodeTargets* targets);

[[nodiscard]] CodeTrace trace_aarch64(std::span<const uint8_t> code, uint64_t address);

// One x86-64 instruction. `length` is 0 if the bytes are no instruction.
struct Instruction {
  size_t length = 0;
  FeatureSet features = 0;
};
[[nodiscard]] Instruction decode_x86(std::span<const uint8_t> code);

// CPU features of one word of aarch64 code.
[[nodiscard]] FeatureSet decode_aarch64(uint32_t word);

}  // namespace pbprobe
