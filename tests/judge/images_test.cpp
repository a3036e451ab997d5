// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/images.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

TEST(Images, AHandfulOfExactImagesDoesNotMakeALibraryNative) {
  const DeviceCode code{.cubin = {{"sm_120", 444}, {"sm_121a", 1}, {"sm_100", 444}, {"sm_103a", 59}}};
  const auto gb10 = choose_image(code, {12, 1});
  EXPECT_EQ(gb10.image, GpuImage::same_major);
  EXPECT_EQ(gb10.best, "sm_120");
  EXPECT_EQ(gb10.exact, "sm_121a");
  const auto b300 = choose_image(code, {10, 3});
  EXPECT_EQ(b300.image, GpuImage::same_major);
  EXPECT_EQ(b300.best, "sm_100");
  EXPECT_EQ(choose_image(code, {12, 0}).image, GpuImage::native);
}

TEST(Images, WithoutTheBaseImageAHandfulIsNone) {
  const DeviceCode code{.cubin = {{"sm_90", 444}, {"sm_103a", 59}}};
  const auto choice = choose_image(code, {10, 3});
  EXPECT_EQ(choice.image, GpuImage::none);
  EXPECT_EQ(choice.exact, "sm_103a");
  EXPECT_EQ(choice.exact_count, 59);
}

TEST(Images, ABuildOfOneSuffixedChipIsNative) {
  const DeviceCode code{.cubin = {{"sm_90a", 448}}};
  EXPECT_EQ(choose_image(code, {9, 0}).image, GpuImage::native);
  EXPECT_EQ(choose_image(code, {10, 0}).image, GpuImage::none);
}

TEST(Images, MachineCodeIsPreferredToPtxAndALaterMinorToAnEarlier) {
  const DeviceCode code{.cubin = {{"sm_80", 10}, {"sm_86", 10}}, .ptx = {{"sm_80", 10}, {"sm_89", 10}}};
  EXPECT_EQ(choose_image(code, {8, 9}).best, "sm_86");
  EXPECT_EQ(choose_image(code, {9, 0}).best, "compute_89");
  EXPECT_EQ(choose_image(code, {7, 5}).image, GpuImage::none);
}

TEST(Images, NothingReadIsUnknown) {
  EXPECT_EQ(choose_image({}, {9, 0}).image, GpuImage::unknown);
}

TEST(Images, OnlyTheContestedPairIsContested) {
  const DeviceCode code{.cubin = {{"sm_80", 10}}};
  EXPECT_TRUE(choose_image(code, {8, 7}).contested);
  EXPECT_FALSE(choose_image(code, {8, 6}).contested);
  EXPECT_FALSE(choose_image(code, {8, 0}).contested);
}

}  // namespace
}  // namespace pbprobe
