// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Instructions on eight words of a ymm register, for gemm_panels.hpp. Needs AVX; parts that need FMA or AVX2 exist only
// if the target's flags allow them. A family header: see gemm_panels.hpp.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

alignas(64) constexpr int32_t kFirst[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

template <class Word>
[[gnu::always_inline]] inline uint64_t word_at(const char* p) {
  Word word;
  __builtin_memcpy(&word, p, sizeof word);
  return word;
}

// The first `bytes` of 8, at least one and at most eight, then zeros; nothing beyond them is read. Two words that
// overlap hold all of them.
[[gnu::always_inline]] inline uint64_t some_of_8(const char* p, int bytes) {
  if (bytes >= 4) return word_at<uint32_t>(p) | word_at<uint32_t>(p + bytes - 4) << 8 * (bytes - 4);
  if (bytes >= 2) return word_at<uint16_t>(p) | word_at<uint16_t>(p + bytes - 2) << 8 * (bytes - 2);
  return word_at<uint8_t>(p);
}

// Loads the first `bytes` of 16, at most 16; the rest is zero.
[[gnu::always_inline]] inline __m128i some_of_16(const void* from, int bytes) {
  const auto* p = static_cast<const char*>(from);
  if (bytes > 8) {
    const uint64_t high = word_at<uint64_t>(p + bytes - 8) >> 8 * (16 - bytes);
    return _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(word_at<uint64_t>(p)));
  }
  return _mm_set_epi64x(0, bytes > 0 ? static_cast<int64_t>(some_of_8(p, bytes)) : 0);
}

// Words of 32 bits, whatever is in them; as floats, since AVX moves nothing else by lanes.
struct Words256 {
  using Words = __m256;
  static constexpr int kLanes = 8;
  // More than latency (at most 5) times units (2) of an FMA; an addition takes only half of that, and the product
  // before it a register.
#ifdef __FMA__
  static constexpr int kPeakAccumulators = 12;
#else
  static constexpr int kPeakAccumulators = 8;
#endif

  static __m256i first(int count) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(kFirst + kLanes - count));
  }
  static Words no_words() {
    return _mm256_setzero_ps();
  }
  static Words load_words(const void* p) {
    return _mm256_loadu_ps(static_cast<const float*>(p));
  }
  static void store_words(void* p, Words w) {
    _mm256_storeu_ps(static_cast<float*>(p), w);
  }
  // In pieces: AMD's cores take some twenty cycles for a masked store.
  [[gnu::always_inline]] static inline void store_words_part(void* p, Words w, int count) {
    auto* to = static_cast<float*>(p);
    if (count >= kLanes) return _mm256_storeu_ps(to, w);
    __m128 rest = _mm256_castps256_ps128(w);
    if (count & 4) {
      _mm_storeu_ps(to, rest);
      rest = _mm256_extractf128_ps(w, 1);
      to += 4;
    }
    if (count & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(to), rest);
      rest = _mm_movehl_ps(rest, rest);
      to += 2;
    }
    if (count & 1) _mm_store_ss(to, rest);
  }
  static Words broadcast(const void* p) {
    return _mm256_broadcast_ss(static_cast<const float*>(p));
  }

  // Four words each of two lines, `stride` bytes apart; and of w[j], lines j and j + 4, word i of every line.
  static Words load_fours(const void* from, int64_t stride) {
    const auto at = [&](int i) {
      return _mm_loadu_ps(reinterpret_cast<const float*>(static_cast<const char*>(from) + i * stride));
    };
    return _mm256_insertf128_ps(_mm256_castps128_ps256(at(0)), at(1), 1);
  }
  static void transpose_fours(Words (&w)[4]) {
    const Words a = _mm256_unpacklo_ps(w[0], w[1]);
    const Words b = _mm256_unpackhi_ps(w[0], w[1]);
    const Words c = _mm256_unpacklo_ps(w[2], w[3]);
    const Words d = _mm256_unpackhi_ps(w[2], w[3]);
    w[0] = _mm256_shuffle_ps(a, c, 0x44);
    w[1] = _mm256_shuffle_ps(a, c, 0xee);
    w[2] = _mm256_shuffle_ps(b, d, 0x44);
    w[3] = _mm256_shuffle_ps(b, d, 0xee);
  }

  // w[i][j] becomes w[j][i]: pairs, then fours, within 128 bits; then the halves change places.
  [[gnu::always_inline]] static inline void transpose(Words (&w)[kLanes]) {
    Words t[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i += 4) {
      const Words a = _mm256_unpacklo_ps(w[i], w[i + 1]);
      const Words b = _mm256_unpackhi_ps(w[i], w[i + 1]);
      const Words c = _mm256_unpacklo_ps(w[i + 2], w[i + 3]);
      const Words d = _mm256_unpackhi_ps(w[i + 2], w[i + 3]);
      t[i] = _mm256_shuffle_ps(a, c, 0x44);
      t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
      t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
      t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 4; ++i) {
      w[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
      w[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
  }
};

// Lane i: the sum of v[i]'s lanes. Pairs of vectors become one, whose lanes are sums of two each, until one is left.
template <class I>
[[gnu::always_inline]] inline typename I::Accumulators sums_of(const typename I::Accumulators (&v)[8]) {
  typename I::Accumulators t[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m256 a = I::bits(v[2 * i]);
    const __m256 b = I::bits(v[2 * i + 1]);
    t[i] = I::add(I::of_bits(_mm256_unpacklo_ps(a, b)), I::of_bits(_mm256_unpackhi_ps(a, b)));
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const __m256 a = I::bits(t[2 * i]);
    const __m256 b = I::bits(t[2 * i + 1]);
    t[i] = I::add(I::of_bits(_mm256_shuffle_ps(a, b, 0x44)), I::of_bits(_mm256_shuffle_ps(a, b, 0xee)));
  }
  const __m256 a = I::bits(t[0]);
  const __m256 b = I::bits(t[1]);
  return I::add(I::of_bits(_mm256_permute2f128_ps(a, b, 0x20)), I::of_bits(_mm256_permute2f128_ps(a, b, 0x31)));
}

struct FloatAccumulators256 {
  using Accumulator = float;
  using Accumulators = __m256;
  static constexpr CpuType kAccumulatorType = CpuType::fp32;
  static constexpr bool kCorrects = false;
  static Accumulators zero_accumulators() { return _mm256_setzero_ps(); }
  static Accumulators load_accumulators(const float* p) { return _mm256_loadu_ps(p); }
  static Accumulators load_accumulators_part(const float* p, int n) {
    return _mm256_maskload_ps(p, Words256::first(n));
  }
  static void store_accumulators(float* p, Accumulators s) { _mm256_storeu_ps(p, s); }
  static void store_accumulators_part(float* p, Accumulators s, int n) { Words256::store_words_part(p, s, n); }
  static Accumulators add(Accumulators a, Accumulators b) { return _mm256_add_ps(a, b); }
  static Accumulators sums(const Accumulators (&v)[8]) { return sums_of<FloatAccumulators256>(v); }
#ifdef __AVX2__
  // The first n as BF16, as finish_row() rounds them.
  static constexpr bool kNarrows = true;
  static void store_narrow(uint16_t* p, Accumulators s, int n) {
    const __m256i bits = _mm256_castps_si256(s);
    const __m256i high = _mm256_srli_epi32(bits, 16);
    const __m256i half = _mm256_add_epi32(_mm256_and_si256(high, _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7fff));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(s, s, _CMP_UNORD_Q));
    const __m256i chosen = _mm256_blendv_epi8(rounded, quiet, nan);
    const __m128i halves = _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(chosen, chosen), 0x08));
    if (n == Words256::kLanes) return _mm_storeu_si128(reinterpret_cast<__m128i_u*>(p), halves);
    uint16_t all[Words256::kLanes];
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(all), halves);
    for (int i = 0; i < n; ++i) p[i] = all[i];
  }
#else
  static constexpr bool kNarrows = false;
#endif
  static __m256 bits(Accumulators v) {
    return v;
  }
  static Accumulators of_bits(__m256 v) {
    return v;
  }
};

// vfmadd231ps ymm; vmulps and vaddps where the target lacks FMA. A word is one float; BF16 becomes one while packed.
struct Fma256 : Words256, FloatAccumulators256 {
  static constexpr int kGroup = 1;
  template <class T>
  static constexpr bool kReads = kSame<T, float> || kSame<T, Bf16>;

  // Not the intrinsics: gcc 12 keeps one accumulator of a 6×16 tile in memory, which halves its speed.
  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
#ifdef __FMA__
    asm("vfmadd231ps %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b));
#else
    Accumulators products;
    asm("vmulps %3, %2, %1\n\tvaddps %0, %1, %0" : "+x"(acc), "=&x"(products) : "x"(a), "x"(b));
#endif
    return acc;
  }
  // kGroup · kLanes elements of one line, or the first `count` of them and zeros.
  template <bool kIsA>
  static Words load(const float* p) {
    return _mm256_loadu_ps(p);
  }
  template <bool kIsA>
  static Words load(const Bf16* p) {
    return widen(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p)));
  }
  template <bool kIsA>
  static Words load_part(const float* p, int count) {
    return _mm256_maskload_ps(p, first(count));
  }
  template <bool kIsA>
  static Words load_part(const Bf16* p, int count) {
    return widen(some_of_16(p, 2 * count));
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
  // Moves each BF16 into the upper half of a float; without AVX2 by interleaving with zeros.
  static Words widen(__m128i half) {
#ifdef __AVX2__
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
#else
    const __m128 low = _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), half));
    const __m128 high = _mm_castsi128_ps(_mm_unpackhi_epi16(_mm_setzero_si128(), half));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
#endif
  }
};

#ifdef __AVX2__
struct IntegerAccumulators256 {
  using Accumulator = int32_t;
  using Accumulators = __m256i;
  static constexpr CpuType kAccumulatorType = CpuType::int32;
  static constexpr bool kNarrows = false;
  template <class T>
  static constexpr bool kReads = kSame<T, int8_t> || kSame<T, uint8_t>;
  static Accumulators zero_accumulators() { return _mm256_setzero_si256(); }
  static Accumulators load_accumulators(const int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p));
  }
  static Accumulators load_accumulators_part(const int32_t* p, int n) {
    return _mm256_maskload_epi32(p, Words256::first(n));
  }
  static void store_accumulators(int32_t* p, Accumulators s) {
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(p), s);
  }
  static void store_accumulators_part(int32_t* p, Accumulators s, int n) { Words256::store_words_part(p, bits(s), n); }
  static Accumulators add(Accumulators a, Accumulators b) { return _mm256_add_epi32(a, b); }
  static Accumulators sums(const Accumulators (&v)[8]) { return sums_of<IntegerAccumulators256>(v); }
  static __m256 bits(Accumulators v) { return _mm256_castsi256_ps(v); }
  static Accumulators of_bits(__m256 v) { return _mm256_castps_si256(v); }
};

// vpmaddwd ymm. A word is two bytes, widened to 16 bits while they are packed: exact for all of them, −128 included.
struct Madd256 : Words256, IntegerAccumulators256 {
  static constexpr bool kCorrects = false;
  static constexpr int kPeakAccumulators = 8;  // an addition takes one cycle
  static constexpr int kGroup = 2;

  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
    // Not the intrinsics: gcc 12 reorders the additions, and spills.
    Accumulators products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(acc), "=x"(products) : "x"(a), "x"(b));
    return acc;
  }

  template <class T>
  static Words widen(__m128i bytes) {
    return _mm256_castsi256_ps(kSame<T, int8_t> ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes));
  }
  template <bool kIsA, class T>
  static Words load(const T* p) {
    return widen<T>(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p)));
  }
  template <bool kIsA, class T>
  static Words load_part(const T* p, int count) {
    return widen<T>(some_of_16(p, count));
  }
  template <bool kIsA, class T>
  static Words gather(const T* p, int64_t along) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(p));
    const __m128i high = _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(p + along));
    return widen<T>(_mm_unpacklo_epi8(low, high));
  }
  template <bool kIsA, class T>
  static Words gather_part(const T* p, int64_t along, int lines, int k_block) {
    const __m128i low = some_of_16(p, lines);
    const __m128i high = k_block > 1 ? some_of_16(p + along, lines) : _mm_setzero_si128();
    return widen<T>(_mm_unpacklo_epi8(low, high));
  }
};
#endif

#ifdef __AVXVNNI__
// vpdpbusd ymm: unsigned A times signed B. A word is four bytes; a signed A is packed as a + 128, and 128 times the sum
// of B's column is taken off at the end.
struct Vnni256 : Words256, IntegerAccumulators256 {
  static constexpr bool kCorrects = true;
  static constexpr CpuType kCorrected = CpuType::int8;
  static constexpr int kPeakAccumulators = 12;  // more than latency (5) times units (2)
  static constexpr int kGroup = 4;
  static Words ones() { return _mm256_castsi256_ps(_mm256_set1_epi8(1)); }
  // Forces the VEX encoding, which assemblers do not choose by themselves.
  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b));
    return acc;
  }
  static Accumulators correction(Accumulators columns) {
    return _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(columns, 7));
  }

  template <bool kIsA, class T>
  static Words shifted(__m256i w) {
    return _mm256_castsi256_ps(kIsA && kSame<T, int8_t> ? _mm256_xor_si256(w, _mm256_set1_epi8(-128)) : w);
  }
  template <bool kIsA, class T>
  static Words load(const T* p) {
    return shifted<kIsA, T>(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p)));
  }
  template <bool kIsA, class T>
  static Words load_part(const T* p, int count) {
    const __m128i high = count > 16 ? some_of_16(p + 16, count - 16) : _mm_setzero_si128();
    return shifted<kIsA, T>(_mm256_set_m128i(high, some_of_16(p, count > 16 ? 16 : count)));
  }
  // Four rows of k, side by side, become words.
  template <bool kIsA, class T>
  static Words woven(__m128i k0, __m128i k1, __m128i k2, __m128i k3) {
    const __m128i low = _mm_unpacklo_epi8(k0, k1);
    const __m128i high = _mm_unpacklo_epi8(k2, k3);
    return shifted<kIsA, T>(_mm256_set_m128i(_mm_unpackhi_epi16(low, high), _mm_unpacklo_epi16(low, high)));
  }
  template <bool kIsA, class T>
  static Words gather(const T* p, int64_t along) {
    const auto row = [=](int k) { return _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(p + k * along)); };
    return woven<kIsA, T>(row(0), row(1), row(2), row(3));
  }
  template <bool kIsA, class T>
  static Words gather_part(const T* p, int64_t along, int lines, int k_block) {
    const auto row = [=](int k) { return k < k_block ? some_of_16(p + k * along, lines) : _mm_setzero_si128(); };
    return woven<kIsA, T>(row(0), row(1), row(2), row(3));
  }
};
#endif

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
