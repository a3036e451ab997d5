// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/images.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

bool cubin(const char* image, const char* gpu) {
  return cubin_runs_on(*parse_image(image), *parse_capability(gpu));
}
bool ptx(const char* image, const char* gpu) {
  return ptx_runs_on(*parse_image(image), *parse_capability(gpu));
}

TEST(Images, NamesAreParsedAndNonsenseIsRefused) {
  const auto image = parse_image("sm_103f");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->made_for, (Capability{10, 3}));
  EXPECT_EQ(image->suffix, 'f');
  EXPECT_EQ(parse_capability("12.9.1"), (Capability{12, 9}));
  for (const char* text : {"", "sm_", "sm_a", "sm_9", "compute_90", "sm_9x", "sm_90aa", "sm_-90"})
    EXPECT_FALSE(parse_image(text)) << text;
  for (const char* text : {"", "12", "12.", ".1", "a.b", "-1.0"}) EXPECT_FALSE(parse_capability(text)) << text;
}

TEST(Images, PlainCubinsRunOnLaterMinorsOfTheirMajor) {
  EXPECT_TRUE(cubin("sm_120", "12.0"));
  EXPECT_TRUE(cubin("sm_120", "12.1"));
  EXPECT_TRUE(cubin("sm_80", "8.9"));
  EXPECT_FALSE(cubin("sm_121", "12.0"));
  EXPECT_FALSE(cubin("sm_89", "8.6"));
  EXPECT_FALSE(cubin("sm_90", "10.0"));
  EXPECT_FALSE(cubin("sm_110", "12.0"));
}

TEST(Images, TheArchitectureSuffixMeansExactlyThatChip) {
  EXPECT_TRUE(cubin("sm_90a", "9.0"));
  EXPECT_FALSE(cubin("sm_100a", "10.3"));
  EXPECT_FALSE(cubin("sm_120a", "12.1"));
  EXPECT_FALSE(ptx("sm_90a", "10.0"));
  EXPECT_TRUE(ptx("sm_90a", "9.0"));
}

TEST(Images, TheFamilySuffixStaysInItsFamily) {
  EXPECT_TRUE(cubin("sm_100f", "10.0"));
  EXPECT_TRUE(cubin("sm_100f", "10.3"));
  EXPECT_TRUE(cubin("sm_103f", "10.3"));
  EXPECT_FALSE(cubin("sm_103f", "10.0"));
  EXPECT_TRUE(cubin("sm_110f", "11.0"));
  EXPECT_TRUE(cubin("sm_120f", "12.0"));
  EXPECT_TRUE(cubin("sm_120f", "12.1"));
  EXPECT_TRUE(cubin("sm_121f", "12.1"));
  EXPECT_FALSE(cubin("sm_121f", "12.0"));
  EXPECT_FALSE(cubin("sm_110f", "12.0"));
  EXPECT_FALSE(cubin("sm_90f", "9.0")) << "there were no families before 10.0";
}

TEST(Images, PtxIsCompiledForEveryLaterChip) {
  EXPECT_TRUE(ptx("sm_80", "8.0"));
  EXPECT_TRUE(ptx("sm_80", "12.1"));
  EXPECT_FALSE(ptx("sm_90", "8.9"));
}

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
