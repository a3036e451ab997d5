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

// allocation: of tensor memory.
enum class SassUse : uint8_t { math, tensor, copy, allocation, trap, local, memory };

struct SassInstruction {
  std::string_view mnemonic;
  uint16_t opcode;
  SassUse use;
  uint64_t low_mask, low_value, high_mask, high_value;
  uint32_t last_sm = 0;  // 0: every one
};

[[nodiscard]] std::span<const SassInstruction> sass_instructions();

// One count for each row of sass_instructions(), and the words in all.
struct SassCounts {
  std::vector<uint64_t> rows;
  uint64_t words = 0;
  uint64_t stores = 0;  // what others see: global memory, surfaces, shared memory of another block
  uint64_t calls = 0;   // also jumps out of the function
  uint64_t exits = 0;
};

// Counts the whole words of `code` for this SM; what is left of an incomplete last word is not looked at.
[[nodiscard]] SassCounts count_sass(std::span<const uint8_t> code, uint32_t sm);

// The same of sm_50 to sm_62, whose words have 64 bits: FFMA, IDP, traps, and accesses of memory; control words are
// left out. For kernels of our own: read_census() counts none of it.
[[nodiscard]] SassCounts count_narrow_sass(std::span<const uint8_t> code);

// Whether such code does nothing: it holds no instruction but those that end, wait, branch or trap.
[[nodiscard]] bool is_idle_narrow(std::span<const uint8_t> code);

struct CubinCensus {
  int64_t kernels = 0;
  int64_t code_bytes = 0;
  int64_t stores = 0;
  int64_t words = 0;                            // instructions, padding included; 0 before sm_70
  std::map<std::string, int64_t> instructions;  // by mnemonic, SassUse::memory left out
  bool has_tensor_instructions = false;
  // Kernels that trap, and touch no global or shared memory; or take tensor memory, trap more often than ptxas guards
  // that, and multiply nothing: what is left of a product that this SM has no instruction for.
  std::vector<std::string> only_traps;
  // Kernels that nothing comes of: they write to no memory that others see, and call only functions of the driver that
  // print, assert, or manage the heap; or they never end but by a trap.
  std::vector<std::string> idle;
  std::vector<std::string> names;  // of all kernels, where they are asked for
};

// ptxas gives what takes tensor memory three traps for wrong uses of it.
inline constexpr uint64_t kAllocationTraps = 3;

inline constexpr uint32_t kFirstWideSm = 70;  // words of 128 bits from here on

[[nodiscard]] CubinCensus read_census(const Cubin& cubin, uint32_t sm, bool with_names = false);

}  // namespace pbprobe
