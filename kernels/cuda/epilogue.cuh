// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Path of a warpgroup's accumulators to C through shared memory: each warp stages 16 rows by 128 bytes at a time. TMA
// stores them (tile_stores.cuh); the warp itself stores them if no tensor map can describe C. Family header: see
// tile.cuh. Source: PTX ISA, "stmatrix".
#pragma once

#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/tile_stores.cuh"
#include "kernels/cuda/tma.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kPieceRows = 16;  // rows of a warp's piece
constexpr int kPieceBytes = kPieceRows * kRowBytes;
constexpr int kPieces = 2;
constexpr int kMostColumns = 256;  // columns of the widest tile
constexpr unsigned kWarp = 0xffffffffU;

__device__ inline void store_matrices(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}
__device__ inline void store_two(unsigned to, unsigned a, unsigned b) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(a), "r"(b) : "memory");
}
__device__ inline uint4 load_four(unsigned from) {
  uint4 four;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
               : "r"(from)
               : "memory");
  return four;
}
__device__ inline unsigned load_word(unsigned from) {
  unsigned word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(from) : "memory");
  return word;
}

__device__ inline unsigned short load_half(unsigned from) {
  unsigned short half;
  asm volatile("ld.shared.b16 %0, [%1];" : "=h"(half) : "r"(from) : "memory");
  return half;
}

__device__ constexpr bool is_float(float) {
  return true;
}
__device__ constexpr bool is_float(int) {
  return false;
}

enum class EpilogueKind {
  raw,     // the accumulators themselves
  plain,   // rounded to C's type
  scaled,  // scaled by rows and columns, biased, rounded
};

// The epilogue of one warp's rows of a tile. `pieces`: its staging buffers where TMA does not store C.
struct Epilogue {
  const GpuTileCall& tiles;
  unsigned pieces;  // kPieces of kPieceBytes
  int lane;
  int row, column, part;   // row: the warp's first
  bool scales = true;      // false: the caller has multiplied the sums by scale_a and scale_b
  unsigned own_phase = 0;  // phase of the barrier of the own chunks
  float scale_a[2];
  // One of each 32 columns a lane, which shuffles hand to the others: all loads are in flight at once.
  float scale_b[kMostColumns / 32], bias[kMostColumns / 32];

  __device__ Epilogue(const GpuTileCall& call, unsigned at)
      : tiles(call), pieces(at), lane(static_cast<int>(threadIdx.x) % 32) {}

  template <int kColumns>
  __device__ void read_factors() {
    const GpuCall& call = tiles.call;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int line = row + lane / 4 + half * 8;
      scale_a[half] = scales && call.scale_a && line < call.m ? call.scale_a[line] : 1.0F;
    }
#pragma unroll
    for (int i = 0; i < kColumns / 32; ++i) {
      const int at = column + i * 32 + lane;
      scale_b[i] = scales && call.scale_b && at < call.n ? call.scale_b[at] : 1.0F;
      bias[i] = call.bias && at < call.n ? call.bias[at] : 0;
    }
  }
  // Scales and biases of a lane's two neighbours in this block of eight columns, in every row.
  template <EpilogueKind kKind>
  __device__ float4 find_factors(int block) const {
    if constexpr (kKind != EpilogueKind::scaled) return {};
    const int of = block % 4 * 8 + lane % 4 * 2;
    const float scale = scale_b[block / 4];
    float4 factors = make_float4(__shfl_sync(kWarp, scale, of), __shfl_sync(kWarp, scale, of + 1), 0, 0);
    if (tiles.call.bias) {
      factors.z = __shfl_sync(kWarp, bias[block / 4], of);
      factors.w = __shfl_sync(kWarp, bias[block / 4], of + 1);
    }
    return factors;
  }
  // Two neighbours of C, from their accumulators and find_factors(); `half`: their row is eight below.
  template <EpilogueKind kKind, class Accumulator>
  __device__ float2 finish(Accumulator low, Accumulator high, int half, const float4& factors) const {
    float2 two = make_float2(static_cast<float>(low), static_cast<float>(high));
    if constexpr (kKind == EpilogueKind::scaled) {
      two.x = two.x * scale_a[half] * factors.x + factors.z;
      two.y = two.y * scale_a[half] * factors.y + factors.w;
    }
    return two;
  }

  // 64 columns of 2 bytes.
  template <EpilogueKind kKind, class Accumulator, int kCount>
  __device__ void fill_halves(unsigned to, const Accumulator (&acc)[kCount], int first) const {
    const int line = lane % 16;
    const unsigned base = to + line * kRowBytes;
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      unsigned two[4];
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int block = first / 8 + pair * 2 + side;
        const float4 factors = find_factors<kKind>(block);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float2 values = finish<kKind>(acc[block * 4 + half * 2], acc[block * 4 + half * 2 + 1], half, factors);
          two[side * 2 + half] = pack(values.x, values.y, tiles.call.c_type);
        }
      }
      store_matrices(base + (((pair * 2 + lane / 16) ^ (line & 7)) << 4), two[0], two[1], two[2], two[3]);
    }
  }
  // 32 columns of 4 bytes.
  template <EpilogueKind kKind, class Accumulator, int kCount>
  __device__ void fill_words(unsigned to, const Accumulator (&acc)[kCount], int first) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int block = first / 8 + i;
      const float4 factors = find_factors<kKind>(block);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int line = lane / 4 + half * 8;
        const Accumulator low = acc[block * 4 + half * 2];
        const Accumulator high = acc[block * 4 + half * 2 + 1];
        unsigned two[2] = {bits_of(low), bits_of(high)};
        if constexpr (kKind != EpilogueKind::raw) {
          const float2 values = finish<kKind>(low, high, half, factors);
          two[0] = bits_of(values.x);
          two[1] = bits_of(values.y);
        }
        store_two(to + line * kRowBytes + (((i * 2 + lane % 4 / 2) ^ (line & 7)) << 4) + lane % 2 * 8, two[0], two[1]);
      }
    }
  }

  // Returns the address of this piece's first element. `stride`: bytes from one of its rows to the next.
  template <int kElement>
  __device__ char* place(int first, long long& stride) const {
    const GpuCall& call = tiles.call;
    const bool whole = call.split == 1;
    stride = (whole ? call.ldc : call.n) * kElement;
    const long long line = row + (whole ? 0 : static_cast<long long>(part) * call.m);
    return static_cast<char*>(whole ? call.c : call.partials) + line * stride + (column + first) * kElement;
  }
  // Rows that begin at multiples of 16 bytes: four at a time.
  template <int kElement>
  __device__ void copy_rows(unsigned from, int first) const {
    long long stride;
    char* to = place<kElement>(first, stride);
    const int unit = lane % 8;
    const int there = tiles.call.n - column - first - unit * (16 / kElement);
    to += unit * 16;
#pragma unroll
    for (int i = 0; i < kPieceRows / 4; ++i) {
      const int line = i * 4 + lane / 8;
      if (row + line >= tiles.call.m) break;
      const uint4 four = load_four(from + line * kRowBytes + ((unit ^ (line & 7)) << 4));
      if (there >= 16 / kElement) {
        *reinterpret_cast<uint4*>(to + line * stride) = four;
      } else {
        const unsigned words[4] = {four.x, four.y, four.z, four.w};
        if constexpr (kElement == 4) write_words(reinterpret_cast<unsigned*>(to + line * stride), words, there, 0);
        if constexpr (kElement == 2) {
          write_halves<8>(reinterpret_cast<unsigned short*>(to + line * stride), words, there, 0);
        }
      }
    }
  }
  // Copies one row of a piece, element by element. A lane's elements are 32 apart, so that a warp stores neighbours.
  template <int kElement>
  __device__ void copy_row(unsigned from, char* to, int line, int there) const {
#pragma unroll
    for (int i = 0; i < 4 / kElement; ++i) {
      const int byte = lane * kElement + i * 64;
      const unsigned at = from + line * kRowBytes + (((byte / 16) ^ (line & 7)) << 4) + byte % 16;
      if constexpr (kElement == 4) {
        if (lane < there) reinterpret_cast<unsigned*>(to)[lane] = load_word(at);
      } else {
        if (lane + i * 32 < there) reinterpret_cast<unsigned short*>(to)[lane + i * 32] = load_half(at);
      }
    }
  }
  // Unaligned rows: one at a time. Most pieces are whole, and these take no branch.
  template <int kElement>
  __device__ void copy_elements(unsigned from, int first) const {
    long long stride;
    char* to = place<kElement>(first, stride);
    const int there = tiles.call.n - column - first;
    const int rows = tiles.call.m - row;
    if (rows >= kPieceRows) {
#pragma unroll 4
      for (int line = 0; line < kPieceRows; ++line, to += stride) copy_row<kElement>(from, to, line, there);
    } else {
#pragma unroll 1
      for (int line = 0; line < rows; ++line, to += stride) copy_row<kElement>(from, to, line, there);
    }
  }

  template <int kElement, EpilogueKind kKind, class Accumulator, int kCount>
  __device__ void write_pieces(const Accumulator (&acc)[kCount]) {
    constexpr int kWide = kRowBytes / kElement;
    const bool aligned = tiles.call.split == 1 ? tiles.call.c_aligned != 0 : tiles.call.n % 4 == 0;
#pragma unroll
    for (int first = 0; first < kCount * 2; first += kWide) {
      if (column + first >= tiles.call.n) break;
      const unsigned at = pieces + first / kWide % kPieces * kPieceBytes;
      if constexpr (kElement == 2) fill_halves<kKind>(at, acc, first);
      if constexpr (kElement == 4) fill_words<kKind>(at, acc, first);
      __syncwarp();
      if (aligned) {
        copy_rows<kElement>(at, first);
      } else {
        copy_elements<kElement>(at, first);
      }
      // With two buffers in alternation, all lanes have read this one before it is filled again.
      if constexpr (kPieces == 1) __syncwarp();
    }
    __syncwarp();
  }

  // Stages a tile in chunks; one thread stores a unit after all warps have staged it.
  template <class Tile, EpilogueKind kKind, class Accumulator, int kCount>
  __device__ void stage_chunks(const Accumulator (&acc)[kCount], typename Tile::Stages& ring, const Chunks& chunks) {
    constexpr int kOwn = Tile::kOwnChunks;
    const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
    const int consumer = static_cast<int>(threadIdx.x) / 128 - 1;
    await_phase(chunks.sent(), own_phase ^ 1);  // until the previous tile was stored; the first round does not wait
    own_phase ^= 1;
#pragma unroll
    for (int chunk = 0; chunk < Tile::kChunks; ++chunk) {
      const bool own = chunk < kOwn;
      if (chunk == kOwn) ring.await_full();
      const int place = own ? consumer * kOwn + chunk : consumer * Tile::kStageChunks + chunk - kOwn;
      fill_halves<kKind>((own ? chunks.at : ring.stage()) + place * kChunkBytes + warp * kPieceBytes, acc,
                         chunk * kChunkColumns);
      if (chunk + 1 != kOwn && chunk + 1 != Tile::kChunks) continue;
      fence_async_proxy();
      __syncwarp();
      if (lane == 0) arrive(chunks.laid(own ? 0 : 1));
      if (!own) ring.advance();
    }
  }

  // All of the warp's accumulators, of which the first row and column are given: way<bytes of an element, kind>().
  template <int kColumns, class Accumulator, class Way>
  __device__ void dispatch(int first_row, int first_column, int of_part, Way way) {
    const GpuCall& call = tiles.call;
    row = first_row;
    column = first_column;
    part = of_part;
    const bool words = call.c_type == kGpuFp32;
    const bool plain = is_float(Accumulator()) && (!scales || (!call.scale_a && !call.scale_b)) && !call.bias;
    if (call.split > 1 || call.c_type == kGpuInt32 || (plain && words)) {
      return way.template operator()<4, EpilogueKind::raw>();
    }
    if constexpr (is_float(Accumulator())) {
      if (plain) return way.template operator()<2, EpilogueKind::plain>();
    }
    read_factors<kColumns>();
    return words ? way.template operator()<4, EpilogueKind::scaled>()
                 : way.template operator()<2, EpilogueKind::scaled>();
  }
  // Writes a tile by TMA if a tensor map describes C, else by rows.
  template <class Tile, class Accumulator, int kCount>
  __device__ void write(const Accumulator (&acc)[kCount], int first_row, int first_column, int of_part,
                        typename Tile::Stages& ring, const Chunks& chunks) {
    if (first_row >= tiles.call.m && !tiles.by_map) return;
    dispatch<kCount * 2, Accumulator>(first_row, first_column, of_part, [&]<int kElement, EpilogueKind kKind>() {
      if constexpr (kElement == 2 && Tile::kStores) {
        if (tiles.by_map) return stage_chunks<Tile, kKind>(acc, ring, chunks);
      }
      write_pieces<kElement, kKind>(acc);
    });
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
