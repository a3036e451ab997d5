// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM over packed panels, for every instruction that multiplies words and adds to accumulators of 32 bits.
// A family header: the target's file defines PBPROBE_TARGET, includes a header with instructions (x86_512.hpp), then
// this one. Everything has internal linkage and no std template is used, so that no code with the target's flags can
// serve another object.
// Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (loop order, panels).
//
// A word holds I::kGroup neighbouring k of one row or column: one float, two BF16, four INT8. A panel of A holds
// kRows rows, [words][kRows], one of B kColumns columns, [words][kColumns], both padded with zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/finish.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// I: the instruction and its vectors of kLanes words. The register tile is kRows × kVectors vectors of accumulators.
template <class I, int kRows, int kVectors>
struct GemmPanels {
  using Accumulator = typename I::Accumulator;
  using Accumulators = typename I::Accumulators;
  static constexpr int kLanes = I::kLanes;
  static constexpr int kGroup = I::kGroup;
  static constexpr int kColumns = kVectors * kLanes;
  static constexpr int kWordBytes = 4;
  static constexpr int64_t kAcross = 4;  // panels of B that are read for one of A, at least
  static constexpr int64_t kAcrossBytes = kColumns << 13;

  static void run(const CpuCall& call, const CpuTask& task) {
    switch (task.step) {
      case CpuStep::pack_a: pack_a(call, task); break;
      case CpuStep::pack_b: pack_b(call, task); break;
      case CpuStep::compute: compute(call, task); break;
    }
  }

  // --- packing ---

  static int64_t words_of(const CpuCall& call) { return (call.k_block + kGroup - 1) / kGroup; }
  // Return the bytes of each packed row or column; a column of B includes the sum of its elements if the instruction
  // needs a correction.
  static int64_t a_line_bytes(const CpuCall& call) { return words_of(call) * kWordBytes; }
  static int64_t b_line_bytes(const CpuCall& call) {
    return words_of(call) * kWordBytes + (I::kCorrects ? kWordBytes : 0);
  }
  static char* a_panel(const CpuCall& call, int64_t row) {
    return static_cast<char*>(call.packed_a) + row * a_line_bytes(call);
  }
  static char* b_panel(const CpuCall& call, int64_t column) {
    return static_cast<char*>(call.packed_b) + column * b_line_bytes(call);
  }

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
      for (int64_t row = task.first_row; row < end; row += kRows) {
        const T* from = a + (call.row + row) * call.a_row + call.k_begin * call.a_k;
        pack_panel<kRows, true>(from, call.a_row, call.a_k, least(kRows, end - row), call.k_block, a_panel(call, row));
      }
    }
  }

  static void pack_b(const CpuCall& call, const CpuTask& task) {
    switch (call.b_type) {
      case CpuType::fp32: return pack_b_of(static_cast<const float*>(call.b), call, task);
      case CpuType::bf16: return pack_b_of(static_cast<const Bf16*>(call.b), call, task);
      case CpuType::int8: return pack_b_of(static_cast<const int8_t*>(call.b), call, task);
      default: return;
    }
  }

  template <class T>
  static void pack_b_of(const T* b, const CpuCall& call, const CpuTask& task) {
    if constexpr (I::template kReads<T>) {
      const int64_t end = least(task.first_column + task.columns, call.columns);
      for (int64_t column = task.first_column; column < end; column += kColumns) {
        const T* from = b + (call.column + column) * call.b_column + call.k_begin * call.b_k;
        char* to = b_panel(call, column);
        pack_panel<kColumns, false>(from, call.b_column, call.b_k, least(kColumns, end - column), call.k_block, to);
        if constexpr (I::kCorrects) sum_columns(to, words_of(call));
      }
    }
  }

  // Writes to[word][kWidth] from lines × k elements, of which `across` separates lines and `along` k.
  template <int kWidth, bool kIsA, class T>
  [[gnu::noinline]] static void pack_panel(const T* from, int64_t across, int64_t along, int64_t lines, int64_t k_block,
                                           char* to) {
    if (along == 1 && across != 1) {
      for (int begin = 0; begin < kWidth; begin += kLanes) {
        transpose_lines<kWidth, kIsA>(from, across, begin, lines, k_block, to);
      }
    } else if (across == 1) {
      for (int begin = 0; begin < kWidth; begin += kLanes) {
        copy_along_k<kWidth, kIsA>(from, along, begin, lines, k_block, to);
      }
    } else {
      pack_scattered<kWidth, kIsA>(from, across, along, lines, k_block, to);
    }
  }

  // K is contiguous: squares of kLanes × kLanes words are transposed in registers.
  template <int kWidth, bool kIsA, class T>
  static void transpose_lines(const T* from, int64_t across, int begin, int64_t lines, int64_t k_block, char* to) {
    constexpr int kStep = kLanes * kGroup;
    constexpr int kRest = kWidth % kLanes;
    const int width = static_cast<int>(least(kLanes, kWidth - begin));
    from += begin * across;
    to += begin * kWordBytes;
    int64_t d = 0;
    if (lines >= begin + width) {
      for (; d + kStep <= k_block; d += kStep, from += kStep, to += kLanes * kWidth * kWordBytes) {
        if constexpr (kWidth >= kLanes) {
          if (width == kLanes) {
            transpose_square<kWidth, kIsA, kLanes>(from, across, to);
            continue;
          }
        }
        if constexpr (kRest > 0) transpose_square<kWidth, kIsA, kRest>(from, across, to);
      }
    }
    for (; d < k_block; d += kStep, from += kStep, to += kLanes * kWidth * kWordBytes) {
      const int there = static_cast<int>(least(kStep, k_block - d));
      transpose_part<kWidth, kIsA>(from, across, width, static_cast<int>(lines - begin), there, to);
    }
  }

  // Transposes kHere whole lines. Words stored beside a narrow panel are overwritten by the words that follow.
  template <int kWidth, bool kIsA, int kHere, class T>
  [[gnu::always_inline]] static inline void transpose_square(const T* from, int64_t across, char* to) {
    constexpr int kAhead = 256 / static_cast<int>(sizeof(T));
    typename I::Words square[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if (i >= kHere) {
        square[i] = I::no_words();
        continue;
      }
      __builtin_prefetch(from + i * across + kAhead);
      square[i] = I::template load<kIsA>(from + i * across);
    }
    I::transpose(square);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i, to += kWidth * kWordBytes) {
      if (kHere == kLanes || (kWidth < kLanes && i + 1 < kLanes)) {
        I::store_words(to, square[i]);
      } else {
        I::store_words_part(to, square[i], kHere);
      }
    }
  }

  // Zero-fills missing lines and missing k.
  template <int kWidth, bool kIsA, class T>
  static void transpose_part(const T* from, int64_t across, int width, int lines, int there, char* to) {
    typename I::Words square[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      square[i] = i < lines ? I::template load_part<kIsA>(from + i * across, there) : I::no_words();
    }
    I::transpose(square);
    const int words = (there + kGroup - 1) / kGroup;
    for (int i = 0; i < words; ++i) I::store_words_part(to + i * kWidth * kWordBytes, square[i], width);
  }

  // Packs contiguous lines: puts words together from kGroup short rows.
  template <int kWidth, bool kIsA, class T>
  static void copy_along_k(const T* from, int64_t along, int begin, int64_t lines, int64_t k_block, char* to) {
    const int width = static_cast<int>(least(kLanes, kWidth - begin));
    const int there = static_cast<int>(least(kLanes, lines - begin));
    char* out = to + begin * kWordBytes;
    const T* row = from + begin;
    for (int64_t d = 0; d < k_block; d += kGroup, row += kGroup * along, out += kWidth * kWordBytes) {
      const int group = static_cast<int>(least(kGroup, k_block - d));
      typename I::Words words = I::no_words();
      if (there == kLanes && group == kGroup) {
        words = I::template gather<kIsA>(row, along);
      } else if (there > 0) {
        words = I::template gather_part<kIsA>(row, along, there, group);
      }
      if (width == kLanes) {
        I::store_words(out, words);
      } else {
        I::store_words_part(out, words, width);
      }
    }
  }

  // Neither: element by element.
  template <int kWidth, bool kIsA, class T>
  static void pack_scattered(const T* from, int64_t across, int64_t along, int64_t lines, int64_t k_block, char* to) {
    for (int64_t d = 0; d < k_block; d += kGroup) {
      for (int line = 0; line < kWidth; ++line, to += kWordBytes) {
        T group[kGroup] = {};
        for (int i = 0; i < kGroup && line < lines && d + i < k_block; ++i)
          group[i] = from[line * across + (d + i) * along];
        I::store_words_part(to, I::template load_part<kIsA>(group, kGroup), 1);
      }
    }
  }

  // The accumulators of a packed panel's columns, behind its words.
  static void sum_columns(char* panel, int64_t words) {
    for (int begin = 0; begin < kColumns; begin += kLanes) {
      Accumulators acc = I::zero_accumulators();
      const char* from = panel + begin * kWordBytes;
      for (int64_t w = 0; w < words; ++w, from += kColumns * kWordBytes) {
        acc = I::multiply_add(I::ones(), I::load_words(from), acc);
      }
      I::store_accumulators(reinterpret_cast<Accumulator*>(panel + (words * kColumns + begin) * kWordBytes), acc);
    }
  }

  // --- computing ---

  // Operands and result of one register tile.
  struct TileCall {
    const char* a;
    const char* b;
    int64_t words;
    Accumulator* d;  // C itself, the partial sums, or a buffer of one tile
    int64_t ldd;
    uint16_t* narrow;     // C of BF16, written from the registers; may be nullptr
    const char* fetched;  // C of the next tile
    int columns;
    bool add;        // to what is in d
    bool correct;    // subtract what a signed A, shifted to be unsigned, adds too much
    CpuLines ahead;  // lines that will be packed next
    // Destination of the pass, C or the partial sums: its corner, bytes from a row to the next, bytes of an element.
    char* out;
    int64_t out_row;
    int64_t out_size;

    char* place(int64_t row, int64_t column) const { return out + row * out_row + column * out_size; }
  };

  // A C of 32 bits holds the partial sums itself, whatever its type is in the end.
  static bool is_wide(const CpuCall& call) {
    return call.c_type == CpuType::fp32 || call.c_type == CpuType::int32;
  }

  // Deals the lines of a task out to its tiles.
  struct Ahead {
    CpuLines left[2];
    int64_t share = 0;

    Ahead(const CpuTask& task, int64_t rows, int64_t columns) : left{task.ahead[0], task.ahead[1]} {
      const int64_t lines = left[0].count + left[1].count;
      const int64_t tiles = (rows / kRows) * ((columns + kColumns - 1) / kColumns);
      if (tiles > 0) share = (lines + tiles - 1) / tiles;
    }
    CpuLines next() {
      CpuLines& from = left[left[0].count > 0 ? 0 : 1];
      CpuLines mine = from;
      mine.count = least(share, from.count);
      from.count -= mine.count;
      if (mine.count > 0) from.first += mine.count * mine.stride;
      return mine;
    }
  };

  static void compute(const CpuCall& call, const CpuTask& task) {
    const int64_t end_row = least(task.first_row + task.rows, call.rows);
    const int64_t end_column = least(task.first_column + task.columns, call.columns);
    TileCall tile{};
    tile.words = words_of(call);
    tile.add = !call.first;
    tile.correct = I::kCorrects && call.a_type == CpuType::int8 && call.k_block > 0;
    tile.out_size = call.partials || is_wide(call) ? 4 : 2;
    tile.out_row = (call.partials ? call.partials_leading : call.ldc) * tile.out_size;
    tile.out = call.partials ? static_cast<char*>(call.partials)
                             : static_cast<char*>(call.c) + call.row * tile.out_row + call.column * tile.out_size;
    Ahead ahead(task, end_row - task.first_row, end_column - task.first_column);
    // Goes along C's rows, because memory takes contiguous lines best, as far as B's panels fit the second-level cache:
    // with short k, whole rows.
    const int64_t across = kColumns * (kAcrossBytes / (kColumns * (b_line_bytes(call) + kWordBytes)) + kAcross);
    for (int64_t first = task.first_column; first < end_column; first += across) {
      const int64_t end = least(first + across, end_column);
      for (int64_t row = task.first_row; row < end_row; row += kRows) {
        for (int64_t column = first; column < end; column += kColumns) {
          const int64_t rows = least(kRows, end_row - row);
          if (rows == kRows) tile.ahead = ahead.next();
          const bool more = column + kColumns < end;
          tile.fetched = tile.place(more ? row : row + rows, more ? column + kColumns : first);
          compute_tile(call, tile, row, column, rows, least(kColumns, end - column));
        }
      }
    }
  }

  static void compute_tile(const CpuCall& call, TileCall& tile, int64_t row, int64_t column, int64_t rows,
                           int64_t columns) {
    alignas(64) Accumulator buffer[kRows * kColumns];
    tile.a = a_panel(call, row);
    tile.b = b_panel(call, column);
    tile.columns = static_cast<int>(columns);
    char* const out = tile.place(row, column);
    const bool in_place = call.partials || is_wide(call);
    tile.d = in_place ? reinterpret_cast<Accumulator*>(out) : buffer;
    tile.ldd = in_place ? tile.out_row / tile.out_size : kColumns;
    tile.narrow = nullptr;
    const bool finishes = call.last && must_finish(call, I::kAccumulatorType);
    if constexpr (I::kNarrows) {
      if (finishes && !in_place && !call.bias && !call.scale_a && !call.scale_b) {
        tile.narrow = reinterpret_cast<uint16_t*>(out);
        tile.ldd = call.ldc;
      }
    }
    choose_columns<kVectors>(tile, static_cast<int>(rows));
    if (finishes && !tile.narrow) {
      for (int64_t i = 0; i < rows; ++i) {
        finish_row(call, tile.d + i * tile.ldd, call.row + row + i, call.column + column, columns);
      }
    }
  }

  template <int kVs>
  static void choose_columns(const TileCall& tile, int rows) {
    if constexpr (kVs > 1) {
      if (tile.columns <= (kVs - 1) * kLanes) return choose_columns<kVs - 1>(tile, rows);
    }
    if (tile.columns == kVs * kLanes) return choose_rows<kVs, true, kRows>(tile, rows);
    choose_rows<kVs, false, kRows>(tile, rows);
  }

  template <int kVs, bool kWhole, int kRs>
  static void choose_rows(const TileCall& tile, int rows) {
    if constexpr (kRs > 1) {
      if (rows < kRs) return choose_rows<kVs, kWhole, kRs - 1>(tile, rows);
    }
    microkernel<kRs, kVs, kWhole>(tile);
  }

  template <int kRs, int kVs>
  [[gnu::always_inline]] static inline void step(const char* a, const char* b, Accumulators (&acc)[kRs][kVs]) {
    typename I::Words line[kVs];
#pragma GCC unroll 8
    for (int j = 0; j < kVs; ++j) {
      line[j] = I::load_words(b + j * kLanes * kWordBytes);
      // Vectors of whole lines use them up faster than the first-level cache fetches by itself.
      if constexpr (kLanes * kWordBytes == 64) __builtin_prefetch(b + j * 64 + 1024);
    }
#pragma GCC unroll 32
    for (int i = 0; i < kRs; ++i) {
      const typename I::Words word = I::broadcast(a + i * kWordBytes);
#pragma GCC unroll 8
      for (int j = 0; j < kVs; ++j) acc[i][j] = I::multiply_add(word, line[j], acc[i][j]);
    }
  }

  template <int kRs, int kVs, int kUnroll>
  [[gnu::always_inline]] static inline void steps(const char*& a, const char*& b, Accumulators (&acc)[kRs][kVs]) {
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) step<kRs, kVs>(a + u * kRows * kWordBytes, b + u * kColumns * kWordBytes, acc);
    a += kUnroll * kRows * kWordBytes;
    b += kUnroll * kColumns * kWordBytes;
  }

  // A tile from two panels: kRs × kVs vectors of accumulators stay in registers over all k.
  template <int kRs, int kVs, bool kWhole>
  [[gnu::noinline]] static void microkernel(const TileCall& tile) {
    constexpr bool kLarge = kRs * kVs >= 8;
    constexpr int kUnroll = kLarge ? 2 : 1;
    const char* a = tile.a;
    const char* b = tile.b;
    Accumulators acc[kRs][kVs];
#pragma GCC unroll 32
    for (int i = 0; i < kRs; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kVs; ++j) acc[i][j] = I::zero_accumulators();
    }
    int64_t w = tile.words;
    if constexpr (kLarge) {
      // Meanwhile prefetches the next tile's C, a row at a time, because a core has room for few misses. The
      // second-level cache is the target, because rows a power of two apart evict each other from the first.
      const char* d = tile.fetched;
      const int64_t fetched = w < kFetchedWords ? kRs : least(kRs, w / kUnroll);
      const int64_t until = w < kFetchedWords ? w : w - kUnroll * fetched;
#pragma GCC unroll 1
      for (; w > until; w -= kUnroll) {
        fetch_row<kVs>(d, tile.out_row);
        steps<kRs, kVs, kUnroll>(a, b, acc);
      }
      for (int64_t i = fetched; kRs == kRows && i < kRs; ++i) fetch_row<kVs>(d, tile.out_row);
    }
    if constexpr (kRs == kRows) fetch_ahead<kRs, kVs, kUnroll>(tile, w, a, b, acc);
#pragma GCC unroll 1
    for (; w >= kUnroll; w -= kUnroll) steps<kRs, kVs, kUnroll>(a, b, acc);
    if (kUnroll > 1 && w > 0) step<kRs, kVs>(a, b, acc);
    store<kRs, kVs, kWhole>(tile, acc);
  }

  // With fewer words, the core itself fetches the lines of C early enough.
  static constexpr int64_t kFetchedWords = 8;
  template <int kVs>
  [[gnu::always_inline]] static inline void fetch_row(const char*& d, int64_t row_bytes) {
#pragma GCC unroll 8
    for (int j = 0; j < kVs; ++j) __builtin_prefetch(d + j * kLanes * kWordBytes, 1, 2);
    d += row_bytes;
  }

  // Prefetches the lines into the second-level cache, all at once.
  static void fetch_lines(const CpuLines& lines) {
    const bool dense = lines.stride < 64;
    const int64_t bytes = dense ? lines.count * lines.stride : lines.bytes;
    const char* line = lines.first;
    for (int64_t left = dense ? 1 : lines.count; left > 0; --left, line += lines.stride) {
      for (int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(line + byte, 0, 2);
    }
  }

  // Multiplies on, and asks for a line's bytes meanwhile, at even distances.
  template <int kRs, int kVs, int kUnroll>
  [[gnu::always_inline]] static inline void fetch_ahead(const TileCall& tile, int64_t& w, const char*& a,
                                                        const char*& b, Accumulators (&acc)[kRs][kVs]) {
    if (tile.ahead.count == 0) return;
    // If there are more lines than words to multiply meanwhile, fetch all at once.
    const int64_t rounds = w / kUnroll / tile.ahead.count;
    if (rounds == 0) return fetch_lines(tile.ahead);
    const int64_t step = (tile.ahead.bytes + rounds - 1) / rounds;
    const char* line = tile.ahead.first;
#pragma GCC unroll 1
    for (int64_t left = tile.ahead.count; left > 0; --left, line += tile.ahead.stride) {
      const char* at = line;
#pragma GCC unroll 1
      for (int64_t n = rounds; n > 0; --n, at += step) {
        __builtin_prefetch(at, 0, 2);
        __builtin_prefetch(at + 64, 0, 2);
        steps<kRs, kVs, kUnroll>(a, b, acc);
      }
    }
    w -= rounds * tile.ahead.count * kUnroll;
  }

  template <int kRs, int kVs, bool kWhole>
  [[gnu::always_inline]] static inline void store(const TileCall& tile, Accumulators (&acc)[kRs][kVs]) {
    if constexpr (I::kCorrects) {
      const Accumulator* columns = reinterpret_cast<const Accumulator*>(tile.b + tile.words * kColumns * kWordBytes);
      if (tile.correct) {
#pragma GCC unroll 8
        for (int j = 0; j < kVs; ++j) {
          const Accumulators less = I::correction(I::load_accumulators(columns + j * kLanes));
#pragma GCC unroll 32
          for (int i = 0; i < kRs; ++i) acc[i][j] = I::add(acc[i][j], less);
        }
      }
    }
    if constexpr (I::kNarrows) {
      if (tile.narrow) return put_narrow<kRs, kVs>(tile, acc);
    }
    if (tile.add) return put<kRs, kVs, kWhole, true>(tile, acc);
    put<kRs, kVs, kWhole, false>(tile, acc);
  }

  template <int kRs, int kVs>
  [[gnu::always_inline]] static inline void put_narrow(const TileCall& tile, Accumulators (&acc)[kRs][kVs]) {
    uint16_t* to = tile.narrow;
#pragma GCC unroll 32
    for (int i = 0; i < kRs; ++i, to += tile.ldd) {
#pragma GCC unroll 8
      for (int j = 0; j < kVs; ++j) {
        const int n = j + 1 < kVs ? kLanes : tile.columns - (kVs - 1) * kLanes;
        I::store_narrow(to + j * kLanes, acc[i][j], n);
      }
    }
  }

  template <int kRs, int kVs, bool kWhole, bool kAdd>
  [[gnu::always_inline]] static inline void put(const TileCall& tile, Accumulators (&acc)[kRs][kVs]) {
    const int last = tile.columns - (kVs - 1) * kLanes;
    Accumulator* d = tile.d;
#pragma GCC unroll 32
    for (int i = 0; i < kRs; ++i, d += tile.ldd) {
#pragma GCC unroll 8
      for (int j = 0; j < kVs; ++j) {
        Accumulator* to = d + j * kLanes;
        if (kWhole || j + 1 < kVs) {
          I::store_accumulators(to, kAdd ? I::add(I::load_accumulators(to), acc[i][j]) : acc[i][j]);
        } else {
          I::store_accumulators_part(to, kAdd ? I::add(I::load_accumulators_part(to, last), acc[i][j]) : acc[i][j],
                                     last);
        }
      }
    }
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
