// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Register-only loops: how fast an instruction path issues, and the clock. A family header: see chunk_panels.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// More accumulators than latency (4) times units (6 in the widest cores of 2025), in 32 registers with the operands.
constexpr int kPeakAccumulators = 24;
constexpr int kPeakChain = 96;  // instructions of one iteration on 128 bits, so that the loop's own vanish
constexpr int kClockLinks = 32;

// Words that the compiler does not know.
[[gnu::unused]] inline uint32_t some_bytes(uint32_t& state) {
  state = state * 1664525U + 1013904223U;
  return state ^ state >> 16;
}
// Floats between 1 and 2 of either sign; pairs of BF16 likewise.
[[gnu::unused]] inline uint32_t some_floats(uint32_t& state) {
  return (some_bytes(state) & 0x807fffffU) | 0x3f800000U;
}
[[gnu::unused]] inline uint32_t some_pairs(uint32_t& state) {
  return (some_bytes(state) & 0x807f807fU) | 0x3f803f80U;
}

// Folds all lanes into `result`, so that the result depends on every sum.
[[gnu::unused]] inline uint64_t mixed(uint64_t result, const void* lanes) {
  uint32_t words[4];
  __builtin_memcpy(words, lanes, sizeof words);
  for (const uint32_t word : words) result = result * 31 + word;
  return result;
}

#ifdef __ARM_FEATURE_SVE
// Runs the loop on vectors of any length. An iteration is the work of one on 128-bit vectors, so that longer vectors
// need fewer rounds.
template <class I>
[[gnu::unused]] uint64_t run_peak_sve(int64_t iterations, uint32_t (*some)(uint32_t&)) {
  auto state = static_cast<uint32_t>(iterations);
  uint32_t words[3][64];  // the longest vectors
  for (auto& operand : words) {
    for (auto& word : operand) word = some(state);
  }
  typename I::Vector x, y, z;
  asm volatile("" : : : "memory");
  load_vector<0>(x, reinterpret_cast<const char*>(words[0]));
  load_vector<0>(y, reinterpret_cast<const char*>(words[1]));
  load_vector<0>(z, reinterpret_cast<const char*>(words[2]));
#define PBPROBE_4(DO, i) DO(i, 0) DO(i, 1) DO(i, 2) DO(i, 3)
#define PBPROBE_24(DO) \
  PBPROBE_4(DO, 0) PBPROBE_4(DO, 1) PBPROBE_4(DO, 2) PBPROBE_4(DO, 3) PBPROBE_4(DO, 4) PBPROBE_4(DO, 5)
#define PBPROBE_ACCUMULATOR(i, j) typename I::Accumulators s##i##j = I::zero_accumulators();
#define PBPROBE_ADD(i, j) I::multiply_add(s##i##j, j % 2 == 0 ? x : y, z);
#define PBPROBE_MIX(i, j)                                         \
  I::store_accumulators(svptrue_pat_b32(SV_VL4), lanes, s##i##j); \
  result = mixed(result, lanes);
  PBPROBE_24(PBPROBE_ACCUMULATOR)
#pragma GCC unroll 1
  for (int64_t left = (iterations + I::segments() - 1) / I::segments(); left > 0; --left) {
    PBPROBE_24(PBPROBE_ADD) PBPROBE_24(PBPROBE_ADD) PBPROBE_24(PBPROBE_ADD) PBPROBE_24(PBPROBE_ADD)
  }
  uint64_t result = 0;
  typename I::Accumulator lanes[4];
  PBPROBE_24(PBPROBE_MIX)
#undef PBPROBE_MIX
#undef PBPROBE_ADD
#undef PBPROBE_ACCUMULATOR
#undef PBPROBE_24
#undef PBPROBE_4
  return result;
}
#endif

// kPeakChain instructions an iteration on kPeakAccumulators independent accumulators.
template <class I>
[[gnu::unused]] uint64_t run_peak_neon(int64_t iterations, uint32_t (*some)(uint32_t&)) {
  auto state = static_cast<uint32_t>(iterations);
  typename I::Chunk operands[3];
  typename I::Accumulators acc[kPeakAccumulators];
  for (auto& operand : operands) {
    alignas(16) uint32_t words[4];
    for (auto& word : words) word = some(state);
    operand = I::load(reinterpret_cast<const char*>(words));
  }
#pragma GCC unroll 24
  for (auto& sum : acc) sum = typename I::Accumulators{};
#pragma GCC unroll 1
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 4
    for (int r = 0; r < kPeakChain / kPeakAccumulators; ++r) {
#pragma GCC unroll 24
      for (int i = 0; i < kPeakAccumulators; ++i) I::multiply_add(acc[i], operands[i % 2], operands[2]);
    }
  }
  uint64_t result = 0;
#pragma GCC unroll 24
  for (auto& sum : acc) {
    typename I::Accumulator lanes[4];
    I::store_accumulators(lanes, sum);
    result = mixed(result, lanes);
  }
  return result;
}

// A dependent chain of kClockLinks operations on two registers: one cycle each on every core of this architecture.
// Not multiplications, which take two to four.
[[gnu::unused]] uint64_t run_clock(int64_t iterations) {
  uint64_t value = static_cast<uint64_t>(iterations) | 1U;
  const uint64_t other = value * 0x9e3779b97f4a7c15U;
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (int i = 0; i < kClockLinks / 2; ++i)
      asm volatile("eor %0, %0, %1\n\tadd %0, %0, %1" : "+r"(value) : "r"(other));
  }
  return value;
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
