// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Register-only loops: how fast an instruction path issues, and the clock. A family header: see gemm_panels.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kPeakChain = 96;  // instructions of one iteration, so that the loop's own vanish
constexpr int kClockLinks = 32;

// kPeakChain instructions an iteration on I::kPeakAccumulators independent accumulators, on words that the compiler
// does not know.
template <class I>
uint64_t run_peak(int64_t iterations, const uint32_t (&some)[16]) {
  uint32_t words[I::kLanes];
  constexpr int kPeakAccumulators = I::kPeakAccumulators;
  typename I::Words operands[3];
  typename I::Accumulators acc[kPeakAccumulators];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < I::kLanes; ++j) words[j] = some[(i * 5 + j) % 16];
    operands[i] = I::load_words(words);
  }
  for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = I::zero_accumulators();
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (int r = 0; r < kPeakChain / kPeakAccumulators; ++r) {
#pragma GCC unroll 32
      for (int i = 0; i < kPeakAccumulators; ++i) {
        // Opaque to the compiler, which otherwise computes equal products once.
        asm volatile("" : "+x"(operands[i % 2]));
        acc[i] = I::multiply_add(operands[i % 2], operands[2], acc[i]);
      }
    }
  }
  uint64_t result = 0;
  for (int i = 0; i < kPeakAccumulators; ++i) {
    typename I::Accumulator lanes[I::kLanes];
    I::store_accumulators(lanes, acc[i]);
    for (int l = 0; l < I::kLanes; ++l) {
      uint32_t bits;
      __builtin_memcpy(&bits, &lanes[l], sizeof bits);
      result = result * 31 + bits;
    }
  }
  return result;
}

// Floats between 1 and 2 of either sign; pairs of BF16 likewise; bytes.
constexpr uint32_t kSomeFloats[16] = {0x3f8147ae, 0xbf9d70a4, 0x3fa28f5c, 0x3fe3d70a, 0xbfb33333, 0x3fc7ae14,
                                      0xbff0a3d7, 0x3f8ccccd, 0x3fd1eb85, 0xbfa66666, 0x3fb851ec, 0xbfca3d71,
                                      0x3f947ae1, 0xbf8a3d71, 0x3fee147b, 0xbfdc28f6};
[[gnu::unused]] constexpr uint32_t kSomePairs[16] = {
    0x3f81bf9d, 0xbf9d3fa2, 0x3fa23fe3, 0x3fe3bfb3, 0xbfb33fc7, 0x3fc7bff0, 0xbff03f8c, 0x3f8c3fd1,
    0x3fd1bfa6, 0xbfa63fb8, 0x3fb8bfca, 0xbfca3f94, 0x3f94bf8a, 0xbf8a3fee, 0x3feebfdc, 0xbfdc3f81};
[[gnu::unused]] constexpr uint32_t kSomeBytes[16] = {
    0x1c2b3a49, 0x8f7e6d5c, 0x22446688, 0x13579bdf, 0xfedcba98, 0x0badcafe, 0x5ca1ab1e, 0x7e57ab1e,
    0xc0ffee11, 0xdeadbeef, 0x31415926, 0x27182818, 0x16180339, 0x14142135, 0x17320508, 0x22360679};
// Two numbers of 16 bits that came from bytes.
[[gnu::unused]] constexpr uint32_t kSomeShorts[16] = {
    0x0012ff91, 0xffc30044, 0x00450056, 0xff87ffe1, 0x001f0073, 0xffa90008, 0x0033ffbb, 0x007fff80,
    0xffd10029, 0x0061ff9c, 0x0005003e, 0xfff2ffb7, 0x0048001b, 0xff95006d, 0x0027ffe8, 0xffcc0050};

// A dependent chain of kClockLinks multiplications: three cycles each on every x86-64 core since 2008.
// A chain of additions would not do: cores of 2022 and later remove those.
[[gnu::unused]] uint64_t run_clock(int64_t iterations) {
  uint64_t value = static_cast<uint64_t>(iterations) | 1U;
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 32
    for (int i = 0; i < kClockLinks; ++i) asm volatile("imul %0, %0" : "+r"(value) : : "cc");
  }
  return value;
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
