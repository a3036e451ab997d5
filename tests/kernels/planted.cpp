// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A planted fault: one instruction that the row of PBPROBE_TARGET lacks, among those that it has. With PBPROBE_SOUND it
// is left out; with PBPROBE_PROGRAM it can be run.
#ifdef __x86_64__
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

#include <cstddef>
#include <cstdint>

namespace pbprobe::PBPROBE_TARGET {

// More than three of the row's own, so that reading none of them is noticed.
float planted(const float* from) {
#ifdef __x86_64__
  const __m256 product = _mm256_mul_ps(_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8));
  float sums[8];
  _mm256_storeu_ps(sums, _mm256_add_ps(product, product));
#else
  float sums[4];
  vst1q_f32(sums, vfmaq_f32(vld1q_f32(from), vld1q_f32(from + 4), vld1q_f32(from + 8)));
#endif
#if defined(PBPROBE_SOUND)
#elif defined(PBPROBE_PLANT_FMA)
  asm volatile("vfmadd231ps %%ymm0, %%ymm1, %%ymm2" : : : "xmm2");
#elif defined(PBPROBE_PLANT_ZMM)
  asm volatile("vaddps %%zmm0, %%zmm1, %%zmm2" : : : "xmm2");
#elif defined(PBPROBE_PLANT_VBMI)
  asm volatile("vpermb %%zmm0, %%zmm1, %%zmm2" : : : "xmm2");
#elif defined(PBPROBE_PLANT_SVE)
  asm volatile(".arch_extension sve\n\tcntb x0\n\t.arch_extension nosve" : : : "x0");
#elif defined(PBPROBE_PLANT_SME)
  asm volatile(".arch_extension sme\n\trdsvl x0, #1\n\t.arch_extension nosme" : : : "x0");
#endif
  return sums[0];
}

}  // namespace pbprobe::PBPROBE_TARGET

#ifdef PBPROBE_PROGRAM
int main() {
  const float from[16] = {1, 2, 3, 4};
  return pbprobe::PBPROBE_TARGET::planted(from) > 1e9F ? 1 : 0;
}
#endif
