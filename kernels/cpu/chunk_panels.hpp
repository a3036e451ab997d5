// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM over packed panels for aarch64, whose instructions take one operand by lane or multiply 2 × 2 blocks, each
// within 128 bits. A family header: the target's file defines PBPROBE_TARGET, includes a header with instructions
// (neon.hpp, sve.hpp), then this one. Everything has internal linkage, and no std template is used.
// Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (loop order, panels).
//
// A chunk is 16 bytes: I::kLines neighbouring rows of A or columns of B, I::kGroup k of each. A vector holds
// I::segments() chunks of consecutive k, whose accumulators are added at the end; so the tile of C is the same for
// every vector length. A panel is [steps][chunks of a tile][segments] chunks, padded with zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/finish.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int64_t kChunkBytes = 16;

// I: the instruction. The tile is kRows × kColumns, both multiples of I::kLines.
template <class I, int kRows, int kColumns>
struct GemmChunks {
  using Accumulator = typename I::Accumulator;
  static constexpr int kLines = I::kLines;
  static constexpr int kGroup = I::kGroup;
  static constexpr int kLineBytes = kChunkBytes / kLines;  // bytes of one line in a chunk

  static void run(const CpuCall& call, const CpuTask& task) {
    switch (task.step) {
      case CpuStep::pack_a: pack_a(call, task); break;
      case CpuStep::pack_b: pack_b(call, task); break;
      case CpuStep::compute: compute(call, task); break;
    }
  }

  // --- packing ---

  static int64_t steps_of(const CpuCall& call) {
    const int64_t k_block = kGroup * I::segments();
    return (call.k_block + k_block - 1) / k_block;
  }
  // Return the bytes of each packed row or column; a column of B includes the sum of its elements if the instruction
  // needs a correction.
  static int64_t a_line_bytes(const CpuCall& call) { return steps_of(call) * I::segments() * kLineBytes; }
  static int64_t b_line_bytes(const CpuCall& call) {
    return a_line_bytes(call) + (I::kCorrects ? static_cast<int64_t>(sizeof(Accumulator)) : 0);
  }
  static char* a_panel(const CpuCall& call, int64_t row) {
    return static_cast<char*>(call.packed_a) + row * a_line_bytes(call);
  }
  static char* b_panel(const CpuCall& call, int64_t column) {
    return static_cast<char*>(call.packed_b) + column * b_line_bytes(call);
  }
  static Accumulator* column_sums(const CpuCall& call, char* panel) {
    return reinterpret_cast<Accumulator*>(panel + kColumns * a_line_bytes(call));
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
        pack_panel<kRows>(from, call.a_row, call.a_k, end - row, call, a_panel(call, row));
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
        pack_panel<kColumns>(from, call.b_column, call.b_k, end - column, call, to);
        if constexpr (I::kCorrects) {
          // A prepacked B, whose call has no A, serves every type of A.
          if (call.a_type == I::kCorrected || call.a == nullptr)
            I::template sum_columns<kColumns>(to, steps_of(call), column_sums(call, to));
        }
      }
    }
  }

  // Walks the chunks of kLines lines in a panel whose steps hold kWidth lines.
  template <int kWidth>
  struct Cursor {
    char* to;
    int64_t segments;
    int64_t segment = 0;
    void next() {
      to += kChunkBytes;
      if (++segment < segments) return;
      segment = 0;
      to += (kWidth / kLines - 1) * segments * kChunkBytes;
    }
  };

  // lines × k elements, of which `across` separates lines and `along` k. Vectors of one segment have code of
  // their own, whose cursor counts no segments.
  template <int kWidth, class T>
  [[gnu::noinline]] static void pack_panel(const T* from, int64_t across, int64_t along, int64_t lines,
                                           const CpuCall& call, char* to) {
    if (I::segments() == 1) return pack_segments<kWidth>(from, across, along, lines, call, to, 1);
    pack_segments<kWidth>(from, across, along, lines, call, to, I::segments());
  }
  template <int kWidth, class T>
  [[gnu::always_inline]] static inline void pack_segments(const T* from, int64_t across, int64_t along, int64_t lines,
                                                          const CpuCall& call, char* to, int64_t segments) {
    const int64_t groups = steps_of(call) * segments;
    for (int line = 0; line < kWidth; line += kLines, from += kLines * across, lines -= kLines) {
      Cursor<kWidth> cursor{to + line / kLines * segments * kChunkBytes, segments};
      int64_t group = 0;
      if (lines >= kLines && along == 1) {
        group = pack_along_k(from, across, call.k_block, cursor);
      } else if (lines >= kLines && across == 1) {
        for (; (group + 1) * kGroup <= call.k_block; ++group, cursor.next())
          I::gather(cursor.to, from + group * kGroup * along, along);
      }
      for (; group < groups; ++group, cursor.next()) {
        const int64_t k = group * kGroup;
        T chunk[kLines][kGroup] = {};
        for (int l = 0; l < kLines && l < lines; ++l) {
          for (int d = 0; d < kGroup && k + d < call.k_block; ++d) chunk[l][d] = from[l * across + (k + d) * along];
        }
        I::store_chunk(cursor.to, chunk);
      }
    }
  }

  // K is contiguous. Returns how many groups it packed.
  template <int kWidth, class T>
  [[gnu::always_inline]] static inline int64_t pack_along_k(const T* from, int64_t across, int64_t k_block,
                                                            Cursor<kWidth>& cursor) {
    int64_t group = 0;
    for (; (group + I::kTransposedGroups) * kGroup <= k_block; group += I::kTransposedGroups) {
      char chunks[I::kTransposedGroups][kChunkBytes];
      I::transpose(from + group * kGroup, across, chunks);
#pragma GCC unroll 4
      for (int i = 0; i < I::kTransposedGroups; ++i, cursor.next()) __builtin_memcpy(cursor.to, chunks[i], kChunkBytes);
    }
    return group;
  }

  // --- computing ---

  static void compute(const CpuCall& call, const CpuTask& task) {
    const int64_t end_row = least(task.first_row + task.rows, call.rows);
    const int64_t end_column = least(task.first_column + task.columns, call.columns);
    // Along C's rows, whose pages and lines are neighbours, as far as B's panels fit the second-level cache.
    constexpr int64_t kAcross = 8 * kColumns;
    for (int64_t first = task.first_column; first < end_column; first += kAcross) {
      const int64_t end = least(first + kAcross, end_column);
      for (int64_t row = task.first_row; row < end_row; row += kRows) {
        for (int64_t column = first; column < end; column += kColumns) {
          compute_tile(call, row, column, least(kRows, end_row - row), least(kColumns, end - column));
        }
      }
    }
  }

  static void compute_tile(const CpuCall& call, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    // A C of 32 bits holds the partial sums itself, whatever its type is in the end.
    const bool wide = call.c_type == CpuType::fp32 || call.c_type == CpuType::int32;
    alignas(64) Accumulator buffer[kRows * kColumns];
    alignas(16) Accumulator start[kColumns] = {};
    if constexpr (I::kCorrects) {
      if (call.a_type == I::kCorrected && call.k_block > 0) {
        const Accumulator* acc = column_sums(call, b_panel(call, column));
        for (int j = 0; j < kColumns; ++j) start[j] = I::correction(acc[j]);
      }
    }
    Accumulator* d = buffer;
    int64_t ldd = kColumns;
    if (call.partials) {
      d = static_cast<Accumulator*>(call.partials) + row * call.partials_leading + column;
      ldd = call.partials_leading;
    } else if (wide) {
      d = static_cast<Accumulator*>(call.c) + (call.row + row) * call.ldc + call.column + column;
      ldd = call.ldc;
    }
    const ChunkTile<Accumulator> tile{a_panel(call, row), b_panel(call, column), steps_of(call), start, d, ldd,
                                      !call.first};
    if (rows == kRows && columns == kColumns) {
      microkernel_rows<kRows / kLines>(tile, rows);
    } else {
      ChunkTile<Accumulator> part = tile;
      part.d = buffer;
      part.ldd = kColumns;
      part.add = false;
      microkernel_rows<kRows / kLines>(part, rows);
      for (int64_t i = 0; i < rows && d != buffer; ++i) {
        const Accumulator* from = buffer + i * kColumns;
        for (int64_t j = 0; j < columns; ++j) d[i * ldd + j] = tile.add ? I::add(d[i * ldd + j], from[j]) : from[j];
      }
    }
    if (call.last && must_finish(call, I::kAccumulatorType)) {
      finish(call, d, ldd, call.row + row, call.column + column, rows, columns);
    }
  }

  // Finishes a tile by vectors of four, because finish_row() is slow at any number of columns but sixteen.
  static void finish(const CpuCall& call, const Accumulator* d, int64_t ldd, int64_t row, int64_t column, int64_t rows,
                     int64_t columns) {
    const bool narrow = call.c_type == CpuType::bf16;
    const float* const scale_a = call.scale_a;
    const int64_t ldc = call.ldc;
    void* const c = call.c;
    for (int64_t j = 0; j < columns; j += 4) {
      // The last vector overlaps its neighbour, but not in a wide C, which may be `d`.
      if (narrow && j > 0) j = least(j, columns - 4);
      if (j + 4 > columns) {
        for (int64_t i = 0; i < rows; ++i) finish_row(call, d + i * ldd + j, row + i, column + j, columns - j);
        return;
      }
      const float32x4_t scales = call.scale_b ? load_floats(call.scale_b + column + j) : vdupq_n_f32(1.0F);
      const float32x4_t biases = call.bias ? load_floats(call.bias + column + j) : vdupq_n_f32(-0.0F);  // adds nothing
      int64_t to = row * ldc + column + j;
      for (int64_t i = 0; i < rows; ++i, to += ldc) {
        const float32x4_t values = load_floats(d + i * ldd + j) * (scale_a ? scale_a[row + i] : 1.0F) * scales + biases;
        if (narrow) {
          vst1_u16(static_cast<uint16_t*>(c) + to, narrow_floats(values));
        } else {
          vst1q_f32(static_cast<float*>(c) + to, values);
        }
      }
    }
  }

  // Runs the microkernel of the fewest chunks that hold `rows`.
  template <int kChunks>
  static void microkernel_rows(const ChunkTile<Accumulator>& tile, int64_t rows) {
    if constexpr (kChunks > 1) {
      if (rows <= (kChunks - 1) * kLines) return microkernel_rows<kChunks - 1>(tile, rows);
    }
    microkernel<I, kChunks, kRows, kColumns>(tile);
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
