// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Dispatch on hosts that are passed in: no hardware is needed.
#include "kernels/dispatch/choose.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/hosts.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

TEST(Choose, RefusesAWrongProblem) {
  const auto plan = choose(make_problem(-1, 1, 1, DType::fp32), cpu_host({}));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::usage);
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

TEST(Choose, PlansUnbuiltKernelsOnRequest) {
  int unbuilt = 0;  // a program has the kernels of one processor only
  const Problem p = make_problem(64, 64, 64, DType::fp32);
  for (const auto& kernel : kernel_table()) {
    const std::string id(kernel.target);
    if (kernel.built || kernel.dtype != DType::fp32 || find_target(id)->kind != TargetKind::cpu) continue;
    ++unbuilt;
    EXPECT_TRUE(choose(p, cpu_host({id}), {}, {.target = id, .unbuilt = true}).ok()) << id;
    EXPECT_FALSE(choose(p, cpu_host({id}), {}, {.target = id}).ok()) << id;
  }
  EXPECT_GT(unbuilt, 0);
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
  EXPECT_THAT(plan.error().message, HasSubstr("gemm_fp32_6x16_avx2 and 1 more: avx2 needs avx2, fma, f16c"));
  const auto gpu = choose(make_problem(4, 4, 4, DType::fp32), cpu_host({}), {}, {.gpu = 0});
  ASSERT_FALSE(gpu.ok());
  EXPECT_EQ(gpu.error().code, ErrorCode::usage);
  EXPECT_THAT(gpu.error().message, HasSubstr("GPU 0 was requested"));
}

// Returns the target of the chosen kernel; "" if no kernel of pbprobe runs on the device.
std::string find_target_id(const std::string& capability) {
  const auto plan = choose(make_problem(256, 256, 256, DType::fp32), gpu_host(capability), {}, {.gpu = 0});
  return plan.ok() ? std::string(plan->kernel->target) : "";
}

TEST(Choose, GpusTakeTheirOwnTargetElseAPlainOneOfTheirMajor) {
  if (!is_built("sm80") || !is_built("sm86") || !is_built("sm89") || !is_built("sm120") || !is_built("sm121")) {
    GTEST_SKIP() << "not built: make build TARGETS=all";
  }
  EXPECT_EQ(find_target_id("8.9"), "sm89");
  EXPECT_EQ(find_target_id("8.7"), "sm86");
  EXPECT_EQ(find_target_id("12.1"), "sm121");
  EXPECT_EQ(find_target_id("9.0"), "sm90");
  EXPECT_EQ(find_target_id("7.0"), "");   // between sm_61 and sm_75
  EXPECT_EQ(find_target_id("10.1"), "");  // sm_100a runs on 10.0 only
  EXPECT_EQ(find_target_id("13.0"), "");
  EXPECT_EQ(find_target_id("9.x"), "");
}

TEST(Choose, CoversCByGpuPlan) {
  if (!is_built("sm80")) GTEST_SKIP() << "not built: make build TARGETS=sm80";
  const auto plan = choose(make_problem(300, 132, 64, DType::fp32, Layout::tn), gpu_host("8.0"), {},
                           {.kernel = "gemm_fp32_128x128_sm80", .gpu = 0});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->grid.x, 3 * 2);
  EXPECT_EQ(plan->variant, "_tn");
  EXPECT_EQ(plan->workspace_bytes, 0);
  const auto huge = choose(make_problem(int64_t{1} << 31, 1, 1, DType::fp32), gpu_host("8.0"), {}, {.gpu = 0});
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, ErrorCode::limit);
}

// Every row keeps to its target's limits, built or not: a block's shared memory, and what an SM holds of such blocks.
TEST(Choose, RowsKeepToTheirTargetsLimits) {
  constexpr int64_t kReserved = 1024;  // the driver's share of each block
  constexpr int64_t kThreadsOfEverySm = 1024;
  for (const auto& kernel : kernel_table()) {
    const Target* target = find_target(kernel.target);
    ASSERT_NE(target, nullptr) << kernel.name;
    if (target->kind != TargetKind::gpu) continue;
    EXPECT_GT(kernel.threads, 0) << kernel.name;
    EXPECT_GT(kernel.share, 0) << kernel.name;
    EXPECT_LE(kernel.threads * kernel.blocks, kThreadsOfEverySm) << kernel.name;
    EXPECT_LE(kernel.shared_bytes, target->limits.shared_per_block_bytes.value_or(0)) << kernel.name;
    EXPECT_LE(kernel.blocks * (kernel.shared_bytes + kReserved), target->limits.shared_per_sm_bytes.value_or(0))
        << kernel.name << ": an SM does not hold " << kernel.blocks << " blocks";
  }
}

// The plan of one kernel for one problem, whatever its shape: it covers C and k, and its workspace holds what it names.
void expect_whole(const Kernel& kernel, const Problem& p, const Host& host) {
  const auto plan = choose(p, host, {}, {.kernel = std::string(kernel.name), .gpu = 0});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto& gpu = plan->gpu;
  if (kernel.work == GpuWork::warpgroups ||
      kernel.work == GpuWork::tma_mma) {  // one block or cluster an SM, and each walks over tiles
    EXPECT_GT(plan->grid.x, 0) << describe(p);
    EXPECT_EQ(plan->grid.x % gpu.cluster, 0) << describe(p);
    EXPECT_LE(plan->grid.x, std::max(host.gpus[0].sm_count.value_or(0), gpu.cluster)) << describe(p);
    EXPECT_GT(gpu.raster_group, 0);
  } else {
    EXPECT_GE(plan->grid.x * plan->tile.m * plan->tile.n, p.m * p.n) << describe(p);
    EXPECT_EQ(plan->grid.z, plan->split);
  }
  EXPECT_LE(plan->grid.z, 65535);
  EXPECT_GE(plan->split, 1);
  EXPECT_GE(plan->split * gpu.part, p.k) << describe(p);
  EXPECT_LT((plan->split - 1) * gpu.part, std::max<int64_t>(p.k, 1)) << describe(p) << ": a part is empty";
  EXPECT_EQ(gpu.part % plan->tile.k, 0);
  EXPECT_LE(plan->shared_bytes, find_target(kernel.target)->limits.shared_per_block_bytes.value_or(0));
  int64_t needed = plan->split > 1 ? plan->split * p.m * p.n * 4 : 0;
  if (gpu.transpose_a || gpu.align_a) needed += p.m * p.k * size_of(p.a);
  if (gpu.transpose_b || gpu.align_b) needed += p.n * p.k * size_of(p.b);
  EXPECT_GE(plan->workspace_bytes, needed) << describe(p);
  EXPECT_LE(plan->workspace_bytes, 2 * needed + 512 * 256 * (p.m + p.n + p.k)) << describe(p);
  EXPECT_EQ(plan->transposing.has_value(), gpu.transpose_a || gpu.transpose_b || gpu.align_a || gpu.align_b);
  EXPECT_EQ(gpu.transpose_b, kernel.k_major && !b_is_nk(p.layout)) << describe(p);
  if (plan->transposing) {
    EXPECT_THAT(plan->why, HasSubstr(*plan->transposing));
  }
}

TEST(Choose, MakesWholePlansForEachTarget) {
  int64_t seen = 0;
  for (const auto& kernel : kernel_table()) {
    const Target* target = find_target(kernel.target);
    if (target->kind != TargetKind::gpu || !kernel.built) continue;
    Host host = gpu_host(*target->capability);
    for (const int64_t sms : {1, 40, 132, 188}) {
      host.gpus[0].sm_count = sms;
      for (const Layout layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt}) {
        for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                      {1, 8192, 8192},
                                      {16, 8192, 8192},
                                      {127, 129, 65537},
                                      {5120, 5120, 777},
                                      {64, 64, 0},
                                      {4096, 4096, 4096},
                                      {3, 100000, 5},
                                      {8192, 1, 8192}}) {
          Problem problem = make_problem(std::min(m, kernel.max_m), n, k, kernel.dtype, layout);
          problem.blocks = kernel.block_scale;
          expect_whole(kernel, problem, host);
          ++seen;
        }
      }
    }
  }
  if (seen == 0) GTEST_SKIP() << "not built: make build TARGETS=sm90";
}

TEST(Choose, SaysOnceForEachTargetWhyNothingFits) {
  Problem p = make_problem(64, 64, 256, DType::e4m3, DType::bf16);
  p.blocks = BlockScale::rows_squares;
  const auto plan = choose(p, gpu_host("8.0"), {}, {.gpu = 0});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
  EXPECT_THAT(plan.error().message, HasSubstr("1x128_128x128 blocks on GPU 0"));
  EXPECT_THAT(plan.error().message,
              HasSubstr("wgmma_e4m3_rows_squares_cluster_16x64_sm90 and 5 more: the kernel's machine "
                        "code is for compute capability 9.0, and GPU 0"));
  EXPECT_THAT(plan.error().message,
              HasSubstr("128x64_sm89 and 1 more: the kernel's machine code is for compute capability 8.9"));
}

TEST(Choose, TakesTheTileThatFillsTheGpu) {
  if (!is_built("sm90")) GTEST_SKIP() << "not built: make build TARGETS=sm90";
  auto host = gpu_host("9.0");
  host.gpus[0].sm_count = 132;
  host.gpus[0].max_sm_clock_mhz = 1980;
  const auto of = [&](int64_t m, int64_t n, int64_t k) {
    return *choose(make_problem(m, n, k, DType::fp32), host, {}, {.gpu = 0});
  };
  EXPECT_EQ(of(4096, 4096, 4096).kernel->name, "gemm_fp32_128x128_sm90");
  EXPECT_EQ(of(4096, 4096, 4096).split, 1);
  EXPECT_EQ(of(128, 128, 128).kernel->name, "gemm_fp32_32x32_sm90") << "16 tiles and not one";
  EXPECT_GT(of(128, 128, 16384).split, 4);
  EXPECT_THAT(of(128, 128, 16384).why, HasSubstr("split-K"));
  EXPECT_EQ(of(1, 4096, 4096).kernel->name, "gemv_fp32_2x16_sm90");
  EXPECT_EQ(of(8, 4096, 4096).kernel->name, "gemv_fp32_8x16_sm90");
  EXPECT_EQ(of(8, 4096, 4096).split, 1) << "256 blocks for 132 SMs";
  EXPECT_GE(of(1, 64, 15296).split, 8);
  EXPECT_EQ(of(17, 8192, 8192).kernel->max_m, INT64_MAX);
}

// The memory of one column is also the memory of a row.
TEST(Choose, ComputesColumnAsRow) {
  if (!is_built("sm90")) GTEST_SKIP() << "not built: make build TARGETS=sm90";
  auto host = gpu_host("9.0");
  host.gpus[0].sm_count = 132;
  host.gpus[0].max_sm_clock_mhz = 1980;
  Problem column = make_problem(8192, 1, 4096, DType::fp32, Layout::nn);
  column.scale_a = true;
  const auto plan = choose(column, host, {}, {.gpu = 0});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_NE(plan->swapped, nullptr);
  EXPECT_EQ(plan->problem.m, 8192);
  EXPECT_EQ(plan->kernel->name, "gemv_fp32_2x16_sm90");
  EXPECT_EQ(plan->swapped->problem.m, 1);
  EXPECT_EQ(plan->swapped->problem.n, 8192);
  EXPECT_EQ(plan->swapped->problem.layout, Layout::nt);
  EXPECT_FALSE(plan->swapped->problem.c_is_nm);
  EXPECT_TRUE(plan->swapped->problem.scale_b && !plan->swapped->problem.scale_a);
  EXPECT_THAT(plan->why, HasSubstr("A and B are swapped"));
  column.ldc = 2;
  EXPECT_TRUE(choose(column, host, {}, {.gpu = 0})->swapped->problem.c_is_nm) << "its elements are not contiguous";
  column.ldc = 1;
  column.bias = true;
  EXPECT_TRUE(choose(column, host, {}, {.gpu = 0})->swapped->problem.c_is_nm) << "one number for all rows";
}

// C' = B' · A', by a small-M kernel.
TEST(Choose, FewColumnsAreSmallM) {
  if (!is_built("sm90")) GTEST_SKIP() << "not built: make build TARGETS=sm90";
  auto host = gpu_host("9.0");
  host.gpus[0].sm_count = 132;
  host.gpus[0].max_sm_clock_mhz = 1980;
  for (const auto& [layout, exchanged] : {std::pair{Layout::nt, Layout::nt},
                                          {Layout::nn, Layout::tt},
                                          {Layout::tn, Layout::tn},
                                          {Layout::tt, Layout::nn}}) {
    const Problem columns = make_problem(3000, 4, 4096, DType::bf16, layout);
    const auto plan = choose(columns, host, {}, {.gpu = 0});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_NE(plan->swapped, nullptr) << name_of(layout);
    EXPECT_EQ(plan->problem, columns);
    const Problem& rows = plan->swapped->problem;
    EXPECT_EQ(rows.layout, exchanged);
    EXPECT_EQ(rows.m, 4);
    EXPECT_EQ(rows.n, 3000);
    EXPECT_EQ(rows.lda, columns.ldb);
    EXPECT_EQ(rows.ldb, columns.lda);
    EXPECT_TRUE(rows.c_is_nm);
    EXPECT_EQ(rows.ldc, columns.ldc);
    EXPECT_TRUE(validate(rows).ok());
    EXPECT_GE(plan->workspace_bytes, plan->swapped->workspace_bytes);
    // An operand at no multiple of 16 bytes.
    ASSERT_NE(plan->otherwise, nullptr);
    EXPECT_EQ(plan->otherwise->kernel->instruction, "mma.sync");
    EXPECT_EQ(plan->otherwise->problem, columns);
  }
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{8, 8192, 4096}, {8192, 129, 4096}, {8192, 8, 0}}) {
    EXPECT_EQ(choose(make_problem(m, n, k, DType::bf16), host, {}, {.gpu = 0})->swapped, nullptr) << m << " × " << n;
  }
}

// FP16 is what BF16 is to every SM since 8.0.
TEST(Choose, Fp16IsChosenAsBf16Is) {
  if (!is_built("sm90")) GTEST_SKIP() << "not built: make build TARGETS=sm90";
  auto host = gpu_host("9.0");
  host.gpus[0].sm_count = 132;
  host.gpus[0].max_sm_clock_mhz = 1980;
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{4096, 4096, 4096},
                                {512, 4096, 4096},
                                {512, 512, 512},
                                {256, 256, 256},
                                {128, 8192, 8192},
                                {16, 8192, 8192},
                                {17, 8192, 8191},
                                {4096, 4096, 1023}}) {
    const auto fp16 = choose(make_problem(m, n, k, DType::fp16), host, {}, {.gpu = 0});
    const auto bf16 = choose(make_problem(m, n, k, DType::bf16), host, {}, {.gpu = 0});
    ASSERT_TRUE(fp16.ok() && bf16.ok());
    std::string name(fp16->kernel->name);
    name.replace(name.find("fp16"), 4, "bf16");
    EXPECT_EQ(name, bf16->kernel->name) << m << " × " << n << " × " << k;
    EXPECT_EQ(fp16->grid.x, bf16->grid.x);
  }
}

TEST(Choose, TakesWarpgroupsWhereTheGpuHasThem) {
  struct Sizes {
    int64_t m, n, k;
  };
  if (!is_built("sm90")) GTEST_SKIP() << "not built: make build TARGETS=sm90";
  auto host = gpu_host("9.0");
  host.gpus[0].sm_count = 132;
  host.gpus[0].max_sm_clock_mhz = 1980;
  const auto of = [&](int64_t m, int64_t n, int64_t k, DType type = DType::bf16) {
    return *choose(make_problem(m, n, k, type), host, {}, {.gpu = 0});
  };
  for (const auto& [m, n, k] : {Sizes{2048, 2048, 2048}, Sizes{4096, 4096, 4096}, Sizes{8192, 8192, 8192},
                                Sizes{4096, 14336, 4096}, Sizes{8192, 1024, 8192}}) {
    EXPECT_EQ(of(m, n, k, DType::int8).kernel->name, "wgmma_int8_pingpong_sm90") << m << " × " << n << " × " << k;
  }
  EXPECT_EQ(of(4096, 4096, 4096, DType::tf32).kernel->name, "wgmma_tf32_128x256_sm90");
  EXPECT_THAT(of(4096, 4096, 4096, DType::int8).why, HasSubstr("2 of a cluster share A, ping-pong"));
  EXPECT_THAT(of(4096, 4096, 4096).why, HasSubstr("times by the costs of an NVIDIA H200")) << "no fit has its name";
  EXPECT_THAT(of(4096, 4096, 4096, DType::tf32).why, HasSubstr("2 of a cluster share B"));
  // BF16 interleaved where C is a larger part of the work.
  for (const int64_t n : {1024, 4096, 8192}) EXPECT_EQ(of(8192, n, 8192).kernel->name, "wgmma_bf16_128x256_sm90") << n;
  EXPECT_EQ(of(5120, 5120, 777).kernel->name, "wgmma_bf16_pingpong_sm90");
  // Five rounds of tiles of 192 columns instead of eight of small ones.
  EXPECT_EQ(of(2112, 7168, 7168).kernel->name, "wgmma_bf16_128x192_sm90");
  EXPECT_EQ(of(2048, 4608, 3584).kernel->name, "wgmma_bf16_128x192_sm90");
  EXPECT_EQ(of(512, 4096, 4096).kernel->name, "wgmma_bf16_cluster_128x128_sm90") << "a tile for each SM";
  EXPECT_EQ(of(512, 512, 512).kernel->name, "wgmma_bf16_cluster_64x64_sm90");
  EXPECT_EQ(of(1024, 1024, 1024).kernel->name, "wgmma_bf16_cluster_128x64_sm90");
  EXPECT_EQ(of(256, 256, 256).kernel->name, "wgmma_bf16_cluster_16x64_sm90");
  EXPECT_THAT(of(129, 3584, 3584).why, HasSubstr("80×128, split-K among 2 blocks of a cluster"));
  EXPECT_GE(of(256, 256, 65536).split, 16) << "many parts, which a kernel of its own adds";
  EXPECT_EQ(of(16, 1024, 8192).kernel->name, "wgmma_bf16_small_m16_sm90");
  EXPECT_THAT(of(16, 1024, 8192).why, HasSubstr("split-K among 4 blocks of a cluster"));
  EXPECT_EQ(of(16, 1024, 8192).grid.x, 64) << "30 clusters of 4 blocks run at once, but only 15 of 8";
  EXPECT_EQ(of(17, 8192, 8192).kernel->name, "wgmma_bf16_cluster_32x64_sm90");
  EXPECT_EQ(of(65, 8192, 8192).kernel->name, "wgmma_bf16_cluster_80x64_sm90");
  EXPECT_EQ(of(129, 8192, 8192).kernel->max_m, INT64_MAX);
  // For small M whose B no tensor map can name, only A is copied; threads read TF32, which TMA would round.
  const Plan unaligned = of(16, 8192, 8191);
  EXPECT_EQ(unaligned.variant, "_nt_unaligned");
  EXPECT_LT(unaligned.workspace_bytes, 16 * 8192 * 2 + 1024);
  EXPECT_THAT(unaligned.why, testing::AllOf(HasSubstr("A is aligned first"), HasSubstr("read by threads")));
  EXPECT_TRUE(of(16, 8192, 8191, DType::tf32).kernel->reads_any_rows);
  EXPECT_EQ(of(16, 8192, 8191, DType::tf32).transposing, std::nullopt);
}

TEST(Choose, PredictsNothingForMoreTilesThanWereMeasured) {
  if (!is_built("sm90")) GTEST_SKIP() << "not built: make build TARGETS=sm90";
  const Problem problem = make_problem(16384, 16384, 8192, DType::int8);
  const auto forced = choose(problem, gpu_host("9.0"), {}, {.kernel = "wgmma_int8_cluster_192x128_sm90", .gpu = 0});
  EXPECT_EQ(forced->model_seconds, 0);
  EXPECT_GT(choose(problem, gpu_host("9.0"), {}, {.gpu = 0})->model_seconds, 0);
}

// 128 tiles of 128 threads leave 132 SMs half idle: split-K fills them. More tiles than that need none.
TEST(Choose, KeepsEachSmBusy) {
  Host host = gpu_host("9.0");
  host.gpus.front().sm_count = 132;
  const auto parts = [&](int64_t m, int64_t n, int64_t k) {
    const auto plan =
        choose(make_problem(m, n, k, DType::fp32), host, {}, {.kernel = "gemm_fp32_128x128_sm90", .gpu = 0});
    return plan.ok() ? plan->split : 0;
  };
  if (!find_kernel("gemm_fp32_128x128_sm90")->built) GTEST_SKIP() << "no kernels of sm90 are built";
  EXPECT_EQ(parts(512, 4096, 4096), 2);
  EXPECT_EQ(parts(256, 4096, 4096), 4);
  EXPECT_EQ(parts(512, 512, 4096), 16);
  // 192 tiles in two parts take two rounds of 264 blocks of half of k, in four three rounds of a quarter.
  EXPECT_EQ(parts(768, 4096, 4096), 4);
  EXPECT_EQ(parts(512, 8192, 2048), 1);
  EXPECT_EQ(parts(1024, 4096, 1024), 1);
  EXPECT_EQ(parts(2048, 2048, 512), 1);
  EXPECT_EQ(parts(2048, 2048, 2048), 1);
  EXPECT_EQ(parts(4096, 4096, 4096), 1);
}

// Blocks begin early in the room that the previous kernel has left: two must not share an SM while another has none.
TEST(Choose, FewBlocksGetAnSmEach) {
  if (!is_built("sm90")) GTEST_SKIP() << "not built: make build TARGETS=sm90";
  Host host = gpu_host("9.0");
  host.gpus.front().sm_count = 132;
  const auto shared = [&](int64_t m, std::string kernel, DType type) {
    return choose(make_problem(m, 512, 512, type), host, {}, {.kernel = std::move(kernel), .gpu = 0, .parts = 1})
        ->shared_bytes;
  };
  const int64_t half = *find_target("sm90")->limits.shared_per_sm_bytes / 2;
  const int64_t own = find_kernel("gemm_bf16_64x128_sm90")->shared_bytes;
  EXPECT_EQ(shared(33 * 64, "gemm_bf16_64x128_sm90", DType::bf16), half) << "132 blocks";
  EXPECT_EQ(shared(34 * 64, "gemm_bf16_64x128_sm90", DType::bf16), own) << "136";
  EXPECT_EQ(shared(512, "gemm_fp32_128x128_sm90", DType::fp32), half);
  EXPECT_EQ(shared(512, "gemm_e4m3_128x128_sm90", DType::e4m3), find_kernel("gemm_e4m3_128x128_sm90")->shared_bytes)
      << "it awaits the kernel ahead by its launch";
}

TEST(Choose, FewColumnsAreComputedAsRowsWhereTheTypesAreAlike) {
  if (!is_built("avx2")) GTEST_SKIP() << "not built: make build TARGETS=avx2";
  const auto host = cpu_host({"avx2"});
  const auto few = choose(make_problem(5000, 3, 700, DType::fp32), host, {}, {.threads = 4});
  ASSERT_TRUE(few.ok()) << few.error().message;
  EXPECT_EQ(few->kernel->name, "gemv_fp32_8x64_avx2");
  EXPECT_EQ(few->cpu.rows, 8);
  EXPECT_EQ(few->cpu.threads, 4);
  EXPECT_GE(few->cpu.task_columns * 4, 5000);
  EXPECT_THAT(few->why, HasSubstr("C's columns are computed as rows"));
  EXPECT_EQ(choose(make_problem(5000, 9, 700, DType::fp32), host)->kernel->name, "gemv_fp32_8x64_avx2");
  EXPECT_EQ(choose(make_problem(5000, 9, 255, DType::fp32), host)->kernel->name, "gemm_fp32_6x16_avx2");
  EXPECT_EQ(choose(make_problem(5000, 25, 700, DType::fp32), host)->kernel->name, "gemm_fp32_6x16_avx2");
  EXPECT_EQ(choose(make_problem(5000, 3, 700, DType::int8), host)->kernel->name, "gemv_int8_8x64_avx2");
  EXPECT_EQ(choose(make_problem(5000, 3, 700, DType::uint8), host)->kernel->name, "gemm_int8_6x16_avx2");
  auto packed = make_problem(5000, 3, 700, DType::fp32);
  packed.prepacked_b = true;
  EXPECT_EQ(choose(packed, host)->kernel->name, "gemm_fp32_6x16_avx2");
}

// With short k, most time goes into C, which small M writes column by column.
TEST(Choose, FewColumnsOfShortKAreComputedByTiles) {
  for (const char* target : {"avx2", "avx512"}) {
    if (!is_built(target)) continue;
    const auto tile_of = [&](int64_t n, int64_t k, DType type) {
      const auto plan = choose(make_problem(20000, n, k, type), cpu_host({target}));
      return plan.ok() ? std::string(plan->kernel->function_name.substr(0, 4)) : plan.error().message;
    };
    for (const DType type : {DType::fp32, DType::int8}) {
      EXPECT_EQ(tile_of(8, 1, type), "gemm") << target;
      EXPECT_EQ(tile_of(8, 700, type), "gemv") << target;
      EXPECT_EQ(tile_of(1, 1, type), "gemv") << target;
    }
  }
}

TEST(Choose, ReadsTheLargerOperandInPlaceByTilesIfItsKIsContiguous) {
  if (!is_built("amx") || !is_built("avx512vnni")) GTEST_SKIP() << "not built: make build TARGETS=amx,avx512vnni";
  const auto kernel_for = [host = cpu_host({"avx512vnni", "amx"})](int64_t m, int64_t n, Layout layout,
                                                                   int64_t k = 2048) {
    return std::string(choose(make_problem(m, n, k, DType::int8, layout), host)->kernel->name);
  };
  EXPECT_EQ(kernel_for(12, 1536, Layout::nt), "gemv_int8_16x16_amx");
  EXPECT_EQ(kernel_for(256, 1536, Layout::tt), "gemv_int8_16x16_amx") << "k is just long enough";
  EXPECT_EQ(kernel_for(641, 1536, Layout::nt, 8192), "gemm_int8_32x32_amx");
  EXPECT_EQ(kernel_for(512, 1536, Layout::nt), "gemm_int8_32x32_amx") << "k is short";
  EXPECT_EQ(kernel_for(12, 1536, Layout::nn), "gemm_int8_32x32_amx");
  EXPECT_EQ(kernel_for(4, 1536, Layout::nt), "gemv_int8_8x64_avx512vnni") << "most of a tile would be empty";
  EXPECT_EQ(kernel_for(17, 256, Layout::nt, 64), "gemm_int8_32x32_amx") << "k is short";
  EXPECT_EQ(kernel_for(548, 64, Layout::nt, 576), "gemv_int8_16x16_amx") << "B is packed";
  EXPECT_EQ(kernel_for(1536, 64, Layout::nn), "gemv_int8_16x16_amx");
  EXPECT_EQ(kernel_for(1536, 64, Layout::tn), "gemm_int8_32x32_amx");
  EXPECT_EQ(kernel_for(256, 1536, Layout::nt, 28672), "gemm_int8_32x32_amx") << "its rows exceed the cache";
}

TEST(Choose, GivesPackedBToPackingKernels) {
  if (!is_built("avx2")) GTEST_SKIP() << "not built: make build TARGETS=avx2";
  const auto host = cpu_host({"avx2"});
  auto problem = make_problem(1, 4096, 4096, DType::fp32);
  EXPECT_EQ(choose(problem, host)->kernel->name, "gemv_fp32_8x64_avx2");
  EXPECT_EQ(choose(problem, host)->prepacked_bytes, 0);
  problem.prepacked_b = true;
  const auto plan = choose(problem, host);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->kernel->name, "gemm_fp32_6x16_avx2");
  EXPECT_GE(plan->prepacked_bytes, 4096 * 4096 * 4);
  EXPECT_THAT(plan->why, HasSubstr("packed beforehand"));
  const auto forced = choose(problem, host, {}, {.kernel = "gemv_fp32_8x64_avx2"});
  ASSERT_FALSE(forced.ok());
  EXPECT_THAT(forced.error().message, HasSubstr("reads an unpacked B"));
  const auto gpu = choose(problem, gpu_host("8.0"), {}, {.gpu = 0});
  ASSERT_FALSE(gpu.ok());
  EXPECT_EQ(gpu.error().code, ErrorCode::unsupported);
  EXPECT_THAT(gpu.error().message, HasSubstr("GPU kernels read an unpacked B"));
}

}  // namespace
}  // namespace pbprobe
