// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// armv9: SVE of any vector length: fmla z.s for FP32, bfmmla for BF16, smmla and usmmla for INT8. Small M by Advanced
// SIMD: fmla v.4s and sdot.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: Arm Architecture Reference Manual for A-profile.
#define PBPROBE_TARGET armv9

#include "kernels/cpu/sve.hpp"

#include "kernels/cpu/chunk_panels.hpp"
#include "kernels/cpu/gemv.hpp"
#include "kernels/cpu/gemv_neon.hpp"
#include "kernels/cpu/peak_aarch64.hpp"

namespace pbprobe::armv9 {

void gemm_fp32_8x12(const CpuCall& call, const CpuTask& task) {
  GemmChunks<FmlaSve, 8, 12>::run(call, task);
}

void gemm_bf16_10x10(const CpuCall& call, const CpuTask& task) {
  GemmChunks<BfmmlaSve, 10, 10>::run(call, task);
}

void gemm_int8_10x10(const CpuCall& call, const CpuTask& task) {
  if (call.a_type == CpuType::uint8) {
    GemmChunks<UsmmlaSve, 10, 10>::run(call, task);
  } else {
    GemmChunks<SmmlaSve, 10, 10>::run(call, task);
  }
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
  return run_peak_sve<FmlaSve>(iterations, some_floats);
}

uint64_t peak_bf16(int64_t iterations) {
  return run_peak_sve<BfmmlaSve>(iterations, some_pairs);
}

uint64_t peak_int8(int64_t iterations) {
  return run_peak_sve<SmmlaSve>(iterations, some_bytes);
}

uint64_t peak_fp32_128(int64_t iterations) {
  return run_peak_neon<GemvFmla>(iterations, some_floats);
}

uint64_t peak_int8_128(int64_t iterations) {
  return run_peak_neon<GemvSdot>(iterations, some_bytes);
}

uint64_t clock_chain(int64_t iterations) {
  return run_clock(iterations);
}

}  // namespace pbprobe::armv9
