// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// avxvnni's rows of the table, run by the functions of vnni_model.cpp: packing, correction and tails, on any AVX2.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/run.hpp"
#include "kernels/gemm/checker.hpp"
#include "tests/kernels/hosts.hpp"

namespace pbprobe {

namespace avxvnni_model {
void gemm_int8_6x16(const CpuCall& call, const CpuTask& task);
void gemm_that_saturates(const CpuCall& call, const CpuTask& task);
void gemv_int8_8x64(const CpuCall& call, const CpuTask& task);
}  // namespace avxvnni_model

namespace {

// Runs a copy of a row of the table with the model's function.
Result<void> run_model(const std::string& name, CpuFunction function, const Problem& problem, CheckData& data) {
  PBPROBE_TRY(Plan plan, choose(problem, cpu_host({"avxvnni"}), {}, {.kernel = name}));
  Kernel twin = *plan.kernel;
  twin.function = function;
  plan.kernel = &twin;
  std::vector<unsigned char> workspace(static_cast<size_t>(plan.workspace_bytes), 0xff);
  Context context;
  context.workspace = workspace.data();
  context.workspace_bytes = plan.workspace_bytes;
  return run(plan, data.operands(), context);
}

class VnniModel : public testing::TestWithParam<Layout> {
 protected:
  void SetUp() override {
    if (!is_built("avxvnni")) GTEST_SKIP() << "not built: make build TARGETS=avxvnni";
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP() << "this CPU has no AVX2";
  }
  static void expect_right(const std::string& name, CpuFunction function, const Problem& problem) {
    const auto result =
        check(problem, [&](const Problem& p, CheckData& data) { return run_model(name, function, p, data); });
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_TRUE(result->passed) << name << ": " << result->what;
  }
};

TEST_P(VnniModel, IsRightForEveryTail) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                {7, 17, 3},
                                {6, 16, 4},
                                {13, 31, 61},
                                {12, 33, 32},
                                {25, 50, 131},
                                {5, 9, 1029},
                                {8, 100, 2051}}) {
    for (DType a : {DType::int8, DType::uint8}) {
      expect_right("gemm_int8_6x16_avxvnni", avxvnni_model::gemm_int8_6x16, make_problem(m, n, k, a, GetParam()));
      if (m > 8) continue;
      expect_right("gemv_int8_8x64_avxvnni", avxvnni_model::gemv_int8_8x64, make_problem(m, n, k, a, GetParam()));
    }
    auto scaled = make_problem(m, n, k, DType::int8, DType::bf16, GetParam());
    scaled.scale_a = scaled.scale_b = scaled.bias = true;
    expect_right("gemm_int8_6x16_avxvnni", avxvnni_model::gemm_int8_6x16, scaled);
  }
}

TEST_P(VnniModel, SumsThatSaturateAreNoticed) {
  const auto problem = make_problem(13, 31, 610, DType::int8, GetParam());
  const auto result = check(problem, [](const Problem& p, CheckData& data) {
    return run_model("gemm_int8_6x16_avxvnni", avxvnni_model::gemm_that_saturates, p, data);
  });
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->passed);
}

INSTANTIATE_TEST_SUITE_P(Layouts, VnniModel, testing::Values(Layout::nt, Layout::nn, Layout::tn, Layout::tt));

}  // namespace
}  // namespace pbprobe
