// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Parts that the tiled families share: the order of blocks, operands on their way to shared memory, C on its way out. A
// family header: the target's file defines PBPROBE_TARGET, and PBPROBE_STAGED if the SM has no cp.async. Source: PTX
// ISA, cp.async; CUDA C++ Programming Guide, shared memory and its banks.
#pragma once

#include "kernels/cuda/call.hpp"

// Qualifier of a kernel's struct parameter: __grid_constant__ needs SM 7.0.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#define PBPROBE_PARAMETER const
#else
#define PBPROBE_PARAMETER const __grid_constant__
#endif

namespace pbprobe::PBPROBE_TARGET {
namespace {

// The first row and column of this block. Blocks are ordered by raster groups of 8 rows of tiles, so that those that
// run at once share rows and columns in the L2 cache. Computed again after the main loop: kept in registers it would
// spill.
template <int kRows, int kColumns>
__device__ inline int2 tile_corner(const GpuCall& call) {
  constexpr int kRasterGroup = 8;
  const int down = (call.m + kRows - 1) / kRows;
  const int across = (call.n + kColumns - 1) / kColumns;
  int block;
  asm volatile("mov.u32 %0, %ctaid.x;" : "=r"(block));
  const int group = block / (kRasterGroup * across);
  const int height = min(kRasterGroup, down - group * kRasterGroup);
  const int inside = block - group * kRasterGroup * across;
  return make_int2((group * kRasterGroup + inside % height) * kRows, inside / height * kColumns);
}

// Returns the first k and the length of this block's part of k.
__device__ inline int2 k_range(const GpuCall& call) {
  const int first = static_cast<int>(blockIdx.z) * call.part;
  return make_int2(first, min(call.part, call.k - first));
}

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Compile-time arguments of a lambda, because device code has no standard library here.
struct true_type {
  __device__ constexpr operator bool() const { return true; }
};
struct false_type {
  __device__ constexpr operator bool() const { return false; }
};

// Makes ptxas keep a number that depends only on the thread: short of registers, it would compute it again in the main
// loop, by more instructions than there are MMAs. Every lane of the warp must call it.
__device__ inline void keep(unsigned& number) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
  asm volatile("shfl.sync.bfly.b32 %0, %0, 0, 31, 0xffffffff;" : "+r"(number));
#endif
}

__device__ inline unsigned long long wall_clock() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

// --- operands to shared memory ---

// Copies 16 bytes; writes zeros unless `there`.
__device__ inline void copy_async(unsigned to, const char* from, bool there) {
#ifndef PBPROBE_STAGED
  asm volatile(
      "{\n .reg .pred absent;\n setp.eq.u32 absent, %2, 0;\n"
      " cp.async.cg.shared.global [%0], [%1], 16, absent;\n}" ::"r"(to),
      "l"(from), "r"(static_cast<unsigned>(there))
      : "memory");
#endif
}
// Copies 16 bytes if `there`; else does nothing.
__device__ inline void copy_if_async(unsigned to, const char* from, bool there) {
#ifndef PBPROBE_STAGED
  asm volatile(
      "{\n .reg .pred there;\n setp.ne.u32 there, %2, 0;\n"
      " @there cp.async.cg.shared.global [%0], [%1], 16;\n}" ::"r"(to),
      "l"(from), "r"(static_cast<unsigned>(there))
      : "memory");
#endif
}
// Copies 16 bytes, of which the first `bytes` exist; the others become zeros.
__device__ inline void copy_part_async(unsigned to, const char* from, int bytes) {
#ifndef PBPROBE_STAGED
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#endif
}
__device__ inline void end_copies() {
#ifndef PBPROBE_STAGED
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most kPending groups of this thread are under way.
template <int kPending>
__device__ inline void await_copies() {
#ifndef PBPROBE_STAGED
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

__device__ inline void store_shared(unsigned to, uint4 value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

// Reads up to 16 bytes at any alignment by loads of single elements; the rest is zero.
template <int kElement>
__device__ inline uint4 read_elements(const char* from, int bytes) {
  unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < 16 / kElement; ++i) {
    if (i * kElement >= bytes) break;
    unsigned value;
    if constexpr (kElement == 1) value = *reinterpret_cast<const unsigned char*>(from + i);
    if constexpr (kElement == 2) value = *reinterpret_cast<const unsigned short*>(from + 2 * i);
    if constexpr (kElement == 4) value = *reinterpret_cast<const unsigned*>(from + 4 * i);
    words[i * kElement / 4] |= value << i * kElement % 4 * 8;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Permutation of a line's 16-byte chunks that spreads the reads of a warp over the banks.
enum class Swizzle {
  matrices,  // ldmatrix: eight lines in a row
  fours,     // four lines at a distance of four, and eight in a row
};

template <Swizzle kSwizzle, int kLineBytes>
__device__ constexpr int swizzle_of(int line) {
  if (kSwizzle == Swizzle::fours) return (line >> 1 ^ line >> 3) & 3;
  return kLineBytes >= 128 ? line & 7 : line >> 1 & 3;
}

// MN-major: where the lines of one k are contiguous.
template <int kRowBytes>
__device__ constexpr int transposed_swizzle(int k) {
  return k & (kRowBytes >= 128 ? 7 : kRowBytes / 16 - 1);
}

// One operand: kLines rows of A or columns of B × kTileK a stage. Shared memory has the layout of global memory:
// K-major, or the lines of one k contiguous.
template <int kLines, int kTileK, int kElement, int kThreads, bool kKMajor, Swizzle kSwizzle>
struct Operand {
  static constexpr int kElementBytes = kElement;
  static constexpr int kStageBytes = kLines * kTileK * kElement;
  static constexpr int kRowBytes = (kKMajor ? kTileK : kLines) * kElement;
  static constexpr int kChunks = kRowBytes / 16;              // chunks of a stored row
  static constexpr int kStep = kThreads / kChunks;            // rows between two chunks of a thread
  static constexpr int kCount = kStageBytes / 16 / kThreads;  // chunks of a thread
  static_assert(kStep % (kSwizzle == Swizzle::matrices ? 8
                         : kKMajor                     ? 32
                                                       : 1) ==
                    0,
                "a thread's chunks keep their swizzle");
  static_assert(kCount > 0 && kCount * kThreads * 16 == kStageBytes, "the chunks divide among the threads");

  const char* next;  // this thread's first chunk of the coming stage
  long long stride;  // bytes to its next one
  int rows_left;     // stored rows from its first chunk on
  int bytes_left;    // bytes of a stored row from its chunk on
  unsigned offset;   // bytes from a stage to its first chunk

  // `lines`: lines of the whole operand; k: range.y elements from range.x on.
  __device__ Operand(const void* operand, long long leading, int first_line, int lines, int2 range) {
    const int thread = static_cast<int>(threadIdx.x);
    const int chunk = thread % kChunks;
    const int row = thread / kChunks;
    const long long first_row = kKMajor ? first_line : range.x;
    const long long first_column = kKMajor ? range.x : first_line;
    next = static_cast<const char*>(operand) + ((first_row + row) * leading + first_column) * kElement + chunk * 16;
    stride = kStep * leading * kElement;
    rows_left = (kKMajor ? lines - first_line : range.y) - row;
    bytes_left = (kKMajor ? range.y : lines - first_line) * kElement - chunk * 16;
    const int swizzled = kKMajor                         ? swizzle_of<kSwizzle, kRowBytes>(row)
                         : kSwizzle == Swizzle::matrices ? transposed_swizzle<kRowBytes>(row)
                                                         : 0;
    offset = static_cast<unsigned>(row * kRowBytes + ((chunk ^ swizzled) << 4));
  }

  __device__ int bytes_of(int i) const { return i * kStep < rows_left ? min(max(bytes_left, 0), 16) : 0; }
  // Reports whether each chunk of a stage is either whole or outside the operand.
  __device__ static bool whole_chunks(int aligned, int first_line, int lines) {
    return aligned && (kKMajor || first_line + kLines <= lines || lines % (16 / kElement) == 0);
  }
  // Returns one bit for each chunk of this thread that exists in a whole stage.
  __device__ unsigned there() const {
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) bits |= (kKMajor ? i * kStep < rows_left : bytes_left > 0) ? 1U << i : 0U;
    return bits;
  }
  __device__ static long long stage_bytes(long long leading) {
    return kKMajor ? kTileK * kElement : kTileK * leading * kElement;
  }
  // Sends stage `stage`, counted from the first, on its way.
  __device__ void fetch_stage(unsigned to, int stage, int aligned, long long leading) {
    next += stage * stage_bytes(leading);
    (kKMajor ? bytes_left : rows_left) -= stage * kTileK * (kKMajor ? kElement : 1);
    fetch(to, aligned, leading);
  }
  __device__ void advance(long long leading) {
    next += stage_bytes(leading);
    if (kKMajor) {
      bytes_left -= kTileK * kElement;
    } else {
      rows_left -= kTileK;
    }
  }
  // Sends the coming stage on its way to `to` (an address in shared memory).
  __device__ void fetch(unsigned to, int aligned, long long leading) {
    if (aligned && (bytes_left >= 16 || bytes_left <= 0)) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        copy_async(to + offset + i * kStep * kRowBytes, next + i * stride, i * kStep < rows_left && bytes_left > 0);
      }
    } else if (aligned) {
#pragma unroll 1
      for (int i = 0; i < kCount; ++i) {
        copy_part_async(to + offset + i * kStep * kRowBytes, next + i * stride, bytes_of(i));
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < kCount; ++i) {
        store_shared(to + offset + i * kStep * kRowBytes, read_elements<kElement>(next + i * stride, bytes_of(i)));
      }
    }
    advance(leading);
  }

  // read() and store() fetch in two steps, for an SM without cp.async.
  __device__ void read(uint4 (&held)[kCount], int aligned, long long leading) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int bytes = bytes_of(i);
      const char* from = next + i * stride;
      held[i] = aligned && bytes == 16 ? *reinterpret_cast<const uint4*>(from) : read_elements<kElement>(from, bytes);
    }
    advance(leading);
  }
  __device__ void store(unsigned to, const uint4 (&held)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) store_shared(to + offset + i * kStep * kRowBytes, held[i]);
  }
};

// A thread's chunks of both operands in whole stages, one after the other. Lines outside the operand leave old data in
// shared memory: it reaches only accumulators of rows and columns that no thread writes.
template <class A, class B>
struct WholeCopies {
  static constexpr int kCount = A::kCount + B::kCount;
  static_assert(kCount <= 32, "a bit for each chunk");
  const char* next_a;
  const char* next_b;
  unsigned to_a, to_b;
  unsigned there;
  bool whole;

  __device__ WholeCopies(const GpuCall& call, int2 first, int2 range) {
    const A a(call.a, call.lda, first.x, call.m, range);
    const B b(call.b, call.ldb, first.y, call.n, range);
    next_a = a.next;
    next_b = b.next;
    to_a = a.offset;
    to_b = b.offset;
    there = a.there() | b.there() << A::kCount;
    whole = A::whole_chunks(call.a_aligned, first.x, call.m) && B::whole_chunks(call.b_aligned, first.y, call.n);
    keep(to_a);
    keep(to_b);
    keep(there);
  }
  // Chunks `first` to `end` - 1 of the coming stage: constants, once the loops are unrolled.
  __device__ void issue(const GpuCall& call, unsigned slot, int offset_b, int first, int end) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < first || i >= end) continue;
      if (i < A::kCount) {
        copy_if_async(slot + to_a + i * A::kStep * A::kRowBytes, next_a + i * (A::kStep * A::kElementBytes * call.lda),
                      there >> i & 1);
      } else {
        const int j = i - A::kCount;
        copy_if_async(slot + offset_b + to_b + j * B::kStep * B::kRowBytes,
                      next_b + j * (B::kStep * B::kElementBytes * call.ldb), there >> i & 1);
      }
    }
  }
  __device__ void advance(const GpuCall& call) {
    next_a += A::stage_bytes(call.lda);
    next_b += B::stage_bytes(call.ldb);
  }
};

// --- C ---

// To BF16 by integers, for an SM without the conversion: ties to even, NaN as the instruction has it.
__device__ inline unsigned bf16_bits(float value) {
  const unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fffU;
  return (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
}
__device__ inline unsigned fp16_bits(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

__device__ inline unsigned pack(float low, float high, int type) {
  if (type == kGpuBf16) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned two;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
#else
    return bf16_bits(low) | bf16_bits(high) << 16;
#endif
  }
  return fp16_bits(low) | fp16_bits(high) << 16;
}

// kCount neighbouring 4-byte values at `to`, of which `there` exist.
template <int kCount>
__device__ inline void write_words(unsigned* to, const unsigned (&words)[kCount], int there, int aligned) {
  if (aligned && there >= kCount) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      *reinterpret_cast<uint4*>(to + i) = make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i < there) to[i] = words[i];
  }
}

template <int kCount>
__device__ inline void write_halves(unsigned short* to, const unsigned (&words)[kCount / 2], int there, int aligned) {
  if (aligned && there >= kCount) {
    if constexpr (kCount == 8) *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
    if constexpr (kCount == 4) *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i < there) to[i] = static_cast<unsigned short>(words[i / 2] >> i % 2 * 16);
  }
}

__device__ inline unsigned bits_of(float value) {
  return __float_as_uint(value);
}
__device__ inline unsigned bits_of(int value) {
  return static_cast<unsigned>(value);
}

// Vectors of neighbouring accumulators.
template <class Accumulator>
struct Vectors {
  using Two = float2;
  using Four = float4;
};
template <>
struct Vectors<int> {
  using Two = int2;
  using Four = int4;
};

// Writes kCount neighbours of C (a multiple of kCount from the row's beginning), scaled, biased and rounded. kOneByOne:
// applies scales and bias element by element, in code that takes fewer registers.
template <int kCount, bool kOneByOne = false, class Accumulator>
__device__ inline void write_result(const GpuCall& call, int row, int column, const Accumulator (&acc)[kCount]) {
  const int there = call.n - column;
  const long long index = row * call.ldc + column;
  unsigned words[kCount];
  if (call.c_type == kGpuInt32) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) words[i] = bits_of(acc[i]);
    write_words(static_cast<unsigned*>(call.c) + index, words, there, call.c_aligned);
    return;
  }
  const float scale = call.scale_a ? call.scale_a[row] : 1.0F;
  float values[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    values[i] = static_cast<float>(acc[i]) * scale;
    if (kOneByOne && i < there) {
      if (call.scale_b) values[i] *= call.scale_b[column + i];
      if (call.bias) values[i] += call.bias[column + i];
    }
  }
  if (!kOneByOne && call.scale_b) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < there) values[i] *= call.scale_b[column + i];
    }
  }
  if (!kOneByOne && call.bias) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < there) values[i] += call.bias[column + i];
    }
  }
  if (call.c_type == kGpuFp32) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) words[i] = __float_as_uint(values[i]);
    write_words(static_cast<unsigned*>(call.c) + index, words, there, call.c_aligned);
    return;
  }
  unsigned halves[kCount / 2];
#pragma unroll
  for (int i = 0; i < kCount / 2; ++i) halves[i] = pack(values[2 * i], values[2 * i + 1], call.c_type);
  write_halves<kCount>(static_cast<unsigned short*>(call.c) + index, halves, there, call.c_aligned);
}

// Writes one element of C, scaled, biased and rounded. `index`: its offset in C; `of_bias`: its row, or its column.
template <class Accumulator>
__device__ inline void write_element(const GpuCall& call, long long index, int row, int column, int of_bias,
                                     Accumulator acc) {
  if (call.c_type == kGpuInt32) {
    static_cast<unsigned*>(call.c)[index] = bits_of(acc);
    return;
  }
  float value = static_cast<float>(acc);
  if (call.scale_a) value *= call.scale_a[row];
  if (call.scale_b) value *= call.scale_b[column];
  if (call.bias) value += call.bias[of_bias];
  if (call.c_type == kGpuFp32) {
    static_cast<float*>(call.c)[index] = value;
  } else {
    static_cast<unsigned short*>(call.c)[index] = static_cast<unsigned short>(pack(value, value, call.c_type));
  }
}

// write_result() of small-M kernels, which may store C as [n,m]: neighbours of a row are then ldc elements apart.
template <int kCount, class Accumulator>
__device__ inline void write_small_m(const GpuCall& call, int row, int column, const Accumulator (&acc)[kCount]) {
  if (!call.c_is_nm) return write_result<kCount>(call, row, column, acc);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (column + i >= call.n) break;
    write_element(call, (column + i) * call.ldc + row, row, column + i, row, acc[i]);
  }
}

// A block's accumulators to C, or with split-K to the workspace, for the pass that reduces them.
template <int kCount, bool kOneByOne = false, bool kSmallM = false, class Accumulator>
__device__ inline void write_accumulators(const GpuCall& call, int row, int column, const Accumulator (&acc)[kCount]) {
  if (row >= call.m || column >= call.n) return;
  if (call.split == 1) {
    if constexpr (kSmallM) {
      write_small_m(call, row, column, acc);
    } else {
      write_result<kCount, kOneByOne>(call, row, column, acc);
    }
    return;
  }
  unsigned words[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) words[i] = bits_of(acc[i]);
  const long long line = static_cast<long long>(blockIdx.z) * call.m + row;
  write_words(static_cast<unsigned*>(call.partials) + line * call.n + column, words, call.n - column, call.n % 4 == 0);
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
