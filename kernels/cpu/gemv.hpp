// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM for small M: reads B once, in place, at the speed of the memory. A family header: see gemm_panels.hpp, whose
// instructions it takes.
//
// A is packed as lines of words (one float, two BF16, four INT8), padded with zeros to whole vectors. If k is
// contiguous in B, a column is a dot product over vectors. If columns are contiguous, words are put together from
// kGroup short rows and multiplied by words of A, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/finish.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// kAccumulators: vectors of accumulators that the registers hold beside the operands.
template <class I, int kAccumulators>
struct Gemv {
  using Accumulator = typename I::Accumulator;
  using Accumulators = typename I::Accumulators;
  using Words = typename I::Words;
  static constexpr int kRows = 8;
  static constexpr int kLanes = I::kLanes;
  static constexpr int kGroup = I::kGroup;
  static constexpr int kStep = kLanes * kGroup;
  static constexpr int kWordBytes = 4;
  // Prefetch distance: bytes along k, and rows if columns are contiguous.
  static constexpr int kAheadBytes = 1024;
  static constexpr int kAheadRows = 16;
  // Rows of one reading of B: with few registers, the second half of the rows finds B in the cache.
  static constexpr int kRowsAtOnce = kAccumulators < 16 ? 4 : kRows;
  // Columns of B that more than kRows rows read one after the other: a multiple of what one loop takes.
  static constexpr int kColumnsAtOnce = 12;

  static void run(const CpuCall& call, const CpuTask& task) {
    switch (task.step) {
      case CpuStep::pack_a: pack_a(call, task); break;
      case CpuStep::pack_b: break;
      case CpuStep::compute: compute(call, task); break;
    }
  }

  static int64_t line_bytes(const CpuCall& call) { return (call.k_block + kStep - 1) / kStep * kLanes * kWordBytes; }

  static void pack_a(const CpuCall& call, const CpuTask& task) {
    switch (call.a_type) {
      case CpuType::fp32: return pack_a_of(static_cast<const float*>(call.a), call, task);
      case CpuType::bf16: return pack_a_of(static_cast<const Bf16*>(call.a), call, task);
      case CpuType::int8: return pack_a_of(static_cast<const int8_t*>(call.a), call, task);
      case CpuType::uint8: return pack_a_of(static_cast<const uint8_t*>(call.a), call, task);
      case CpuType::int32: return;
    }
  }

  template <class T>
  static void pack_a_of(const T* a, const CpuCall& call, const CpuTask& task) {
    if constexpr (I::template kReads<T>) {
      const int64_t end = least(task.first_row + task.rows, call.rows);
      for (int64_t i = task.first_row; i < end; ++i) {
        const T* from = a + (call.row + i) * call.a_row;
        char* to = static_cast<char*>(call.packed_a) + i * line_bytes(call);
        for (int64_t d = 0; d < call.k_block; d += kStep, to += kLanes * kWordBytes) {
          const int there = static_cast<int>(least(kStep, call.k_block - d));
          T some[kStep] = {};
          if (call.a_k == 1 && there == kStep) {
            I::store_words(to, I::template load<true>(from + d));
            continue;
          }
          for (int j = 0; j < there; ++j) some[j] = from[(d + j) * call.a_k];
          I::store_words(to, I::template load<true>(some));
        }
      }
    }
  }

  static void compute(const CpuCall& call, const CpuTask& task) {
    switch (call.b_type) {
      case CpuType::fp32: return compute_of(static_cast<const float*>(call.b), call, task);
      case CpuType::bf16: return compute_of(static_cast<const Bf16*>(call.b), call, task);
      case CpuType::int8: return compute_of(static_cast<const int8_t*>(call.b), call, task);
      default: return;
    }
  }

  template <class T>
  static void compute_of(const T* b, const CpuCall& call, const CpuTask& task) {
    if constexpr (I::template kReads<T>) {
      const int64_t begin = call.column + task.first_column;
      const int64_t end = call.column + least(task.first_column + task.columns, call.columns);
      // More rows find a few columns in the cache.
      const int64_t strip = call.rows > kRows ? kColumnsAtOnce : end - begin;
      for (int64_t column = begin; column < end; column += strip) {
        for (int64_t row = 0; row < call.rows; row += kRows)
          choose_rows<kRows>(b, call, row, column, least(column + strip, end));
      }
    }
  }

  template <int kRs, class T>
  static void choose_rows(const T* b, const CpuCall& call, int64_t row, int64_t begin, int64_t end) {
    if constexpr (kRs > 1) {
      if (call.rows - row < kRs) return choose_rows<kRs - 1>(b, call, row, begin, end);
    }
    // One column, or k = 1, is contiguous both ways.
    if (call.b_k == 1 && (call.b_column != 1 || call.k_block >= call.columns)) {
      columns_along_k<kRs>(b, call, row, begin, end);
    } else {
      rows_of_columns<kRs>(b, call, row, begin, end);
    }
  }

  static constexpr int at_least_one(int n) { return n < 1 ? 1 : n; }
  static constexpr int at_most(int n, int most) { return n > most ? most : n; }

  static bool corrects(const CpuCall& call) {
    if constexpr (I::kCorrects) {
      return call.a_type == I::kCorrected;
    } else {
      return false;
    }
  }

  // --- B[n,k] ---

  template <int kRs, class T>
  static void columns_along_k(const T* b, const CpuCall& call, int64_t row, int64_t begin, int64_t end) {
    if (call.k_block <= kStep) return short_columns<kRs>(b, call, row, begin, end);
    constexpr int kRest = kRs - kRowsAtOnce;
    constexpr int kCs = at_least_one(at_most(kAccumulators / at_most(kRs, kRowsAtOnce), 4));
    int64_t column = begin;
    for (; column + kCs <= end; column += kCs) {
      dots<at_most(kRs, kRowsAtOnce), kCs>(b, call, row, column);
      if constexpr (kRest > 0) dots<kRest, kCs>(b, call, row + kRowsAtOnce, column);
    }
    for (; column < end; ++column) {
      dots<at_most(kRs, kRowsAtOnce), 1>(b, call, row, column);
      if constexpr (kRest > 0) dots<kRest, 1>(b, call, row + kRowsAtOnce, column);
    }
  }

  // kRs of A's rows times kCs columns of B.
  template <int kRs, int kCs, class T>
  [[gnu::noinline]] static void dots(const T* b, const CpuCall& call, int64_t row, int64_t column) {
    constexpr int kAhead = kAheadBytes / static_cast<int>(sizeof(T));
    const int64_t line = line_bytes(call);
    const char* a = static_cast<const char*>(call.packed_a) + row * line;
    const bool correct = corrects(call);
    const T* from[kCs];
    Accumulators acc[kRs][kCs];
    Accumulators columns[kCs];
#pragma GCC unroll 8
    for (int j = 0; j < kCs; ++j) {
      from[j] = b + (column + j) * call.b_column;
      columns[j] = I::zero_accumulators();
#pragma GCC unroll 8
      for (int i = 0; i < kRs; ++i) acc[i][j] = I::zero_accumulators();
    }
    int64_t d = 0;
    // Further along these columns, and then the beginnings of the next ones.
    int64_t ahead = kAhead;
    int64_t until = call.k_block - kAhead;
    for (int part = 0; part < 2; ++part) {
#pragma GCC unroll 1
      for (; d + kStep <= until; d += kStep, a += kLanes * kWordBytes) {
        Words words[kCs];
#pragma GCC unroll 8
        for (int j = 0; j < kCs; ++j) {
          words[j] = I::template load<false>(from[j] + d);
          __builtin_prefetch(from[j] + d + ahead);
        }
        add_vector<kRs, kCs>(a, line, words, correct, acc, columns);
      }
      ahead += kCs * call.b_column - call.k_block;
      until = call.k_block;
    }
    if (d < call.k_block) {
      Words words[kCs];
#pragma GCC unroll 8
      for (int j = 0; j < kCs; ++j) {
        words[j] = I::template load_part<false>(from[j] + d, static_cast<int>(call.k_block - d));
      }
      add_vector<kRs, kCs>(a, line, words, correct, acc, columns);
    }
    if constexpr (I::kCorrects) {
#pragma GCC unroll 8
      for (int i = 0; correct && i < kRs; ++i) {
#pragma GCC unroll 8
        for (int j = 0; j < kCs; ++j) acc[i][j] = I::add(acc[i][j], I::correction(columns[j]));
      }
    }
    Accumulator results[kRs * kCs + kLanes];
    totals(acc, results);
    for (int i = 0; i < kRs; ++i) put(call, results + i * kCs, row + i, column, kCs);
  }

  // K of one vector or less: kLanes columns are turned into as many words of each k, and no vector is summed up.
  template <int kRs, class T>
  [[gnu::noinline]] static void short_columns(const T* b, const CpuCall& call, int64_t row, int64_t begin,
                                              int64_t end) {
    const int64_t line = line_bytes(call);
    const int k_block = static_cast<int>(call.k_block);
    const bool correct = corrects(call);
    for (int64_t column = begin; column < end; column += kLanes) {
      const int columns = static_cast<int>(least(kLanes, end - column));
      const T* from = b + column * call.b_column;
      alignas(64) char words[kLanes][kLanes * kWordBytes];
      // Four words of a column are read at once, which may be its neighbours': there are as many columns more.
      constexpr bool kAsTheyLie = sizeof(T) * kGroup == kWordBytes;
      if (kAsTheyLie && k_block <= 4 * kGroup && k_block % kGroup == 0 &&
          column + 2 * kLanes <= call.column + call.columns) {
        Words fours[4];
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) fours[j] = I::load_fours(from + j * call.b_column, 4 * call.b_column * sizeof(T));
        I::transpose_fours(fours);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) I::store_words(words[j], fours[j]);
      } else {
        transpose_columns(from, call.b_column, columns, k_block, words);
      }
      Accumulators acc[kRs][1];
      Accumulators totals[1] = {I::zero_accumulators()};
#pragma GCC unroll 8
      for (int i = 0; i < kRs; ++i) acc[i][0] = I::zero_accumulators();
      const char* a = static_cast<const char*>(call.packed_a) + row * line;
#pragma GCC unroll 1
      for (int w = 0; w * kGroup < k_block; ++w, a += kWordBytes) {
        const Words word[1] = {I::load_words(words[w])};
#pragma GCC unroll 8
        for (int i = 0; i < kRs; ++i) acc[i][0] = I::multiply_add(I::broadcast(a + i * line), word[0], acc[i][0]);
        add_to_columns(word, correct, totals);
      }
      put_vectors(call, acc, totals, row, column, columns);
    }
  }

  template <class T>
  [[gnu::noinline]] static void transpose_columns(const T* from, int64_t across, int columns, int k_block,
                                                  char (&words)[kLanes][kLanes * kWordBytes]) {
    Words square[kLanes];
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j)
      square[j] = j < columns ? I::template load_part<false>(from + j * across, k_block) : I::no_words();
    I::transpose(square);
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j) I::store_words(words[j], square[j]);
  }

  template <int kRs, int kCs>
  [[gnu::always_inline]] static inline void add_vector(const char* a, int64_t line, const Words (&words)[kCs],
                                                       bool correct, Accumulators (&acc)[kRs][kCs],
                                                       Accumulators (&columns)[kCs]) {
#pragma GCC unroll 8
    for (int i = 0; i < kRs; ++i) {
      const Words mine = I::load_words(a + i * line);
#pragma GCC unroll 8
      for (int j = 0; j < kCs; ++j) acc[i][j] = I::multiply_add(mine, words[j], acc[i][j]);
    }
    add_to_columns(words, correct, columns);
  }

  template <int kCs>
  [[gnu::always_inline]] static inline void add_to_columns(const Words (&words)[kCs], bool correct,
                                                           Accumulators (&columns)[kCs]) {
    if constexpr (I::kCorrects) {
      if (!correct) return;
#pragma GCC unroll 16
      for (int j = 0; j < kCs; ++j) columns[j] = I::multiply_add(I::ones(), words[j], columns[j]);
    }
  }

  // Sums the lanes of each vector, always in the same order. Writes as many results as whole vectors hold.
  template <int kRs, int kCs>
  [[gnu::always_inline]] static inline void totals(const Accumulators (&acc)[kRs][kCs], Accumulator* results) {
    constexpr int kCount = kRs * kCs;
#pragma GCC unroll 8
    for (int begin = 0; begin < kCount; begin += kLanes) {
      Accumulators some[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        const int at = begin + i;
        some[i] = at < kCount ? acc[at / kCs][at % kCs] : I::zero_accumulators();
      }
      I::store_accumulators(results + begin, I::sums(some));
    }
  }

  static void put(const CpuCall& call, const Accumulator* results, int64_t row, int64_t column, int64_t columns) {
    if (must_finish(call, I::kAccumulatorType)) return put_finished(call, results, row, column, columns);
    auto* c = static_cast<Accumulator*>(call.c);
    if (call.transposed) {
      Accumulator* to = c + column * call.ldc + call.row + row;
#pragma GCC unroll 1
      for (int64_t j = 0; j < columns; ++j) to[j * call.ldc] = results[j];
      return;
    }
    __builtin_memcpy(c + (call.row + row) * call.ldc + column, results,
                     static_cast<size_t>(columns) * sizeof(Accumulator));
  }

  // Called: inlined into each of the kernels above it would make them four times as long.
  [[gnu::noinline]] static void put_finished(const CpuCall& call, const Accumulator* results, int64_t row,
                                             int64_t column, int64_t columns) {
    constexpr int64_t kFew = 4;  // finish_row() takes as long for one column as for sixteen
    const int64_t mine = call.row + row;
    if (columns > kFew && !call.transposed) return finish_row(call, results, mine, column, columns);
    for (int64_t j = column; j < column + columns; ++j, ++results) {
      finish_element(call, *results, call.transposed ? j : mine, call.transposed ? mine : j);
    }
  }

  // --- B[k,n] ---

  template <int kRs, class T>
  static void rows_of_columns(const T* b, const CpuCall& call, int64_t row, int64_t begin, int64_t end) {
    constexpr int kVs = at_least_one(
        at_most((kAccumulators - (I::kCorrects ? 4 : 0)) / at_most(kRs, kRowsAtOnce), kAccumulators >= 16 ? 8 : 4));
    int64_t column = begin;
    for (; column + kVs * kLanes <= end; column += kVs * kLanes) stripes<kRs, kVs>(b, call, row, column, kVs * kLanes);
    for (; column < end; column += kLanes) {
      stripes<kRs, 1>(b, call, row, column, static_cast<int>(least(kLanes, end - column)));
    }
  }

  template <int kRs, int kVs, class T>
  static void stripes(const T* b, const CpuCall& call, int64_t row, int64_t column, int columns) {
    stripe<at_most(kRs, kRowsAtOnce), kVs>(b, call, row, column, columns);
    if constexpr (kRs > kRowsAtOnce) stripe<kRs - kRowsAtOnce, kVs>(b, call, row + kRowsAtOnce, column, columns);
  }

  // kRs of A's rows times kVs vectors of columns of B, the last of which may be ragged.
  template <int kRs, int kVs, class T>
  [[gnu::noinline]] static void stripe(const T* b, const CpuCall& call, int64_t row, int64_t column, int columns) {
    const int64_t along = call.b_k;
    const int64_t line = line_bytes(call);
    const bool correct = corrects(call);
    const char* a = static_cast<const char*>(call.packed_a) + row * line;
    const T* from = b + column;
    const int last = columns - (kVs - 1) * kLanes;
    Accumulators acc[kRs][kVs];
    Accumulators totals[kVs];
#pragma GCC unroll 16
    for (int j = 0; j < kVs; ++j) {
      totals[j] = I::zero_accumulators();
#pragma GCC unroll 8
      for (int i = 0; i < kRs; ++i) acc[i][j] = I::zero_accumulators();
    }
#pragma GCC unroll 1
    for (int64_t d = 0; d < call.k_block; d += kGroup, a += kWordBytes, from += kGroup * along) {
      const int k_block = static_cast<int>(least(kGroup, call.k_block - d));
      Words words[kVs];
#pragma GCC unroll 4
      for (int g = 0; g < kGroup; ++g) {
        const T* ahead = from + (kAheadRows + g) * along;
#pragma GCC unroll 8
        for (int j = 0; j < kVs * kLanes; j += 64 / static_cast<int>(sizeof(T))) __builtin_prefetch(ahead + j);
      }
      if (k_block == kGroup && last == kLanes) {
#pragma GCC unroll 16
        for (int j = 0; j < kVs; ++j) words[j] = I::template gather<false>(from + j * kLanes, along);
      } else {
#pragma GCC unroll 16
        for (int j = 0; j < kVs; ++j) {
          words[j] = I::template gather_part<false>(from + j * kLanes, along, j + 1 < kVs ? kLanes : last, k_block);
        }
      }
#pragma GCC unroll 8
      for (int i = 0; i < kRs; ++i) {
        const Words mine = I::broadcast(a + i * line);
#pragma GCC unroll 16
        for (int j = 0; j < kVs; ++j) acc[i][j] = I::multiply_add(mine, words[j], acc[i][j]);
      }
      add_to_columns(words, correct, totals);
    }
    put_vectors(call, acc, totals, row, column, columns);
  }

  template <int kRs, int kVs>
  [[gnu::always_inline]] static inline void put_vectors(const CpuCall& call, Accumulators (&acc)[kRs][kVs],
                                                        const Accumulators (&totals)[kVs], int64_t row, int64_t column,
                                                        int columns) {
    const bool correct = corrects(call);
    const bool direct = !call.transposed && !must_finish(call, I::kAccumulatorType);
    auto* const c = static_cast<Accumulator*>(call.c) + (call.row + row) * call.ldc + column;
    // Unrolled: an array that is indexed by a variable would be in memory while it is added to.
    Accumulator results[kRs][kVs * kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kRs; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < kVs; ++j) {
        Accumulators sum = acc[i][j];
        if constexpr (I::kCorrects) {
          if (correct) sum = I::add(sum, I::correction(totals[j]));
        }
        if (direct && columns >= (j + 1) * kLanes) {
          I::store_accumulators(c + i * call.ldc + j * kLanes, sum);
        } else {
          I::store_accumulators(results[i] + j * kLanes, sum);
        }
      }
    }
    const int done = direct ? columns / kLanes * kLanes : 0;
    if (done == columns) return;
#pragma GCC unroll 1
    for (int i = 0; i < kRs; ++i) put(call, results[i] + done, row + i, column + done, columns - done);
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
