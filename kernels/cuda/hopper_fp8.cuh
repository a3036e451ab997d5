// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: wgmma of FP8. The tensor core adds in 14 bits or so: sums of 128 products are made there and added up in FP32
// registers, by one warpgroup while the other's wgmma run; with fast_sums, the core adds all of k. Each of two
// warpgroups computes one or two parts of 64 rows, with the registers of one sum for both; with block scales one part,
// and two sums. Clusters of two blocks, side by side, share A. Family header: see tile.cuh.
//
// Shared memory at exit: as in hopper.cuh, ordered by cluster_sync(). Reuse of buffers: stages wait for `empty`, the
// staging buffers of C for the waits in store_rows().
#pragma once

#include "kernels/cuda/cluster_call.hpp"
#include "kernels/cuda/hopper_pingpong.cuh"
#include "kernels/cuda/stage_scales.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// kPlaces: buffers of a warpgroup, of 64 rows by 128 bytes of C.
template <class OpOf, int kPartsOf, int kColumnsOf, int kStagesOf, int kClusterOf, int kPlacesOf,
          class ScalesOf = NoScales>
struct Fp8Tile {
  using Op = OpOf;
  using Scales = ScalesOf;
  static constexpr int kParts = kPartsOf;
  static constexpr int kRows = 64 * kParts * kConsumers;
  static constexpr int kColumns = kColumnsOf;
  static constexpr int kTileK = kRowBytes;
  static constexpr int kStages = kStagesOf;
  static constexpr int kCluster = kClusterOf;
  static constexpr bool kAcross = true;
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kBlocks = 1;  // blocks per SM
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kPlaces = kPlacesOf;
  static constexpr int kEpilogueBytes = kConsumers * kPlaces * kChunkBytes;
  using Stages = Ring<kStages, kStageBytes>;
  static_assert(tma_shared_bytes(kRows + kColumns, kStages, kEpilogueBytes) <= 232448, "a block of sm_90 has 227 KiB");
};

template <class Tile>
__device__ inline void consume_fp8(typename Tile::Stages& ring, float (&acc)[Tile::kParts][Tile::kColumns / 2],
                                   int consumer, int stages) {
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    ring.await_full();
    const unsigned long long of_a = describe<true>(ring.stage() + consumer * Tile::kParts * kBoxBytes);
    const unsigned long long of_b = describe<true>(ring.stage() + Tile::kBytesA);
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) {
      float sum[Tile::kColumns / 2];
      fence_operands(sum);
      wgmma_fence();
      wgmma_line<typename Tile::Op, Tile::kColumns>(sum, of_a + part * (kBoxBytes / 16), of_b);
      wgmma_commit();
      fence_operands(sum);
      wgmma_wait<0>();
      fence_operands(sum);
      if (part + 1 == Tile::kParts) release<Tile>(ring.empty());
      add_to(acc[part], sum);
    }
    ring.advance();
  }
}

// With block scales.
template <class Tile>
__device__ inline void consume_scaled(typename Tile::Stages& ring, float (&acc)[Tile::kColumns / 2], int consumer,
                                      int stages) {
  static_assert(Tile::kParts == 1 && Tile::kRows <= 128, "registers for two sums; one square of scales");
  const auto start = [&](float(&sum)[Tile::kColumns / 2]) {
    const unsigned own = ring.stage() + consumer * kBoxBytes;
    wgmma_line<typename Tile::Op, Tile::kColumns>(sum, describe<true>(own),
                                                  describe<true>(ring.stage() + Tile::kBytesA));
  };
  const auto find = [&](unsigned at) { return Tile::Scales::template find<Tile>(at, consumer); };
  add_stages<Tile>(ring, acc, stages, start, find, [](unsigned empty, unsigned lane) {
    if (lane < Tile::kCluster) arrive_at(empty, lane);
  });
}

// With fast_sums: without promotion to FP32.
template <class Tile>
__device__ inline void consume_fast(typename Tile::Stages& ring, float (&acc)[Tile::kParts][Tile::kColumns / 2],
                                    int consumer, int stages) {
  unsigned last = 0;
  consume_parts<Tile, true, true>(ring, acc, stages, last, consumer * Tile::kParts * kBoxBytes);
  wgmma_wait<0>();
#pragma unroll
  for (int part = 0; part < Tile::kParts; ++part) fence_operands(acc[part]);
  if (stages > 0) release<Tile>(last);
}

// Multiplies the sums by scale_a and scale_b if these have one element each: a warp's shuffles for the scales of rows
// and columns take a fifth of the time of few stages. Returns false otherwise, and for parts of k, scaled later.
template <class Tile>
__device__ inline bool apply_one_scale(float (&acc)[Tile::kParts][Tile::kColumns / 2], const GpuCall& call,
                                       const GpuClusterCall& cluster) {
  if (!cluster.one_scale || call.split > 1) return false;
  const float scale_a = call.scale_a ? *call.scale_a : 1.0F;
  const float scale_b = call.scale_b ? *call.scale_b : 1.0F;
#pragma unroll
  for (int part = 0; part < Tile::kParts; ++part) {
#pragma unroll
    for (float& sum : acc[part]) sum = sum * scale_a * scale_b;
  }
  return true;
}

template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void fp8_gemm(const GpuTileCall& tiles, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                                const GpuTensorMap& map_c, const GpuClusterCall& cluster) {
  static_assert(kAKMajor && kBKMajor, "8-bit operands are read along k only");
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const unsigned staging = base + Tile::kStages * Tile::kStageBytes;
  typename Tile::Stages ring(base, staging + Tile::kEpilogueBytes);
  const unsigned rank = Tile::kCluster > 1 ? cluster_rank() : 0;
  if (threadIdx.x == 0) {
    ring.begin(kConsumers * Tile::kCluster * (Tile::Scales::kScaled ? kReleasingWarps : 1),
               Tile::Scales::kScaled ? 1 + kCopyingThreads : 1);
    fence_barrier_init();
    prefetch_map(map_a);
    prefetch_map(map_b);
    if (tiles.by_map) prefetch_map(map_c);
  }
  if (Tile::kCluster > 1) {
    cluster_sync_after_init();
  } else {
    __syncthreads();
  }
  launch_dependents();
  wait_on_dependencies();
  // One for each role, made after setmaxnreg: ptxas spills what lives across it.
  const auto make_scheduler = [&] { return TileScheduler<Tile, kAKMajor>(tiles); };
  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();
    if (threadIdx.x == 0) {
      auto scheduler = make_scheduler();
      while (scheduler.advance()) {
#pragma unroll 1
        for (int stage = 0; stage < scheduler.count; ++stage) {
          ring.await_empty();
          produce<Tile, true, true>(ring, map_a, map_b, scheduler.row, scheduler.column,
                                    (scheduler.first_stage + stage) * Tile::kTileK, rank);
          ring.advance();
        }
      }
    }
    if constexpr (Tile::Scales::kScaled) {
      if (threadIdx.x / 32 == 1 || threadIdx.x / 32 == 2) {
        auto scheduler = make_scheduler();
        while (scheduler.advance()) {
          Tile::Scales::template produce<Tile>(ring, cluster.scales, tiles.call, scheduler.row, scheduler.column,
                                               scheduler.first_stage, scheduler.count);
        }
      }
    }
  } else {
    setmaxnreg_inc<232>();
    auto scheduler = make_scheduler();
    while (scheduler.advance()) {
      float acc[Tile::kParts][Tile::kColumns / 2] = {};
      if constexpr (Tile::Scales::kScaled) {
        consume_scaled<Tile>(ring, acc[0], static_cast<int>(threadIdx.x) / 128 - 1, scheduler.count);
      } else if (cluster.fast_sums) {
        consume_fast<Tile>(ring, acc, static_cast<int>(threadIdx.x) / 128 - 1, scheduler.count);
      } else {
        consume_fp8<Tile>(ring, acc, static_cast<int>(threadIdx.x) / 128 - 1, scheduler.count);
      }
      // Without this, ptxas computes the addresses of C before the main loop, and spills them.
      int thread = static_cast<int>(threadIdx.x);
      asm volatile("" : "+r"(thread));
      const int consumer = thread / 128 - 1;
      const int warp = thread / 32 % 4;  // 16 rows of each part
      const unsigned places = staging + consumer * Tile::kPlaces * kChunkBytes;
      Epilogue epilogue(tiles, places + warp * kPieces * kPieceBytes);
      epilogue.lane = thread % 32;
      epilogue.scales = !apply_one_scale<Tile>(acc, tiles.call, cluster);
#pragma unroll
      for (int part = 0; part < Tile::kParts; ++part) {
        const int row = scheduler.row + (consumer * Tile::kParts + part) * 64;
        if (row >= tiles.call.m && !tiles.by_map) continue;
        epilogue.template dispatch<Tile::kColumns, float>(
            row + warp * kPieceRows, scheduler.column, scheduler.part, [&]<int kElement, EpilogueKind kKind>() {
              if (tiles.by_map) {
                return store_rows<Tile, kElement, kKind>(epilogue, acc[part], map_c, places, row, consumer, part);
              }
              epilogue.template write_pieces<kElement, kKind>(acc[part]);
            });
      }
    }
    if (threadIdx.x % 128 == 0) await_stores<0>();
  }
  // Orders this block's arrivals at the other blocks' barriers before any block exits.
  if (Tile::kCluster > 1) cluster_sync();
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_FP8_KMAJOR(name, ...)                                                                    \
  PBPROBE_TMA_TILE(name, Fp8Tile<__VA_ARGS__>)                                                           \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::Tile_##name::kThreads, 1)        \
      name##_nt(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a, \
                PBPROBE_PARAMETER pbprobe::GpuTensorMap b, PBPROBE_PARAMETER pbprobe::GpuTensorMap c,    \
                PBPROBE_PARAMETER pbprobe::GpuClusterCall cluster) {                                     \
    using namespace pbprobe::PBPROBE_TARGET;                                                             \
    fp8_gemm<Tile_##name, true, true>(tiles, a, b, c, cluster);                                          \
  }
