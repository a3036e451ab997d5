// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: wgmma for small M, which is bound by reading B. Operands are swapped (swap-AB): B's columns are the rows of
// the instruction, 64 a warpgroup, and A's rows its columns. Split-K inside a cluster: its blocks add their
// accumulators through distributed shared memory in a fixed order, without workspace or a second kernel. Family header:
// see tile.cuh.
//
// Shared memory at exit: the other blocks of the cluster read this block's accumulators (read_of_block). The first
// cluster_sync() publishes them; the last one orders these reads before any block exits.
// Reuse of buffers: stages wait for `empty`; the accumulators replace the stages after the block's barrier, when all
// copies have landed and no wgmma reads the ring.
#pragma once

#include "kernels/cuda/hopper.cuh"
#include "kernels/cuda/unaligned.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

template <class OpOf, int kRowsOf, int kStagesOf, int kGroupsOf, int kLinesOf, int kBlocksOf>
struct SkinnyTile {
  using Op = OpOf;
  static constexpr int kRows = kRowsOf;                 // rows of A and C
  static constexpr int kGroups = kGroupsOf;             // warpgroups that compute
  static constexpr int kThreads = 128 * (kGroups + 1);  // 128 more where threads read B
  static constexpr int kBlocks = kBlocksOf;             // blocks per SM
  static constexpr int kColumns = 64 * kGroups;
  static constexpr int kLines = kLinesOf;  // lines of 128 bytes of k in a stage; neighbours are fetched together
  static constexpr int kLineK = kRowBytes / Op::kElement;
  static constexpr int kTileK = kLines * kLineK;
  static constexpr int kStages = kStagesOf;
  static constexpr int kBytesA = kRows * kRowBytes;  // bytes of A in one line
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kLineBytes = kBytesA + kBytesB;
  static constexpr int kStageBytes = kLines * kLineBytes;
  // Accumulators are stored row by row; four words of padding avoid bank conflicts.
  static constexpr int kPitch = kColumns + 4;
  static_assert(kRows * kPitch * 4 <= kStages * kStageBytes, "the accumulators lie where the stages were");
  using Stages = Ring<kStages, kStageBytes>;
  static_assert(kBytesA % kPatternBytes == 0, "B begins at a multiple of the swizzle's pattern");
  static constexpr int kSharedBytes = tma_shared_bytes(kLines * (kRows + kColumns), kStages);
};

// Stages a warpgroup's accumulators at `at` in shared memory, from where the blocks of the cluster read them.
// `consumer`: index of the warpgroup, which holds 64 columns of the tile.
template <class Tile, class Accumulator>
__device__ inline void lay_out(unsigned at, const Accumulator (&acc)[Tile::kRows / 2], int consumer) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int column = consumer * 64 + static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < Tile::kRows / 2; ++i) {
    const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const unsigned to = at + (row * Tile::kPitch + column + i % 4 / 2 * 8) * 4;
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(bits_of(acc[i])) : "memory");
  }
}

__device__ inline float sum_of(float bits, float) {
  return bits;
}
__device__ inline int sum_of(float bits, int) {
  return __float_as_int(bits);
}

// This block's share of C: adds the accumulators of all blocks of the cluster.
template <class Tile, class Accumulator>
__device__ inline void add_up(const GpuCall& call, unsigned at, int first_column, unsigned rank, unsigned blocks) {
  constexpr int kFours = Tile::kColumns / 4;
  const int all = call.m * kFours;
  for (int i = static_cast<int>(rank * blockDim.x + threadIdx.x); i < all; i += static_cast<int>(blocks * blockDim.x)) {
    // Neighbours in C are neighbours in the warp.
    const int row = call.c_is_nm ? i % call.m : i / kFours;
    const int column = (call.c_is_nm ? i / call.m : i % kFours) * 4;
    if (first_column + column >= call.n) continue;
    Accumulator four[4] = {};
    for (unsigned block = 0; block < blocks; ++block) {
      const float4 part = read_of_block(at + (row * Tile::kPitch + column) * 4, block);
      four[0] += sum_of(part.x, Accumulator());
      four[1] += sum_of(part.y, Accumulator());
      four[2] += sum_of(part.z, Accumulator());
      four[3] += sum_of(part.w, Accumulator());
    }
    write_small_m(call, row, first_column + column, four);
  }
}

// The bytes of A in a line of a stage. TMA takes about four clocks for each line outside of its operand, so that the
// box has A's rows alone. Sums of the tile's other rows are not stored.
template <class Tile>
__device__ inline unsigned bytes_of_a(const GpuCall& call) {
  return min(call.m, Tile::kRows) * kRowBytes;
}

template <class Tile, bool kBKMajor>
__device__ inline void produce_skinny(const typename Tile::Stages& ring, const GpuTensorMap& map_a,
                                      const GpuTensorMap& map_b, unsigned bytes_a, int column, int k) {
  const unsigned full = ring.full();
  arrive_expect_tx(full, Tile::kLines * (bytes_a + Tile::kBytesB));
#pragma unroll
  for (int line = 0; line < Tile::kLines; ++line) {
    const unsigned to = ring.stage() + line * Tile::kLineBytes + Tile::kBytesA;
    const int at = k + line * Tile::kLineK;
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
    load_box(ring.stage() + line * Tile::kLineBytes, map_a, k + line * Tile::kLineK, 0, full);
  }
}

// Unaligned rows of B, which TMA cannot read: two warpgroups load them, 16 bytes a thread, and store them in TMA's
// layout. A thread's rows are 32 apart, so all of them have the same misalignment.
constexpr int kUnalignedProducers = 2;

template <class Tile>
struct UnalignedRows {
  static constexpr int kStep = 16 * kUnalignedProducers;  // rows from one of a thread to its next
  static constexpr int kCount = Tile::kColumns / kStep;   // rows of a thread
  static constexpr int kElement = Tile::Op::kElement;
  static constexpr int kDeep = kRowBytes / kElement;
  const char* around;  // the vector that holds the first byte of this thread's first 16 of the coming stage
  long long stride;    // bytes from one row of this thread to the next
  int left;            // elements of a row from there on
  int shift;           // bytes from the vector's beginning on
  int rows;            // rows of this thread that exist in B
  int safe;            // lines until a vector would leave the operand
  bool begins;         // the first one would
  unsigned offset;     // place of its first 16 bytes in a line, in bytes

  __device__ UnalignedRows(const GpuCall& call, int column, int k) {
    const int row = static_cast<int>(threadIdx.x) / 8;
    const int chunk = static_cast<int>(threadIdx.x) % 8;
    const Extent all(call.b, call.n, call.ldb, call.k, kElement);
    const char* from = all.begin + ((column + row) * call.ldb + k) * kElement + chunk * 16;
    shift = static_cast<int>(reinterpret_cast<unsigned long long>(from) % 16);
    around = from - shift;
    stride = kStep * call.ldb * kElement;
    left = call.k - k - chunk * (16 / kElement);
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
          held[line][i] = first_bytes(shifted(held[line][i], high[line][i], shift), bytes);
        }
      }
    } else {
#pragma unroll
      for (int line = 0; line < Tile::kLines; ++line) {
        const int bytes = min(max(left - line * kDeep, 0), 16) * kElement;
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          held[line][i] = i < rows ? read_elements<kElement>(around + shift + line * kRowBytes + i * stride, bytes)
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
        store_shared(stage + line * Tile::kLineBytes + Tile::kBytesA + offset + i * kStep * kRowBytes, held[line][i]);
      }
    }
  }
};

template <class Tile>
__device__ inline void produce_unaligned(typename Tile::Stages& ring, const GpuTileCall& tiles,
                                         const GpuTensorMap& map_a, int column, int first, int count) {
  UnalignedRows<Tile> rows(tiles.call, column, first * Tile::kTileK);
#pragma unroll 1
  for (int stage = 0; stage < count; ++stage) {
    uint4 held[Tile::kLines][UnalignedRows<Tile>::kCount];
    rows.read(held);
    ring.await_empty();
    if (threadIdx.x == 0) {
      arrive_expect_tx(ring.full(), Tile::kLines * bytes_of_a<Tile>(tiles.call));
#pragma unroll
      for (int line = 0; line < Tile::kLines; ++line) {
        load_box(ring.stage() + line * Tile::kLineBytes, map_a, (first + stage) * Tile::kTileK + line * Tile::kLineK, 0,
                 ring.full());
      }
    }
    rows.store(ring.stage(), held);
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(ring.full());
    ring.advance();
  }
}

// One stage. FP8: each line of 128 bytes of k is a sum of its own.
template <class Tile, bool kBKMajor>
__device__ inline void compute_skinny(unsigned stage, int consumer,
                                      typename Tile::Op::Accumulator (&acc)[Tile::kRows / 2]) {
  using Op = typename Tile::Op;
  const auto line_of_b = [&](int line) {
    return describe<kBKMajor>(stage + line * Tile::kLineBytes + Tile::kBytesA + consumer * kBoxBytes);
  };
  const auto line_of_a = [&](int line) { return describe<true>(stage + line * Tile::kLineBytes); };
  if constexpr (Op::kNarrow) {
    constexpr int kAtOnce = Tile::kRows < 64 ? Tile::kRows : 64;  // rows of A, for which there are registers
#pragma unroll
    for (int first = 0; first < Tile::kRows; first += kAtOnce) {
      float sums[Tile::kLines][kAtOnce / 2];
#pragma unroll
      for (auto& sum : sums) fence_operands(sum);
      wgmma_fence();
#pragma unroll
      for (int line = 0; line < Tile::kLines; ++line) {
        wgmma_line<Op, kAtOnce>(sums[line], line_of_b(line), line_of_a(line) + first * kRowBytes / 16);
      }
      wgmma_commit();
#pragma unroll
      for (auto& sum : sums) fence_operands(sum);
      wgmma_wait<0>();
#pragma unroll
      for (int line = 0; line < Tile::kLines; ++line) {
        fence_operands(sums[line]);
        add_to(reinterpret_cast<float(&)[kAtOnce / 2]>(acc[first / 2]), sums[line]);
      }
    }
  } else {
    fence_operands(acc);
    wgmma_fence();
#pragma unroll
    for (int line = 0; line < Tile::kLines; ++line) {
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        Op::template wgmma<Tile::kRows, kBKMajor, true>(acc, line_of_b(line) + step * kStepK<kBKMajor>,
                                                        line_of_a(line) + step * kStepK<true>);
      }
    }
    wgmma_commit();
    fence_operands(acc);
    wgmma_wait<0>();
  }
}

template <class Tile, bool kAKMajor, bool kBKMajor, bool kUnaligned = false>
__device__ inline void small_m_gemm(const GpuTileCall& tiles, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                                    const GpuTensorMap&) {
  static_assert(kAKMajor, "A is small: it is transposed first");
  using Op = typename Tile::Op;
  using Accumulator = typename Op::Accumulator;
  constexpr int kProducers = kUnaligned ? kUnalignedProducers : 1;  // warpgroups
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  typename Tile::Stages ring(base, base + Tile::kStages * Tile::kStageBytes);
  const unsigned rank = cluster_rank();
  const unsigned blocks = cluster_size();
  const int stages = (tiles.call.k + Tile::kTileK - 1) / Tile::kTileK;
  const int share = (stages + static_cast<int>(blocks) - 1) / static_cast<int>(blocks);
  const int first = static_cast<int>(rank) * share;
  const int count = max(min(share, stages - first), 0);
  const int column = static_cast<int>(blockIdx.x / blocks) * Tile::kColumns;
  if (threadIdx.x == 0) {
    prefetch_map(map_b);
    prefetch_map(map_a);
    ring.begin(Tile::kGroups, kUnaligned ? 1 + kProducers * 4 : 1);
    fence_barrier_init();
  }
  __syncthreads();
  wait_on_dependencies();
  const int consumer = static_cast<int>(threadIdx.x) / 128 - kProducers;
  Accumulator acc[Tile::kRows / 2] = {};
  if (consumer < 0) {
    if constexpr (kUnaligned) {
      produce_unaligned<Tile>(ring, tiles, map_a, column, first, count);
    } else if (threadIdx.x == 0) {
#pragma unroll 1
      for (int stage = 0; stage < count; ++stage) {
        ring.await_empty();
        produce_skinny<Tile, kBKMajor>(ring, map_a, map_b, bytes_of_a<Tile>(tiles.call), column,
                                       (first + stage) * Tile::kTileK);
        ring.advance();
      }
    }
  } else {
#pragma unroll 1
    for (int stage = 0; stage < count; ++stage) {
      ring.await_full();
      compute_skinny<Tile, kBKMajor>(ring.stage(), consumer, acc);
      if (threadIdx.x % 128 == 0) arrive(ring.empty());
      ring.advance();
    }
    fence_operands(acc);
  }
  __syncthreads();  // one barrier for both roles: all copies have landed, and no wgmma reads the ring
  if (consumer >= 0) lay_out<Tile>(base, acc, consumer);
  // Not earlier: the next kernel's blocks would all go to the first SMs that are free.
  launch_dependents();
  if (blocks > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }
  add_up<Tile, Accumulator>(tiles.call, base, column, rank, blocks);
  // Orders this block's reads of the other blocks' accumulators before any block exits.
  if (blocks > 1) cluster_sync();
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
