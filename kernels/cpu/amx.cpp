// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// amx: tdpbf16ps for BF16, tdpbssd and tdpbusd for INT8. The target is not part of the matrix, but libraries use its
// instructions if the CPU has them. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: Intel SDM, volume 2.
#define PBPROBE_TARGET amx

#include "kernels/cpu/gemv_tiles.hpp"
#include "kernels/cpu/peak_x86.hpp"

namespace pbprobe::amx {

void gemm_bf16_32x32(const CpuCall& call, const CpuTask& task) {
  GemmTiles<Dot512>::run(call, task);
}

void gemm_int8_32x32(const CpuCall& call, const CpuTask& task) {
  GemmTiles<TileBytes>::run(call, task);
}

void gemv_bf16_16x16(const CpuCall& call, const CpuTask& task) {
  GemvTiles<Dot512>::run(call, task);
}

void gemv_int8_16x16(const CpuCall& call, const CpuTask& task) {
  GemvTiles<TileBytes>::run(call, task);
}

uint64_t peak_bf16(int64_t iterations) {
  return run_tile_peak<TileDot::bf16>(iterations, kSomePairs);
}

uint64_t peak_int8(int64_t iterations) {
  return run_tile_peak<TileDot::signed_int8>(iterations, kSomeBytes);
}

uint64_t clock_chain(int64_t iterations) {
  return run_clock(iterations);
}

}  // namespace pbprobe::amx
