// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Bad input, given to every CPU kernel that is built: an error that says what is wrong, and not a byte is written. No
// kernel gets to run, so none of their instructions is needed.
#include <cstring>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/run.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

constexpr int64_t kM = 5;
constexpr int64_t kN = 7;
constexpr int64_t kK = 9;
constexpr std::byte kUntouched{0x5a};

// All that one call gets.
struct Call {
  Plan plan;
  Operands operands;
  Context context;
};

struct BadInput {
  const char* says;
  std::function<void(Call&)> spoil;
};

const std::vector<BadInput>& bad_inputs() {
  static const std::vector<BadInput> all{
      {"A is a null pointer", [](Call& c) { c.operands.a = nullptr; }},
      {"B is a null pointer", [](Call& c) { c.operands.b = nullptr; }},
      {"C is a null pointer", [](Call& c) { c.operands.c = nullptr; }},
      {"bias is a null pointer", [](Call& c) { c.operands.bias = nullptr; }},
      {"scale_a is a null pointer", [](Call& c) { c.operands.scale_a = nullptr; }},
      {"scale_b is a null pointer", [](Call& c) { c.operands.scale_b = nullptr; }},
      {"a size is negative (m -5", [](Call& c) { c.plan.problem.m = -kM; }},
      {"a size is negative (m 5, n -1", [](Call& c) { c.plan.problem.n = -1; }},
      {"n 7, k -9", [](Call& c) { c.plan.problem.k = -kK; }},
      {"lda is 8", [](Call& c) { c.plan.problem.lda = kK - 1; }},
      {"ldb is 0", [](Call& c) { c.plan.problem.ldb = 0; }},
      {"ldc is 6", [](Call& c) { c.plan.problem.ldc = kN - 1; }},
      {"exceeds 2^63 bytes", [](Call& c) { c.plan.problem.lda = INT64_MAX / 2; }},
      {"exceeds 2^63 bytes", [](Call& c) { c.plan.problem.ldc = INT64_MAX; }},
      // The leading dimension would fit; the product of the sizes does not.
      {"exceeds 2^63 bytes",
       [](Call& c) {
         c.plan.problem.m = int64_t{1} << 40;
         c.plan.problem.n = int64_t{1} << 40;
         c.plan.problem.ldc = c.plan.problem.n;
       }},
      {"passes the end of memory", [](Call& c) { c.operands.a = reinterpret_cast<const void*>(~uintptr_t{15}); }},
      {"C overlaps A", [](Call& c) { c.operands.a = c.operands.c; }},
      {"C overlaps B", [](Call& c) { c.operands.b = static_cast<const std::byte*>(c.operands.c) + 4 * (kM * kN - 1); }},
      {"C overlaps bias", [](Call& c) { c.operands.bias = static_cast<const float*>(c.operands.c) + 1; }},
      {"C overlaps scale_a", [](Call& c) { c.operands.scale_a = static_cast<const float*>(c.operands.c) + 2; }},
      {"C overlaps scale_b", [](Call& c) { c.operands.scale_b = static_cast<const float*>(c.operands.c) + 3; }},
      {"needs a workspace", [](Call& c) { --c.context.workspace_bytes; }},
      {"needs a workspace", [](Call& c) { c.context.workspace = nullptr; }},
      {"no GEMM of these types", [](Call& c) { c.plan.problem.a = DType::int32; }},
      {"names no kernel that is built", [](Call& c) { c.plan.kernel = nullptr; }},
  };
  return all;
}

void expect_refused(const Plan& plan, const BadInput& bad) {
  std::vector<float> inputs(256, 1.0F);
  std::vector<std::byte> c(1024, kUntouched);
  std::vector<std::byte> workspace(static_cast<size_t>(plan.workspace_bytes), kUntouched);
  Call call{plan, {}, {}};
  call.operands.a = inputs.data();
  call.operands.b = inputs.data() + 64;
  call.operands.bias = inputs.data() + 128;
  call.operands.scale_a = inputs.data() + 160;
  call.operands.scale_b = inputs.data() + 192;
  call.operands.c = c.data();
  call.context.workspace = workspace.data();
  call.context.workspace_bytes = plan.workspace_bytes;
  bad.spoil(call);
  const auto result = run(call.plan, call.operands, call.context);
  ASSERT_FALSE(result.ok()) << bad.says;
  EXPECT_EQ(result.error().code, ErrorCode::usage) << bad.says;
  EXPECT_THAT(result.error().message, HasSubstr(bad.says));
  EXPECT_EQ(c, std::vector<std::byte>(c.size(), kUntouched)) << bad.says;
  EXPECT_EQ(workspace, std::vector<std::byte>(workspace.size(), kUntouched)) << bad.says;
}

TEST(BadInput, IsRefusedByEveryCpuKernelBeforeAnythingIsWritten) {
  int kernels = 0;
  for (const auto& kernel : kernel_table()) {
    if (kernel.function == nullptr) continue;
    Host host;
    host.cpu.architecture = find_target(kernel.target)->architecture;
    host.cpu.targets = {std::string(kernel.target)};
    auto problem = make_problem(kM, kN, kK, kernel.dtype, DType::fp32);
    problem.bias = problem.scale_a = problem.scale_b = true;
    const auto plan = choose(problem, host, {}, {.kernel = std::string(kernel.name)});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (const auto& bad : bad_inputs()) {
      // A kernel that reads B in place may need no workspace.
      if (plan->workspace_bytes == 0 && std::strcmp(bad.says, "needs a workspace") == 0) continue;
      expect_refused(*plan, bad);
    }
    ++kernels;
  }
  if (kernels == 0) GTEST_SKIP() << "no CPU target is built";
}

// A bad prepacked B is rejected: neither prepack() nor run() writes anything.
TEST(BadInput, RejectsBadPackedB) {
  int kernels = 0;
  for (const auto& kernel : kernel_table()) {
    if (kernel.function == nullptr || kernel.in_place) continue;
    Host host;
    host.cpu.architecture = find_target(kernel.target)->architecture;
    host.cpu.targets = {std::string(kernel.target)};
    auto problem = make_problem(kM, kN, kK, kernel.dtype, DType::fp32);
    const auto plain = choose(problem, host, {}, {.kernel = std::string(kernel.name)});
    problem.prepacked_b = true;
    const auto plan = choose(problem, host, {}, {.kernel = std::string(kernel.name)});
    ASSERT_TRUE(plan.ok() && plain.ok());
    const auto bytes = static_cast<size_t>(plan->prepacked_bytes + 2 * kPackedAlign);
    std::vector<std::byte> memory(bytes, kUntouched);
    const auto at = reinterpret_cast<uintptr_t>(memory.data());
    std::byte* const packed = memory.data() + (kPackedAlign - at % kPackedAlign) % kPackedAlign;
    const std::vector<float> b(256, 1.0F);
    const auto expect = [&](const Result<void>& result, const char* says) {
      ASSERT_FALSE(result.ok()) << kernel.name << ": " << says;
      EXPECT_EQ(result.error().code, ErrorCode::usage);
      EXPECT_THAT(result.error().message, HasSubstr(says));
    };
    expect(prepack(*plain, b.data(), packed), "reads an unpacked B");
    expect(prepack(*plan, nullptr, packed), "B is a null pointer");
    expect(prepack(*plan, b.data(), nullptr), "the packed B");
    expect(prepack(*plan, b.data(), packed + 4), "at a multiple of 64");
    expect(prepack(*plan, packed, packed), "B overlaps the packed B");
    std::vector<std::byte> workspace(static_cast<size_t>(plan->workspace_bytes), kUntouched);
    const Context context{.workspace = workspace.data(), .workspace_bytes = plan->workspace_bytes};
    std::vector<float> c(kM * kN, 7.0F);
    Operands operands{.a = b.data(), .c = c.data()};
    expect(run(*plan, operands, context), "the packed B");
    operands.packed_b = packed + 1;
    expect(run(*plan, operands, context), "at a multiple of 64");
    operands.packed_b = packed;
    operands.c = packed;
    expect(run(*plan, operands, context), "C overlaps the packed B");
    EXPECT_EQ(memory, std::vector<std::byte>(bytes, kUntouched));
    EXPECT_EQ(c, std::vector<float>(kM * kN, 7.0F));
    ++kernels;
  }
  if (kernels == 0) GTEST_SKIP() << "no CPU target is built";
}

}  // namespace
}  // namespace pbprobe
