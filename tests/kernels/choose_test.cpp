// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Dispatch on hosts that are passed in: no hardware is needed.
#include "kernels/gemm/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pbprobe {
namespace {

using testing::HasSubstr;

Host cpu_host(std::vector<std::string> targets) {
  Host host;
  host.cpu.architecture = "x86_64";
  host.cpu.name = "Test CPU";
  host.cpu.targets = std::move(targets);
  return host;
}

Host gpu_host(const std::string& capability) {
  Host host = cpu_host({});
  Gpu gpu;
  gpu.name = "Test GPU";
  gpu.capability = capability;
  host.gpus.push_back(gpu);
  return host;
}

bool is_built(std::string_view target) {
  return find_build(target) != nullptr && find_build(target)->built;
}

TEST(Choose, RefusesAWrongProblem) {
  const auto plan = choose(make_problem(-1, 1, 1, DType::fp32), cpu_host({}));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::usage);
}

TEST(Choose, TakesTheTablesOrder) {
  if (!is_built("avx512") || !is_built("avx2")) GTEST_SKIP() << "not built: make build TARGETS=avx2,avx512";
  const auto plan = choose(make_problem(64, 64, 64, DType::fp32), cpu_host({"avx2", "avx512"}));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->kernel->target, "avx512");
  EXPECT_THAT(plan->why, HasSubstr("first of the table"));
  const auto older = choose(make_problem(64, 64, 64, DType::fp32), cpu_host({"avx2"}));
  ASSERT_TRUE(older.ok());
  EXPECT_EQ(older->kernel->target, "avx2");
}

TEST(Choose, TakesTheFastestOfGivenRates) {
  if (!is_built("avx512") || !is_built("avx2")) GTEST_SKIP() << "not built: make build TARGETS=avx2,avx512";
  const auto host = cpu_host({"avx2", "avx512"});
  const auto p = make_problem(64, 64, 64, DType::fp32);
  Rates rates;
  for (const auto& peak : peak_table()) rates[std::string(peak.name)] = peak.target == "avx2" ? 90 : 80;
  const auto plan = choose(p, host, rates);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->kernel->target, "avx2");
  EXPECT_THAT(plan->why, HasSubstr("90 Gop/s"));
  // One rate that is missing makes the others worthless.
  rates.erase("peak_fp32_avx512");
  EXPECT_EQ(choose(p, host, rates)->kernel->target, "avx512");
}

TEST(Choose, ForcedByNameIsNeverReplaced) {
  const auto host = cpu_host({"avx2", "avx512"});
  ChooseOptions options;
  options.kernel = "gemm_fp32_6x16_avx2";
  const auto plan = choose(make_problem(64, 64, 64, DType::fp32), host, {}, options);
  if (is_built("avx2")) {
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->kernel->name, "gemm_fp32_6x16_avx2");
  } else {
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    EXPECT_THAT(plan.error().message, HasSubstr("not built"));
  }
}

TEST(Choose, ForcedOnAHostThatLacksItsIsaIsRefused) {
  ChooseOptions options;
  options.kernel = "gemm_fp32_14x32_avx512";
  auto host = cpu_host({"avx2"});
  host.cpu.features = {"avx2", "fma", "f16c"};
  const auto plan = choose(make_problem(64, 64, 64, DType::fp32), host, {}, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
  EXPECT_THAT(plan.error().message, HasSubstr("lacks avx512f, avx512dq, avx512vl, avx512bw"));
}

TEST(Choose, ForcedOnTheWrongTypesIsRefused) {
  ChooseOptions options;
  options.kernel = "gemm_fp32_14x32_avx512";
  const auto plan = choose(make_problem(4, 4, 4, DType::int8), cpu_host({"avx512"}), {}, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::usage);
  EXPECT_THAT(plan.error().message, HasSubstr("does not compute these types"));
}

TEST(Choose, UnknownNamesAreAnsweredWithThoseThereAre) {
  ChooseOptions options;
  options.kernel = "gemm_fp32";
  auto plan = choose(make_problem(4, 4, 4, DType::fp32), cpu_host({}), {}, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("choose one of"));
  EXPECT_THAT(plan.error().message, HasSubstr("gemm_fp32_6x16_avx2"));
  options = {};
  options.target = "sm999";
  plan = choose(make_problem(4, 4, 4, DType::fp32), cpu_host({}), {}, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("unknown target"));
}

TEST(Choose, SaysWhyNothingFits) {
  const auto plan = choose(make_problem(4, 4, 4, DType::fp32), cpu_host({}));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
  EXPECT_THAT(plan.error().message, HasSubstr("gemm_fp32_6x16_avx2: avx2 needs avx2, fma, f16c"));
  const auto gpu = choose(make_problem(4, 4, 4, DType::fp32), cpu_host({}), {}, {.gpu = 0});
  ASSERT_FALSE(gpu.ok());
  EXPECT_EQ(gpu.error().code, ErrorCode::usage);
  EXPECT_THAT(gpu.error().message, HasSubstr("GPU 0 was asked for"));
}

// "" where the device runs no kernel of ours.
std::string target_on(const std::string& capability) {
  const auto plan = choose(make_problem(256, 256, 256, DType::fp32), gpu_host(capability), {}, {.gpu = 0});
  return plan.ok() ? std::string(plan->kernel->target) : "";
}

TEST(Choose, GpusTakeTheirOwnTargetElseAPlainOneOfTheirMajor) {
  if (!is_built("sm80") || !is_built("sm86") || !is_built("sm89") || !is_built("sm120") || !is_built("sm121")) {
    GTEST_SKIP() << "not built: make build TARGETS=all";
  }
  EXPECT_EQ(target_on("8.9"), "sm89");
  EXPECT_EQ(target_on("8.7"), "sm86");
  EXPECT_EQ(target_on("12.1"), "sm121");
  EXPECT_EQ(target_on("9.0"), "sm90");
  EXPECT_EQ(target_on("7.0"), "");   // older than sm_75
  EXPECT_EQ(target_on("10.1"), "");  // sm_100a runs on 10.0 alone
  EXPECT_EQ(target_on("13.0"), "");
  EXPECT_EQ(target_on("9.x"), "");
}

TEST(Choose, AGpuPlanCoversC) {
  if (!is_built("sm80")) GTEST_SKIP() << "not built: make build TARGETS=sm80";
  const auto plan = choose(make_problem(300, 129, 64, DType::fp32, Layout::tn), gpu_host("8.0"), {}, {.gpu = 0});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->grid.x, 3 * 2);
  EXPECT_EQ(plan->variant, "_tn");
  EXPECT_EQ(plan->workspace_bytes, 0);
  const auto huge = choose(make_problem(int64_t{1} << 31, 1, 1, DType::fp32), gpu_host("8.0"), {}, {.gpu = 0});
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, ErrorCode::limit);
}

// Every plan keeps to its target's limits, and to what the table says of the kernel.
TEST(Choose, PlansKeepToTheirTargetsLimits) {
  for (const auto& kernel : kernel_table()) {
    const Target* target = find_target(kernel.target);
    ASSERT_NE(target, nullptr) << kernel.name;
    if (target->kind != TargetKind::gpu) continue;
    EXPECT_LE(kernel.threads, 1024) << kernel.name;
    EXPECT_GT(kernel.threads, 0) << kernel.name;
    EXPECT_LE(kernel.shared_bytes, target->limits.shared_per_block_bytes.value_or(0)) << kernel.name;
  }
}

TEST(Choose, CpuTasksCoverCOnceAndKIsNeverSplit) {
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
      EXPECT_EQ(cpu.task_columns % plan->tile.n, 0);
      EXPECT_EQ(cpu.rows % plan->tile.m, 0);
      EXPECT_EQ(cpu.columns % plan->tile.n, 0);
      EXPECT_EQ(plan->split, 1);
      EXPECT_GE(plan->workspace_bytes, (cpu.rows + cpu.columns) * cpu.depths * 4);
    }
  }
  EXPECT_FALSE(choose(make_problem(1, 1, 1, DType::fp32), host, {}, {.threads = 0}).ok());
}

}  // namespace
}  // namespace pbprobe
