// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/gpu/code_choice.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

TEST(CodeChoice, IgnoresFewExactCubins) {
  const DeviceCode code{.cubin = {{"sm_120", 444}, {"sm_121a", 1}, {"sm_100", 444}, {"sm_103a", 59}}};
  const auto gb10 = choose_code(code, {12, 1});
  EXPECT_EQ(gb10.code, GpuCode::same_major);
  EXPECT_EQ(gb10.best, "sm_120");
  EXPECT_EQ(gb10.exact, "sm_121a");
  const auto b300 = choose_code(code, {10, 3});
  EXPECT_EQ(b300.code, GpuCode::same_major);
  EXPECT_EQ(b300.best, "sm_100");
  EXPECT_EQ(choose_code(code, {12, 0}).code, GpuCode::native);
}

TEST(CodeChoice, IgnoresFewCubinsWithoutBase) {
  const DeviceCode code{.cubin = {{"sm_90", 444}, {"sm_103a", 59}}};
  const auto choice = choose_code(code, {10, 3});
  EXPECT_EQ(choice.code, GpuCode::none);
  EXPECT_EQ(choice.exact, "sm_103a");
  EXPECT_EQ(choice.exact_count, 59);
}

TEST(CodeChoice, ReturnsNativeForSingleSuffixedChip) {
  const DeviceCode code{.cubin = {{"sm_90a", 448}}};
  EXPECT_EQ(choose_code(code, {9, 0}).code, GpuCode::native);
  EXPECT_EQ(choose_code(code, {10, 0}).code, GpuCode::none);
}

TEST(CodeChoice, PrefersMachineCodeAndLaterMinor) {
  const DeviceCode code{.cubin = {{"sm_80", 10}, {"sm_86", 10}}, .ptx = {{"sm_80", 10}, {"sm_89", 10}}};
  EXPECT_EQ(choose_code(code, {8, 9}).best, "sm_86");
  EXPECT_EQ(choose_code(code, {9, 0}).best, "compute_89");
  EXPECT_EQ(choose_code(code, {7, 5}).code, GpuCode::none);
}

TEST(CodeChoice, ReturnsUnknownIfNothingWasRead) {
  EXPECT_EQ(choose_code({}, {9, 0}).code, GpuCode::unknown);
}

TEST(CodeChoice, MarksEarlierCodeAsContestedOnlyOnOrin) {
  const DeviceCode code{.cubin = {{"sm_80", 10}}};
  EXPECT_TRUE(choose_code(code, {8, 7}).contested);
  EXPECT_TRUE(choose_code({.cubin = {{"sm_86", 10}}}, {8, 7}).contested);
  EXPECT_FALSE(choose_code({.cubin = {{"sm_87", 10}}}, {8, 7}).contested);
  EXPECT_FALSE(choose_code({.cubin = {{"sm_86", 10}}}, {8, 9}).contested);
  EXPECT_FALSE(choose_code(code, {8, 6}).contested);
  EXPECT_FALSE(choose_code(code, {8, 0}).contested);
}

}  // namespace
}  // namespace pbprobe
