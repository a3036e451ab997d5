// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM in AMX's tile registers: C in four tiles of 16 × 16 accumulators, two of A and two of B. A family header:
// see gemm_panels.hpp, whose packing of B it takes.
//
// A tile holds 16 lines of 16 words (two BF16 or four INT8 each). A tile of B is [words][16 columns], like B's panels.
// A tile of A is [rows][words], so a panel of A is [blocks of 16 words][32 rows][16 words]. Both are padded with zeros
// to whole blocks. Requires that the process has asked for the tiles' state (core/host). Source: Intel Architecture
// Instruction Set Extensions Programming Reference, chapter 3.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/gemm_panels.hpp"
#include "kernels/cpu/x86_512.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

enum class TileDot { bf16, signed_int8, unsigned_int8, by_unsigned_int8 };

// Bytes as they are: the instructions know both signs of A.
struct TileBytes : Vnni512 {
  static constexpr bool kCorrects = false;
  template <bool kIsA, class T>
  static Words load(const T* p) {
    return Vnni512::load<false>(p);
  }
  template <bool kIsA, class T>
  static Words load_part(const T* p, int count) {
    return Vnni512::load_part<false>(p, count);
  }
  template <bool kIsA, class T>
  static Words gather(const T* p, int64_t along) {
    return Vnni512::gather<false>(p, along);
  }
  template <bool kIsA, class T>
  static Words gather_part(const T* p, int64_t along, int lines, int k_block) {
    return Vnni512::gather_part<false>(p, along, lines, k_block);
  }
};

// Not the compilers' intrinsics: gcc's do not say what memory they read, and both take numbers of tiles as written
// only.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

[[gnu::unused]] void configure_tiles() {
  const TileConfiguration configuration;
  asm volatile("ldtilecfg %0" : : "m"(configuration));
}

[[gnu::unused]] void release_tiles() {
  asm volatile("tilerelease");
}

// 16 lines of 64 bytes, `stride` bytes apart.
template <int kTile>
[[gnu::always_inline]] inline void load_tile(const void* from, size_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
}

template <int kTile>
[[gnu::always_inline]] inline void store_tile(void* to, size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
}

template <int kTile>
[[gnu::always_inline]] inline void zero_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}

template <TileDot kDot, int kC, int kA, int kB>
[[gnu::always_inline]] inline void dot_tiles() {
  if constexpr (kDot == TileDot::bf16) {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  } else if constexpr (kDot == TileDot::signed_int8) {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  } else if constexpr (kDot == TileDot::unsigned_int8) {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  } else {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  }
}

template <class I>
struct GemmTiles {
  using Accumulator = typename I::Accumulator;
  using Panels = GemmPanels<I, 16, 2>;
  static constexpr int kGroup = I::kGroup;
  static constexpr int kTile = 16;  // rows, columns and words of a tile
  static constexpr int kRows = 2 * kTile;
  static constexpr int kColumns = 2 * kTile;
  static constexpr int kWordBytes = 4;
  static constexpr int kLineBytes = kTile * kWordBytes;
  static constexpr int kTileK = kTile * kGroup;  // k of a block

  static void run(const CpuCall& call, const CpuTask& task) {
    switch (task.step) {
      case CpuStep::pack_a: pack_a(call, task); break;
      case CpuStep::pack_b: pack_b(call, task); break;
      case CpuStep::compute: compute(call, task); break;
    }
  }

  static int64_t count_blocks(const CpuCall& call) { return (call.k_block + kTileK - 1) / kTileK; }
  static char* panel(void* packed, const CpuCall& call, int64_t line) {
    return static_cast<char*>(packed) + line * count_blocks(call) * kLineBytes;
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
        char* to = panel(call.packed_a, call, row / kRows * kRows) + row % kRows * kLineBytes;
        pack_rows<false>(from, call, static_cast<int>(least(kTile, end - row)), to, kRows * kLineBytes);
      }
    }
  }

  // Packs up to 16 rows as tiles of [rows][words], or [words][rows], `step` bytes apart; zero-fills missing rows.
  template <bool kWordsFirst, class T>
  static void pack_rows(const T* from, const CpuCall& call, int rows, char* to, int64_t step) {
    constexpr int kAhead = 512 / static_cast<int>(sizeof(T));
    for (int64_t d = 0; d < call.k_block; d += kTileK, to += step) {
      const int there = static_cast<int>(least(kTileK, call.k_block - d));
      typename I::Words square[kTile];
      if (call.a_k == 1) {
        for (int i = 0; i < kTile; ++i) {
          const T* line = from + i * call.a_row + d;
          if (i < rows) __builtin_prefetch(line + kAhead);
          square[i] = i >= rows         ? I::no_words()
                      : there == kTileK ? I::template load<true>(line)
                                        : I::template load_part<true>(line, there);
        }
      } else {
        alignas(64) char words[kTile * kLineBytes] = {};
        Panels::template pack_panel<kTile, true>(from + d * call.a_k, call.a_row, call.a_k, rows, there, words);
        for (int i = 0; i < kTile; ++i) square[i] = I::load_words(words + i * kLineBytes);
      }
      if ((call.a_k == 1) == kWordsFirst) I::transpose(square);
      for (int i = 0; i < kTile; ++i) I::store_words(to + i * kLineBytes, square[i]);
    }
  }

  static void pack_b(const CpuCall& call, const CpuTask& task) {
    switch (call.b_type) {
      case CpuType::bf16: return pack_b_of(static_cast<const Bf16*>(call.b), call, task);
      case CpuType::int8: return pack_b_of(static_cast<const int8_t*>(call.b), call, task);
      default: return;
    }
  }

  template <class T>
  static void pack_b_of(const T* b, const CpuCall& call, const CpuTask& task) {
    if constexpr (I::template kReads<T>) {
      const int64_t end = least(task.first_column + task.columns, call.columns);
      const int64_t words = (call.k_block + kGroup - 1) / kGroup;
      for (int64_t column = task.first_column; column < end; column += kColumns) {
        const T* from = b + (call.column + column) * call.b_column + call.k_begin * call.b_k;
        char* to = panel(call.packed_b, call, column);
        Panels::template pack_panel<kColumns, false>(from, call.b_column, call.b_k, least(kColumns, end - column),
                                                     call.k_block, to);
        for (int64_t w = words * 2; w < count_blocks(call) * kTile * 2; ++w) {
          I::store_words(to + w * kLineBytes, I::no_words());
        }
      }
    }
  }

  static void compute(const CpuCall& call, const CpuTask& task) {
    configure_tiles();
    if constexpr (kGroup == 2) {
      compute_blocks<TileDot::bf16>(call, task);
    } else if (call.a_type == CpuType::int8) {
      compute_blocks<TileDot::signed_int8>(call, task);
    } else {
      compute_blocks<TileDot::unsigned_int8>(call, task);
    }
    release_tiles();
  }

  template <TileDot kDot>
  static void compute_blocks(const CpuCall& call, const CpuTask& task) {
    const int64_t end_row = least(task.first_row + task.rows, call.rows);
    const int64_t end_column = least(task.first_column + task.columns, call.columns);
    // Along C's rows, as far as B's panels fit the second-level cache.
    constexpr int64_t kAcrossBytes = 512 << 10;
    const int64_t across = kColumns * (kAcrossBytes / (kColumns * kLineBytes * (count_blocks(call) + 1)) + 1);
    for (int64_t first = task.first_column; first < end_column; first += across) {
      const int64_t end = least(first + across, end_column);
      for (int64_t row = task.first_row; row < end_row; row += kRows) {
        for (int64_t column = first; column < end; column += kColumns) {
          compute_block<kDot>(call, row, column, least(kRows, end_row - row), least(kColumns, end - column));
        }
      }
    }
  }

  template <TileDot kDot>
  static void compute_block(const CpuCall& call, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    // A C of 32 bits holds the partial sums itself, whatever its type is in the end.
    const bool wide = call.c_type == CpuType::fp32 || call.c_type == CpuType::int32;
    alignas(64) Accumulator buffer[kRows * kColumns];
    Accumulator* d = buffer;
    int64_t ldd = kColumns;
    bool add = false;
    if (call.partials) {
      d = static_cast<Accumulator*>(call.partials) + row * call.partials_leading + column;
      ldd = call.partials_leading;
      add = !call.first;
    } else if (wide) {
      d = static_cast<Accumulator*>(call.c) + (call.row + row) * call.ldc + call.column + column;
      ldd = call.ldc;
      add = !call.first;
    }
    const char* a = panel(call.packed_a, call, row);
    const char* b = panel(call.packed_b, call, column);
    const int64_t blocks = count_blocks(call);
    if (rows == kRows && columns == kColumns) {
      microkernel<kDot, 2, 2>(a, b, blocks, d, ldd, add);
    } else {
      microkernel_part<kDot>(a, b, blocks, d == buffer ? nullptr : d, ldd, add, rows, columns, buffer);
    }
    if (call.last && must_finish(call, I::kAccumulatorType)) {
      for (int64_t i = 0; i < rows; ++i) {
        finish_row(call, d + i * ldd, call.row + row + i, call.column + column, columns);
      }
    }
  }

  // Computes into the buffer, then stores or adds the result to d unless d is nullptr.
  template <TileDot kDot>
  static void microkernel_part(const char* a, const char* b, int64_t blocks, Accumulator* d, int64_t ldd, bool add,
                               int64_t rows, int64_t columns, Accumulator* buffer) {
    if (rows > kTile && columns > kTile) {
      microkernel<kDot, 2, 2>(a, b, blocks, buffer, kColumns, false);
    } else if (rows > kTile) {
      microkernel<kDot, 2, 1>(a, b, blocks, buffer, kColumns, false);
    } else if (columns > kTile) {
      microkernel<kDot, 1, 2>(a, b, blocks, buffer, kColumns, false);
    } else {
      microkernel<kDot, 1, 1>(a, b, blocks, buffer, kColumns, false);
    }
    if (d == nullptr) return;
    for (int64_t i = 0; i < rows; ++i) {
      const Accumulator* from = buffer + i * kColumns;
      Accumulator* to = d + i * ldd;
      for (int64_t j = 0; j < columns; ++j) to[j] = add ? to[j] + from[j] : from[j];
    }
  }

  // Computes 16 × 16 tiles of C: registers 0 and 1 above 2 and 3. A is in registers 4 and 5, B in 6 and 7.
  template <TileDot kDot, int kAs, int kBs>
  [[gnu::noinline]] static void microkernel(const char* a, const char* b, int64_t blocks, Accumulator* d, int64_t ldd,
                                            bool add) {
    constexpr int kBLine = kColumns * kWordBytes;
    const auto stride = static_cast<size_t>(ldd) * sizeof(Accumulator);
    Accumulator* below = d + kTile * ldd;
    if (add) {
      load_tile<0>(d, stride);
      if constexpr (kBs > 1) load_tile<1>(d + kTile, stride);
      if constexpr (kAs > 1) load_tile<2>(below, stride);
      if constexpr (kAs > 1 && kBs > 1) load_tile<3>(below + kTile, stride);
    } else {
      zero_tile<0>();
      zero_tile<1>();
      zero_tile<2>();
      zero_tile<3>();
    }
    for (int64_t k = 0; k < blocks; ++k, a += kRows * kLineBytes, b += kTile * kBLine) {
      load_tile<6>(b, kBLine);
      load_tile<4>(a, kLineBytes);
      dot_tiles<kDot, 0, 4, 6>();
      if constexpr (kBs > 1) {
        load_tile<7>(b + kLineBytes, kBLine);
        dot_tiles<kDot, 1, 4, 7>();
      }
      if constexpr (kAs > 1) {
        load_tile<5>(a + kTile * kLineBytes, kLineBytes);
        dot_tiles<kDot, 2, 5, 6>();
        if constexpr (kBs > 1) dot_tiles<kDot, 3, 5, 7>();
      }
    }
    store_tile<0>(d, stride);
    if constexpr (kBs > 1) store_tile<1>(d + kTile, stride);
    if constexpr (kAs > 1) store_tile<2>(below, stride);
    if constexpr (kAs > 1 && kBs > 1) store_tile<3>(below + kTile, stride);
  }
};

// kPeakTiles products an iteration on six tiles of accumulators: more than latency (52) over interval (16).
constexpr int kPeakTiles = 48;

template <TileDot kDot>
[[gnu::unused]] uint64_t run_tile_peak(int64_t iterations, const uint32_t (&some)[16]) {
  alignas(64) uint32_t words[16 * 16];
  for (int i = 0; i < 16 * 16; ++i) words[i] = some[(i + i / 16) % 16];
  configure_tiles();
  load_tile<6>(words, 64);
  load_tile<7>(words, 64);
  zero_tile<0>();
  zero_tile<1>();
  zero_tile<2>();
  zero_tile<3>();
  zero_tile<4>();
  zero_tile<5>();
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 8
    for (int r = 0; r < kPeakTiles / 6; ++r) {
      dot_tiles<kDot, 0, 6, 7>();
      dot_tiles<kDot, 1, 6, 7>();
      dot_tiles<kDot, 2, 6, 7>();
      dot_tiles<kDot, 3, 6, 7>();
      dot_tiles<kDot, 4, 6, 7>();
      dot_tiles<kDot, 5, 6, 7>();
    }
  }
  uint64_t result = 0;
  const auto add = [&] {
    for (int i = 0; i < 16 * 16; ++i) result = result * 31 + words[i];
  };
  store_tile<0>(words, 64);
  add();
  store_tile<1>(words, 64);
  add();
  store_tile<2>(words, 64);
  add();
  store_tile<3>(words, 64);
  add();
  store_tile<4>(words, 64);
  add();
  store_tile<5>(words, 64);
  add();
  release_tiles();
  return result;
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
