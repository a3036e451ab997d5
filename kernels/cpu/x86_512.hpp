// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Instructions on sixteen words of a zmm register, for gemm_panels.hpp. Needs AVX512F, BW and VL; parts that need more
// exist only if the target's flags allow them. A family header: see gemm_panels.hpp.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Words of 32 bits, whatever is in them.
struct Words512 {
  using Words = __m512i;
  static constexpr int kLanes = 16;
  static constexpr int kPeakAccumulators = 24;  // more than latency (4 or 5) times units (2)

  static __mmask16 first(int count) { return static_cast<__mmask16>((1U << count) - 1U); }
  static Words no_words() { return _mm512_setzero_si512(); }
  // Loads into a register: GCC would read the words again as the memory operand of each instruction that uses them.
  static Words load_words(const void* p) {
    Words words = _mm512_loadu_si512(p);
    __asm__("" : "+v"(words));
    return words;
  }
  static void store_words(void* p, Words w) { _mm512_storeu_si512(p, w); }
  static void store_words_part(void* p, Words w, int count) { _mm512_mask_storeu_epi32(p, first(count), w); }
  static Words broadcast(const void* p) {
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
  }

  // Loads four words from each of four lines, which are `stride` bytes apart: one line per 128 bits.
  static Words load_fours(const void* from, int64_t stride) {
    const auto at = [&](int i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(static_cast<const char*>(from) + i * stride));
    };
    const Words two = _mm512_inserti32x4(_mm512_castsi128_si512(at(0)), at(1), 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(two, at(2), 2), at(3), 3);
  }
  // Transposes 16 lines of four words. Before: w[j] has the lines j, j + 4, j + 8, j + 12. After: w[i] has word i of
  // each.
  static void transpose_fours(Words (&w)[4]) {
    const __m512i a = _mm512_unpacklo_epi32(w[0], w[1]);
    const __m512i b = _mm512_unpackhi_epi32(w[0], w[1]);
    const __m512i c = _mm512_unpacklo_epi32(w[2], w[3]);
    const __m512i d = _mm512_unpackhi_epi32(w[2], w[3]);
    w[0] = _mm512_unpacklo_epi64(a, c);
    w[1] = _mm512_unpackhi_epi64(a, c);
    w[2] = _mm512_unpacklo_epi64(b, d);
    w[3] = _mm512_unpackhi_epi64(b, d);
  }

  // w[i][j] becomes w[j][i]: pairs, then fours, within 128 bits; then the 128-bit lanes change places.
  static void transpose(Words (&w)[kLanes]) {
    __m512i t[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) {
      const __m512i a = _mm512_unpacklo_epi32(w[i], w[i + 1]);
      const __m512i b = _mm512_unpackhi_epi32(w[i], w[i + 1]);
      const __m512i c = _mm512_unpacklo_epi32(w[i + 2], w[i + 3]);
      const __m512i d = _mm512_unpackhi_epi32(w[i + 2], w[i + 3]);
      t[i] = _mm512_unpacklo_epi64(a, c);
      t[i + 1] = _mm512_unpackhi_epi64(a, c);
      t[i + 2] = _mm512_unpacklo_epi64(b, d);
      t[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
      const __m512i a = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88);
      const __m512i b = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xdd);
      const __m512i c = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88);
      const __m512i d = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xdd);
      w[i] = _mm512_shuffle_i32x4(a, c, 0x88);
      w[i + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
      w[i + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
      w[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
  }
};

// Lane i: the sum of v[i]'s lanes. Pairs of vectors become one, whose lanes are sums of two each, until one is left.
template <class I>
[[gnu::always_inline]] inline typename I::Accumulators sums_of(const typename I::Accumulators (&v)[16]) {
  typename I::Accumulators t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const __m512i a = I::bits(v[2 * i]);
    const __m512i b = I::bits(v[2 * i + 1]);
    t[i] = I::add(I::of_bits(_mm512_unpacklo_epi32(a, b)), I::of_bits(_mm512_unpackhi_epi32(a, b)));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i a = I::bits(t[2 * i]);
    const __m512i b = I::bits(t[2 * i + 1]);
    t[i] = I::add(I::of_bits(_mm512_unpacklo_epi64(a, b)), I::of_bits(_mm512_unpackhi_epi64(a, b)));
  }
#pragma GCC unroll 2
  for (int count = 2; count > 0; --count) {
#pragma GCC unroll 2
    for (int i = 0; i < count; ++i) {
      const __m512i a = I::bits(t[2 * i]);
      const __m512i b = I::bits(t[2 * i + 1]);
      t[i] = I::add(I::of_bits(_mm512_shuffle_i32x4(a, b, 0x88)), I::of_bits(_mm512_shuffle_i32x4(a, b, 0xdd)));
    }
  }
  return t[0];
}

// FP32 accumulators; the next struct has INT32.
struct FloatAccumulators512 {
  using Accumulator = float;
  using Accumulators = __m512;
  static constexpr CpuType kAccumulatorType = CpuType::fp32;
  static constexpr bool kCorrects = false;
  static Accumulators zero_accumulators() { return _mm512_setzero_ps(); }
  static Accumulators load_accumulators(const float* p) { return _mm512_loadu_ps(p); }
  // Loads the first n accumulators (0 to 16) from p; the others are zero.
  static Accumulators load_accumulators_part(const float* p, int n) {
    return _mm512_maskz_loadu_ps(Words512::first(n), p);
  }
  static void store_accumulators(float* p, Accumulators s) { _mm512_storeu_ps(p, s); }
  // Overwrites the first n accumulators (0 to 16) at p.
  static void store_accumulators_part(float* p, Accumulators s, int n) {
    _mm512_mask_storeu_ps(p, Words512::first(n), s);
  }
  static Accumulators add(Accumulators a, Accumulators b) { return _mm512_add_ps(a, b); }
  static Accumulators sums(const Accumulators (&v)[16]) { return sums_of<FloatAccumulators512>(v); }
  // The first n as BF16, as finish_row() rounds them.
  static constexpr bool kNarrows = true;
  static void store_narrow(uint16_t* p, Accumulators s, int n) {
#ifdef __AVX512BF16__
    const __m256bh pairs = _mm512_cvtneps_pbh(s);
    __m256i halves;
    __builtin_memcpy(&halves, &pairs, sizeof halves);
#else
    const __m512i bits = _mm512_castps_si512(s);
    const __m512i high = _mm512_srli_epi32(bits, 16);
    const __m512i half = _mm512_add_epi32(_mm512_and_si512(high, _mm512_set1_epi32(1)), _mm512_set1_epi32(0x7fff));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
    const __m512i quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
    const __mmask16 nan = _mm512_cmp_ps_mask(s, s, _CMP_UNORD_Q);
    const __m256i halves = _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(rounded, nan, quiet));
#endif
    if (n == Words512::kLanes) return _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(p), halves);
    _mm256_mask_storeu_epi16(p, Words512::first(n), halves);
  }
  static __m512i bits(Accumulators v) {
    return _mm512_castps_si512(v);
  }
  static Accumulators of_bits(__m512i v) {
    return _mm512_castsi512_ps(v);
  }
};

// INT32 accumulators; the functions of FloatAccumulators512.
struct IntegerAccumulators512 {
  static constexpr bool kNarrows = false;
  using Accumulator = int32_t;
  using Accumulators = __m512i;
  static constexpr CpuType kAccumulatorType = CpuType::int32;
  static Accumulators zero_accumulators() { return _mm512_setzero_si512(); }
  static Accumulators load_accumulators(const int32_t* p) { return _mm512_loadu_si512(p); }
  static Accumulators load_accumulators_part(const int32_t* p, int n) {
    return _mm512_maskz_loadu_epi32(Words512::first(n), p);
  }
  static void store_accumulators(int32_t* p, Accumulators s) { _mm512_storeu_si512(p, s); }
  static void store_accumulators_part(int32_t* p, Accumulators s, int n) {
    _mm512_mask_storeu_epi32(p, Words512::first(n), s);
  }
  static Accumulators add(Accumulators a, Accumulators b) { return _mm512_add_epi32(a, b); }
  static Accumulators sums(const Accumulators (&v)[16]) { return sums_of<IntegerAccumulators512>(v); }
  static __m512i bits(Accumulators v) { return v; }
  static Accumulators of_bits(__m512i v) { return v; }
};

// vfmadd231ps zmm. A word is one float; BF16 becomes one while it is packed.
struct Fma512 : Words512, FloatAccumulators512 {
  static constexpr int kGroup = 1;
  template <class T>
  static constexpr bool kReads = kSame<T, float> || kSame<T, Bf16>;

  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), acc);
  }
  // kGroup · kLanes elements of one line, or the first `count` of them and zeros.
  template <bool kIsA>
  static Words load(const float* p) {
    return load_words(p);
  }
  template <bool kIsA>
  static Words load(const Bf16* p) {
    return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p)));
  }
  template <bool kIsA>
  static Words load_part(const float* p, int count) {
    return _mm512_maskz_loadu_epi32(first(count), p);
  }
  template <bool kIsA>
  static Words load_part(const Bf16* p, int count) {
    return widen(_mm256_maskz_loadu_epi16(first(count), p));
  }
  // Load the same k of kLanes contiguous lines, or of the first `lines`.
  template <bool kIsA, class T>
  static Words gather(const T* p, int64_t) {
    return load<kIsA>(p);
  }
  template <bool kIsA, class T>
  static Words gather_part(const T* p, int64_t, int lines, int) {
    return load_part<kIsA>(p, lines);
  }
  static Words widen(__m256i half) { return _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16); }
};

#ifdef __AVX512BF16__
// vdpbf16ps zmm. A word is two BF16.
struct Dot512 : Words512, FloatAccumulators512 {
  static constexpr int kGroup = 2;
  template <class T>
  static constexpr bool kReads = kSame<T, Bf16>;

  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
    // Copies the same 512 bits: the compilers differ in the name of the vector type.
    __m512bh x;
    __m512bh y;
    __builtin_memcpy(&x, &a, sizeof x);
    __builtin_memcpy(&y, &b, sizeof y);
    return _mm512_dpbf16_ps(acc, x, y);
  }
  template <bool kIsA>
  static Words load(const Bf16* p) {
    return _mm512_loadu_si512(p);
  }
  template <bool kIsA>
  static Words load_part(const Bf16* p, int count) {
    return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << count) - 1U), p);
  }
  template <bool kIsA>
  static Words gather(const Bf16* p, int64_t along) {
    return pair(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p)),
                _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p + along)));
  }
  template <bool kIsA>
  static Words gather_part(const Bf16* p, int64_t along, int lines, int k_block) {
    return pair(_mm256_maskz_loadu_epi16(first(lines), p),
                k_block > 1 ? _mm256_maskz_loadu_epi16(first(lines), p + along) : _mm256_setzero_si256());
  }
  static Words pair(__m256i low, __m256i high) {
    return _mm512_or_si512(_mm512_cvtepu16_epi32(low), _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
  }
};
#endif

// Bytes of four lines of k, side by side, become words; part of the INT8 instructions.
struct Bytes512 : Words512, IntegerAccumulators512 {
  template <class T>
  static constexpr bool kReads = kSame<T, int8_t> || kSame<T, uint8_t>;
  static __m128i row(const void* p, int lines) { return _mm_maskz_loadu_epi8(first(lines), p); }
};

#ifdef __AVX512VNNI__
// vpdpbusd zmm: unsigned A times signed B. A word is four bytes; a signed A is packed as a + 128, and 128 times the sum
// of B's column is taken off at the end.
struct Vnni512 : Bytes512 {
  static constexpr int kGroup = 4;
  static constexpr bool kCorrects = true;
  static constexpr CpuType kCorrected = CpuType::int8;
  static Words ones() { return _mm512_set1_epi8(1); }
  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
    // Not the intrinsic: gcc 12 copies and spills its accumulators, which takes more than half of the speed.
    asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
    return acc;
  }
  static Accumulators correction(Accumulators columns) {
    return _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(columns, 7));
  }

  template <bool kIsA, class T>
  static Words shifted(Words w) {
    return kIsA && kSame<T, int8_t> ? _mm512_xor_si512(w, _mm512_set1_epi8(-128)) : w;
  }
  template <bool kIsA, class T>
  static Words load(const T* p) {
    return shifted<kIsA, T>(_mm512_loadu_si512(p));
  }
  // Loads `count` bytes, and zeros behind them. In a signed A, adds 128 to every byte, also to the zeros.
  template <bool kIsA, class T>
  static Words load_part(const T* p, int count) {
    const auto mask = count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1U;
    return shifted<kIsA, T>(_mm512_maskz_loadu_epi8(mask, p));
  }
  template <bool kIsA, class T>
  static Words gather(const T* p, int64_t along) {
    return gather_part<kIsA>(p, along, kLanes, kGroup);
  }
  template <bool kIsA, class T>
  static Words gather_part(const T* p, int64_t along, int lines, int k_block) {
    __m512i w = _mm512_cvtepu8_epi32(row(p, lines));
    if (k_block > 1) w = _mm512_or_si512(w, _mm512_slli_epi32(_mm512_cvtepu8_epi32(row(p + along, lines)), 8));
    if (k_block > 2) w = _mm512_or_si512(w, _mm512_slli_epi32(_mm512_cvtepu8_epi32(row(p + 2 * along, lines)), 16));
    if (k_block > 3) w = _mm512_or_si512(w, _mm512_slli_epi32(_mm512_cvtepu8_epi32(row(p + 3 * along, lines)), 24));
    return shifted<kIsA, T>(w);
  }
};
#endif

// vpmaddwd zmm. A word is two bytes, widened to 16 bits while they are packed: exact for all of them.
struct Madd512 : Bytes512 {
  static constexpr int kGroup = 2;
  static constexpr bool kCorrects = false;
  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
    // Not the intrinsics: gcc 12 reorders the additions, and spills.
    Accumulators products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+v"(acc), "=&v"(products) : "v"(a), "v"(b));
    return acc;
  }

  template <class T>
  static Words widen(__m256i bytes) {
    return kSame<T, int8_t> ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
  }
  template <bool kIsA, class T>
  static Words load(const T* p) {
    return widen<T>(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p)));
  }
  template <bool kIsA, class T>
  static Words load_part(const T* p, int count) {
    return widen<T>(_mm256_maskz_loadu_epi8(static_cast<__mmask32>((uint64_t{1} << count) - 1U), p));
  }
  template <bool kIsA, class T>
  static Words gather(const T* p, int64_t along) {
    return gather_part<kIsA>(p, along, kLanes, kGroup);
  }
  template <bool kIsA, class T>
  static Words gather_part(const T* p, int64_t along, int lines, int k_block) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i low = row(p, lines);
    const __m128i high = k_block > 1 ? row(p + along, lines) : zero;
    const __m256i pairs = _mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high));
    return widen<T>(pairs);
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
