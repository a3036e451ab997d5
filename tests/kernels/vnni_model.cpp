// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The kernels of avxvnni with their one instruction computed by AVX2, which more CPUs have and QEMU emulates. Compiled
// with -D__AVXVNNI__, so that the header has its family, and without -mavxvnni, so that nothing else can use it.
#define PBPROBE_TARGET avxvnni_model

#include "kernels/cpu/x86_256.hpp"

#include "kernels/cpu/gemm_panels.hpp"
#include "kernels/cpu/gemv.hpp"

namespace pbprobe::avxvnni_model {
namespace {

// Splits each word's bytes into even and odd ones, as numbers of 16 bits. The planted fault: the sums of two products
// saturate, as vpmaddubsw saturates.
template <bool kSaturates>
struct Model : Vnni256 {
  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
    const __m256i left = _mm256_castps_si256(a);
    const __m256i right = _mm256_castps_si256(b);
    if constexpr (kSaturates) {
      const __m256i pairs = _mm256_maddubs_epi16(left, right);
      return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(left, _mm256_set1_epi16(0xff)),
                                           _mm256_srai_epi16(_mm256_slli_epi16(right, 8), 8));
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(left, 8), _mm256_srai_epi16(right, 8));
    return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
  }
};

}  // namespace

void gemm_int8_6x16(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Model<false>, 6, 2>::run(call, task);
}

void gemm_that_saturates(const CpuCall& call, const CpuTask& task) {
  GemmPanels<Model<true>, 6, 2>::run(call, task);
}

void gemv_int8_8x64(const CpuCall& call, const CpuTask& task) {
  Gemv<Model<false>, 8>::run(call, task);
}

}  // namespace pbprobe::avxvnni_model
