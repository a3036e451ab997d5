// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: C by warpgroups that take turns. Each of two has tiles of 128 × 128 of its own, and writes one by tensor
// stores while the other multiplies; one thread fills a ring of stages for both. Clusters of two blocks lie side by
// side and share A. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/hopper.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

template <class OpOf, int kStagesOf>
struct TurnTile {
  using Op = OpOf;
  static constexpr int kParts = 2;  // of 64 rows, whose products follow each other
  static constexpr int kRows = 64 * kParts;
  static constexpr int kColumns = 128;
  static constexpr int kDepths = kRowBytes / Op::kElement;
  static constexpr int kStages = kStagesOf;
  static constexpr int kCluster = 2;
  static constexpr bool kAcross = true;
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kPlaces = 2;  // of a warpgroup: 64 rows and 128 bytes of C on their way each
  static constexpr int kExitBytes = kConsumers * kPlaces * kChunkBytes;
  static_assert(kPlaces * kChunkBytes >= 4 * kPieces * kPieceBytes, "the warps' pieces lie there too");
  using Stages = Ring<kStages, kStageBytes>;
  static constexpr int kTurnBytes = 8 * kConsumers;
  static constexpr int kSharedBytes =
      kPatternBytes + kStages * kStageBytes + kExitBytes + Stages::kBarrierBytes + kTurnBytes;
  static_assert(kSharedBytes <= 232448, "a block of sm_90 has 227 KiB");
};

// As consume(), for both parts of a tile. The last group of products may still be under way.
template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void consume_parts(typename Tile::Stages& ring,
                                     typename Tile::Op::Sum (&sums)[Tile::kParts][Tile::kColumns / 2], int stages,
                                     unsigned& before) {
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    ring.await_full();
    const unsigned long long of_a = describe<kAKMajor>(ring.stage());
    const unsigned long long of_b = describe<kBKMajor>(ring.stage() + Tile::kBytesA);
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) hold(sums[part]);
    begin_products();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int part = 0; part < Tile::kParts; ++part) {
        Tile::Op::template multiply<Tile::kColumns, kAKMajor, kBKMajor>(
            sums[part], of_a + step * kDepthStep<kAKMajor> + part * (kBoxBytes / 16),
            of_b + step * kDepthStep<kBKMajor>);
      }
    }
    end_products();
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) hold(sums[part]);
    await_products<1>();
    if (stage > 0) release<Tile>(before);
    before = ring.empty();
    ring.advance();
  }
}

// The four warps of one warpgroup.
__device__ inline void meet_warpgroup(int consumer) {
  asm volatile("barrier.sync %0, 128;" ::"r"(consumer + 1) : "memory");
}

// 64 rows of a tile by tensor stores of 128 bytes of each: of two places one is filled while the other is read.
template <class Tile, int kElement, ExitKind kKind, class Sum, int kCount>
__device__ inline void send_rows(const TileExit& exit, const Sum (&sums)[kCount], const GpuTensorMap& map_c,
                                 unsigned places, int first_row, int consumer) {
  constexpr int kWide = kRowBytes / kElement;
  const unsigned piece = threadIdx.x / 32 % 4 * kPieceBytes;
  const bool sends = threadIdx.x % 128 == 0;
#pragma unroll
  for (int first = 0; first < kCount * 2; first += kWide) {
    const unsigned at = places + first / kWide % Tile::kPlaces * kChunkBytes;
    if (sends) await_stores<Tile::kPlaces - 1>();
    meet_warpgroup(consumer);
    if constexpr (kElement == 2) exit.template fill_halves<kKind>(at + piece, sums, first);
    if constexpr (kElement == 4) exit.template fill_words<kKind>(at + piece, sums, first);
    publish_shared();
    meet_warpgroup(consumer);
    if (sends) {
      const GpuCall& call = exit.tiles.call;
      if (exit.column + first < call.n && first_row < call.m) store_box(map_c, exit.column + first, first_row, at);
      end_stores();
    }
  }
}

template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void multiply_in_turns(const GpuTileCall& tiles, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                                         const GpuTensorMap& map_c) {
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const unsigned exits = base + Tile::kStages * Tile::kStageBytes;
  typename Tile::Stages ring(base, exits + Tile::kExitBytes);
  const unsigned turns = exits + Tile::kExitBytes + Tile::Stages::kBarrierBytes;  // a barrier for each warpgroup's
  const unsigned rank = cluster_rank();
  if (threadIdx.x == 0) {
    ring.begin(Tile::kCluster);
    for (int consumer = 0; consumer < kConsumers; ++consumer) begin_barrier(turns + consumer * 8, 128);
    publish_barriers();
    fetch_map(map_a);
    fetch_map(map_b);
    if (tiles.by_map) fetch_map(map_c);
  }
  meet_cluster();
  let_next_begin();
  await_kernels_ahead();
  // Each side its own, made behind the change of registers: ptxas would spill what is there on both sides of it.
  const auto begin_walk = [&] {
    return TileWalk<Tile::kRows, Tile::kColumns * Tile::kCluster, Tile::kDepths>(
        tiles, static_cast<int>(blockIdx.x) / Tile::kCluster, static_cast<int>(gridDim.x) / Tile::kCluster);
  };
  const int aside = static_cast<int>(rank) * Tile::kColumns;
  if (threadIdx.x < 128) {
    give_registers<40>();
    if (threadIdx.x == 0) {
      auto walk = begin_walk();
      while (walk.advance()) {
#pragma unroll 1
        for (int stage = 0; stage < walk.count; ++stage) {
          ring.await_empty();
          produce<Tile, kAKMajor, kBKMajor>(ring, map_a, map_b, walk.row, walk.column + aside,
                                            (walk.first_stage + stage) * Tile::kDepths, rank);
          ring.advance();
        }
      }
    }
  } else {
    take_registers<232>();
    const int consumer = static_cast<int>(threadIdx.x) / 128 - 1;
    const int warp = static_cast<int>(threadIdx.x) / 32 % 4;  // 16 rows of each part
    const unsigned places = exits + consumer * Tile::kPlaces * kChunkBytes;
    TileExit exit(tiles, places + warp * kPieces * kPieceBytes);
    unsigned phase = consumer == 0 ? 1 : 0;  // the first need not wait for its first turn
    auto walk = begin_walk();
    for (int tile = 0; walk.advance(); ++tile) {
      if (tile % kConsumers != consumer) {
        ring.skip(walk.count);
        continue;
      }
      typename Tile::Op::Sum sums[Tile::kParts][Tile::kColumns / 2] = {};
      // In the tiles' order: products of two tiles at once would end both later. And a stage's phase says whether it is
      // there to those alone who are less than a round behind.
      await_phase(turns + consumer * 8, phase);
      phase ^= 1;
      unsigned last = 0;
      consume_parts<Tile, kAKMajor, kBKMajor>(ring, sums, walk.count, last);
      arrive(turns + (consumer ^ 1) * 8);
      await_products<0>();
#pragma unroll
      for (int part = 0; part < Tile::kParts; ++part) hold(sums[part]);
      if (walk.count > 0) release<Tile>(last);
#pragma unroll
      for (int part = 0; part < Tile::kParts; ++part) {
        const int row = walk.row + part * 64;
        if (row >= tiles.call.m) continue;
        exit.template leave<Tile::kColumns, typename Tile::Op::Sum>(
            row + warp * kPieceRows, walk.column + aside, walk.part, [&]<int kElement, ExitKind kKind>() {
              if (tiles.by_map) {
                return send_rows<Tile, kElement, kKind>(exit, sums[part], map_c, places, row, consumer);
              }
              exit.template write_pieces<kElement, kKind>(sums[part]);
            });
      }
    }
    if (threadIdx.x % 128 == 0) await_stores<0>();
  }
  // No block leaves while another may still write to its shared memory or arrive at its barriers.
  meet_cluster();
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_TURNS_TILE(name, ...)        \
  namespace pbprobe::PBPROBE_TARGET {        \
  namespace {                                \
  using Tile_##name = TurnTile<__VA_ARGS__>; \
  }                                          \
  }
#define PBPROBE_TURNS_KERNEL(name, layout, a_k_major, b_k_major)                                                     \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kHopperThreads, 1)                           \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a,       \
                      PBPROBE_PARAMETER pbprobe::GpuTensorMap b, PBPROBE_PARAMETER pbprobe::GpuTensorMap c) {        \
    pbprobe::PBPROBE_TARGET::multiply_in_turns<pbprobe::PBPROBE_TARGET::Tile_##name, a_k_major, b_k_major>(tiles, a, \
                                                                                                           b, c);    \
  }
// Along k, as every type can be read.
#define PBPROBE_TURNS_KMAJOR(name, ...) \
  PBPROBE_TURNS_TILE(name, __VA_ARGS__) \
  PBPROBE_TURNS_KERNEL(name, nt, true, true)
// 16-bit operands: each layout as it lies.
#define PBPROBE_TURNS_LAYOUTS(name, ...)       \
  PBPROBE_TURNS_KMAJOR(name, __VA_ARGS__)      \
  PBPROBE_TURNS_KERNEL(name, nn, true, false)  \
  PBPROBE_TURNS_KERNEL(name, tn, false, false) \
  PBPROBE_TURNS_KERNEL(name, tt, false, true)
