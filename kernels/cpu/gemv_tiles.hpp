// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM for few rows in AMX's tile registers: reads B once, and in place if its k is contiguous. B's columns are
// the rows of a tile, and A is packed as the other operand, so that a tile holds C transposed. A family header: see
// gemm_tiles.hpp, whose tiles it takes.
#pragma once

#include "kernels/cpu/gemm_tiles.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

template <class I>
struct GemvTiles {
  using Accumulator = typename I::Accumulator;
  using Tiles = GemmTiles<I>;
  static constexpr int kTile = Tiles::kTile;
  static constexpr int kTileK = Tiles::kTileK;
  static constexpr int kLineBytes = Tiles::kLineBytes;
  static constexpr int kTileBytes = kTile * kLineBytes;
  static constexpr int kMostPanels = 4;
  static constexpr int kAheadBytes = 256;

  static void run(const CpuCall& call, const CpuTask& task) {
    switch (task.step) {
      case CpuStep::pack_a: return pack_a(call, task);
      case CpuStep::pack_b: return;
      case CpuStep::compute: break;
    }
    configure_tiles();
    if constexpr (Tiles::kGroup == 2) {
      compute<TileDot::bf16>(static_cast<const Bf16*>(call.b), call, task);
    } else if (call.a_type == CpuType::int8) {
      compute<TileDot::signed_int8>(static_cast<const int8_t*>(call.b), call, task);
    } else {
      compute<TileDot::by_unsigned_int8>(static_cast<const int8_t*>(call.b), call, task);
    }
    release_tiles();
  }

  static char* panel(const CpuCall& call, int64_t row) {
    return static_cast<char*>(call.packed_a) + row * Tiles::count_blocks(call) * kLineBytes;
  }

  static void pack_a(const CpuCall& call, const CpuTask& task) {
    switch (call.a_type) {
      case CpuType::bf16: return pack_a_of(static_cast<const Bf16*>(call.a), call, task);
      case CpuType::int8: return pack_a_of(static_cast<const int8_t*>(call.a), call, task);
      case CpuType::uint8: return pack_a_of(static_cast<const uint8_t*>(call.a), call, task);
      default: return;
    }
  }

  template <class T>
  static void pack_a_of(const T* a, const CpuCall& call, const CpuTask& task) {
    if constexpr (I::template kReads<T>) {
      const int64_t end = least(task.first_row + task.rows, call.rows);
      for (int64_t row = task.first_row; row < end; row += kTile) {
        const T* from = a + (call.row + row) * call.a_row + call.k_begin * call.a_k;
        const int rows = static_cast<int>(least(kTile, end - row));
        Tiles::template pack_rows<true>(from, call, rows, panel(call, row), kTileBytes);
      }
    }
  }

  // Reads 16 columns of B for 64 rows of A after the other: from the cache, but for the first.
  template <TileDot kDot, class T>
  static void compute(const T* b, const CpuCall& call, const CpuTask& task) {
    const int64_t end = call.column + least(task.first_column + task.columns, call.columns);
    for (int64_t column = call.column + task.first_column; column < end; column += kTile) {
      const int columns = static_cast<int>(least(kTile, end - column));
      for (int64_t row = 0; row < call.rows; row += kMostPanels * kTile)
        choose_panels<kDot, kMostPanels>(b + column * call.b_column, call, row, column, columns);
    }
  }

  template <TileDot kDot, int kPanels, class T>
  static void choose_panels(const T* b, const CpuCall& call, int64_t row, int64_t column, int columns) {
    if constexpr (kPanels > 1) {
      if (call.rows - row <= (kPanels - 1) * kTile)
        return choose_panels<kDot, kPanels - 1>(b, call, row, column, columns);
    }
    multiply<kDot, kPanels>(b, call, row, column, columns);
  }

  // Multiplies up to 16 columns of B by the panels of A.
  template <TileDot kDot, int kPanels, class T>
  [[gnu::noinline]] static void multiply(const T* b, const CpuCall& call, int64_t row, int64_t column, int columns) {
    const auto stride = static_cast<size_t>(call.b_column) * sizeof(T);
    const int64_t next = Tiles::count_blocks(call) * kTileBytes;
    const char* a = panel(call, row);
    zero_tile<0>();
    zero_tile<1>();
    zero_tile<2>();
    zero_tile<3>();
    for (int64_t d = 0; d < call.k_block; d += kTileK, a += kTileBytes) {
      const int there = static_cast<int>(least(kTileK, call.k_block - d));
      if (call.b_k == 1 && columns == kTile && there == kTileK) {
#pragma GCC unroll 16
        for (int j = 0; j < kTile; ++j)
          __builtin_prefetch(reinterpret_cast<const char*>(b + j * call.b_column + d) + kAheadBytes);
        load_tile<4>(b + d, stride);
      } else {
        alignas(64) char lines[kTileBytes];
        copy_columns(b + d * call.b_k, call, columns, there, lines);
        load_tile<4>(lines, kLineBytes);
      }
      load_tile<5>(a, kLineBytes);
      dot_tiles<kDot, 0, 4, 5>();
      if constexpr (kPanels > 1) {
        load_tile<6>(a + next, kLineBytes);
        dot_tiles<kDot, 1, 4, 6>();
      }
      if constexpr (kPanels > 2) {
        load_tile<7>(a + 2 * next, kLineBytes);
        dot_tiles<kDot, 2, 4, 7>();
      }
      if constexpr (kPanels > 3) {
        load_tile<5>(a + 3 * next, kLineBytes);
        dot_tiles<kDot, 3, 4, 5>();
      }
    }
    store<0>(call, row, column, columns);
    if constexpr (kPanels > 1) store<1>(call, row, column, columns);
    if constexpr (kPanels > 2) store<2>(call, row, column, columns);
    if constexpr (kPanels > 3) store<3>(call, row, column, columns);
  }

  // Copies columns of B as the rows of a tile; zero-fills missing columns and k.
  template <class T>
  [[gnu::noinline]] static void copy_columns(const T* b, const CpuCall& call, int columns, int there, char* lines) {
    constexpr int kGroup = Tiles::kGroup;
    typename I::Words square[kTile];
    for (int i = 0; i < kTile; ++i) {
      const T* from = b + i * (call.b_k == 1 ? call.b_column : kGroup * call.b_k);
      const int rest = there - i * kGroup;  // k of the words in this line, if columns are contiguous
      if (call.b_k == 1) {
        square[i] = i >= columns      ? I::no_words()
                    : there == kTileK ? I::template load<false>(from)
                                      : I::template load_part<false>(from, there);
      } else {
        square[i] = rest <= 0 ? I::no_words()
                              : I::template gather_part<false>(from, call.b_k, columns, rest < kGroup ? rest : kGroup);
      }
    }
    if (call.b_k != 1) I::transpose(square);
    for (int i = 0; i < kTile; ++i) I::store_words(lines + i * kLineBytes, square[i]);
  }

  template <int kPanel>
  static void store(const CpuCall& call, int64_t first_row, int64_t column, int columns) {
    const int64_t row = first_row + kPanel * kTile;
    const int rows = static_cast<int>(least(kTile, call.rows - row));
    if (call.transposed && rows == kTile && columns == kTile && !must_finish(call, I::kAccumulatorType)) {
      auto* const to = static_cast<Accumulator*>(call.c) + column * call.ldc + call.row + row;
      return store_tile<kPanel>(to, static_cast<size_t>(call.ldc) * sizeof(Accumulator));
    }
    alignas(64) Accumulator lines[kTile * kTile];
    store_tile<kPanel>(lines, kLineBytes);
    if (call.transposed) return put(call, lines, column, columns, call.row + row, rows);
    typename I::Words square[kTile];
    for (int i = 0; i < kTile; ++i) square[i] = I::load_words(lines + i * kTile);
    I::transpose(square);
    for (int i = 0; i < kTile; ++i) I::store_words(lines + i * kTile, square[i]);
    put(call, lines, call.row + row, rows, column, columns);
  }

  static void put(const CpuCall& call, const Accumulator* lines, int64_t row, int rows, int64_t column, int columns) {
    const bool finishes = must_finish(call, I::kAccumulatorType);
    const bool narrows = call.c_type == CpuType::bf16 && !call.bias && !call.scale_a && !call.scale_b;
    for (int i = 0; i < rows; ++i, lines += kTile) {
      const int64_t to = (row + i) * call.ldc + column;
      if (!finishes) {
        I::store_words_part(static_cast<Accumulator*>(call.c) + to, I::load_words(lines), columns);
      } else if (narrows) {
        Sixteen sums;
        SixteenHalves halves;
        take_accumulators(lines, kTile, sums);
        narrow_sums<Accumulator>(sums, halves);
        give(halves, columns, static_cast<uint16_t*>(call.c) + to);
      } else {
        finish_row(call, lines, row + i, column, columns);
      }
    }
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
