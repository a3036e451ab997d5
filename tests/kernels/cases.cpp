// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/cases.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "kernels/dispatch/cut.hpp"
#include "kernels/dispatch/run.hpp"

namespace pbprobe::test {

Result<Plan> make_plan(const Kernel& kernel, const Backend& backend, const Problem& problem, int64_t threads) {
  ChooseOptions options = backend.options();
  options.kernel = std::string(kernel.name);
  options.threads = threads;
  PBPROBE_TRY(Plan plan, choose(problem, this_host(), {}, options));
  if (plan.kernel != &kernel) return make_error(ErrorCode::usage, "{} was chosen", plan.kernel->name);
  return plan;
}

namespace {

// Cuts C into tiles that a thread each computes alone, or that all threads take with shared panels.
void cut_tiles(Plan& plan, int64_t threads, bool alone) {
  CpuBlocks& cpu = plan.cpu;
  const Kernel& kernel = *plan.kernel;
  const Problem& p = plan.problem;
  constexpr int64_t kAlign = 64;
  const int64_t line = cpu.k_block * kernel.packed_bytes + kernel.line_bytes;
  const bool swaps = swaps_operands(kernel, p);
  const int64_t m = swaps ? p.n : p.m;
  const int64_t n = swaps ? p.m : p.n;
  cpu.alone = alone;
  cpu.packed_a = alone && cpu.packed_a;
  cpu.threads = threads;
  cpu.task_rows = kernel.tile.m;
  cpu.task_columns = kernel.tile.n;
  if (alone) {
    if (kernel.in_place) cpu.task_rows = round_up(m, cpu.rows);
    cpu.rows = std::min(cpu.rows, cpu.task_rows);
    cpu.columns = cpu.task_columns;
    cpu.threads = divide_up(m, cpu.task_rows) * divide_up(n, cpu.task_columns);
  } else {
    // Two threads share the columns, and three the rows, so that a task packs what no other one reads.
    if (threads == 2 || kernel.in_place) cpu.task_rows = cpu.rows;
    if (threads == 3 && !kernel.in_place) cpu.task_columns = cpu.columns;
  }
  cpu.packed_b_offset = round_up(cpu.rows * line, kAlign);
  cpu.partials_offset = cpu.packed_b_offset + (kernel.in_place ? 0 : round_up(cpu.columns * line, kAlign));
  const int64_t partials = cpu.partials ? cpu.rows * cpu.columns * size_of(p.accumulator) : 0;
  cpu.own_bytes = round_up(cpu.partials_offset + partials, kAlign);
  plan.workspace_bytes = cpu.own_bytes * (alone ? cpu.threads : 1) + kAlign;
}

}  // namespace

Execute make_execute(const Kernel& kernel, Backend& backend, int64_t threads) {
  return [&kernel, &backend, threads](const Problem& problem, CheckData& data) -> Result<void> {
    PBPROBE_TRY(Plan plan, make_plan(kernel, backend, problem));
    if (kernel.function != nullptr && threads > 1) cut_tiles(plan, threads, threads == kAlone && !problem.prepacked_b);
    return backend.run(plan, data);
  };
}

void expect_right(const Kernel& kernel, Backend& backend, const Problem& problem, const CheckOptions& options,
                  int64_t threads) {
  const auto result = check(problem, make_execute(kernel, backend, threads), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->passed) << kernel.name << ": " << result->what;
}

std::vector<DType> list_types(const Kernel& kernel) {
  std::vector<DType> types;
  for (DType type : {DType::fp32, DType::tf32, DType::fp16, DType::bf16, DType::int8, DType::uint8, DType::e4m3,
                     DType::e5m2, DType::e2m1x2}) {
    if (kernel.a == DTypes{} ? type == kernel.dtype : kernel.a.has(type)) types.push_back(type);
  }
  return types;
}

Problem spaced(Problem problem, int64_t by) {
  problem.lda += by;
  problem.ldb += by + 2;
  problem.ldc += by;
  if (are_fp32(problem.blocks)) {
    problem.blocks_lda = block_rows_a(problem).leading + by;
    problem.blocks_ldb = block_rows_b(problem).leading + by + 1;
  }
  return problem;
}

Problem transpose_c(Problem problem, int64_t by) {
  problem.c_is_nm = true;
  problem.ldc = problem.m + by;
  return problem;
}

int64_t limit_rows(const Kernel& kernel, int64_t rows) {
  return std::min(rows, kernel.max_m);
}

void few_columns(const Kernel& kernel, Backend& backend) {
  if (!kernel.in_place) return;
  const int64_t most = kernel.max_m;
  for (DType type : list_types(kernel)) {
    if (type == DType::uint8) {
      EXPECT_FALSE(make_plan(kernel, backend, make_problem(most + 62, 5, 33, type)).ok());
      continue;
    }
    int turn = 0;
    for (DType c : {kernel.accumulator, DType::fp32, DType::bf16}) {
      for (Layout layout : kLayouts) {
        for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                      {123, most, 3},
                                      {62, 1, 300},
                                      {192, most / 2 + 1, 67},
                                      {59, 7, 0},
                                      {58, 4, 16}}) {
          auto problem = spaced(make_problem(most + m, n, k, type, c, layout), turn % 3);
          const bool finished = c != DType::int32;
          problem.bias = finished && turn % 2 == 1;
          problem.scale_a = finished && turn / 2 % 2 == 1;
          problem.scale_b = finished && turn / 4 % 2 == 1;
          CheckOptions options;
          options.misalign = turn % 2;
          expect_right(kernel, backend, problem, options, 1 + turn++ % 4);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

void long_k(const Kernel& kernel, Backend& backend) {
  constexpr int64_t kThreads = 16;
  int turn = 0;
  int split = 0;
  const Execute execute = [&](const Problem& problem, CheckData& data) -> Result<void> {
    PBPROBE_TRY(const Plan plan, make_plan(kernel, backend, problem, kThreads));
    split += plan.split > 1 ? 1 : 0;
    return backend.run(plan, data);
  };
  for (DType type : list_types(kernel)) {
    for (DType c : {kernel.accumulator, DType::fp32, DType::bf16}) {
      for (Layout layout : kLayouts) {
        for (const auto& [m, n, k] : {std::array<int64_t, 3>{37, 33, 4700}, {limit_rows(kernel, 70), 90, 2101}}) {
          auto problem = spaced(make_problem(limit_rows(kernel, m), n, k, type, c, layout), turn % 3);
          const bool finished = c != DType::int32;
          problem.bias = finished && turn % 2 == 1;
          problem.scale_a = finished && turn / 2 % 2 == 1;
          problem.scale_b = finished && turn / 4 % 2 == 1;
          const auto result = check(problem, execute, {.misalign = turn++ % 2});
          ASSERT_TRUE(result.ok()) << result.error().message;
          ASSERT_TRUE(result->passed) << kernel.name << ": " << result->what;
        }
      }
    }
  }
  EXPECT_GT(split, 0) << kernel.name;
}

void prepacked(const Kernel& kernel, Backend& backend) {
  const auto& t = kernel.tile;
  const int64_t depth = kernel.k_block > 0 ? kernel.k_block : 64;
  for (DType type : list_types(kernel)) {
    for (Layout layout : kLayouts) {
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                    {t.m + 1, 2 * t.n + 3, 70},
                                    {2 * t.m, t.n - 1, 2 * depth + 3},
                                    {3, 5, 0}}) {
        auto problem = spaced(make_problem(limit_rows(kernel, m), n, k, type, layout), 1);
        problem.prepacked_b = true;
        if (kernel.function != nullptr && !kernel.in_place) {
          for (const int64_t threads : {1, 2}) expect_right(kernel, backend, problem, {}, threads);
          continue;
        }
        ChooseOptions options = backend.options();
        options.kernel = std::string(kernel.name);
        EXPECT_FALSE(choose(problem, this_host(), {}, options).ok());
      }
    }
    if (emulated() || kernel.function == nullptr || kernel.in_place) continue;
    // More columns than one pass takes.
    auto wide = make_problem(5, 4200, 300, type, Layout::nn);
    wide.prepacked_b = true;
    expect_right(kernel, backend, wide);
  }
}

void packed_once(const Kernel& kernel, Backend& backend) {
  if (kernel.function == nullptr || kernel.in_place) return;
  ChooseOptions options = backend.options();
  options.kernel = std::string(kernel.name);
  const int64_t n = 2 * kernel.tile.n + 5;
  const int64_t k = kernel.k_block + 9;
  const auto packed_for = [&](int64_t m, int64_t threads, DType type) {
    auto problem = make_problem(m, n, k, type);
    problem.prepacked_b = true;
    options.threads = threads;
    return choose(problem, this_host(), {}, options);
  };
  const auto few = packed_for(1, 1, list_types(kernel).front());
  const auto many = packed_for(900, 8, list_types(kernel).back());
  ASSERT_TRUE(few.ok() && many.ok());
  ASSERT_EQ(few->prepacked_bytes, many->prepacked_bytes);
  std::vector<uint8_t> b(static_cast<size_t>(n * k) * 4);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<uint8_t>(i * 37 % 61);
  std::vector<std::byte> packed[2];
  for (int i = 0; i < 2; ++i) {
    auto& bytes = packed[i];
    bytes.resize(static_cast<size_t>(few->prepacked_bytes + kPackedAlign));
    const auto at = reinterpret_cast<uintptr_t>(bytes.data());
    std::byte* const to = bytes.data() + (kPackedAlign - at % kPackedAlign) % kPackedAlign;
    ASSERT_TRUE(prepack(i == 0 ? *few : *many, b.data(), to, i == 0 ? ParallelFor{} : threads()).ok());
    std::rotate(bytes.begin(), bytes.begin() + (to - bytes.data()), bytes.end());
    bytes.resize(static_cast<size_t>(few->prepacked_bytes));
  }
  EXPECT_EQ(packed[0], packed[1]);
}

}  // namespace pbprobe::test
