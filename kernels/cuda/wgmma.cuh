// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: wgmma, with both operands in shared memory in TMA's 128-byte swizzle. Family header: see tile.cuh. Source:
// PTX ISA, "wgmma", matrix descriptors and register fragments.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// --- where an operand lies ---
// The swizzle's pattern is eight rows of 128 bytes. K-major: a row holds 128 bytes of k of one line. Else a row holds
// 64 lines of one k, in boxes of 64 k.

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
// A step along k in the descriptor's unit: 32 bytes of a row, or 16 rows.
template <bool kKMajor>
constexpr unsigned long long kStepK = (kKMajor ? 32 : 16 * kRowBytes) / 16;

// --- order ---

// Before the first wgmma of a group, and after registers of the accumulators were written.
__device__ inline void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Keeps the compiler from moving accesses to the accumulators across the instructions above.
template <int kCount>
__device__ inline void fence_operands(float (&acc)[kCount]) {
#pragma unroll
  for (float& sum : acc) asm volatile("" : "+f"(sum)::"memory");
}
template <int kCount>
__device__ inline void fence_operands(int (&acc)[kCount]) {
#pragma unroll
  for (int& sum : acc) asm volatile("" : "+r"(sum)::"memory");
}

// Registers of a thread of this warpgroup from here on.
template <int kRegisters>
__device__ inline void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Returns the registers of a consumer's thread, if a producer warpgroup leaves all but `of_producer` of each thread to
// `groups` warpgroups of consumers.
__device__ constexpr int registers_of_consumer(int groups, int of_producer) {
  const int all = 65536 / (128 * (groups + 1)) / 8 * 8 * (groups + 1);
  return (all - of_producer) / groups / 8 * 8;
}

// --- one wgmma: acc[64, kColumns] += A[64, 32 bytes] · B[kColumns, 32 bytes] ---
// A thread's four accumulators of a column of eight: two neighbours of one row, two of the row eight below.

// The formatter breaks these lines differently at each run.
// clang-format off
#define PBPROBE_TEN(t) "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9,"
#define PBPROBE_LIST_4 "%0,%1,%2,%3"
#define PBPROBE_LIST_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define PBPROBE_LIST_16 PBPROBE_TEN("") "%10,%11,%12,%13,%14,%15"
#define PBPROBE_LIST_24 PBPROBE_TEN("") PBPROBE_TEN("1") "%20,%21,%22,%23"
#define PBPROBE_LIST_32 PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") "%30,%31"
#define PBPROBE_LIST_40 PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") "%30,%31,%32,%33,%34,%35,%36,%37,%38,%39"
#define PBPROBE_LIST_48 \
  PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") "%40,%41,%42,%43,%44,%45,%46,%47"
#define PBPROBE_LIST_56 \
  PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") PBPROBE_TEN("4") "%50,%51,%52,%53,%54,%55"
#define PBPROBE_LIST_64                                                                                                \
  PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") PBPROBE_TEN("4") PBPROBE_TEN("5") "%60,%61,%62,%" \
                                                                                                       "63"
#define PBPROBE_LIST_72 \
  PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") PBPROBE_TEN("4") PBPROBE_TEN("5") PBPROBE_TEN("6") \
      "%70,%71"
#define PBPROBE_LIST_80 \
  PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") PBPROBE_TEN("4") PBPROBE_TEN("5") PBPROBE_TEN("6") \
      "%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define PBPROBE_LIST_96 \
  PBPROBE_TEN("") PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") PBPROBE_TEN("4") PBPROBE_TEN("5") PBPROBE_TEN("6") \
      PBPROBE_TEN("7") PBPROBE_TEN("8") "%90,%91,%92,%93,%94,%95"
#define PBPROBE_LIST_128                                                                                \
  PBPROBE_TEN("")                                                                                       \
  PBPROBE_TEN("1") PBPROBE_TEN("2") PBPROBE_TEN("3") PBPROBE_TEN("4") PBPROBE_TEN("5") PBPROBE_TEN("6") \
      PBPROBE_TEN("7") PBPROBE_TEN("8") PBPROBE_TEN("9") PBPROBE_TEN("10")                              \
          PBPROBE_TEN("11") "%120,%121,%122,%123,%124,%125,%126,%127"
// clang-format on
#define PBPROBE_HELD_4(r, i) "+" r(acc[i]), "+" r(acc[i + 1]), "+" r(acc[i + 2]), "+" r(acc[i + 3])
#define PBPROBE_HELD_8(r, i) PBPROBE_HELD_4(r, i), PBPROBE_HELD_4(r, i + 4)
#define PBPROBE_HELD_16(r, i) PBPROBE_HELD_8(r, i), PBPROBE_HELD_8(r, i + 8)
#define PBPROBE_HELD_24(r, i) PBPROBE_HELD_16(r, i), PBPROBE_HELD_8(r, i + 16)
#define PBPROBE_HELD_32(r, i) PBPROBE_HELD_16(r, i), PBPROBE_HELD_16(r, i + 16)
#define PBPROBE_HELD_40(r, i) PBPROBE_HELD_32(r, i), PBPROBE_HELD_8(r, i + 32)
#define PBPROBE_HELD_48(r, i) PBPROBE_HELD_32(r, i), PBPROBE_HELD_16(r, i + 32)
#define PBPROBE_HELD_56(r, i) PBPROBE_HELD_48(r, i), PBPROBE_HELD_8(r, i + 48)
#define PBPROBE_HELD_64(r, i) PBPROBE_HELD_32(r, i), PBPROBE_HELD_32(r, i + 32)
#define PBPROBE_HELD_72(r, i) PBPROBE_HELD_64(r, i), PBPROBE_HELD_8(r, i + 64)
#define PBPROBE_HELD_80(r, i) PBPROBE_HELD_64(r, i), PBPROBE_HELD_16(r, i + 64)
#define PBPROBE_HELD_96(r, i) PBPROBE_HELD_64(r, i), PBPROBE_HELD_32(r, i + 64)
#define PBPROBE_HELD_128(r, i) PBPROBE_HELD_64(r, i), PBPROBE_HELD_64(r, i + 64)
template <int kColumns>
constexpr bool kHasWgmma = kColumns == 8 ||
                           (kColumns % 16 == 0 && kColumns <= 160) || kColumns == 192 || kColumns == 256;
// Columns, accumulators of a thread, the number of the operand behind them and the next, shape and types, what follows.
#define PBPROBE_WGMMA(columns, count, a, b, r, types, tail, ...)                                                      \
  if constexpr (kColumns == columns) {                                                                                \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns types " {" PBPROBE_LIST_##count "}, %" #a ", %" #b tail \
                 : PBPROBE_HELD_##count(r, 0)                                                                         \
                 : "l"(of_a), "l"(of_b)__VA_ARGS__);                                                                  \
  }
#define PBPROBE_WGMMAS(r, types, tail, ...)                   \
  static_assert(kHasWgmma<kColumns>, "add its line below");   \
  PBPROBE_WGMMA(8, 4, 4, 5, r, types, tail, __VA_ARGS__)      \
  PBPROBE_WGMMA(16, 8, 8, 9, r, types, tail, __VA_ARGS__)     \
  PBPROBE_WGMMA(32, 16, 16, 17, r, types, tail, __VA_ARGS__)  \
  PBPROBE_WGMMA(48, 24, 24, 25, r, types, tail, __VA_ARGS__)  \
  PBPROBE_WGMMA(64, 32, 32, 33, r, types, tail, __VA_ARGS__)  \
  PBPROBE_WGMMA(80, 40, 40, 41, r, types, tail, __VA_ARGS__)  \
  PBPROBE_WGMMA(96, 48, 48, 49, r, types, tail, __VA_ARGS__)  \
  PBPROBE_WGMMA(112, 56, 56, 57, r, types, tail, __VA_ARGS__) \
  PBPROBE_WGMMA(128, 64, 64, 65, r, types, tail, __VA_ARGS__) \
  PBPROBE_WGMMA(144, 72, 72, 73, r, types, tail, __VA_ARGS__) \
  PBPROBE_WGMMA(160, 80, 80, 81, r, types, tail, __VA_ARGS__) \
  PBPROBE_WGMMA(192, 96, 96, 97, r, types, tail, __VA_ARGS__) \
  PBPROBE_WGMMA(256, 128, 128, 129, r, types, tail, __VA_ARGS__)

#define PBPROBE_WGMMA_HALVES(name, types)                                                                        \
  struct name {                                                                                                  \
    using Accumulator = float;                                                                                   \
    static constexpr int kElement = 2;                                                                           \
    static constexpr bool kNarrow = false;                                                                       \
    template <int kColumns, bool kAKMajor, bool kBKMajor>                                                        \
    static __device__ void wgmma(float (&acc)[kColumns / 2], unsigned long long of_a, unsigned long long of_b) { \
      if constexpr (kAKMajor && kBKMajor) {                                                                      \
        PBPROBE_WGMMAS("f", types, ", 1, 1, 1, 0, 0;")                                                           \
      } else if constexpr (kAKMajor) {                                                                           \
        PBPROBE_WGMMAS("f", types, ", 1, 1, 1, 0, 1;")                                                           \
      } else if constexpr (kBKMajor) {                                                                           \
        PBPROBE_WGMMAS("f", types, ", 1, 1, 1, 1, 0;")                                                           \
      } else {                                                                                                   \
        PBPROBE_WGMMAS("f", types, ", 1, 1, 1, 1, 1;")                                                           \
      }                                                                                                          \
    }                                                                                                            \
  };
PBPROBE_WGMMA_HALVES(WgmmaBf16, "k16.f32.bf16.bf16")
PBPROBE_WGMMA_HALVES(WgmmaFp16, "k16.f32.f16.f16")
#undef PBPROBE_WGMMA_HALVES

struct WgmmaTf32 {
  using Accumulator = float;
  static constexpr int kElement = 4;
  static constexpr bool kNarrow = false;
  template <int kColumns, bool kAKMajor, bool kBKMajor>
  static __device__ void wgmma(float (&acc)[kColumns / 2], unsigned long long of_a, unsigned long long of_b) {
    static_assert(kAKMajor && kBKMajor, "32-bit operands are read along k only");
    PBPROBE_WGMMAS("f", "k8.f32.tf32.tf32", ", 1, 1, 1;")
  }
};
struct WgmmaInt8 {
  using Accumulator = int;
  static constexpr int kElement = 1;
  static constexpr bool kNarrow = false;
  template <int kColumns, bool kAKMajor, bool kBKMajor>
  static __device__ void wgmma(int (&acc)[kColumns / 2], unsigned long long of_a, unsigned long long of_b) {
    static_assert(kAKMajor && kBKMajor, "8-bit operands are read along k only");
    PBPROBE_WGMMAS("r", "k32.s32.s8.s8", ", 1;")
  }
};

// FP8: the tensor core adds in 14 bits or so. A sum starts anew (kAdds: false) and is added to others in FP32.
#define PBPROBE_WGMMA_FP8(name, types)                                                                           \
  struct name {                                                                                                  \
    using Accumulator = float;                                                                                   \
    static constexpr int kElement = 1;                                                                           \
    static constexpr bool kNarrow = true;                                                                        \
    template <int kColumns, bool kAKMajor, bool kBKMajor, bool kAdds = true>                                     \
    static __device__ void wgmma(float (&acc)[kColumns / 2], unsigned long long of_a, unsigned long long of_b) { \
      static_assert(kAKMajor && kBKMajor, "8-bit operands are read along k only");                               \
      if constexpr (kAdds) {                                                                                     \
        PBPROBE_WGMMAS("f", types, ", 1, 1, 1;")                                                                 \
      } else {                                                                                                   \
        PBPROBE_WGMMAS("f", types, ", 0, 1, 1;")                                                                 \
      }                                                                                                          \
    }                                                                                                            \
  };
PBPROBE_WGMMA_FP8(WgmmaE4m3, "k32.f32.e4m3.e4m3")
PBPROBE_WGMMA_FP8(WgmmaE5m2, "k32.f32.e5m2.e5m2")
#undef PBPROBE_WGMMA_FP8

// One line of 128 bytes of k, of FP8: four steps into `sum`, which starts anew.
template <class Op, int kColumns>
__device__ inline void wgmma_line(float (&sum)[kColumns / 2], unsigned long long of_a, unsigned long long of_b) {
  Op::template wgmma<kColumns, true, true, false>(sum, of_a, of_b);
#pragma unroll
  for (int step = 1; step < 4; ++step) {
    Op::template wgmma<kColumns, true, true>(sum, of_a + step * kStepK<true>, of_b + step * kStepK<true>);
  }
}
template <int kCount>
__device__ inline void add_to(float (&acc)[kCount], const float (&sum)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) acc[i] += sum[i];
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
