// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// avx512: vfmadd231ps zmm for FP32 and for BF16 widened while packing, vpmaddwd zmm for INT8.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: Intel SDM, volume 2.
#define PBPROBE_TARGET avx512

#include "kernels/cpu/x86_512.hpp"

#include "kernels/cpu/gemm_panels.hpp"
#include "kernels/cpu/gemv.hpp"
#include "kernels/cpu/peak_x86.hpp"

namespace pbprobe::avx512 {

void gemm_fp32_14x32(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Fma512, 14, 2>::run(call, task);
}

void gemm_bf16_14x32(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Fma512, 14, 2>::run(call, task);
}

void gemm_int8_12x32(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Madd512, 12, 2>::run(call, task);
}

void gemv_fp32_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Fma512, 24>::run(call, task);
}

void gemv_bf16_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Fma512, 24>::run(call, task);
}

void gemv_int8_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Madd512, 16>::run(call, task);
}

uint64_t peak_fp32(int64_t iterations) {
  return run_peak<Fma512>(iterations, kSomeFloats);
}

uint64_t peak_int8(int64_t iterations) {
  return run_peak<Madd512>(iterations, kSomeShorts);
}

uint64_t clock_chain(int64_t iterations) {
  return run_clock(iterations);
}

}  // namespace pbprobe::avx512
