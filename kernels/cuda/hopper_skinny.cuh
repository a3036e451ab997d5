// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: products of few rows of A, where reading B takes the time. B's columns are the rows of the instruction, 64 a
// warpgroup, and A's rows its columns, as few as there are. A cluster's blocks share k, and add their sums up through
// each other's shared memory, always in the same order: no workspace, no second kernel. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/anywhere.cuh"
#include "kernels/cuda/hopper.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

template <class OpOf, int kRowsOf, int kStagesOf, int kGroupsOf, int kLinesOf>
struct SkinnyTile {
  using Op = OpOf;
  static constexpr int kRows = kRowsOf;                 // of A and C
  static constexpr int kGroups = kGroupsOf;             // warpgroups that multiply
  static constexpr int kThreads = 128 * (kGroups + 1);  // 128 more where threads read B
  static constexpr int kColumns = 64 * kGroups;
  static constexpr int kLines = kLinesOf;  // of 128 bytes of k in a stage: neighbours are fetched together
  static constexpr int kLineDepths = kRowBytes / Op::kElement;
  static constexpr int kDepths = kLines * kLineDepths;
  static constexpr int kStages = kStagesOf;
  static constexpr int kBytesA = kRows * kRowBytes;  // of one line
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kPlaceA = (kBytesA + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  static constexpr int kLineBytes = kPlaceA + kBytesB;
  static constexpr int kStageBytes = kLines * kLineBytes;
  // Sums lie row by row; the four words besides spread a warp's writes over the banks.
  static constexpr int kPitch = kColumns + 4;
  static_assert(kRows * kPitch * 4 <= kStages * kStageBytes, "the sums lie where the stages were");
  using Stages = Ring<kStages, kStageBytes>;
  static constexpr int kSharedBytes = kPatternBytes + kStages * kStageBytes + Stages::kBarrierBytes;
};

// The sums of one block, laid out for the others to read.
template <class Tile, class Sum>
__device__ inline void lay_out(unsigned at, const Sum (&sums)[Tile::kRows / 2], int consumer) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int column = consumer * 64 + static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < Tile::kRows / 2; ++i) {
    const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const unsigned to = at + (row * Tile::kPitch + column + i % 4 / 2 * 8) * 4;
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(bits_of(sums[i])) : "memory");
  }
}

__device__ inline float sum_of(float bits, float) {
  return bits;
}
__device__ inline int sum_of(float bits, int) {
  return __float_as_int(bits);
}

// This block's share of C, from the sums of all blocks of the cluster.
template <class Tile, class Sum>
__device__ inline void add_up(const GpuCall& call, unsigned at, int first_column, unsigned rank, unsigned blocks) {
  constexpr int kFours = Tile::kColumns / 4;
  const int all = call.m * kFours;
  for (int i = static_cast<int>(rank * blockDim.x + threadIdx.x); i < all; i += static_cast<int>(blocks * blockDim.x)) {
    const int row = i / kFours;
    const int column = i % kFours * 4;
    if (first_column + column >= call.n) continue;
    Sum four[4] = {};
    for (unsigned block = 0; block < blocks; ++block) {
      const float4 part = read_of_block(at + (row * Tile::kPitch + column) * 4, block);
      four[0] += sum_of(part.x, Sum());
      four[1] += sum_of(part.y, Sum());
      four[2] += sum_of(part.z, Sum());
      four[3] += sum_of(part.w, Sum());
    }
    write_result<4>(call, row, first_column + column, four);
  }
}

template <class Tile, bool kBKMajor>
__device__ inline void produce_skinny(const typename Tile::Stages& ring, const GpuTensorMap& map_a,
                                      const GpuTensorMap& map_b, int column, int depth) {
  const unsigned full = ring.full();
  arrive_expecting(full, Tile::kLines * (Tile::kBytesA + Tile::kBytesB));
#pragma unroll
  for (int line = 0; line < Tile::kLines; ++line) {
    const unsigned to = ring.stage() + line * Tile::kLineBytes + Tile::kPlaceA;
    const int at = depth + line * Tile::kLineDepths;
    if constexpr (kBKMajor) {
      load_box(to, map_b, at, column, full);
    } else {
#pragma unroll
      for (int box = 0; box < Tile::kColumns / 64; ++box) {
        load_box(to + box * kBoxBytes, map_b, column + box * 64, at, full);
      }
    }
  }
#pragma unroll
  for (int line = 0; line < Tile::kLines; ++line) {
    load_box(ring.stage() + line * Tile::kLineBytes, map_a, depth + line * Tile::kLineDepths, 0, full);
  }
}

// B's rows that begin anywhere, where no tensor copy reads them: two warpgroups do, 16 bytes a thread, and store them
// as the copy would. Rows 32 apart, as a thread has them, begin at the same place of a vector.
constexpr int kSkewedProducers = 2;

template <class Tile>
struct SkewedRows {
  static constexpr int kStep = 16 * kSkewedProducers;    // rows from one of a thread to its next
  static constexpr int kCount = Tile::kColumns / kStep;  // rows of a thread
  static constexpr int kElement = Tile::Op::kElement;
  static constexpr int kDeep = kRowBytes / kElement;
  const char* around;  // the vector that holds the first byte of this thread's first 16 of the coming stage
  long long stride;    // to those of its next rows
  int left;            // elements of a row from there on
  int skew;            // bytes from the vector's beginning on
  int rows;            // of its own that are there
  int safe;            // lines until a vector would leave the operand
  bool begins;         // the first one would
  unsigned offset;     // of its first 16 bytes in a line's place

  __device__ SkewedRows(const GpuCall& call, int column, int depth) {
    const int row = static_cast<int>(threadIdx.x) / 8;
    const int chunk = static_cast<int>(threadIdx.x) % 8;
    const Extent all(call.b, call.n, call.ldb, call.k, kElement);
    const char* from = all.begin + ((column + row) * call.ldb + depth) * kElement + chunk * 16;
    skew = static_cast<int>(reinterpret_cast<unsigned long long>(from) % 16);
    around = from - skew;
    stride = kStep * call.ldb * kElement;
    left = call.k - depth - chunk * (16 / kElement);
    rows = min(max((call.n - column - row + kStep - 1) / kStep, 0), kCount);
    const long long bytes = all.end - around - (rows - 1) * stride - 32;
    safe = bytes < 0 ? 0 : static_cast<int>(min(bytes / kRowBytes + 1, 0x7fffffffLL));
    begins = around < all.begin;
    offset = static_cast<unsigned>(row * kRowBytes + ((chunk ^ row % 8) << 4));
  }
  // One stage: all vectors of a thread are under way at once.
  __device__ void read(uint4 (&held)[Tile::kLines][kCount]) {
    if (safe >= Tile::kLines && !begins) {
      uint4 high[Tile::kLines][kCount];
#pragma unroll
      for (int line = 0; line < Tile::kLines; ++line) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          if (i < rows) {
            const char* at = around + line * kRowBytes + i * stride;
            held[line][i] = *reinterpret_cast<const uint4*>(at);
            high[line][i] = *reinterpret_cast<const uint4*>(at + 16);
          }
        }
      }
#pragma unroll
      for (int line = 0; line < Tile::kLines; ++line) {
        const int bytes = min(max(left - line * kDeep, 0), 16) * kElement;
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          held[line][i] = first_bytes(shifted(held[line][i], high[line][i], skew), bytes);
        }
      }
    } else {
#pragma unroll
      for (int line = 0; line < Tile::kLines; ++line) {
        const int bytes = min(max(left - line * kDeep, 0), 16) * kElement;
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          held[line][i] = i < rows ? read_elements<kElement>(around + skew + line * kRowBytes + i * stride, bytes)
                                   : make_uint4(0, 0, 0, 0);
        }
      }
    }
    around += Tile::kLines * kRowBytes;
    left -= Tile::kLines * kDeep;
    safe -= Tile::kLines;
    begins = false;
  }
  __device__ void store(unsigned stage, const uint4 (&held)[Tile::kLines][kCount]) const {
#pragma unroll
    for (int line = 0; line < Tile::kLines; ++line) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        store_shared(stage + line * Tile::kLineBytes + Tile::kPlaceA + offset + i * kStep * kRowBytes, held[line][i]);
      }
    }
  }
};

template <class Tile>
__device__ inline void produce_skewed(typename Tile::Stages& ring, const GpuTileCall& tiles, const GpuTensorMap& map_a,
                                      int column, int first, int count) {
  SkewedRows<Tile> rows(tiles.call, column, first * Tile::kDepths);
#pragma unroll 1
  for (int stage = 0; stage < count; ++stage) {
    uint4 held[Tile::kLines][SkewedRows<Tile>::kCount];
    rows.read(held);
    ring.await_empty();
    if (threadIdx.x == 0) {
      arrive_expecting(ring.full(), Tile::kLines * Tile::kBytesA);
#pragma unroll
      for (int line = 0; line < Tile::kLines; ++line) {
        load_box(ring.stage() + line * Tile::kLineBytes, map_a,
                 (first + stage) * Tile::kDepths + line * Tile::kLineDepths, 0, ring.full());
      }
    }
    rows.store(ring.stage(), held);
    publish_shared();
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(ring.full());
    ring.advance();
  }
}

template <class Tile, bool kBKMajor, bool kSkewed>
__device__ inline void multiply_few_rows(const GpuTileCall& tiles, const GpuTensorMap& map_a,
                                         const GpuTensorMap& map_b) {
  using Op = typename Tile::Op;
  using Sum = typename Op::Sum;
  constexpr int kProducers = kSkewed ? kSkewedProducers : 1;  // warpgroups
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  typename Tile::Stages ring(base, base + Tile::kStages * Tile::kStageBytes);
  const unsigned rank = cluster_rank();
  const unsigned blocks = cluster_size();
  const int stages = (tiles.call.k + Tile::kDepths - 1) / Tile::kDepths;
  const int share = (stages + static_cast<int>(blocks) - 1) / static_cast<int>(blocks);
  const int first = static_cast<int>(rank) * share;
  const int count = max(min(share, stages - first), 0);
  const int column = static_cast<int>(blockIdx.x / blocks) * Tile::kColumns;
  if (threadIdx.x == 0) {
    fetch_map(map_b);
    fetch_map(map_a);
    ring.begin(Tile::kGroups, kSkewed ? 1 + kProducers * 4 : 1);
    publish_barriers();
  }
  __syncthreads();
  await_kernels_ahead();
  if (threadIdx.x < kProducers * 128) {
    if constexpr (kSkewed) {
      produce_skewed<Tile>(ring, tiles, map_a, column, first, count);
    } else if (threadIdx.x == 0) {
#pragma unroll 1
      for (int stage = 0; stage < count; ++stage) {
        ring.await_empty();
        produce_skinny<Tile, kBKMajor>(ring, map_a, map_b, column, (first + stage) * Tile::kDepths);
        ring.advance();
      }
    }
    __syncthreads();
  } else {
    const int consumer = static_cast<int>(threadIdx.x) / 128 - kProducers;
    Sum sums[Tile::kRows / 2] = {};
#pragma unroll 1
    for (int stage = 0; stage < count; ++stage) {
      ring.await_full();
      hold(sums);
      begin_products();
#pragma unroll
      for (int line = 0; line < Tile::kLines; ++line) {
        const unsigned at = ring.stage() + line * Tile::kLineBytes;
        const unsigned long long of_b = describe<kBKMajor>(at + Tile::kPlaceA + consumer * kBoxBytes);
        const unsigned long long of_a = describe<true>(at);
#pragma unroll
        for (int step = 0; step < 4; ++step) {
          Op::template multiply<Tile::kRows, kBKMajor, true>(sums, of_b + step * kDepthStep<kBKMajor>,
                                                             of_a + step * kDepthStep<true>);
        }
      }
      end_products();
      hold(sums);
      await_products<0>();
      if (threadIdx.x % 128 == 0) arrive(ring.empty());
      ring.advance();
    }
    hold(sums);
    __syncthreads();  // no product reads the ring any more
    lay_out<Tile>(base, sums, consumer);
  }
  // Not before: the next kernel's blocks would crowd on the SMs that are free first, where an SM holds several.
  let_next_begin();
  if (blocks > 1) {
    await_cluster();
  } else {
    __syncthreads();
  }
  add_up<Tile, Sum>(tiles.call, base, column, rank, blocks);
  // No block leaves while another may still read its sums.
  if (blocks > 1) meet_cluster();
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// PBPROBE_SKINNY_KMAJOR(name, blocks of an SM, type, rows of A, stages, warpgroups that multiply, lines of a stage)
#define PBPROBE_SKINNY_KERNEL(name, layout, threads, blocks, ...)                                               \
  extern "C" __global__ void __launch_bounds__(threads, blocks)                                                 \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a,  \
                      PBPROBE_PARAMETER pbprobe::GpuTensorMap b) {                                              \
    pbprobe::PBPROBE_TARGET::multiply_few_rows<pbprobe::PBPROBE_TARGET::Tile_##name, __VA_ARGS__>(tiles, a, b); \
  }
#define PBPROBE_SKINNY_KMAJOR(name, blocks, ...) \
  namespace pbprobe::PBPROBE_TARGET {            \
  namespace {                                    \
  using Tile_##name = SkinnyTile<__VA_ARGS__>;   \
  }                                              \
  }                                              \
  PBPROBE_SKINNY_KERNEL(name, nt, pbprobe::PBPROBE_TARGET::Tile_##name::kThreads, blocks, true, false)
// B's rows wherever they begin.
#define PBPROBE_SKINNY_SKEWED(name, blocks, ...)   \
  PBPROBE_SKINNY_KMAJOR(name, blocks, __VA_ARGS__) \
  PBPROBE_SKINNY_KERNEL(name, nt_skewed, pbprobe::PBPROBE_TARGET::Tile_##name::kThreads + 128, blocks, true, true)
// 16-bit operands: B as it lies.
#define PBPROBE_SKINNY_LAYOUTS(name, blocks, ...)  \
  PBPROBE_SKINNY_SKEWED(name, blocks, __VA_ARGS__) \
  PBPROBE_SKINNY_KERNEL(name, nn, pbprobe::PBPROBE_TARGET::Tile_##name::kThreads, blocks, false, false)
