// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// avxvnni: vpdpbusd ymm in its VEX encoding for INT8, on CPUs without AVX-512 too. The target is not part of the
// matrix, but libraries use its instructions if the CPU has them. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source:
// Intel SDM, volume 2.
#define PBPROBE_TARGET avxvnni

#include "kernels/cpu/x86_256.hpp"

#include "kernels/cpu/gemm_panels.hpp"
#include "kernels/cpu/gemv.hpp"
#include "kernels/cpu/peak_x86.hpp"

namespace pbprobe::avxvnni {

void gemm_int8_6x16(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Vnni256, 6, 2>::run(call, task);
}

void gemv_int8_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Vnni256, 8>::run(call, task);
}

uint64_t peak_int8(int64_t iterations) {
  return run_peak<Vnni256>(iterations, kSomeBytes);
}

uint64_t clock_chain(int64_t iterations) {
  return run_clock(iterations);
}

}  // namespace pbprobe::avxvnni
