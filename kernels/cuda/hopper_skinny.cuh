// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: products of few rows of A, where reading B takes the time. B's columns are the rows of the instruction, 128 a
// block, and A's rows its columns, as few as there are. A cluster's blocks share k, and add their sums up through each
// other's shared memory, always in the same order: no workspace, no second kernel. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/hopper.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

template <class OpOf, int kRowsOf, int kStagesOf>
struct SkinnyTile {
  using Op = OpOf;
  static constexpr int kRows = kRowsOf;  // of A and C
  static constexpr int kColumns = 64 * kConsumers;
  static constexpr int kDepths = kRowBytes / Op::kElement;
  static constexpr int kStages = kStagesOf;
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kPlaceA = (kBytesA + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  static constexpr int kStageBytes = kPlaceA + kBytesB;
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
  const unsigned to = ring.stage() + Tile::kPlaceA;
  arrive_expecting(full, Tile::kBytesA + Tile::kBytesB);
  if constexpr (kBKMajor) {
    load_box(to, map_b, depth, column, full);
  } else {
#pragma unroll
    for (int box = 0; box < Tile::kColumns / 64; ++box) {
      load_box(to + box * kBoxBytes, map_b, column + box * 64, depth, full);
    }
  }
  load_box(ring.stage(), map_a, depth, 0, full);
}

template <class Tile, bool kBKMajor>
__device__ inline void multiply_few_rows(const GpuTileCall& tiles, const GpuTensorMap& map_a,
                                         const GpuTensorMap& map_b) {
  using Op = typename Tile::Op;
  using Sum = typename Op::Sum;
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
    ring.begin(kConsumers);
    publish_barriers();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (int stage = 0; stage < count; ++stage) {
        ring.await_empty();
        produce_skinny<Tile, kBKMajor>(ring, map_a, map_b, column, (first + stage) * Tile::kDepths);
        ring.advance();
      }
    }
  } else {
    const int consumer = static_cast<int>(threadIdx.x) / 128 - 1;
    Sum sums[Tile::kRows / 2] = {};
#pragma unroll 1
    for (int stage = 0; stage < count; ++stage) {
      ring.await_full();
      const unsigned long long of_b = describe<kBKMajor>(ring.stage() + Tile::kPlaceA + consumer * kBoxBytes);
      const unsigned long long of_a = describe<true>(ring.stage());
      hold(sums);
      begin_products();
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        Op::template multiply<Tile::kRows, kBKMajor, true>(sums, of_b + step * kDepthStep<kBKMajor>,
                                                           of_a + step * kDepthStep<true>);
      }
      end_products();
      hold(sums);
      await_products<0>();
      if (threadIdx.x % 128 == 0) arrive(ring.empty());
      ring.advance();
    }
    hold(sums);
    asm volatile("bar.sync 1, %0;" ::"n"(kConsumers * 128) : "memory");
    lay_out<Tile>(base, sums, consumer);
  }
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

// PBPROBE_SKINNY_KMAJOR(name, type, rows of A, stages, blocks of an SM)
#define PBPROBE_SKINNY_KERNEL(name, layout, blocks, b_k_major)                                                 \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kHopperThreads, blocks)                \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a, \
                      PBPROBE_PARAMETER pbprobe::GpuTensorMap b) {                                             \
    pbprobe::PBPROBE_TARGET::multiply_few_rows<pbprobe::PBPROBE_TARGET::Tile_##name, b_k_major>(tiles, a, b);  \
  }
#define PBPROBE_SKINNY_KMAJOR(name, op, rows, stages, blocks) \
  namespace pbprobe::PBPROBE_TARGET {                         \
  namespace {                                                 \
  using Tile_##name = SkinnyTile<op, rows, stages>;           \
  }                                                           \
  }                                                           \
  PBPROBE_SKINNY_KERNEL(name, nt, blocks, true)
// 16-bit operands: B as it lies.
#define PBPROBE_SKINNY_LAYOUTS(name, op, rows, stages, blocks) \
  PBPROBE_SKINNY_KMAJOR(name, op, rows, stages, blocks)        \
  PBPROBE_SKINNY_KERNEL(name, nn, blocks, false)
