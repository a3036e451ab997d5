// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: products of a warpgroup (four warps), whose operands lie in shared memory with the 128-byte swizzle of the
// tensor copies. Family header: see tile.cuh. Source: PTX ISA, "wgmma", matrix descriptors and register fragments.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// --- where an operand lies ---
// A row of 128 bytes is a unit of the swizzle, eight of them its pattern. K-major: a row holds depths of one line.
// Else a row holds 64 lines of one depth, and a box of 64 depths follows the other.

constexpr int kRowBytes = 128;
constexpr int kPatternBytes = 8 * kRowBytes;
constexpr int kBoxBytes = 64 * kRowBytes;

template <bool kKMajor>
__device__ inline unsigned long long describe(unsigned address) {
  constexpr unsigned long long kSwizzle128 = 1ULL << 62;
  constexpr unsigned long long kStride = static_cast<unsigned long long>(kPatternBytes / 16) << 32;
  constexpr unsigned long long kLeading = static_cast<unsigned long long>(kKMajor ? 1 : kBoxBytes / 16) << 16;
  return kSwizzle128 | kStride | kLeading | static_cast<unsigned long long>((address & 0x3ffffU) >> 4);
}
// From one product to the next along k, in the descriptor's unit: 32 bytes of a row, or 16 rows.
template <bool kKMajor>
constexpr unsigned long long kDepthStep = (kKMajor ? 32 : 16 * kRowBytes) / 16;

// --- order ---

// Before the first product of a group, and whenever registers of the sums were touched.
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ inline void await_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Keeps the compiler from moving what it does with the sums over the instructions above.
template <int kCount>
__device__ inline void hold(float (&sums)[kCount]) {
#pragma unroll
  for (float& sum : sums) asm volatile("" : "+f"(sum)::"memory");
}
template <int kCount>
__device__ inline void hold(int (&sums)[kCount]) {
#pragma unroll
  for (int& sum : sums) asm volatile("" : "+r"(sum)::"memory");
}

// How many registers a thread of this warpgroup has from here on.
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// --- one product: sums[64, kColumns] += A[64, 32 bytes] · B[kColumns, 32 bytes] ---
// A thread's four sums of a column of eight: two neighbours of one row, two of the row eight below.

// Its formatter breaks these lines anew each time.
// clang-format off
#define PBPROBE_TEN(t) "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9,"
#define PBPROBE_LIST_4 "%0,%1,%2,%3"
#define PBPROBE_LIST_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define PBPROBE_LIST_16 PBPROBE_TEN("") "%10,%11,%12,%13,%14,%15"
#define PBPROBE_LIST_32 PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") "%30,%31"
#define PBPROBE_LIST_64                                                                                                \
  PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") PBPROBE_TEN("4") PBPROBE_TEN("5") "%60,%61,%62,%" \
                                                                                                       "63"
#define PBPROBE_LIST_96 \
  PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") PBPROBE_TEN("4") PBPROBE_TEN("5") PBPROBE_TEN("6") \
      PBPROBE_TEN("7") PBPROBE_TEN("8") "%90,%91,%92,%93,%94,%95"
#define PBPROBE_LIST_128                                                                                \
  PBPROBE_TEN("")                                                                                       \
  PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") PBPROBE_TEN("4") PBPROBE_TEN("5") PBPROBE_TEN("6") \
      PBPROBE_TEN("7") PBPROBE_TEN("8") PBPROBE_TEN("9") PBPROBE_TEN("10")                              \
          PBPROBE_TEN("11") "%120,%121,%122,%123,%124,%125,%126,%127"
// clang-format on
#define PBPROBE_HELD_4(r, i) "+" r(sums[i]), "+" r(sums[i + 1]), "+" r(sums[i + 2]), "+" r(sums[i + 3])
#define PBPROBE_HELD_8(r, i) PBPROBE_HELD_4(r, i), PBPROBE_HELD_4(r, i + 4)
#define PBPROBE_HELD_16(r, i) PBPROBE_HELD_8(r, i), PBPROBE_HELD_8(r, i + 8)
#define PBPROBE_HELD_32(r, i) PBPROBE_HELD_16(r, i), PBPROBE_HELD_16(r, i + 16)
#define PBPROBE_HELD_64(r, i) PBPROBE_HELD_32(r, i), PBPROBE_HELD_32(r, i + 32)
#define PBPROBE_HELD_96(r, i) PBPROBE_HELD_64(r, i), PBPROBE_HELD_32(r, i + 64)
#define PBPROBE_HELD_128(r, i) PBPROBE_HELD_64(r, i), PBPROBE_HELD_64(r, i + 64)
// Columns, sums of a thread, the number of the operand behind them and the next, shape and types, what follows.
#define PBPROBE_WGMMA(columns, count, a, b, r, types, tail, ...)                                                      \
  if constexpr (kColumns == columns) {                                                                                \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns types " {" PBPROBE_LIST_##count "}, %" #a ", %" #b tail \
                 : PBPROBE_HELD_##count(r, 0)                                                                         \
                 : "l"(of_a), "l"(of_b)__VA_ARGS__);                                                                  \
  }
#define PBPROBE_WGMMAS(r, types, tail, ...)                   \
  PBPROBE_WGMMA(8, 4, 4, 5, r, types, tail, __VA_ARGS__)      \
  PBPROBE_WGMMA(16, 8, 8, 9, r, types, tail, __VA_ARGS__)     \
  PBPROBE_WGMMA(32, 16, 16, 17, r, types, tail, __VA_ARGS__)  \
  PBPROBE_WGMMA(64, 32, 32, 33, r, types, tail, __VA_ARGS__)  \
  PBPROBE_WGMMA(128, 64, 64, 65, r, types, tail, __VA_ARGS__) \
  PBPROBE_WGMMA(192, 96, 96, 97, r, types, tail, __VA_ARGS__) \
  PBPROBE_WGMMA(256, 128, 128, 129, r, types, tail, __VA_ARGS__)

struct WgmmaBf16 {
  using Sum = float;
  static constexpr int kElement = 2;
  template <int kColumns, bool kAKMajor, bool kBKMajor>
  static __device__ void multiply(float (&sums)[kColumns / 2], unsigned long long of_a, unsigned long long of_b) {
    if constexpr (kAKMajor && kBKMajor) {
      PBPROBE_WGMMAS("f", "k16.f32.bf16.bf16", ", 1, 1, 1, 0, 0;")
    } else if constexpr (kAKMajor) {
      PBPROBE_WGMMAS("f", "k16.f32.bf16.bf16", ", 1, 1, 1, 0, 1;")
    } else if constexpr (kBKMajor) {
      PBPROBE_WGMMAS("f", "k16.f32.bf16.bf16", ", 1, 1, 1, 1, 0;")
    } else {
      PBPROBE_WGMMAS("f", "k16.f32.bf16.bf16", ", 1, 1, 1, 1, 1;")
    }
  }
};
struct WgmmaTf32 {
  using Sum = float;
  static constexpr int kElement = 4;
  template <int kColumns, bool kAKMajor, bool kBKMajor>
  static __device__ void multiply(float (&sums)[kColumns / 2], unsigned long long of_a, unsigned long long of_b) {
    static_assert(kAKMajor && kBKMajor, "32-bit operands are read along k alone");
    PBPROBE_WGMMAS("f", "k8.f32.tf32.tf32", ", 1, 1, 1;")
  }
};
struct WgmmaInt8 {
  using Sum = int;
  static constexpr int kElement = 1;
  template <int kColumns, bool kAKMajor, bool kBKMajor>
  static __device__ void multiply(int (&sums)[kColumns / 2], unsigned long long of_a, unsigned long long of_b) {
    static_assert(kAKMajor && kBKMajor, "8-bit operands are read along k alone");
    PBPROBE_WGMMAS("r", "k32.s32.s8.s8", ", 1;")
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
