// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: C by mma.sync on operands that tensor copies bring. One thread fills a ring of stages, eight warps multiply
// them, 64 × 64 of the tile each and at their own pace: no barrier of the block holds them together.
//   BF16, FP16   m16n8k16, all four layouts: ldmatrix turns what does not lie along k
//   INT8, TF32   m16n8k32, m16n8k8: along k alone; TF32 is rounded by the tensor copies
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Family header: see tile.cuh. Source: PTX ISA, mma, ldmatrix.
#pragma once

#include "kernels/cuda/hopper.cuh"
#include "kernels/cuda/mma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Names are those that hopper.cuh, whose producer fills the ring, and mma.cuh ask for.
template <class OpOf, int kRowsOf, int kColumnsOf, int kStagesOf>
struct FedTile {
  using Op = OpOf;
  static constexpr int kRows = kRowsOf;
  static constexpr int kColumns = kColumnsOf;
  static constexpr int kWarpM = 64;
  static constexpr int kWarpN = 64;
  static constexpr int kDepths = kRowBytes / Op::kElement;
  static constexpr int kStages = kStagesOf;
  static constexpr int kCluster = 1;
  static constexpr bool kAcross = false;
  static constexpr bool kStores = false;  // the warps write C themselves
  static constexpr int kWarps = kRows / kWarpM * (kColumns / kWarpN);
  static_assert(kWarps == 8, "two warpgroups, which take the registers that the producer's gives");
  static constexpr int kThreads = kWarps * 32 + 128;
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  using Stages = Ring<kStages, kStageBytes>;
  static constexpr int kExitBytes = kWarps * kPieces * kPieceBytes;
  // What the launch must give: the ring begins at a multiple of the swizzle's pattern.
  static constexpr int kSharedBytes = kPatternBytes + kStages * kStageBytes + kExitBytes + Stages::kBarrierBytes;
  static_assert(kSharedBytes <= 232448, "a block of sm_90 has 227 KiB");
};

// Where a warp's matrices of one operand lie in a stage that tensor copies laid out: lines of 128 bytes of k; or boxes
// of 64 lines, in which each depth's lie next to each other.
template <bool kKMajor>
struct BoxedFragments {
  unsigned lane_address;  // of this lane's row in the first block and step, permuted

  // As Fragments in mma.cuh. A warp's lines begin at a multiple of 64.
  __device__ BoxedFragments(int first_line, bool lines_first, int offset) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int inner = lane % 8;
    const int second = lane / 8 % 2;
    const int third = lane / 16;
    const int line_half = lines_first ? second : third;
    const int depth_half = lines_first ? third : second;
    const int row = inner + (kKMajor ? line_half : depth_half) * 8;
    const int chunk = (kKMajor ? depth_half : line_half) ^ (row & 7);
    lane_address = static_cast<unsigned>(offset + first_line * kRowBytes + row * kRowBytes + (chunk << 4));
  }
  // Of block `block` of 16 lines and step `step` of 32 bytes along k.
  __device__ unsigned at(unsigned stage, int block, int step) const {
    const int down = kKMajor ? block : step;
    const int along = kKMajor ? step : block;
    return stage + down * 16 * kRowBytes + (lane_address ^ static_cast<unsigned>(along << 5));
  }
};

// A warp's fragments, one step of 32 bytes of k ahead of the tensor cores.
template <class Tile, bool kAKMajor, bool kBKMajor>
struct FedWarp {
  static constexpr int kBlocksA = Tile::kWarpM / 16;
  static constexpr int kBlocksB = Tile::kWarpN / 16;
  static constexpr int kSteps = kRowBytes / 32;
  static_assert(kSteps % 2 == 0, "fragments alternate between two sets of registers");
  BoxedFragments<kAKMajor> fragments_a;
  BoxedFragments<kBKMajor> fragments_b;
  unsigned held_a[2][kBlocksA][4];
  unsigned held_b[2][kBlocksB][4];

  __device__ FedWarp(int row, int column) : fragments_a(row, true, 0), fragments_b(column, false, Tile::kBytesA) {}

  __device__ void load(unsigned stage, int step) {
#pragma unroll
    for (int i = 0; i < kBlocksA; ++i) load_matrices<!kAKMajor>(held_a[step % 2][i], fragments_a.at(stage, i, step));
#pragma unroll
    for (int j = 0; j < kBlocksB; ++j) load_matrices<!kBKMajor>(held_b[step % 2][j], fragments_b.at(stage, j, step));
  }
  // Multiplies the ring's stage and goes to the next one, whose first fragments it reads where `more` says that it is
  // of the same tile.
  template <class More>
  __device__ void multiply_stage(WarpSums<Tile>& sums, typename Tile::Stages& ring, More more) {
    const unsigned now = ring.stage();
    const unsigned empty = ring.empty();
    ring.advance();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) {
        load(now, step + 1);
      } else if (more) {
        ring.await_full();
        load(ring.stage(), 0);
      }
      sums.add_product(held_a[step % 2], held_b[step % 2]);
    }
    __syncwarp();  // one lane speaks for all that read
    if (threadIdx.x % 32 == 0) arrive(empty);
  }
};

template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void multiply_by_fed_warps(const GpuTileCall& tiles, const GpuTensorMap& map_a,
                                             const GpuTensorMap& map_b) {
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const unsigned exits = base + Tile::kStages * Tile::kStageBytes;
  typename Tile::Stages ring(base, exits + Tile::kExitBytes);
  if (threadIdx.x == 0) {
    ring.begin(Tile::kWarps);
    publish_barriers();
    fetch_map(map_a);
    fetch_map(map_b);
  }
  __syncthreads();
  let_next_begin();
  await_kernels_ahead();
  using Walk = TileWalk<Tile::kRows, Tile::kColumns, Tile::kDepths>;
  if (threadIdx.x >= Tile::kWarps * 32) {
    give_registers<24>();
    if (threadIdx.x == Tile::kWarps * 32) {
      Walk walk(tiles, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
      while (walk.advance()) {
#pragma unroll 1
        for (int stage = 0; stage < walk.count; ++stage) {
          ring.await_empty();
          produce<Tile, kAKMajor, kBKMajor>(ring, map_a, map_b, walk.row, walk.column,
                                            (walk.first_stage + stage) * Tile::kDepths, 0);
          ring.advance();
        }
      }
    }
  } else {
    take_registers<240>();
    // Made behind the change of registers: ptxas would spill what is there on both sides of it.
    const int warp = static_cast<int>(threadIdx.x) / 32;
    constexpr int kWarpsDown = Tile::kRows / Tile::kWarpM;
    const int my_row = warp % kWarpsDown * Tile::kWarpM;
    const int my_column = warp / kWarpsDown * Tile::kWarpN;
    FedWarp<Tile, kAKMajor, kBKMajor> fed(my_row, my_column);
    TileExit exit(tiles, exits + warp * kPieces * kPieceBytes);
    Walk walk(tiles, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
    while (walk.advance()) {
      WarpSums<Tile> sums;
      sums.clear();
      if (walk.count > 0) {
        ring.await_full();
        fed.load(ring.stage(), 0);
#pragma unroll 1
        for (int stage = 1; stage < walk.count; ++stage) fed.multiply_stage(sums, ring, Yes());
        fed.multiply_stage(sums, ring, No());
      }
#pragma unroll
      for (int i = 0; i < Tile::kWarpM / 16; ++i) {
        const auto& rows = reinterpret_cast<const typename Tile::Op::Sum(&)[Tile::kWarpN / 2]>(sums.values[i]);
        exit.template write<Tile>(rows, walk.row + my_row + i * kPieceRows, walk.column + my_column, walk.part, ring,
                                  Chunks());
      }
    }
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_FED_TILE(name, ...)         \
  namespace pbprobe::PBPROBE_TARGET {       \
  namespace {                               \
  using Tile_##name = FedTile<__VA_ARGS__>; \
  }                                         \
  }
#define PBPROBE_FED_KERNEL(name, layout, a_k_major, b_k_major)                                                        \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::Tile_##name::kThreads, 1)                     \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a,        \
                      PBPROBE_PARAMETER pbprobe::GpuTensorMap b) {                                                    \
    pbprobe::PBPROBE_TARGET::multiply_by_fed_warps<pbprobe::PBPROBE_TARGET::Tile_##name, a_k_major, b_k_major>(tiles, \
                                                                                                               a, b); \
  }
// Along k, as every type can be read.
#define PBPROBE_FED_KMAJOR(name, ...) \
  PBPROBE_FED_TILE(name, __VA_ARGS__) \
  PBPROBE_FED_KERNEL(name, nt, true, true)
// 16-bit operands: each layout as it lies.
#define PBPROBE_FED_LAYOUTS(name, ...)       \
  PBPROBE_FED_KMAJOR(name, __VA_ARGS__)      \
  PBPROBE_FED_KERNEL(name, nn, true, false)  \
  PBPROBE_FED_KERNEL(name, tn, false, false) \
  PBPROBE_FED_KERNEL(name, tt, false, true)
