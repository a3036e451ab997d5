// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/dispatch/sum_parts.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#define PBPROBE_TARGET any_cpu  // compiled without options for an instruction set
#include "kernels/cpu/finish.hpp"

namespace pbprobe {
namespace {

// Adds `count` numbers to others. Integers wrap, as in the kernels.
void add_sums(float* __restrict to, const float* __restrict from, int64_t count) {
  for (int64_t j = 0; j < count; ++j) to[j] += from[j];
}
void add_sums(int32_t* __restrict to, const int32_t* __restrict from, int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    to[j] = static_cast<int32_t>(static_cast<uint32_t>(to[j]) + static_cast<uint32_t>(from[j]));
  }
}

template <class Sum>
void sum_rows(const Plan& plan, const CpuCall& call, const Sum* sums, int64_t first, int64_t end) {
  constexpr int64_t kColumns = 512;  // their lines come from other cores, as many as possible at once
  const bool finishes =
      any_cpu::must_finish(call, plan.problem.accumulator == DType::int32 ? CpuType::int32 : CpuType::fp32);
  std::array<Sum, kColumns> row;
  for (int64_t i = first; i < end; ++i) {
    for (int64_t column = 0; column < call.n; column += kColumns) {
      const int64_t columns = std::min(kColumns, call.n - column);
      const Sum* from = sums + i * call.n + column;
      std::copy_n(from, columns, row.begin());
      for (int64_t part = 1; part < plan.split; ++part) {
        from += call.m * call.n;
        add_sums(row.data(), from, columns);
      }
      if (finishes) {
        any_cpu::finish_row(call, row.data(), i, column, columns);
      } else {
        std::copy_n(row.begin(), columns, static_cast<Sum*>(call.c) + i * call.ldc + column);
      }
    }
  }
}

}  // namespace

void sum_parts(const Plan& plan, const Operands& operands, const std::byte* sums, int64_t first, int64_t end) {
  const Problem& p = plan.problem;
  CpuCall call{};
  call.m = p.m;
  call.n = p.n;
  call.c = operands.c;
  call.ldc = p.ldc;
  call.bias = p.bias ? operands.bias : nullptr;
  call.scale_a = p.scale_a ? operands.scale_a : nullptr;
  call.scale_b = p.scale_b ? operands.scale_b : nullptr;
  call.c_type = p.c == DType::bf16 ? CpuType::bf16 : p.c == DType::int32 ? CpuType::int32 : CpuType::fp32;
  if (p.accumulator == DType::int32) {
    sum_rows(plan, call, reinterpret_cast<const int32_t*>(sums), first, end);
  } else {
    sum_rows(plan, call, reinterpret_cast<const float*>(sums), first, end);
  }
}

}  // namespace pbprobe
