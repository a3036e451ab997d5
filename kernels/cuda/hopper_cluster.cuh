// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: wgmma in clusters that share both operands and split k. A block computes kRows rows of A by 64 to 192 columns
// of B with swapped operands (swap-AB): B's columns are the rows of the instruction, 64 a warpgroup, so that kRows can
// be any multiple of 16. The cluster's shape is an argument: blocks side by side share A, blocks one below the other B,
// by multicast. Blocks of different parts of k add their accumulators through distributed shared memory in a fixed
// order. C of 2-byte elements that is not split is transposed by stmatrix and stored by TMA from a buffer of its own:
// then a cluster computes several tiles, and fetches the next tile's operands during the epilogue. Family header: see
// tile.cuh. Source: PTX ISA, "wgmma", "stmatrix".
//
// Shared memory at exit: other blocks of the cluster write this block's stages by multicast, arrive at its `empty`
// barriers, and read its accumulators (read_of_block). Every multicast has landed: the consumers waited for each `full`
// phase. cluster_sync() publishes the accumulators; the last one orders reads and arrivals before any block exits.
// Reuse of buffers: stages wait for `empty` of every block that they are sent to; C's buffer waits for the previous
// store; row scales alternate between two buffers, and sync_consumers() of the tile between orders their reads. Where
// TMA does not store C, a cluster computes one tile, and the accumulators replace the stages after sync_consumers(),
// when every copy has landed and no wgmma reads the ring.
#pragma once

#include "kernels/cuda/cluster_call.hpp"
#include "kernels/cuda/hopper_skinny.cuh"
#include "kernels/cuda/stage_scales.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Behind the stages: C's buffer; the barriers; the block scales of each stage, if any; two sets of scales of A's rows.
template <class Op, int kRows, int kStages, int kGroups, class ScalesOf = NoScales>
struct ClusterTile : SkinnyTile<Op, kRows, kStages, kGroups, 1, 1> {
  using Scales = ScalesOf;
  static constexpr bool kTakesSeveral = takes_several_tiles(kRows, Op::kNarrow);
  static constexpr unsigned kBufferOfC = kStages * ClusterTile::kStageBytes;
  static constexpr unsigned kBarriers = kBufferOfC + kGroups * kRows * kRowBytes;
  static constexpr unsigned kRowScales = kBarriers + ClusterTile::Stages::kBarrierBytes +
                                         (Scales::kScaled ? kStages * (kRows + ClusterTile::kColumns) * 4 : 0);
};

// Place of a block in its cluster: part of k, then row, then column of its tile.
struct ClusterPlace {
  unsigned part, y, x, first;  // first: rank of the first block of this part

  __device__ explicit ClusterPlace(const GpuClusterCall& cluster) {
    const unsigned rank = cluster_rank();
    part = cluster.part >> rank * 4 & 15;
    y = cluster.row >> rank * 4 & 15;
    x = cluster.column >> rank * 4 & 15;
    first = rank - y * cluster.across - x;
  }
  // Blocks that share A with this one, as a multicast mask; and B.
  [[nodiscard]] __device__ unsigned a_mask(const GpuClusterCall& cluster) const {
    return ((1U << cluster.across) - 1) << (first + y * cluster.across);
  }
  [[nodiscard]] __device__ unsigned b_mask(const GpuClusterCall& in) const { return in.column_blocks << (first + x); }
  // Rank of the block that takes this part of the same tile.
  [[nodiscard]] __device__ unsigned find_rank(const GpuClusterCall& cluster, unsigned other) const {
    return other * cluster.down * cluster.across + y * cluster.across + x;
  }
};

// Tiles of a cluster, by one of its blocks: every tile whose number is the cluster's modulo the count of clusters.
// Neighbours share the operand with more tiles in the L2 cache.
template <class Tile>
struct ClusterTiles {
  const GpuCall& call;
  const GpuClusterCall& cluster;
  unsigned next;
  int row, column;  // tile of this block

  __device__ ClusterTiles(const GpuCall& of, const GpuClusterCall& in) : call(of), cluster(in) {
    asm volatile("mov.u32 %0, %clusterid.x;" : "=r"(next));
    find();
  }
  __device__ bool advance() {
    unsigned step;
    asm volatile("mov.u32 %0, %nclusterid.x;" : "=r"(step));
    next += step;
    if (next >= static_cast<unsigned>(cluster.tiles_down) * cluster.tiles_across) return false;
    find();
    return true;
  }

 private:
  __device__ void find() {
    const ClusterPlace place(cluster);  // holding it takes more registers
    const bool by_columns = cluster.tiles_down <= cluster.tiles_across;
    const unsigned side = by_columns ? cluster.tiles_down : cluster.tiles_across;
    const unsigned slow = next / side, fast = next - slow * side;
    row = static_cast<int>((by_columns ? fast : slow) * cluster.down + place.y) * Tile::kRows;
    column = static_cast<int>((by_columns ? slow : fast) * cluster.across + place.x) * Tile::kColumns;
    move_inside<Tile, true>(call, row, column);
  }
};

__device__ inline void load_shared_box(unsigned to, const GpuTensorMap& map, int x, int y, unsigned full, bool shared,
                                       unsigned blocks) {
  if (shared) {
    load_box_for(to, map, x, y, full, blocks);
  } else {
    load_box(to, map, x, y, full);
  }
}

// Fills the ring by one thread: this block's share of A's rows and of B, to every block that shares them.
template <class Tile, bool kBKMajor>
__device__ inline void produce_cluster(typename Tile::Stages& ring, const GpuClusterCall& cluster,
                                       const GpuTensorMap& map_a, const GpuTensorMap& map_b, const ClusterPlace& place,
                                       int row, int column, int first, int count) {
  const int bytes =
      (cluster.lines_a * cluster.across + (kBKMajor ? cluster.lines_b * cluster.down : Tile::kColumns)) * kRowBytes;
  const int from_a = static_cast<int>(place.x) * cluster.lines_a, from_b = static_cast<int>(place.y) * cluster.lines_b;
  const unsigned mask_a = place.a_mask(cluster), mask_b = place.b_mask(cluster);
#pragma unroll 1
  for (int stage = 0; stage < count; ++stage) {
    ring.await_empty();
    const int k = (first + stage) * Tile::kTileK;
    const unsigned full = ring.full();
    const unsigned to_b = ring.stage() + Tile::kBytesA + from_b * kRowBytes;
    arrive_expect_tx(full, bytes);
    if constexpr (kBKMajor) {
      load_shared_box(to_b, map_b, k, column + from_b, full, cluster.down > 1, mask_b);
    } else {
#pragma unroll
      for (int box = 0; box < Tile::kColumns / 64; ++box) {
        load_shared_box(to_b + box * kBoxBytes, map_b, column + box * 64, k + from_b, full, cluster.down > 1, mask_b);
      }
    }
    load_shared_box(ring.stage() + from_a * kRowBytes, map_a, k, row + from_a, full, cluster.across > 1, mask_a);
    ring.advance();
  }
}

// Releases a stage to every block that fills it: the threads of `mates`, one for each block of the cluster.
__device__ inline void release_stage(unsigned empty, unsigned mates, unsigned thread = threadIdx.x % 128) {
  if (thread >= 16) return;
  if (mates >> thread & 1U) arrive_at(empty, thread);
}

// One stage, committed as one group: acc (+)= B · A for 128 bytes of k. kStarts: the sum starts anew.
template <class Tile, bool kBKMajor, bool kStarts>
__device__ inline void multiply_stage(typename Tile::Op::Accumulator (&acc)[Tile::kRows / 2], unsigned at,
                                      int consumer) {
  using Op = typename Tile::Op;
  const unsigned long long of_b = describe<kBKMajor>(at + Tile::kBytesA + consumer * kBoxBytes);
  const unsigned long long of_a = describe<true>(at);
  fence_operands(acc);
  wgmma_fence();
  if constexpr (kStarts) {
    wgmma_line<Op, Tile::kRows>(acc, of_b, of_a);
  } else {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      Op::template wgmma<Tile::kRows, kBKMajor, true>(acc, of_b + step * kStepK<kBKMajor>, of_a + step * kStepK<true>);
    }
  }
  wgmma_commit();
  fence_operands(acc);
}

// Main loop of a warpgroup. One group of wgmma is in flight while the previous group completes and its stage is
// released. kTwoLevels: waits for each stage's sums of 128 products, and adds them in FP32 after it released the stage.
template <class Tile, bool kBKMajor, bool kTwoLevels>
__device__ inline void multiply_cluster(typename Tile::Stages& ring, int consumer, unsigned mates,
                                        typename Tile::Op::Accumulator (&acc)[Tile::kRows / 2], int stages) {
  unsigned before = 0;
  const Turns<kTwoLevels && Tile::kGroups == 2> turns(consumer, stages > 0);
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    ring.await_full();
    if constexpr (kTwoLevels) {
      turns.begin();
      float sum[Tile::kRows / 2];
      multiply_stage<Tile, true, true>(sum, ring.stage(), consumer);
      wgmma_wait<0>();
      fence_operands(sum);
      turns.end(stage + 1 < stages);
      release_stage(ring.empty(), mates);
      add_to(acc, sum);
    } else {
      multiply_stage<Tile, kBKMajor, false>(acc, ring.stage(), consumer);
      wgmma_wait<1>();
      if (stage > 0) release_stage(before, mates);
      before = ring.empty();
    }
    ring.advance();
  }
  wgmma_wait<0>();
  fence_operands(acc);
  if (!kTwoLevels && stages > 0) release_stage(before, mates);
}

// Main loop of a warpgroup with block scales.
template <class Tile>
__device__ inline void multiply_scaled(typename Tile::Stages& ring, int consumer, unsigned mates,
                                       float (&acc)[Tile::kRows / 2], int stages) {
  const auto start = [&](float(&sum)[Tile::kRows / 2]) {
    const unsigned own = ring.stage() + Tile::kBytesA + consumer * kBoxBytes;
    wgmma_line<typename Tile::Op, Tile::kRows>(sum, describe<true>(own), describe<true>(ring.stage()));
  };
  const auto find = [&](unsigned at) { return Tile::Scales::template find_swapped<Tile>(at, consumer); };
  add_stages<Tile>(ring, acc, stages, start, find,
                   [&](unsigned empty, unsigned lane) { release_stage(empty, mates, lane); });
}

// The threads of the warpgroups that compute.
template <class Tile>
__device__ inline void sync_consumers() {
  asm volatile("barrier.sync 1, %0;" ::"n"(128 * Tile::kGroups) : "memory");
}

// A thread's columns of C, and their factors. Four neighbours, or if TMA stores C its accumulators' two, `step` apart.
template <class Tile>
struct ClusterColumns {
  static constexpr int kThreadsOfRow = Tile::kColumns / 4;
  static constexpr int kRowsAtOnce = 128 * Tile::kGroups / kThreadsOfRow;
  int inside;  // in the tile
  int row;     // first row in the tile
  int there;   // columns of C from the first one on
  float scale[4], bias[4];

  __device__ void load(const GpuTileCall& tiles, int first_column, bool one_scale) {
    const GpuCall& call = tiles.call;
    const int thread = static_cast<int>(threadIdx.x) - 128;
    inside = tiles.by_map ? thread / 32 * 16 + thread % 32 / 4 : thread % kThreadsOfRow * 4;
    row = thread / kThreadsOfRow;
    const int step = tiles.by_map ? 8 : 1;
    const int column = first_column + inside;
    there = call.n - column;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool reads = i * step < there && (!tiles.by_map || i < 2);
      scale[i] = call.scale_b && reads ? call.scale_b[one_scale ? 0 : column + i * step] : 1.0F;
      bias[i] = call.bias && reads ? call.bias[column + i * step] : 0.0F;
    }
  }

  template <class Accumulator>
  __device__ void write(const GpuCall& call, int line, int column, const Accumulator (&acc)[4], float of_row) const {
    const long long index = line * call.ldc + column;
    unsigned words[4];
    if (call.c_type == kGpuInt32) {
#pragma unroll
      for (int i = 0; i < 4; ++i) words[i] = bits_of(acc[i]);
      write_words(static_cast<unsigned*>(call.c) + index, words, there, call.c_aligned);
      return;
    }
    float values[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values[i] = static_cast<float>(acc[i]) * of_row * scale[i];
      if (call.bias) values[i] += bias[i];
      words[i] = __float_as_uint(values[i]);
    }
    if (call.c_type == kGpuFp32) {
      write_words(static_cast<unsigned*>(call.c) + index, words, there, call.c_aligned);
      return;
    }
    const unsigned halves[2] = {pack(values[0], values[1], call.c_type), pack(values[2], values[3], call.c_type)};
    write_halves<4>(static_cast<unsigned short*>(call.c) + index, halves, there, call.c_aligned);
  }
};

__device__ inline float4 read_own(unsigned address) {
  const uint4 four = load_four(address);
  return make_float4(__uint_as_float(four.x), __uint_as_float(four.y), __uint_as_float(four.z),
                     __uint_as_float(four.w));
}

template <class Accumulator>
__device__ inline void add_four(Accumulator (&four)[4], const float4& sums) {
  four[0] += sum_of(sums.x, Accumulator());
  four[1] += sum_of(sums.y, Accumulator());
  four[2] += sum_of(sums.z, Accumulator());
  four[3] += sum_of(sums.w, Accumulator());
}

// Stores the scales of the tile's rows, which threads of the epilogue would else wait for one by one.
template <class Tile>
__device__ inline void lay_out_row_scales(unsigned to, const GpuCall& call, int first_row, bool one_scale) {
  for (int row = static_cast<int>(threadIdx.x) - 128; row < Tile::kRows; row += 128 * Tile::kGroups) {
    const int line = one_scale ? 0 : min(first_row + row, call.m - 1);
    const float scale = call.scale_a ? call.scale_a[line] : 1.0F;
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(to + row * 4), "f"(scale) : "memory");
  }
}

// This block's share of the tile's rows: adds the accumulators of all parts, and writes C.
template <class Tile, class Accumulator>
__device__ inline void write_share(const GpuCall& call, const GpuClusterCall& cluster, const ClusterPlace& place,
                                   const ClusterColumns<Tile>& columns, unsigned at, int first_row, int first_column) {
  constexpr int kStep = ClusterColumns<Tile>::kRowsAtOnce;
  const int rows = min(Tile::kRows, call.m - first_row);
  const int column = first_column + columns.inside;
  if (columns.there <= 0) return;
  const auto find_scale = [&](int row) { return read_scale(at + Tile::kRowScales + row * 4); };
  if (cluster.parts == 1) {
#pragma unroll 4
    for (int row = columns.row; row < rows; row += kStep) {
      Accumulator four[4] = {};
      add_four(four, read_own(at + (row * Tile::kPitch + columns.inside) * 4));
      columns.write(call, first_row + row, column, four, find_scale(row));
    }
    return;
  }
  // Two rows at once: a thread waits for the other blocks' memory once for both.
  const int next = cluster.parts * kStep;
#pragma unroll 1
  for (int first = static_cast<int>(place.part) * kStep + columns.row; first < rows; first += 2 * next) {
    float4 sums[2][kGpuMostCluster];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = first + i * next;
#pragma unroll
      for (int part = 0; part < kGpuMostCluster; ++part) {
        if (part < cluster.parts && row < rows)
          sums[i][part] = read_of_block(at + (row * Tile::kPitch + columns.inside) * 4, place.find_rank(cluster, part));
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = first + i * next;
      if (row >= rows) break;
      Accumulator four[4] = {};
#pragma unroll
      for (int part = 0; part < kGpuMostCluster; ++part) {
        if (part < cluster.parts) add_four(four, sums[i][part]);
      }
      columns.write(call, first_row + row, column, four, find_scale(row));
    }
  }
}

// A thread's accumulators of eight rows and a column, and of the row and the column eight further, in C's type: two
// rows a register, the fragments of stmatrix.
template <bool kScaled, class Tile, class Accumulator>
__device__ inline void pack_rows(unsigned (&packed)[4], const Accumulator (&acc)[Tile::kRows / 2], int first,
                                 const GpuCall& call, const ClusterColumns<Tile>& columns, unsigned row_scales) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = first / 2 + i * 2;
    float two[2] = {static_cast<float>(acc[at]), static_cast<float>(acc[at + 1])};
    if constexpr (kScaled) {
      const int row = first + i / 2 * 8 + static_cast<int>(threadIdx.x) % 4 * 2;
      const float2 of_rows = read_two_scales(row_scales + row * 4);
      two[0] = two[0] * of_rows.x * columns.scale[i % 2] + columns.bias[i % 2];
      two[1] = two[1] * of_rows.y * columns.scale[i % 2] + columns.bias[i % 2];
    }
    packed[i] = pack(two[0], two[1], call.c_type);
  }
}

// Stores four matrices transposed: a row of 16 bytes takes a column of the fragments.
__device__ inline void store_transposed(unsigned to, const unsigned (&four)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(four[0]),
               "r"(four[1]), "r"(four[2]), "r"(four[3])
               : "memory");
}

// Lays out a warpgroup's 64 columns of C in TMA's swizzle, as rows of 128 bytes.
template <bool kScaled, class Tile, class Accumulator>
__device__ inline void lay_out_rows(unsigned to, const Accumulator (&acc)[Tile::kRows / 2], const GpuCall& call,
                                    const ClusterColumns<Tile>& columns, unsigned row_scales) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned chunk = threadIdx.x % 128 / 32 * 2 + lane / 8 % 2;
  const unsigned own = to + (lane / 16 * 8 + lane % 8) * kRowBytes + ((chunk ^ lane % 8) << 4);
#pragma unroll
  for (int first = 0; first < Tile::kRows; first += 16) {
    unsigned packed[4];
    pack_rows<kScaled, Tile>(packed, acc, first, call, columns, row_scales);
    store_transposed(own + first * kRowBytes, packed);
  }
}

// Stores a tile of 2-byte elements by TMA: each warpgroup its columns. C's buffer is free.
template <class Tile, class Accumulator>
__device__ inline void store_tile(const GpuTileCall& tiles, const GpuTensorMap& map_c,
                                  const ClusterColumns<Tile>& columns, const Accumulator (&acc)[Tile::kRows / 2],
                                  unsigned base, unsigned row_scales, int consumer, int row, int first_column) {
  const GpuCall& call = tiles.call;
  const unsigned box = base + Tile::kBufferOfC + consumer * Tile::kRows * kRowBytes;
  if (call.scale_a || call.scale_b || call.bias) {
    lay_out_rows<true, Tile>(box, acc, call, columns, row_scales);
  } else {
    lay_out_rows<false, Tile>(box, acc, call, columns, row_scales);
  }
  fence_async_proxy();
  asm volatile("barrier.sync %0, 128;" ::"r"(2 + consumer) : "memory");
  const int column = first_column + consumer * 64;
  if (threadIdx.x % 128 != 0 || column >= call.n || row >= call.m) return;
  store_box(map_c, column, row, box);
  commit_stores();
}

template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void cluster_gemm(const GpuTileCall& tiles, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                                    const GpuTensorMap& map_c, const GpuClusterCall& cluster) {
  static_assert(kAKMajor, "A is transposed first");
  using Accumulator = typename Tile::Op::Accumulator;
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  typename Tile::Stages ring(base, base + Tile::kBarriers);
  const ClusterPlace place(cluster);
  const bool alone = cluster.down * cluster.across * cluster.parts == 1;
  const int stages = (tiles.call.k + Tile::kTileK - 1) / Tile::kTileK;
  const int first = static_cast<int>(place.part) * cluster.part_stages;
  const int count = max(min(cluster.part_stages, stages - first), 0);
  if (threadIdx.x == 0) {
    prefetch_map(map_b);
    prefetch_map(map_a);
    if (tiles.by_map) prefetch_map(map_c);
    ring.begin(Tile::kGroups * (Tile::Scales::kScaled ? kReleasingWarps : 1) * (cluster.down + cluster.across - 1),
               Tile::Scales::kScaled ? 1 + kCopyingThreads : 1);
    fence_barrier_init();
  }
  if (alone) {
    __syncthreads();
  } else {
    cluster_sync_after_init();
  }
  ClusterTiles<Tile> own(tiles.call, cluster);
  wait_on_dependencies();
  constexpr int kOfProducer = Tile::kGroups == 1 ? 0 : Tile::kGroups > 2 ? 56 : 40;
  if (threadIdx.x < 128) {
    if constexpr (kOfProducer > 0) setmaxnreg_dec<kOfProducer>();
    if (threadIdx.x == 0) {
      do {
        produce_cluster<Tile, kBKMajor>(ring, cluster, map_a, map_b, place, own.row, own.column, first, count);
      } while (own.advance());
    }
    if constexpr (Tile::Scales::kScaled) {
      if (threadIdx.x / 32 == 1 || threadIdx.x / 32 == 2) {
        do {
          Tile::Scales::template produce<Tile>(ring, cluster.scales, tiles.call, own.row, own.column, first, count);
        } while (own.advance());
      }
      __syncwarp();
    }
    launch_dependents();
    if (cluster.parts > 1) cluster_sync();
  } else {
    if constexpr (kOfProducer > 0) setmaxnreg_inc<registers_of_consumer(Tile::kGroups, kOfProducer)>();
    const int consumer = static_cast<int>(threadIdx.x) / 128 - 1;
    const unsigned mates = place.a_mask(cluster) | place.b_mask(cluster);
    unsigned row_scales = base + Tile::kRowScales;
    do {
      ClusterColumns<Tile> columns;
      if constexpr (Tile::kTakesSeveral) columns.load(tiles, own.column, cluster.one_scale != 0);
      lay_out_row_scales<Tile>(row_scales, tiles.call, own.row, cluster.one_scale != 0);
      Accumulator acc[Tile::kRows / 2] = {};
      if constexpr (Tile::Scales::kScaled) {
        multiply_scaled<Tile>(ring, consumer, mates, acc, count);
      } else if (Tile::Op::kNarrow && !cluster.fast_sums) {
        multiply_cluster<Tile, kBKMajor, Tile::Op::kNarrow>(ring, consumer, mates, acc, count);
      } else {
        multiply_cluster<Tile, kBKMajor, false>(ring, consumer, mates, acc, count);
      }
      if constexpr (!Tile::kTakesSeveral) columns.load(tiles, own.column, cluster.one_scale != 0);
      if (threadIdx.x % 128 == 0) await_stores<0>();
      sync_consumers<Tile>();
      if (tiles.by_map) {
        launch_dependents();
        store_tile<Tile>(tiles, map_c, columns, acc, base, row_scales, consumer, own.row, own.column);
        row_scales ^= (base + Tile::kRowScales) ^ (base + Tile::kRowScales + Tile::kRows * 4);
        if constexpr (!Tile::kTakesSeveral) break;
        continue;  // with the next tile
      }
      lay_out<Tile>(base, acc, consumer);
      launch_dependents();
      if (cluster.parts > 1) {
        cluster_sync();
      } else {
        sync_consumers<Tile>();
      }
      write_share<Tile, Accumulator>(tiles.call, cluster, place, columns, base, own.row, own.column);
      break;
    } while (own.advance());
    if (threadIdx.x % 128 == 0) await_stores<0>();
  }
  // Orders this block's reads and arrivals at other blocks before any block exits.
  if (!alone) cluster_sync();
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_CLUSTER_KERNEL(name, layout, ...)                                                              \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::Tile_##name::kThreads, 1)              \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a, \
                      PBPROBE_PARAMETER pbprobe::GpuTensorMap b, PBPROBE_PARAMETER pbprobe::GpuTensorMap c,    \
                      PBPROBE_PARAMETER pbprobe::GpuClusterCall cluster) {                                     \
    using namespace pbprobe::PBPROBE_TARGET;                                                                   \
    cluster_gemm<Tile_##name, true, __VA_ARGS__>(tiles, a, b, c, cluster);                                     \
  }
#define PBPROBE_CLUSTER_KMAJOR(name, ...) \
  PBPROBE_TMA_TILE(name, __VA_ARGS__)     \
  PBPROBE_CLUSTER_KERNEL(name, nt, true)
#define PBPROBE_CLUSTER_LAYOUTS(name, ...)  \
  PBPROBE_CLUSTER_KMAJOR(name, __VA_ARGS__) \
  PBPROBE_CLUSTER_KERNEL(name, nn, false)
