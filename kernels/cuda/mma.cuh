// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM by mma.sync, for every SM since 7.5. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N].
//   BF16, FP16   m16n8k16, all four layouts: ldmatrix transposes operands that are not contiguous along k
//   INT8, TF32   m16n8k32, m16n8k8: along k only (ldmatrix transposes 16-bit elements only)
// Each warp computes kWarpM × kWarpN; stages of kLineBytes of k run ahead by cp.async in a ring of kStages (on 7.5: one
// stage ahead in registers), and fragments one step of 32 bytes ahead of the tensor cores. Source: PTX ISA, mma,
// ldmatrix, cp.async.
#pragma once

#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/tile_sizes.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// One step: 16 rows × 8 columns × 32 bytes of k. Rows g and g + 8, columns 2t and 2t + 1 of lane 4g + t in c.
struct Bf16 {
  using Accumulator = float;
  static constexpr int kElement = 2;
  static constexpr unsigned kPeakAnd = 0x807f807fU;  // mask of random bits; kPeakOr then makes numbers near 1
  static constexpr unsigned kPeakOr = 0x3f003f00U;
  __device__ static void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#ifndef PBPROBE_STAGED
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
  }
};

struct Fp16 {
  using Accumulator = float;
  static constexpr int kElement = 2;
  static constexpr unsigned kPeakAnd = 0x83ff83ffU;
  static constexpr unsigned kPeakOr = 0x38003800U;
  __device__ static void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#ifndef PBPROBE_STAGED
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    const unsigned b[2] = {b0, b1};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
    }
#endif
  }
};

struct Int8 {
  using Accumulator = int;
  static constexpr int kElement = 1;
  __device__ static void mma(int (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#ifndef PBPROBE_STAGED
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    const unsigned b[2] = {b0, b1};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+r"(c[i % 2 * 2]), "+r"(c[i % 2 * 2 + 1])
                   : "r"(a[i]), "r"(b[i / 2]));
    }
#endif
  }
};

// Rounds each element to 10 bits, in one instruction where the SM has one: since 9.0, ties to even; before, ties away
// from zero. The tensor core by itself truncates.
struct Tf32 {
  using Accumulator = float;
  static constexpr int kElement = 4;
  __device__ static void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#ifndef PBPROBE_STAGED
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
  }
  __device__ static void round(unsigned& bits) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(__uint_as_float(bits)));
#elif !defined(PBPROBE_STAGED)
    asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(__uint_as_float(bits)));
#endif
  }
};

// Four 8 × 8 matrices of 16 bits, one row of 16 bytes at each lane's address.
template <bool kTransposed>
__device__ inline void load_matrices(unsigned (&to)[4], unsigned from) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  }
}

// Addresses of a warp's matrices of one operand in a stage: blocks of 16 lines × 32 bytes of k. kLines: lines of the
// operand (rows of A, columns of B) in the stage.
template <int kLines, int kLineBytes, bool kKMajor>
struct Fragments {
  unsigned lane_address;  // this lane's row in the first block and step, permuted

  // If lines_first (A), lanes 8 to 15 hold the second half of the lines; else (B) the second half of k. The operand
  // begins at `offset` of a stage.
  __device__ Fragments(int first_line, bool lines_first, int offset) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int inner = lane % 8;
    const int second = lane / 8 % 2;
    const int third = lane / 16;
    const int line_half = lines_first ? second : third;
    const int k_half = lines_first ? third : second;
    if constexpr (kKMajor) {
      const int line = first_line + inner + line_half * 8;
      const int chunk = k_half ^ swizzle_of<Swizzle::matrices, kLineBytes>(line);
      lane_address = static_cast<unsigned>(offset + line * kLineBytes + (chunk << 4));
    } else {
      const int k = inner + k_half * 8;
      const int chunk = (first_line / 8 + line_half) ^ transposed_swizzle<kLines * 2>(k);
      lane_address = static_cast<unsigned>(offset + k * kLines * 2 + (chunk << 4));
    }
    keep(lane_address);
  }
  // Returns this lane's address in block `block` along the lines and step `step` along k.
  __device__ unsigned at(unsigned stage, int block, int step) const {
    if constexpr (kKMajor) return stage + block * 16 * kLineBytes + (lane_address ^ static_cast<unsigned>(step << 5));
    return stage + step * 16 * kLines * 2 + (lane_address ^ static_cast<unsigned>(block << 5));
  }
};

template <class Op_, int kM_, int kN_, int kWarpM_, int kWarpN_, int kLineBytes_, int kStages_>
struct MmaTile {
  using Op = Op_;
  static constexpr int kM = kM_;
  static constexpr int kN = kN_;
  static constexpr int kWarpM = kWarpM_;
  static constexpr int kWarpN = kWarpN_;
  static constexpr int kLineBytes = kLineBytes_;
  static constexpr int kStages = kStages_;
  static constexpr int kTileK = kLineBytes / Op::kElement;
  static constexpr int kThreads = kM / kWarpM * (kN / kWarpN) * 32;
  static constexpr int kStageBytes = (kM + kN) * kLineBytes;
  static constexpr int kSharedBytes = mma_shared_bytes(kM + kN, kLineBytes, kStages);
};

// The accumulators of one warp: kWarpM / 16 × kWarpN / 8 steps.
template <class Tile>
struct WarpAccumulators {
  typename Tile::Op::Accumulator values[Tile::kWarpM / 16][Tile::kWarpN / 8][4];

  __device__ void clear() {
#pragma unroll
    for (auto& row : values) {
#pragma unroll
      for (auto& step : row) {
#pragma unroll
        for (auto& value : step) value = 0;
      }
    }
  }
  __device__ void mma_step(const unsigned (&a)[Tile::kWarpM / 16][4], const unsigned (&b)[Tile::kWarpN / 16][4]) {
#pragma unroll
    for (int i = 0; i < Tile::kWarpM / 16; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kWarpN / 8; ++j) {
        // Boustrophedon: neighbours share the fragment of B.
        const int column = i % 2 == 0 ? j : Tile::kWarpN / 8 - 1 - j;
        Tile::Op::mma(values[i][column], a[i], b[column / 2][column % 2 * 2], b[column / 2][column % 2 * 2 + 1]);
      }
    }
  }
};

// Writes the accumulators by way of shared memory, as many rows at a time as the ring has room for, so that whole lines
// of C leave together.
template <class Tile>
__device__ inline void write_warp(const GpuCall& call, const WarpAccumulators<Tile>& acc, unsigned char* ring,
                                  int first_row, int first_column) {
  using Accumulator = typename Tile::Op::Accumulator;
  using Two = typename Vectors<Accumulator>::Two;
  using Four = typename Vectors<Accumulator>::Four;
  constexpr int kLine = Tile::kWarpN + 8;  // the 8 spread the rows of a half warp over the banks
  constexpr int kBlocks = Tile::kWarpM / 16;
  constexpr int kRoom = Tile::kSharedBytes / (Tile::kThreads / 32 * 16 * kLine * 4);
  constexpr int kAtOnce = kRoom >= kBlocks ? kBlocks : kRoom >= 2 && kBlocks % 2 == 0 ? 2 : 1;
  static_assert(kRoom >= 1, "16 rows of every warp fit the ring");
  constexpr int kAcross = Tile::kWarpN / 8;  // lanes of a row, 8 columns each
  constexpr int kIterations = 16 * kAtOnce * kAcross / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Accumulator* mine = reinterpret_cast<Accumulator*>(ring) + threadIdx.x / 32 * (16 * kAtOnce * kLine);
  Accumulator* to = mine + lane / 4 * kLine + lane % 4 * 2;
  const Accumulator* from = mine + lane / kAcross * kLine + lane % kAcross * 8;
  const int row = first_row + lane / kAcross;
  const int column = first_column + lane % kAcross * 8;
#pragma unroll
  for (int first = 0; first < kBlocks; first += kAtOnce) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kWarpN / 8; ++j) {
        const auto& four = acc.values[first + i][j];
        *reinterpret_cast<Two*>(to + i * 16 * kLine + j * 8) = Two{four[0], four[1]};
        *reinterpret_cast<Two*>(to + (i * 16 + 8) * kLine + j * 8) = Two{four[2], four[3]};
      }
    }
    __syncwarp();
#pragma unroll(kIterations < 4 ? kIterations : 4)
    for (int i = 0; i < kIterations; ++i) {
      constexpr int kRows = 32 / kAcross;
      const Four low = *reinterpret_cast<const Four*>(from + i * kRows * kLine);
      const Four high = *reinterpret_cast<const Four*>(from + i * kRows * kLine + 4);
      const Accumulator eight[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      write_accumulators<8, false, Tile::kM == 16>(call, row + first * 16 + i * kRows, column, eight);
    }
    __syncwarp();
  }
}

// kAkm: A is stored [k,m]; kBnk: B is stored [n,k].
template <class Tile, bool kAkm, bool kBnk>
__device__ inline void mma_gemm(const GpuCall& call) {
  using Op = typename Tile::Op;
  constexpr int kBlocksA = Tile::kWarpM / 16;
  constexpr int kBlocksB = Tile::kWarpN / 16;
  constexpr int kSteps = Tile::kLineBytes / 32;
  constexpr int kBytesA = Tile::kM * Tile::kLineBytes;
  constexpr int kAhead = Tile::kStages - 1;
  static_assert(kSteps % 2 == 0, "fragments alternate between two sets of registers");
  extern __shared__ __align__(128) unsigned char ring[];
  const unsigned base = shared_address(ring);

  using RowsA = Operand<Tile::kM, Tile::kTileK, Op::kElement, Tile::kThreads, !kAkm, Swizzle::matrices>;
  using RowsB = Operand<Tile::kN, Tile::kTileK, Op::kElement, Tile::kThreads, kBnk, Swizzle::matrices>;
  const int2 range = k_range(call);
  constexpr int kWarpsDown = Tile::kM / Tile::kWarpM;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int my_row = warp % kWarpsDown * Tile::kWarpM;
  const int my_column = warp / kWarpsDown * Tile::kWarpN;
  const Fragments<Tile::kM, Tile::kLineBytes, !kAkm> fragments_a(my_row, true, 0);
  const Fragments<Tile::kN, Tile::kLineBytes, kBnk> fragments_b(my_column, false, kBytesA);

  WarpAccumulators<Tile> acc;
  acc.clear();
  unsigned held_a[2][kBlocksA][4];
  unsigned held_b[2][kBlocksB][4];
  const auto load = [&](int set, unsigned stage, int step) {
#pragma unroll
    for (int i = 0; i < kBlocksA; ++i) load_matrices<kAkm>(held_a[set][i], fragments_a.at(stage, i, step));
#pragma unroll
    for (int j = 0; j < kBlocksB; ++j) load_matrices<!kBnk>(held_b[set][j], fragments_b.at(stage, j, step));
  };
  const auto compute = [&](int set) {
    if constexpr (Op::kElement == 4) {
#pragma unroll
      for (auto& block : held_a[set]) {
#pragma unroll
        for (unsigned& word : block) Op::round(word);
      }
#pragma unroll
      for (auto& block : held_b[set]) {
#pragma unroll
        for (unsigned& word : block) Op::round(word);
      }
    }
    acc.mma_step(held_a[set], held_b[set]);
  };

  const int stages = range.y > 0 ? (range.y + Tile::kTileK - 1) / Tile::kTileK : 0;
  const auto slot = [&](int stage) { return base + stage % Tile::kStages * Tile::kStageBytes; };
#ifdef PBPROBE_STAGED
  static_assert(Tile::kStages == 2, "one stage is computed while the next is in registers");
  const int2 first = tile_corner<Tile::kM, Tile::kN>(call);
  RowsA a(call.a, call.lda, first.x, call.m, range);
  RowsB b(call.b, call.ldb, first.y, call.n, range);
  uint4 next_a[RowsA::kCount];
  uint4 next_b[RowsB::kCount];
  const auto read = [&] {
    a.read(next_a, call.a_aligned, call.lda);
    b.read(next_b, call.b_aligned, call.ldb);
  };
  const auto store = [&](int stage) {
    a.store(slot(stage), next_a);
    b.store(slot(stage) + kBytesA, next_b);
    __syncthreads();
  };
  if (stages > 0) {
    read();
    store(0);
  }
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    if (stage + 1 < stages) read();
    load(0, slot(stage), 0);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) load((step + 1) % 2, slot(stage), step + 1);
      compute(step % 2);
    }
    if (stage + 1 < stages) store(stage + 1);
  }
#else
  // Whole stages are copied without a branch, interleaved with the MMAs; ragged or unaligned ones by code that keeps no
  // registers between stages.
  const auto fetch_ragged = [&](unsigned to, int stage) {
    const int2 first = tile_corner<Tile::kM, Tile::kN>(call);
    RowsA(call.a, call.lda, first.x, call.m, range).fetch_stage(to, stage, call.a_aligned, call.lda);
    RowsB(call.b, call.ldb, first.y, call.n, range).fetch_stage(to + kBytesA, stage, call.b_aligned, call.ldb);
  };
  WholeCopies<RowsA, RowsB> copies(call, tile_corner<Tile::kM, Tile::kN>(call), range);
  const int whole = copies.whole ? range.y / Tile::kTileK : 0;
  constexpr int kEach = (copies.kCount + kSteps - 2) / (kSteps - 1);  // chunks of a step; the last step waits
  const unsigned last = base + kAhead * Tile::kStageBytes;
  unsigned writing = base;
  const auto next_slot = [&](unsigned slot) { return slot == last ? base : slot + Tile::kStageBytes; };
  const auto end_stage = [&] {
    end_copies();
    copies.advance(call);
    writing = next_slot(writing);
  };
#pragma unroll 1
  for (int first = 0; first < kAhead; ++first) {
    if (first < whole) {
      copies.issue(call, writing, kBytesA, 0, copies.kCount);
    } else if (first < stages) {
      fetch_ragged(writing, first);
    }
    end_stage();
  }
  await_copies<kAhead - 1>();
  __syncthreads();
  unsigned reading = base;
  if (stages > 0) load(0, reading, 0);
  const auto compute_stage = [&](auto copying) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps - 1) {
        await_copies<kAhead - 1>();
        __syncthreads();
        reading = next_slot(reading);
      }
      // After the last stage, the fragments that this loads are not used.
      load((step + 1) % 2, reading, (step + 1) % kSteps);
      if (step < kSteps - 1 && copying) copies.issue(call, writing, kBytesA, step * kEach, (step + 1) * kEach);
      if (step == kSteps - 2) end_stage();
      compute(step % 2);
    }
  };
  int stage = 0;
#pragma unroll 1
  for (; stage + kAhead < whole; ++stage) compute_stage(true_type());
#pragma unroll 1
  for (; stage < stages; ++stage) {
    if (stage + kAhead < stages) fetch_ragged(writing, stage + kAhead);
    compute_stage(false_type());
  }
  await_copies<0>();
#endif
  __syncthreads();
  const int2 here = tile_corner<Tile::kM, Tile::kN>(call);
  write_warp<Tile>(call, acc, ring, here.x + my_row, here.y + my_column);
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// PBPROBE_MMA_TILE(tile, blocks of an SM, MmaTile's parameters), then kernels of it.
#define PBPROBE_MMA_TILE(name, blocks, ...) \
  namespace pbprobe::PBPROBE_TARGET {       \
  namespace {                               \
  using Tile_##name = MmaTile<__VA_ARGS__>; \
  constexpr int kBlocks_##name = blocks;    \
  }                                         \
  }
#define PBPROBE_MMA_KERNEL(name, layout, a_km, b_nk)                                           \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::Tile_##name::kThreads, \
                                               pbprobe::PBPROBE_TARGET::kBlocks_##name)        \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuCall call) {                               \
    pbprobe::PBPROBE_TARGET::mma_gemm<pbprobe::PBPROBE_TARGET::Tile_##name, a_km, b_nk>(call); \
  }
// Along k, as every type can be read.
#define PBPROBE_MMA_KMAJOR(name, blocks, ...) \
  PBPROBE_MMA_TILE(name, blocks, __VA_ARGS__) \
  PBPROBE_MMA_KERNEL(name, nt, false, true)
// 16-bit operands: each layout without a copy.
#define PBPROBE_MMA_LAYOUTS(name, blocks, ...)  \
  PBPROBE_MMA_KMAJOR(name, blocks, __VA_ARGS__) \
  PBPROBE_MMA_KERNEL(name, nn, false, false)    \
  PBPROBE_MMA_KERNEL(name, tn, true, false)     \
  PBPROBE_MMA_KERNEL(name, tt, true, true)
