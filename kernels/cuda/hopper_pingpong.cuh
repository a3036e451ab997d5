// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: warp-specialized wgmma, ping-pong: each of two warpgroups computes tiles of 128 × 128 of its own, and stores
// one by TMA while the other computes; one thread fills a ring of stages for both. Clusters of two blocks, side by
// side, share A. Family header: see tile.cuh.
//
// Shared memory at exit: as in hopper.cuh, ordered by cluster_sync(). Reuse of buffers: stages wait for `empty`, the
// staging buffers of C for the waits in store_rows().
#pragma once

#include "kernels/cuda/hopper.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

template <class OpOf, int kStagesOf>
struct PingPongTile {
  using Op = OpOf;
  static constexpr int kParts = 2;  // parts of 64 rows, computed one after the other
  static constexpr int kRows = 64 * kParts;
  static constexpr int kColumns = 128;
  static constexpr int kTileK = kRowBytes / Op::kElement;
  static constexpr int kStages = kStagesOf;
  static constexpr int kCluster = 2;
  static constexpr bool kAcross = true;
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kBlocks = 1;  // blocks per SM
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kPlaces = 2;  // buffers of a warpgroup, of 64 rows by 128 bytes of C
  static constexpr int kEpilogueBytes = kConsumers * kPlaces * kChunkBytes;
  static_assert(kPlaces * kChunkBytes >= 4 * kPieces * kPieceBytes, "the warps' pieces lie there too");
  using Stages = Ring<kStages, kStageBytes>;
  static constexpr int kSharedBytes = tma_shared_bytes(kRows + kColumns, kStages, kEpilogueBytes, kConsumers);
  static_assert(kSharedBytes <= 232448, "a block of sm_90 has 227 KiB");
};

// Main loop of a warpgroup's parts, like consume(); `own`: offset of its rows of A. On return, the last group of wgmma
// may still be in flight.
template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void consume_parts(typename Tile::Stages& ring,
                                     typename Tile::Op::Accumulator (&acc)[Tile::kParts][Tile::kColumns / 2],
                                     int stages, unsigned& before, unsigned own = 0) {
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    ring.await_full();
    const unsigned long long of_a = describe<kAKMajor>(ring.stage() + own);
    const unsigned long long of_b = describe<kBKMajor>(ring.stage() + Tile::kBytesA);
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) fence_operands(acc[part]);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int part = 0; part < Tile::kParts; ++part) {
        Tile::Op::template wgmma<Tile::kColumns, kAKMajor, kBKMajor>(
            acc[part], of_a + step * kStepK<kAKMajor> + part * (kBoxBytes / 16), of_b + step * kStepK<kBKMajor>);
      }
    }
    wgmma_commit();
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) fence_operands(acc[part]);
    wgmma_wait<1>();
    if (stage > 0) release<Tile>(before);
    before = ring.empty();
    ring.advance();
  }
}

// The four warps of one warpgroup.
__device__ inline void warpgroup_sync(int consumer) {
  asm volatile("barrier.sync %0, 128;" ::"r"(consumer + 1) : "memory");
}

// Stores a part of a tile, 64 rows, by TMA, in chunks of 128 bytes of each row, from kPlaces buffers in turn. Each tile
// begins with the first buffer: a part outside of C is stored too, or its chunks divide by kPlaces. Before a chunk
// is staged, at most kPlaces - 1 stores may still read shared memory, so the store that used this buffer kPlaces chunks
// ago has ended. If the chunks of a tile do not divide by kPlaces, the last chunk of the tile before may have used the
// first buffer too: then the first chunk waits for all stores. Tiles of 64 columns of 2 bytes have one chunk.
template <class Tile, int kElement, EpilogueKind kKind, class Accumulator, int kCount>
__device__ inline void store_rows(const Epilogue& epilogue, const Accumulator (&acc)[kCount], const GpuTensorMap& map_c,
                                  unsigned places, int first_row, int consumer, int part) {
  constexpr int kWide = kRowBytes / kElement;
  constexpr int kChunks = kCount * 2 / kWide;
  const unsigned piece = threadIdx.x / 32 % 4 * kPieceBytes;
  constexpr bool kEndsInTurn = Tile::kParts * kChunks % Tile::kPlaces == 0;
  const bool sends = threadIdx.x % 128 == 0;
#pragma unroll
  for (int first = 0; first < kCount * 2; first += kWide) {
    const unsigned at = places + (part * kChunks + first / kWide) % Tile::kPlaces * kChunkBytes;
    if (sends) {
      if (part == 0 && first == 0 && !kEndsInTurn) {
        await_stores<0>();
      } else {
        await_stores<Tile::kPlaces - 1>();
      }
    }
    warpgroup_sync(consumer);
    if constexpr (kElement == 2) epilogue.template fill_halves<kKind>(at + piece, acc, first);
    if constexpr (kElement == 4) epilogue.template fill_words<kKind>(at + piece, acc, first);
    fence_async_proxy();
    warpgroup_sync(consumer);
    if (sends) {
      const GpuCall& call = epilogue.tiles.call;
      if (epilogue.column + first < call.n && first_row < call.m)
        store_box(map_c, epilogue.column + first, first_row, at);
      commit_stores();
    }
  }
}

template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void pingpong_gemm(const GpuTileCall& tiles, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                                     const GpuTensorMap& map_c) {
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const unsigned staging = base + Tile::kStages * Tile::kStageBytes;
  typename Tile::Stages ring(base, staging + Tile::kEpilogueBytes);
  const unsigned order = staging + Tile::kEpilogueBytes + Tile::Stages::kBarrierBytes;  // a barrier a warpgroup
  const unsigned rank = cluster_rank();
  if (threadIdx.x == 0) {
    ring.begin(Tile::kCluster);
    for (int consumer = 0; consumer < kConsumers; ++consumer) init_barrier(order + consumer * 8, 128);
    fence_barrier_init();
    prefetch_map(map_a);
    prefetch_map(map_b);
    if (tiles.by_map) prefetch_map(map_c);
  }
  cluster_sync_after_init();
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
          produce<Tile, kAKMajor, kBKMajor>(ring, map_a, map_b, scheduler.row, scheduler.column,
                                            (scheduler.first_stage + stage) * Tile::kTileK, rank);
          ring.advance();
        }
      }
    }
  } else {
    setmaxnreg_inc<232>();
    const int consumer = static_cast<int>(threadIdx.x) / 128 - 1;
    const int warp = static_cast<int>(threadIdx.x) / 32 % 4;  // 16 rows of each part
    const unsigned places = staging + consumer * Tile::kPlaces * kChunkBytes;
    Epilogue epilogue(tiles, places + warp * kPieces * kPieceBytes);
    unsigned phase = consumer == 0 ? 1 : 0;  // the first warpgroup begins
    auto scheduler = make_scheduler();
    for (int tile = 0; scheduler.advance(); ++tile) {
      if (tile % kConsumers != consumer) {
        ring.skip(scheduler.count);
        continue;
      }
      typename Tile::Op::Accumulator acc[Tile::kParts][Tile::kColumns / 2] = {};
      // Main loops run in the tiles' order: two at once would both end later, and a stage's phase tells only a consumer
      // that is less than a round behind whether it is full.
      await_phase(order + consumer * 8, phase);
      phase ^= 1;
      unsigned last = 0;
      consume_parts<Tile, kAKMajor, kBKMajor>(ring, acc, scheduler.count, last);
      arrive(order + (consumer ^ 1) * 8);
      wgmma_wait<0>();
#pragma unroll
      for (int part = 0; part < Tile::kParts; ++part) fence_operands(acc[part]);
      if (scheduler.count > 0) release<Tile>(last);
#pragma unroll
      for (int part = 0; part < Tile::kParts; ++part) {
        const int row = scheduler.row + part * 64;
        if (row >= tiles.call.m) continue;
        epilogue.template dispatch<Tile::kColumns, typename Tile::Op::Accumulator>(
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
  cluster_sync();
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
