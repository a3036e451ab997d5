// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests the cut of a CPU's plan, on hosts that are passed in.
#include <array>

#include <gtest/gtest.h>

#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/cut.hpp"
#include "tests/kernels/hosts.hpp"

namespace pbprobe {
namespace {

TEST(CutCpu, CpuTasksCoverCOnceAndKIsNeverSplit) {
  if (!is_built("avx2")) GTEST_SKIP() << "not built: make build TARGETS=avx2";
  const auto host = cpu_host({"avx2"});
  for (int64_t threads : {1, 2, 7, 64}) {
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{1, 1, 1}, {1000, 3, 5000}, {5000, 5000, 10}, {7, 100000, 64}}) {
      const auto plan = choose(make_problem(m, n, k, DType::fp32), host, {}, {.threads = threads});
      ASSERT_TRUE(plan.ok());
      const auto& cpu = plan->cpu;
      EXPECT_LE(cpu.threads, threads);
      EXPECT_GE(cpu.threads, 1);
      EXPECT_EQ(cpu.task_rows % plan->tile.m, 0);
      EXPECT_EQ(cpu.rows % plan->tile.m, 0);
      EXPECT_EQ(plan->kernel->in_place, m <= 8 || n <= 8);
      const bool swaps = plan->kernel->in_place && m > 8;
      const int64_t tasks = divide_up(swaps ? n : m, cpu.task_rows) * divide_up(swaps ? m : n, cpu.task_columns);
      if (cpu.alone) {
        EXPECT_EQ(cpu.threads, tasks);
        const int64_t packed = cpu.packed_a ? 0 : cpu.rows * cpu.k_block * 4;
        EXPECT_GE(plan->workspace_bytes, cpu.threads * packed);
      } else {
        EXPECT_LE(cpu.threads, tasks);
      }
      EXPECT_EQ(plan->split, 1);
    }
  }
  EXPECT_FALSE(choose(make_problem(1, 1, 1, DType::fp32), host, {}, {.threads = 0}).ok());
}

// With short k, writing C takes most of the time.
TEST(CutCpu, CpuTasksOfShortKWriteWholeRowsByAllThreads) {
  for (const auto& kernel : kernel_table()) {
    const Target* target = find_target(kernel.target);
    if (target->kind != TargetKind::cpu || !kernel.built || kernel.in_place) continue;
    auto host = cpu_host({std::string(kernel.target)});
    host.cpu.architecture = target->architecture;
    const auto plan_of = [&](int64_t m, int64_t n, int64_t k, int64_t threads) {
      return choose(make_problem(m, n, k, kernel.dtype, kernel.accumulator), host, {},
                    {.kernel = std::string(kernel.name), .threads = threads});
    };
    for (const int64_t threads : {1, 2, 16}) {
      const auto plan = plan_of(8000, 1406, 3, threads);
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_EQ(plan->cpu.threads, threads) << kernel.name;
      EXPECT_GE(plan->cpu.rows * threads, 8000) << kernel.name;
      EXPECT_GE(plan->cpu.task_columns, 1406) << kernel.name << ", " << threads;
      if (threads > 1) {
        EXPECT_LE(plan->cpu.task_rows, 8000 / threads + kernel.tile.m) << kernel.name;
      }
    }
    // Rows are not cut if columns suffice, and the other way round.
    const auto flat = plan_of(2 * kernel.tile.m, 8192, 4096, 16);
    EXPECT_GE(flat->cpu.task_rows, 2 * kernel.tile.m) << kernel.name;
    EXPECT_EQ(flat->cpu.threads, 16) << kernel.name;
    const auto tall = plan_of(8192, 2 * kernel.tile.n, 4096, 16);
    EXPECT_GE(tall->cpu.task_columns, 2 * kernel.tile.n) << kernel.name;
    EXPECT_EQ(tall->cpu.threads, 16) << kernel.name;
  }
}

TEST(CutCpu, ReadsRowsThatLieAsTheKernelPacksThem) {
  if (!is_built("avx2")) GTEST_SKIP() << "not built: make build TARGETS=avx2";
  const auto reads = [](Problem problem) { return choose(problem, cpu_host({"avx2"}), {}, {})->cpu.packed_a; };
  auto problem = make_problem(7, 300, 64, DType::fp32);
  EXPECT_TRUE(reads(problem));
  EXPECT_TRUE(reads(make_problem(300, 7, 64, DType::fp32))) << "B's columns are the rows";
  EXPECT_FALSE(reads(make_problem(7, 300, 63, DType::fp32))) << "no whole vectors";
  EXPECT_FALSE(reads(make_problem(7, 300, 64, DType::fp32, DType::fp32, Layout::tn)));
  EXPECT_FALSE(reads(make_problem(7, 300, 64, DType::bf16, DType::bf16))) << "widened";
  problem.lda += 8;
  EXPECT_FALSE(reads(problem)) << "rows apart";
}

// Threads that share panels wait for each other: many threads longest.
TEST(CutCpu, PacksForEachThreadIfManyThreadsOrLittleWorkIsCut) {
  if (!is_built("avx512")) GTEST_SKIP() << "not built: make build TARGETS=avx512";
  const auto plan_of = [](int64_t m, int64_t n, int64_t k, int64_t threads) {
    return choose(make_problem(m, n, k, DType::fp32), cpu_host({"avx512"}), {}, {.threads = threads})->cpu;
  };
  EXPECT_TRUE(plan_of(44, 64, 576, 2).alone);
  EXPECT_TRUE(plan_of(482, 128, 1152, 16).alone);
  EXPECT_TRUE(plan_of(9, 1024, 1024, 4).alone);
  EXPECT_FALSE(plan_of(16384, 16384, 4096, 16).alone) << "workspace";
}

TEST(CutCpu, SplitsLongKOfFewTilesOnly) {
  int64_t split = 0;
  for (const auto& kernel : kernel_table()) {
    const Target* target = find_target(kernel.target);
    if (target->kind != TargetKind::cpu || !kernel.built) continue;
    auto host = cpu_host({std::string(kernel.target)});
    host.cpu.architecture = target->architecture;
    const auto plan_of = [&](int64_t m, int64_t n, int64_t k, int64_t threads, bool prepacked = false) {
      auto problem = make_problem(std::min(m, kernel.max_m), n, k, kernel.dtype, DType::fp32);
      problem.bias = true;
      problem.prepacked_b = prepacked;
      return choose(problem, host, {}, {.kernel = std::string(kernel.name), .threads = threads});
    };
    const auto plan = plan_of(48, 64, 14336, 16);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const CpuBlocks& cpu = plan->cpu;
    split += plan->split > 1 ? 1 : 0;
    if (plan->split > 1) {
      EXPECT_TRUE(cpu.alone) << kernel.name;
      EXPECT_GE(cpu.part * plan->split, 14336) << kernel.name;
      EXPECT_LT(cpu.part * (plan->split - 1), 14336) << kernel.name << ": a part is empty";
      EXPECT_LE(cpu.threads, 16) << kernel.name;
      EXPECT_EQ(cpu.threads % plan->split, 0) << kernel.name;
      EXPECT_LE(plan->workspace_bytes, kKeptWorkspace) << kernel.name;
      const Plan part = make_part(*plan, plan->split - 1);
      EXPECT_EQ(part.problem.k, 14336 - cpu.part * (plan->split - 1)) << kernel.name;
      EXPECT_FALSE(part.problem.bias) << kernel.name;
    }
    EXPECT_EQ(plan_of(48, 64, 14336, 1)->split, 1) << kernel.name;
    EXPECT_EQ(plan_of(48, 64, 200, 16)->split, 1) << kernel.name;
    EXPECT_EQ(plan_of(4096, 4096, 4096, 16)->split, 1) << kernel.name;
    if (!kernel.in_place) {
      EXPECT_EQ(plan_of(48, 64, 14336, 16, true)->split, 1) << kernel.name;
    }
  }
  if (kernel_table().empty()) GTEST_SKIP() << "no CPU kernel is built";
  EXPECT_GT(split, 0);
}

TEST(CutCpu, ThreadsThatPackForThemselvesNeedNoMoreThanTheKeptWorkspace) {
  int64_t alone = 0;
  int64_t shared = 0;
  for (const auto& kernel : kernel_table()) {
    const Target* target = find_target(kernel.target);
    if (target->kind != TargetKind::cpu || !kernel.built) continue;
    auto host = cpu_host({std::string(kernel.target)});
    host.cpu.architecture = target->architecture;
    for (const int64_t k : {512, 28672, 100003}) {
      for (const int64_t m : {1, 8, 40, 300}) {
        const auto plan = choose(make_problem(std::min(m, kernel.max_m), 8192, k, kernel.dtype, kernel.accumulator),
                                 host, {}, {.kernel = std::string(kernel.name), .threads = 64});
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        ++(plan->cpu.alone ? alone : shared);
        if (plan->cpu.alone) {
          EXPECT_LE(plan->workspace_bytes, kKeptWorkspace) << kernel.name << ", " << describe(plan->problem);
        }
      }
    }
  }
  if (alone + shared == 0) GTEST_SKIP() << "no CPU kernel is built";
  EXPECT_GT(alone, 0);
  EXPECT_GT(shared, 0);
}

// Calling threads takes longer than a small GEMM.
TEST(CutCpu, SmallGemmsTakeFewThreads) {
  for (const auto& kernel : kernel_table()) {
    const Target* target = find_target(kernel.target);
    if (target->kind != TargetKind::cpu || !kernel.built) continue;
    auto host = cpu_host({std::string(kernel.target)});
    host.cpu.architecture = target->architecture;
    int64_t before = 0;
    for (const int64_t n : {16, 64, 256, 1024, 4096}) {
      const auto plan = choose(make_problem(std::min(n, kernel.max_m), n, n, kernel.dtype, kernel.accumulator), host,
                               {}, {.kernel = std::string(kernel.name), .threads = 16});
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_GE(plan->cpu.threads, before) << kernel.name << ", " << n;
      before = plan->cpu.threads;
      if (n <= 64) {
        EXPECT_EQ(plan->cpu.threads, 1) << kernel.name << ", " << n;
      }
    }
    EXPECT_EQ(before, 16) << kernel.name;
  }
}

// Reading and packing B takes most of the time of few rows.
TEST(CutCpu, FewRowsTakeThreadsForTheirColumns) {
  for (const auto& kernel : kernel_table()) {
    const Target* target = find_target(kernel.target);
    if (target->kind != TargetKind::cpu || !kernel.built || kernel.in_place) continue;
    auto host = cpu_host({std::string(kernel.target)});
    host.cpu.architecture = target->architecture;
    for (const bool prepacked : {false, true}) {
      auto problem = make_problem(12, 1280, 2048, kernel.dtype, kernel.accumulator);
      problem.prepacked_b = prepacked;
      const auto plan = choose(problem, host, {}, {.kernel = std::string(kernel.name), .threads = 16});
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_GE(plan->cpu.threads, 10) << kernel.name << ", " << prepacked;
    }
  }
}

TEST(CutCpu, CountsTheWorkOfManyRowsInPlace) {
  if (!is_built("amx")) GTEST_SKIP() << "not built: make build TARGETS=amx";
  const auto plan =
      choose(make_problem(256, 256, 1024, DType::bf16, DType::bf16), cpu_host({"amx"}), {}, {.threads = 16});
  EXPECT_EQ(plan->kernel->name, "gemv_bf16_16x16_amx");
  EXPECT_GE(plan->cpu.threads, 6) << "256 rows: half a megabyte of B alone is for two threads";
}

TEST(CutCpu, ReadsLongOperandInPlaceUnlessCIsMostOfTheWork) {
  if (!is_built("amx")) GTEST_SKIP() << "not built: make build TARGETS=amx";
  const auto kernel_of = [](int64_t m, int64_t n, int64_t k) {
    return choose(make_problem(m, n, k, DType::bf16, DType::bf16), cpu_host({"amx"}), {}, {})->kernel->name;
  };
  EXPECT_EQ(kernel_of(7952, 64, 64), "gemv_bf16_16x16_amx");
  EXPECT_EQ(kernel_of(1487, 128, 1152), "gemv_bf16_16x16_amx");
  EXPECT_EQ(kernel_of(1879, 256, 64), "gemv_bf16_16x16_amx");
  EXPECT_EQ(kernel_of(1879, 256, 32), "gemm_bf16_32x32_amx");
}

}  // namespace
}  // namespace pbprobe
