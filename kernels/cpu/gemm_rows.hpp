// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM of short k over packed panels: a tile would take longer to begin and to end than to multiply, so C is written
// row by row over all columns, and its lines come one after the other. A family header: see gemm_panels.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/finish.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int64_t kFewWords = 8;

// Into the second-level cache, all at once.
[[gnu::unused]] inline void fetch_lines(const CpuLines& lines) {
  const bool dense = lines.stride < 64;
  const int64_t bytes = dense ? lines.count * lines.stride : lines.bytes;
  const char* line = lines.first;
  for (int64_t left = dense ? 1 : lines.count; left > 0; --left, line += lines.stride) {
    for (int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(line + byte, 0, 2);
  }
}

// One row of C, from a column of a panel of A and all panels of B. P: GemmPanels.
template <class P>
[[gnu::noinline]] void write_row(const CpuCall& call, const char* a, typename P::Accumulator* c, int64_t first,
                                 int64_t end, bool correct) {
  using I = typename P::Instruction;
  constexpr int kLanes = P::kLanes;
  constexpr int kVectors = P::kPanelVectors;
  constexpr int kVectorBytes = kLanes * P::kWordBytes;
  const int64_t words = P::words_of(call);
  const int64_t line = P::b_line_bytes(call);
  const char* panel = static_cast<const char*>(call.packed_b) + first * line;
#pragma GCC unroll 1
  for (int64_t column = first; column < end; column += P::kColumns, panel += P::kColumns * line) {
    typename P::Accumulators acc[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) acc[j] = I::zero_accumulators();
    const char* b = panel;
#pragma GCC unroll 1
    for (int64_t w = 0; w < words; ++w, b += kVectors * kVectorBytes) {
      const typename I::Words word = I::broadcast(a + w * P::kPanelRows * P::kWordBytes);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) acc[j] = I::multiply_add(word, I::load_words(b + j * kVectorBytes), acc[j]);
    }
    if constexpr (I::kCorrects) {
      const auto* sums = reinterpret_cast<const typename P::Accumulator*>(b);
#pragma GCC unroll 8
      for (int j = 0; correct && j < kVectors; ++j) {
        acc[j] = I::add(acc[j], I::correction(I::load_accumulators(sums + j * kLanes)));
      }
    }
    const int64_t left = end - column;
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      if (left >= (j + 1) * kLanes) {
        I::store_accumulators(c + column + j * kLanes, acc[j]);
      } else if (left > j * kLanes) {
        I::store_accumulators_part(c + column + j * kLanes, acc[j], static_cast<int>(left) - j * kLanes);
      }
    }
  }
}

// A task's rows, whose C holds the sums itself.
template <class P>
void write_rows(const CpuCall& call, const CpuTask& task, int64_t end_row, int64_t end_column) {
  using I = typename P::Instruction;
  for (const CpuLines& lines : task.ahead) fetch_lines(lines);
  const bool correct = I::kCorrects && call.a_type == CpuType::int8;
  const bool finishes = call.last && must_finish(call, I::kAccumulatorType);
  for (int64_t row = task.first_row; row < end_row; ++row) {
    const int64_t in_panel = row % P::kPanelRows;
    const char* a = P::a_panel(call, row - in_panel) + in_panel * P::kWordBytes;
    auto* c = static_cast<typename P::Accumulator*>(call.c) + (call.row + row) * call.ldc + call.column;
    write_row<P>(call, a, c, task.first_column, end_column, correct);
    if (!finishes) continue;
    finish_row(call, c + task.first_column, call.row + row, call.column + task.first_column,
               end_column - task.first_column);
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
