// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// avx512vnni: vpdpbusd zmm for INT8.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: Intel SDM, volume 2.
#define PBPROBE_TARGET avx512vnni

#include "kernels/cpu/x86_512.hpp"

#include "kernels/cpu/gemm_panels.hpp"
#include "kernels/cpu/gemv.hpp"
#include "kernels/cpu/peak_x86.hpp"

namespace pbprobe::avx512vnni {

void gemm_int8_14x32(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Vnni512, 14, 2>::run(call, task);
}

void gemv_int8_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Vnni512, 20>::run(call, task);
}

uint64_t peak_int8(int64_t iterations) {
  return run_peak<Vnni512>(iterations, kSomeBytes);
}

uint64_t clock_chain(int64_t iterations) {
  return run_clock(iterations);
}

}  // namespace pbprobe::avx512vnni
