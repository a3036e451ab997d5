// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// armv8_2: fmla v.4s for FP32 and for BF16 widened while packing, sdot v.4s for INT8.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: Arm Architecture Reference Manual for A-profile.
#define PBPROBE_TARGET armv8_2

#include "kernels/cpu/neon.hpp"

#include "kernels/cpu/chunk_panels.hpp"
#include "kernels/cpu/gemv.hpp"
#include "kernels/cpu/gemv_neon.hpp"
#include "kernels/cpu/peak_aarch64.hpp"

namespace pbprobe::armv8_2 {

void gemm_fp32_8x12(const CpuCall& call, const CpuTask& task) {
  GemmChunks<FmlaNeon, 8, 12>::run(call, task);
}

void gemm_bf16_8x12(const CpuCall& call, const CpuTask& task) {
  GemmChunks<FmlaNeon, 8, 12>::run(call, task);
}

void gemm_int8_8x12(const CpuCall& call, const CpuTask& task) {
  GemmChunks<SdotNeon, 8, 12>::run(call, task);
}

void gemv_fp32_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<GemvFmla, 16>::run(call, task);
}

void gemv_bf16_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<GemvFmla, 16>::run(call, task);
}

void gemv_int8_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<GemvSdot, 16>::run(call, task);
}

uint64_t peak_fp32(int64_t iterations) {
  return run_peak_neon<FmlaNeon>(iterations, some_floats);
}

uint64_t peak_int8(int64_t iterations) {
  return run_peak_neon<SdotNeon>(iterations, some_bytes);
}

uint64_t clock_chain(int64_t iterations) {
  return run_clock(iterations);
}

}  // namespace pbprobe::armv8_2
