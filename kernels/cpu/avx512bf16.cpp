// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// avx512bf16: vdpbf16ps zmm for BF16.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: Intel SDM, volume 2.
#define PBPROBE_TARGET avx512bf16

#include "kernels/cpu/x86_512.hpp"

#include "kernels/cpu/gemm_panels.hpp"
#include "kernels/cpu/gemv.hpp"
#include "kernels/cpu/peak_x86.hpp"

namespace pbprobe::avx512bf16 {

void gemm_bf16_14x32(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Dot512, 14, 2>::run(call, task);
}

void gemv_bf16_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Dot512, 24>::run(call, task);
}

uint64_t peak_bf16(int64_t iterations) {
  return run_peak<Dot512>(iterations, kSomePairs);
}

uint64_t clock_chain(int64_t iterations) {
  return run_clock(iterations);
}

}  // namespace pbprobe::avx512bf16
