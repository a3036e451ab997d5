// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Census of GPU machine code (SASS): sm_70 and later have words of 128 bits, whose opcode is read by masks. Nothing is
// disassembled beyond that, so counting runs at the speed of memory.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/containers/cubin.hpp"

namespace pbprobe {

// allocation: instructions that allocate tensor memory.
enum class SassUse : uint8_t { math, tensor, copy, allocation, trap, local, memory };

struct SassInstruction {
  std::string_view mnemonic;
  uint16_t opcode;
  SassUse use;
  uint64_t low_mask, low_value, high_mask, high_value;
  uint32_t last_sm = 0;  // 0: no last SM
};

[[nodiscard]] std::span<const SassInstruction> sass_instructions();

// Counts by row of sass_instructions(), and the total of words.
struct SassCounts {
  std::vector<uint64_t> rows;
  uint64_t words = 0;
  uint64_t stores = 0;  // writes to global memory, surfaces, or shared memory of another block
  uint64_t calls = 0;   // also jumps out of the function
  uint64_t exits = 0;
};

// Counts the whole words of `code` for this SM; what is left of an incomplete last word is not looked at.
[[nodiscard]] SassCounts count_sass(std::span<const uint8_t> code, uint32_t sm);

struct CubinCensus {
  int64_t kernels = 0;
  int64_t code_bytes = 0;
  int64_t stores = 0;
  int64_t words = 0;                            // instructions, padding included; 0 before sm_70
  std::map<std::string, int64_t> instructions;  // counts by mnemonic, without SassUse::memory
  bool has_tensor_instructions = false;
  // Kernels that trap and do not work: they access no global or shared memory; or they allocate tensor memory, multiply
  // nothing, and have more traps than ptxas adds. Such a stub replaces a product that this SM lacks.
  std::vector<std::string> only_traps;
  // Kernels without an effect. They write no memory that the caller can read, and call only driver functions that
  // print, assert, or manage the heap; or each path ends in a trap.
  std::vector<std::string> idle;
  std::vector<std::string> names;  // all kernels; empty unless requested
};

// Traps that ptxas adds against wrong uses of tensor memory allocation.
inline constexpr uint64_t kAllocationTraps = 3;

inline constexpr uint32_t kFirstWideSm = 70;  // words of 128 bits from here on

[[nodiscard]] CubinCensus read_census(const Cubin& cubin, uint32_t sm, bool with_names = false);

}  // namespace pbprobe
