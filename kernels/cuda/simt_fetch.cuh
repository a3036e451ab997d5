// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Operand reads of the kernels of simt.cuh: from memory to registers, and from there to shared memory, in which the
// lines of one k are contiguous. Family header: see simt.cuh. Source: PTX ISA, ld.global.
#pragma once

#include "kernels/cuda/tile.cuh"

#ifndef PBPROBE_PARTIAL_TILES
#define PBPROBE_PARTIAL_TILES 0  // 1: the main loop loads tiles that are partly outside of an operand by vectors too
#endif

namespace pbprobe::PBPROBE_TARGET {
namespace {

__device__ inline void read_four(float* to, const void* from) {
  const float4 four = *static_cast<const float4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
__device__ inline void read_four(int* to, const void* from) {
  const int4 four = *static_cast<const int4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

// Element types in memory, and the words that are multiplied: kBytes of memory hold one word of kTileK elements.
struct PlainFp32 {
  using Word = float;
  static constexpr int kBytes = 4;
  static constexpr int kTileK = 1;
  __device__ static void read_vector(float (&to)[4], const char* from) { read_four(to, from); }
  __device__ static void read_vector_if(bool there, float (&to)[4], const char* from) {
    asm("{\n .reg .pred there;\n setp.ne.u32 there, %4, 0;\n @there ld.global.v4.f32 {%0, %1, %2, %3}, [%5];\n}"
        : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
        : "r"(static_cast<unsigned>(there)), "l"(__cvta_generic_to_global(from)));
  }
  __device__ static float read(const char* from) { return *reinterpret_cast<const float*>(from); }
};

struct WidenedBf16 {
  using Word = float;
  static constexpr int kBytes = 2;
  static constexpr int kTileK = 1;
  __device__ static void read_vector(float (&to)[4], const char* from) {
    widen(to, *reinterpret_cast<const uint2*>(from));
  }
  __device__ static void read_vector_if(bool there, float (&to)[4], const char* from) {
    if (there) read_vector(to, from);
  }
  __device__ static void widen(float (&to)[4], uint2 four) {
    to[0] = __uint_as_float(four.x << 16);
    to[1] = __uint_as_float(four.x & 0xffff0000U);
    to[2] = __uint_as_float(four.y << 16);
    to[3] = __uint_as_float(four.y & 0xffff0000U);
  }
  __device__ static float read(const char* from) {
    return __uint_as_float(static_cast<unsigned>(*reinterpret_cast<const unsigned short*>(from)) << 16);
  }
};

struct DotInt8 {
  using Word = int;
  static constexpr int kBytes = 4;
  static constexpr int kTileK = 4;
  __device__ static void read_vector(int (&to)[4], const char* from) { read_four(to, from); }
  __device__ static void read_vector_if(bool there, int (&to)[4], const char* from) {
    if (there) read_vector(to, from);
  }
};

// One operand on its way from memory to shared memory: kSide lines (rows of A, columns of B) × kStep words a step.
// kKFirst: k is contiguous in memory, so that the block is transposed while it is stored. If rows begin at multiples of
// 16 bytes, a thread takes four words at a time, else one, so that a warp reads neighbours. kExchange: 1 swaps
// neighbouring lines, 0 does not.
template <class Tile, int kSide, class Element, bool kKFirst, int kExchange>
struct Fetch {
  using Word = typename Element::Word;
  static constexpr int kStep = Tile::kStep;
  static constexpr int kLine = kSide + 4;  // words of shared memory: every k is four banks on
  static constexpr int kElementBytes = Element::kBytes / Element::kTileK;
  static constexpr int kStageK = kStep * Element::kTileK;
  static constexpr int kFours = kSide * kStep / 4 / Tile::kOfGroup;  // fours of a thread
  static constexpr int kAlong = kStep / 4;                           // threads along k if k is contiguous
  static constexpr int kLineStep = kKFirst ? kSide / kFours : 0;     // from one four to the next
  static constexpr int kStepK = kKFirst ? 0 : kStep / kFours;        // in words
  static constexpr int kFourK = kKFirst ? 4 * Element::kTileK : 1;   // elements along k in a four
  static constexpr bool kByWords = Element::kTileK == 1 && Tile::kByWords;
  // If lines are contiguous: threads along lines, words of a thread along lines, threads along k.
  static constexpr int kBeside = kSide < Tile::kOfGroup ? kSide : Tile::kOfGroup;
  static constexpr int kWide = kSide / kBeside;
  static constexpr int kDeep = Tile::kOfGroup / kBeside;
  const char* next;  // this thread's first word of the coming step
  int lines;         // lines of the operand from this thread's first on
  Word held[kFours][4];

  __device__ static int thread() { return static_cast<int>(threadIdx.x) % Tile::kOfGroup; }
  __device__ static int line_of_four() { return kKFirst ? thread() / kAlong : thread() % (kSide / 4) * 4; }
  __device__ static int k_of_four() { return kKFirst ? thread() % kAlong * 4 : thread() / (kSide / 4); }
  // Returns the line of this thread's word i.
  __device__ static int line_of_word(int i) {
    return kKFirst ? thread() / kStep + i * Tile::kOfGroup / kStep : thread() % kBeside + i % kWide * kBeside;
  }
  __device__ static int k_of_word(int i) { return kKFirst ? thread() % kStep : thread() / kBeside + i / kWide * kDeep; }
  __device__ static bool by_fours(int aligned) { return !kByWords || aligned; }

  __device__ Fetch(const void* operand, int first_line, int first_k, long long leading, int all_lines, int aligned) {
    const int line = first_line + (by_fours(aligned) ? line_of_four() : line_of_word(0));
    const int my_k = (by_fours(aligned) ? k_of_four() : k_of_word(0)) * Element::kTileK;
    next = static_cast<const char*>(operand) +
           (line * (kKFirst ? leading : 1LL) + (first_k + my_k) * (kKFirst ? 1LL : leading)) * kElementBytes;
    lines = all_lines - line;
  }

  __device__ const char* place(int i, long long leading) const {
    return next + (kKFirst ? kLineStep : kStepK) * i * leading * kElementBytes;
  }
  __device__ void advance(long long leading) {
    next += kKFirst ? kStep * Element::kBytes : kStep * leading * kElementBytes;
  }
  // Reports whether the main loop can load a tile by vectors: all its lines are inside the operand, or with
  // PBPROBE_PARTIAL_TILES each vector has only lines inside or only lines outside.
  __device__ static bool has_vectors(int first_line, int all_lines) {
    return PBPROBE_PARTIAL_TILES ? kKFirst || all_lines % 4 == 0 : first_line + kSide <= all_lines;
  }
  // Loads a step whose k are inside the operand, by vectors, or nothing. Lines outside keep any value, since no element
  // of C needs them. For FP32 this needs no branch, so that the loads are interleaved with the FMAs.
  __device__ void load_if(bool inside, long long leading) {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const bool there = inside && (!PBPROBE_PARTIAL_TILES || lines > kLineStep * i);
      Element::read_vector_if(there, held[i], place(i, leading));
    }
    advance(leading);
  }
  // Outside the operand there are zeros; a vector is read only where all of it is inside. `k` are left from the
  // step on; `leading` and `aligned` (16-byte loads may be used) come from the kernel's parameters, and so take no
  // registers.
  __device__ void load(int k, long long leading, int aligned) {
    if (by_fours(aligned)) {
#pragma unroll
      for (int i = 0; i < kFours; ++i) {
        const char* p = place(i, leading);
        const int lines_left = lines - kLineStep * i;
        const int k_left = k - (k_of_four() + kStepK * i) * Element::kTileK;
        if (aligned && lines_left > (kKFirst ? 0 : 3) && k_left >= kFourK) {
          Element::read_vector(held[i], p);
        } else {
          load_four(held[i], p, lines_left, k_left);
        }
      }
    } else if constexpr (kByWords) {
      const char* p = next;
#pragma unroll
      for (int i = 0; i < 4 * kFours; ++i) {
        const int line = line_of_word(i) - line_of_word(0);
        held[i / 4][i % 4] =
            lines > line && k > k_of_word(i) ? Element::read(p + (kKFirst ? 0 : line * kElementBytes)) : 0.0F;
        if (kKFirst) {
          p += Tile::kOfGroup / kStep * leading * kElementBytes;
        } else if (i % kWide == kWide - 1) {
          p += kDeep * leading * kElementBytes;
        }
      }
    }
  }
  __device__ static void load_four(Word (&to)[4], const char* p, int lines_left, int k_left) {
    if constexpr (Element::kTileK == 4) {
      const uint4 four = read_elements<1>(p, lines_left > 0 ? min(max(k_left, 0), 16) : 0);
      to[0] = static_cast<int>(four.x);
      to[1] = static_cast<int>(four.y);
      to[2] = static_cast<int>(four.z);
      to[3] = static_cast<int>(four.w);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool there = lines_left > (kKFirst ? 0 : i) && k_left > (kKFirst ? i : 0);
        to[i] = there ? Element::read(p + i * Element::kBytes) : 0.0F;
      }
    }
  }

  // Returns the shift of the lines of one k, so that four threads along k store to different banks.
  __device__ static constexpr int moved(int k) {
    return kKFirst && kAlong == 4 ? k / 8 % 2 * 8 : 0;
  }
  __device__ void store(Word (*shared)[kLine], int aligned) const {
    if (by_fours(aligned)) {
#pragma unroll
      for (int i = 0; i < kFours; ++i) {
        if constexpr (kKFirst) {
          const int d = k_of_four();
          const int line = (line_of_four() + kLineStep * i) ^ kExchange ^ moved(d);
#pragma unroll
          for (int j = 0; j < 4; ++j) shared[d + j][line] = held[i][j];
        } else {
          *reinterpret_cast<float4*>(&shared[k_of_four() + kStepK * i][line_of_four()]) =
              make_float4(held[i][kExchange], held[i][1 - kExchange], held[i][2 + kExchange], held[i][3 - kExchange]);
        }
      }
    } else if constexpr (kByWords) {
#pragma unroll
      for (int i = 0; i < 4 * kFours; ++i) {
        const int d = k_of_word(i);
        shared[d][line_of_word(i) ^ kExchange ^ moved(d)] = held[i / 4][i % 4];
      }
    }
  }
  // kCount lines of one k, from `line` on: four in a row, kLanes · 4 apart.
  template <int kCount, int kLanes>
  __device__ static void read(Word (&to)[kCount], const Word (*shared)[kLine], int k, int line) {
    constexpr int kApart = kLanes * 4;
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) read_four(&to[4 * i], &shared[k][(line ^ moved(k)) + i * kApart]);
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
