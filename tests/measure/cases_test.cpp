// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/targets.hpp"
#include "kernels/gemm/reference.hpp"
#include "probes/measure/kernels/bench.hpp"
#include "probes/measure/kernels/operands.hpp"
#include "tests/measure/child.hpp"

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

MeasureRequest make_host_request(Host host) {
  return {.host = std::move(host)};
}

Host host_with_gpus() {
  Host host = small_host();
  host.cpu.targets = {"avx", "avx2"};
  for (int64_t i = 0; i < 3; ++i)
    host.gpus.push_back(
        {.index = i, .name = "GPU", .capability = i == 2 ? "8.0" : "9.0", .target = i == 2 ? "sm80" : "sm90"});
  return host;
}

std::string refusal(const BenchRequest& bench, const MeasureRequest& request) {
  auto result = check_bench(bench, request);
  return result.ok() ? "accepted" : result.error().message;
}

TEST(CheckBench, NamesWrongArgumentWithItsChoices) {
  MeasureRequest request = make_host_request(small_host());
  EXPECT_EQ(refusal({.layout = "nx"}, request), "unknown layout \"nx\": choose nt, nn, tn or tt");
  EXPECT_EQ(refusal({.target = "sm90", .prepacked = true}, make_host_request(host_with_gpus())),
            "sm90 is a GPU's target, and GPU kernels read unpacked B: leave out --prepacked");
  EXPECT_EQ(refusal({.against = {"mkl"}}, request),
            "unknown peer \"mkl\": choose libtorch, cublaslt, cublaslt_best, bf16");
  EXPECT_EQ(refusal({.scaled = true, .against = {"cublaslt"}}, request),
            "against cublaslt: pbprobe does not measure this peer with --scaled: choose bf16");
  EXPECT_THAT(refusal({.dtype = DType::int8, .out = DType::int32, .shapes = {{5, 6, 7}}, .scaled = true}, request),
              HasSubstr("int32"));
  EXPECT_THAT(refusal({.against = {"libtorch"}}, request), HasSubstr("no libtorch was found"));
  EXPECT_THAT(refusal({.shapes = {{5, 0, 5}}}, request), HasSubstr("shape 5x0x5: every size must be 1 or more"));
  EXPECT_THAT(refusal({.shapes = {{5, -3, 5}}}, request), HasSubstr("shape 5x-3x5"));
  EXPECT_THAT(refusal({.shapes = {{100000, 100000, 100000}}}, request),
              HasSubstr("too much for 4.0 GiB of memory: give a smaller shape"));
  BenchRequest drawn{.shapes = {{100, 100, 100}, {20000, 20000, 20000}, {1, 1, 1}}};
  drawn.drawn = true;
  EXPECT_EQ(refusal(drawn, request), "accepted");
  EXPECT_EQ(shapes_left_out(drawn, request.host), 1U);
  drawn.shapes = {{20000, 20000, 20000}};
  EXPECT_EQ(refusal(drawn, request), "none of the 1 shapes fits into memory: draw more of them");
  EXPECT_THAT(refusal({.shapes = {{int64_t{1} << 40, int64_t{1} << 40, 1}}}, request), HasSubstr("exceeds 2^63 bytes"));
  EXPECT_EQ(refusal({.dtype = DType::e2m1x2, .blocks = BlockScale::mx, .shapes = {{8, 8, 7}}}, request),
            "shape 8x8x7: e2m1x2 has 2 numbers in a byte: give a multiple of 2 as K");
  EXPECT_EQ(refusal({.dtype = DType::e4m3, .blocks = BlockScale::mx, .against = {"cublaslt"}}, request),
            "against cublaslt: pbprobe does not measure this peer with block scales: choose bf16");
  EXPECT_THAT(refusal({.dtype = DType::e4m3, .blocks = BlockScale::nvfp4}, request), HasSubstr("block scales"));
  EXPECT_EQ(refusal({.dtype = DType::e4m3, .blocks = BlockScale::rows_squares, .against = {"cublaslt_best"}}, request),
            "accepted");
  EXPECT_EQ(
      refusal({.dtype = DType::e4m3, .blocks = BlockScale::rows_squares, .against = {"libtorch"}}, request),
      "against libtorch: pbprobe does not measure this peer with block scales: choose cublaslt, cublaslt_best or bf16");
  EXPECT_EQ(refusal({.dtype = DType::e4m3, .blocks = BlockScale::mx, .against = {"bf16"}}, request), "accepted");
  EXPECT_EQ(refusal({.threads = 3}, request), "3 threads: this process may use 1 to 2");
  EXPECT_THAT(refusal({.target = "sm999"}, request), HasSubstr("sm999"));
  EXPECT_EQ(refusal({.shapes = {{5, 6, 7}}}, request), "accepted");
  request.libtorch_dir = "/t";
  EXPECT_EQ(refusal({.against = {"libtorch"}}, request), "accepted");
}

TEST(CheckBench, RejectsTargetOfAnotherMachine) {
  auto result = check_bench({.target = "avx512"}, make_host_request(host_with_gpus()));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::unsupported);
  EXPECT_THAT(result.error().message,
              HasSubstr("avx512 cannot run on this machine, as `pbprobe host` shows: its CPU runs avx, avx2"));
  Host host = host_with_gpus();
  host.gpus.clear();
  host.driver.sentence = "no driver here";
  EXPECT_THAT(check_bench({.target = "sm90"}, make_host_request(host)).error().message, HasSubstr("no driver here"));
}

TEST(PlanCases, MeasuresEachKindOfDeviceOnce) {
  const auto cases = plan_cases({.shapes = {{8, 8, 8}, {9, 9, 9}}}, host_with_gpus());
  ASSERT_EQ(cases.size(), 6U);
  EXPECT_EQ(cases[0].gpu, std::nullopt);
  EXPECT_THAT(cases[0].targets, ElementsAre("avx", "avx2"));
  EXPECT_EQ(cases[0].threads, 2);
  EXPECT_EQ(cases[1].problem.m, 9);
  EXPECT_EQ(cases[2].gpu, 0);
  EXPECT_EQ(cases[4].gpu, 2);
  EXPECT_THAT(cases[4].targets, ElementsAre("sm80"));
}

TEST(PlanCases, ChoosesDeviceOfTarget) {
  const auto cpu = plan_cases({.target = "avx2", .shapes = {{8, 8, 8}}, .threads = 1}, host_with_gpus());
  ASSERT_EQ(cpu.size(), 1U);
  EXPECT_EQ(cpu[0].gpu, std::nullopt);
  EXPECT_EQ(cpu[0].threads, 1);
  EXPECT_TRUE(cpu[0].asked_for_target);
  const auto gpu = plan_cases({.target = "sm80", .shapes = {{8, 8, 8}}}, host_with_gpus());
  ASSERT_EQ(gpu.size(), 1U);
  EXPECT_EQ(gpu[0].gpu, 2);
}

TEST(PlanCases, BPackedBeforehandIsForCpus) {
  const auto cases = plan_cases({.shapes = {{8, 8, 8}}, .prepacked = true}, host_with_gpus());
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].gpu, std::nullopt);
  EXPECT_TRUE(cases[0].problem.prepacked_b);
}

TEST(PlanCases, OmitsUnusableGpu) {
  Host host = host_with_gpus();
  host.gpus[0].problem = "fell off the bus";
  const auto cases = plan_cases({.target = "sm90", .shapes = {{8, 8, 8}}}, host);
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].gpu, 1);
}

TEST(PlanCases, LayoutAndOutReachTheProblem) {
  const auto cases =
      plan_cases({.dtype = DType::bf16, .layout = "tn", .out = DType::bf16, .shapes = {{2, 3, 4}}}, small_host());
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].problem.layout, Layout::tn);
  EXPECT_EQ(cases[0].problem.c, DType::bf16);
  EXPECT_EQ(cases[0].problem.lda, 2);
}

TEST(PlanCases, ScaledInt8GivesBf16WhereNothingElseIsAskedFor) {
  const auto one = [](std::optional<DType> out) {
    return plan_cases({.dtype = DType::int8, .out = out, .shapes = {{2, 3, 4}}, .scaled = true, .against = {"bf16"}},
                      small_host())[0];
  };
  EXPECT_EQ(one(std::nullopt).problem.c, DType::bf16);
  EXPECT_EQ(one(DType::fp32).problem.c, DType::fp32);
  EXPECT_TRUE(one(std::nullopt).problem.scale_a && one(std::nullopt).problem.scale_b);
  EXPECT_TRUE(one(std::nullopt).against_bf16);
}

TEST(ShapeClass, IsOnlyByShape) {
  EXPECT_EQ(shape_class(1024, 1024, 1024), "square");
  EXPECT_EQ(shape_class(256, 256, 256), "small");
  EXPECT_EQ(shape_class(1, 4096, 4096), "skinny");
  EXPECT_EQ(shape_class(4096, 128, 512), "skinny");
  EXPECT_EQ(shape_class(1021, 1031, 1009), "ragged");
}

TEST(Rotation, ExceedsTwiceTheCacheAsFarAsItMay) {
  const Problem p = make_problem(256, 256, 256, DType::fp32);
  const size_t copy = 3 * 256 * 256 * 4;
  const Rotation rotation = plan_rotation(p, 10 << 20, 1 << 30);
  EXPECT_EQ(rotation.copy_bytes, copy);
  EXPECT_GT(rotation.bytes(), size_t{20} << 20);
  EXPECT_LE(rotation.bytes(), (size_t{20} << 20) + copy);
  EXPECT_EQ(plan_rotation(p, 10 << 20, 2 * copy).copies, 2U);
  EXPECT_EQ(plan_rotation(p, 10 << 20, 1).copies, 1U) << "one at least";
  EXPECT_EQ(plan_rotation(p, 0, 1 << 30).copies, 1U);
}

TEST(Rotation, CopiesAndMatricesDoNotOverlap) {
  const Problem p = make_problem(3, 5, 7, DType::bf16, DType::bf16);
  const Rotation rotation = plan_rotation(p, 4096, 1 << 20);
  std::vector<std::byte> memory(rotation.bytes());
  const Operands first = rotation.operands(memory.data(), 0);
  const Operands second = rotation.operands(memory.data(), 1);
  EXPECT_GE(static_cast<const std::byte*>(first.b), static_cast<const std::byte*>(first.a) + 3 * 7 * 2);
  EXPECT_GE(static_cast<std::byte*>(first.c), static_cast<const std::byte*>(first.b) + 5 * 7 * 2);
  EXPECT_GE(static_cast<const std::byte*>(second.a), static_cast<std::byte*>(first.c) + 3 * 5 * 2);
  EXPECT_EQ(rotation.operands(memory.data(), rotation.copies).a, first.a);
}

TEST(Rotation, ScalesLieBehindCWhereTheProblemHasThem) {
  Problem p = make_problem(3, 5, 7, DType::int8, DType::bf16);
  const Rotation unscaled = plan_rotation(p, 0, 1);
  p.scale_a = p.scale_b = true;
  const Rotation rotation = plan_rotation(p, 0, 1);
  std::vector<std::byte> memory(rotation.bytes());
  EXPECT_EQ(unscaled.operands(memory.data(), 0).scale_a, nullptr);
  const Operands operands = rotation.operands(memory.data(), 0);
  EXPECT_GE(reinterpret_cast<const std::byte*>(operands.scale_a), static_cast<std::byte*>(operands.c) + 3 * 5 * 2);
  EXPECT_GE(operands.scale_b, operands.scale_a + 3);
  EXPECT_LE(reinterpret_cast<const std::byte*>(operands.scale_b + 5), memory.data() + rotation.copy_bytes);
}

TEST(FillOperands, IsNormalData) {
  const Problem p = make_problem(300, 100, 700, DType::bf16);
  const Rotation rotation = plan_rotation(p, 0, 1);
  std::vector<std::byte> memory(rotation.bytes());
  ASSERT_TRUE(fill_operands(p, rotation, [&](size_t offset, const void* bytes, size_t count) {
                std::memcpy(memory.data() + offset, bytes, count);
                return Result<void>();
              }).ok());
  double sum = 0;
  double squares = 0;
  const int64_t count = 300 * 700;
  for (int64_t i = 0; i < count; ++i) {
    const double value = element(memory.data(), DType::bf16, i);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NE(element(memory.data() + rotation.b_offset, DType::bf16, 100 * 700 - 1), 0);
}

TEST(PeerViews, DescribeEveryLayoutAsMByKAndKByN) {
  float a[6];
  float b[12];
  float c[8];
  for (const Layout layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt}) {
    const Problem p = make_problem(2, 4, 3, DType::fp32, layout);
    auto views = peer_views(p, {.a = a, .b = b, .c = c}, -1);
    ASSERT_TRUE(views.ok());
    EXPECT_EQ(views->a.rows, 2);
    EXPECT_EQ(views->a.columns, 3);
    EXPECT_EQ(views->a.row_stride, a_is_km(layout) ? 1 : 3);
    EXPECT_EQ(views->a.column_stride, a_is_km(layout) ? 2 : 1);
    EXPECT_EQ(views->b.rows, 3);
    EXPECT_EQ(views->b.columns, 4);
    EXPECT_EQ(views->b.row_stride, b_is_nk(layout) ? 1 : 4);
    EXPECT_EQ(views->b.column_stride, b_is_nk(layout) ? 3 : 1);
  }
}

TEST(PeerViews, RefuseWhatTheShimsCannotMultiply) {
  const Problem p = make_problem(2, 2, 2, DType::tf32);
  EXPECT_THAT(peer_views(p, {}, -1).error().message, HasSubstr("no GEMM with A in tf32 and B in tf32"));
}

// Without a device: what is chosen is what choose() takes there.
TEST(ExplainBench, DescribesDeviceOfMissingTarget) {
  for (const auto& target : all_targets()) {
    const BenchRequest bench{.target = target.id, .dtype = DType::fp32, .shapes = {{333, 512, 100}}};
    const auto list = explain_bench(bench, small_host(), 48);
    ASSERT_TRUE(list.ok()) << list.error().message;
    ASSERT_EQ(list->gemms.size(), 1U);
    const PlannedGemm& gemm = list->gemms.front();
    EXPECT_TRUE(gemm.supposed.has_value()) << target.id;
    EXPECT_EQ(gemm.kernels.empty(), gemm.why_not.has_value()) << target.id;
    int chosen = 0;
    for (const PlannedKernel& kernel : gemm.kernels) {
      if (!kernel.chosen) continue;
      ++chosen;
      EXPECT_THAT(kernel.why, Not(HasSubstr("forced")));
      EXPECT_EQ(kernel.blocks.has_value(), target.kind == TargetKind::gpu) << kernel.kernel;
      EXPECT_EQ(kernel.model.value_or(1), 1) << kernel.kernel;
    }
    const bool computes = std::any_of(kernel_table().begin(), kernel_table().end(), [&](const Kernel& kernel) {
      return kernel.target == target.id && kernel.dtype == DType::fp32;
    });
    EXPECT_EQ(chosen, computes ? 1 : 0) << target.id;
  }
}

// A program is built for one processor: the targets of the other ones are never built.
TEST(ExplainBench, NamesKernelsThatAreNotBuilt) {
  for (const auto& target : all_targets()) {
    const TargetBuild* const build = find_build(target.id);
    ASSERT_NE(build, nullptr) << target.id;
    const auto list = explain_bench({.target = target.id, .shapes = {{64, 64, 64}}}, small_host(), 48);
    ASSERT_TRUE(list.ok()) << list.error().message;
    const std::string supposed = list->gemms.front().supposed.value_or("");
    const std::string kernels = fmt::format("kernels of {} ({})", target.id, build->why_not);
    EXPECT_EQ(supposed.find(kernels) != std::string::npos, !build->built) << supposed;
  }
}

TEST(ExplainBench, UsesExistingDevice) {
  const auto list = explain_bench({.target = "sm80", .shapes = {{64, 64, 64}}}, host_with_gpus(), 48);
  ASSERT_TRUE(list.ok()) << list.error().message;
  ASSERT_EQ(list->gemms.size(), 1U);
  EXPECT_THAT(list->gemms.front().supposed.value_or(""), Not(HasSubstr("a GPU of")));
  EXPECT_EQ(list->gemms.front().device, "cuda:2");
}

TEST(ExplainBench, RejectsInputThatIsNoGemm) {
  EXPECT_FALSE(explain_bench({.target = "sm999", .shapes = {{1, 1, 1}}}, small_host(), 48).ok());
  EXPECT_FALSE(explain_bench({.shapes = {{-1, 1, 1}}}, small_host(), 48).ok());
}

}  // namespace
}  // namespace pbprobe
