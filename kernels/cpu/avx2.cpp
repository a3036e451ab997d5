// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// avx2: vfmadd231ps ymm for FP32 and for BF16 widened while packing, vpmaddwd ymm for INT8.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: Intel SDM, volume 2.
#define PBPROBE_TARGET avx2

#include "kernels/cpu/x86_256.hpp"

#include "kernels/cpu/gemm_panels.hpp"
#include "kernels/cpu/gemv.hpp"
#include "kernels/cpu/peak_x86.hpp"

namespace pbprobe::avx2 {

void gemm_fp32_6x16(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Fma256, 6, 2>::run(call, task);
}

void gemm_bf16_6x16(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Fma256, 6, 2>::run(call, task);
}

void gemm_int8_6x16(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Madd256, 6, 2>::run(call, task);
}

void gemv_fp32_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Fma256, 12>::run(call, task);
}

void gemv_bf16_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Fma256, 12>::run(call, task);
}

void gemv_int8_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Madd256, 8>::run(call, task);
}

uint64_t peak_fp32(int64_t iterations) {
  return run_peak<Fma256>(iterations, kSomeFloats);
}

uint64_t peak_int8(int64_t iterations) {
  return run_peak<Madd256>(iterations, kSomeShorts);
}

uint64_t clock_chain(int64_t iterations) {
  return run_clock(iterations);
}

}  // namespace pbprobe::avx2
