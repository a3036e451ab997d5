// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/dispatch/slices.hpp"

#include <algorithm>
#include <utility>

#include "kernels/dispatch/cut.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kFreeWorkspace = 256LL << 20;
constexpr int64_t kLeastSlice = 1024;  // rows or columns: below, a slice costs more than it saves

int64_t most_workspace(const Problem& p) {
  const int64_t operands = extent(stored_rows_a(p), stored_columns_a(p), p.lda) * size_of(p.a) +
                           extent(stored_rows_b(p), stored_columns_b(p), p.ldb) * size_of(p.b) +
                           extent(p.m, p.n, p.ldc) * size_of(p.c);
  return std::max(operands, kFreeWorkspace);
}

struct Cutter {
  const Host& host;
  const Rates& rates;
  const ChooseOptions& options;
  int64_t most_workspace;
  std::vector<Slice> slices;

  // The rectangle of C at `row`, `column`, in as many slices as it takes.
  Result<void> cut(const Problem& part, int64_t row, int64_t column) {
    auto plan = choose(part, host, rates, options);
    if (!plan.ok() && plan.error().code != ErrorCode::limit) return plan.error();
    const bool fits = plan.ok() && (!options.gpu || plan->workspace_bytes <= most_workspace);
    if (!fits && std::max(part.m, part.n) >= 2 * kLeastSlice) return halve(part, row, column);
    if (!plan.ok()) return plan.error();
    slices.push_back({row, column, std::move(*plan)});
    return {};
  }

  Result<void> halve(const Problem& part, int64_t row, int64_t column) {
    const bool rows = part.m > part.n;
    Problem first = part;
    Problem second = part;
    (rows ? first.m : first.n) = round_up(divide_up(rows ? part.m : part.n, 2), kLeastSlice);
    (rows ? second.m : second.n) -= rows ? first.m : first.n;
    PBPROBE_CHECK(cut(first, row, column));
    return cut(second, row + (rows ? first.m : 0), column + (rows ? 0 : first.n));
  }
};

const void* advance(const void* data, int64_t elements, DType type) {
  return data == nullptr ? nullptr : static_cast<const std::byte*>(data) + elements * size_of(type);
}

// Rows, or columns, are whole tiles of 128 scales where a slice begins.
const void* advance_blocks(const void* data, int64_t lines, const Problem& p, const BlockRows& rows) {
  if (data == nullptr) return nullptr;
  return static_cast<const std::byte*>(data) +
         (are_fp32(p.blocks) ? place_in(rows, lines, 0) * size_of(DType::fp32) : block_scale_bytes(p, lines));
}

const float* advance(const float* data, int64_t elements) {
  return data == nullptr ? nullptr : data + elements;
}

}  // namespace

Result<std::vector<Slice>> choose_slices(const Problem& problem, const Host& host, const Rates& rates,
                                         const ChooseOptions& options) {
  PBPROBE_CHECK(validate(problem));
  Cutter cutter{host, rates, options, most_workspace(problem), {}};
  Problem whole = problem;
  whole.blocks_lda = block_rows_a(problem).leading;  // a slice's rows of scales are as far apart
  whole.blocks_ldb = block_rows_b(problem).leading;
  PBPROBE_CHECK(cutter.cut(are_fp32(problem.blocks) ? whole : problem, 0, 0));
  return std::move(cutter.slices);
}

Operands slice_operands(const Slice& slice, const Operands& whole) {
  const Problem& p = slice.plan.problem;
  Operands part = whole;
  part.a = advance(whole.a, slice.row * (a_is_km(p.layout) ? 1 : p.lda), p.a);
  part.b = advance(whole.b, slice.column * (b_is_nk(p.layout) ? p.ldb : 1), p.b);
  part.c = const_cast<void*>(advance(whole.c, slice.row * p.ldc + slice.column, p.c));
  part.bias = advance(whole.bias, slice.column);
  part.blocks_a = advance_blocks(whole.blocks_a, slice.row, p, block_rows_a(p));
  part.blocks_b = advance_blocks(whole.blocks_b, slice.column, p, block_rows_b(p));
  part.scale_a = p.per_tensor ? whole.scale_a : advance(whole.scale_a, slice.row);
  part.scale_b = p.per_tensor ? whole.scale_b : advance(whole.scale_b, slice.column);
  return part;
}

}  // namespace pbprobe
