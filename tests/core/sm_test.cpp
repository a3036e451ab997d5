// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/sm.hpp"

#include <gtest/gtest.h>

#include "core/major_minor.hpp"
#include "core/targets.hpp"

namespace pbprobe {
namespace {

bool cubin(const char* code, const char* gpu) {
  return cubin_runs_on(*parse_sm(code), *parse_sm(gpu));
}
bool ptx(const char* code, const char* gpu) {
  return ptx_runs_on(*parse_sm(code), *parse_sm(gpu));
}

TEST(Sm, ParsesAllSpellings) {
  for (const char* text : {"sm_103f", "compute_103f", "103f", "10.3f"}) EXPECT_EQ(parse_sm(text), (Sm{10, 3, 'f'}));
  for (const char* text : {"sm_90", "compute_90", "90", "9.0"}) EXPECT_EQ(parse_sm(text), (Sm{9, 0}));
  EXPECT_EQ(make_sm(121, 'a'), parse_sm("12.1a"));
}

TEST(Sm, RejectsInvalidText) {
  for (const char* text :
       {"",   "sm_", "sm_a", "sm_9",   "sm_9x", "sm_90aa", "sm_-90", "sm_090",        "sm_1200", "12.",
        ".1", "a.b", "-1.0", "12.9.1", "0.9",   "9.10",    "9.00",   "sm_compute_90", "sm_ 90",  "9.0 "})
    EXPECT_FALSE(parse_sm(text)) << text;
}

TEST(Sm, PrintsNamesThatItParses) {
  for (const char* text : {"sm_61", "sm_90a", "sm_100f", "sm_121"}) EXPECT_EQ(sm_name(*parse_sm(text)), text);
  EXPECT_EQ(compute_name(*parse_sm("sm_90a")), "compute_90a");
  EXPECT_EQ(format_capability(*parse_sm("sm_103a")), "10.3");
  EXPECT_EQ(sm_name(make_sm(0)), "sm_0");  // possible in a damaged entry
}

TEST(Sm, SortsByCapabilityThenSuffix) {
  const char* const order[] = {"sm_61", "sm_75", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_120"};
  for (size_t i = 1; i < std::size(order); ++i) EXPECT_LT(*parse_sm(order[i - 1]), *parse_sm(order[i])) << order[i];
}

TEST(Sm, ParsesSmOfEveryTarget) {
  for (const auto& target : all_targets()) {
    if (target.kind != TargetKind::gpu) continue;
    const auto chip = parse_sm(target.capability.value());
    const auto built = parse_sm(target.architecture);
    ASSERT_TRUE(chip && built) << target.id;
    EXPECT_TRUE(same_capability(*chip, *built)) << target.id;
    for (const auto& sibling : target.siblings) EXPECT_EQ(sm_name(parse_sm(sibling).value()), sibling);
  }
}

TEST(Sm, AcceptsPlainCubinsOnLaterMinors) {
  EXPECT_TRUE(cubin("sm_120", "12.0"));
  EXPECT_TRUE(cubin("sm_120", "12.1"));
  EXPECT_TRUE(cubin("sm_80", "8.9"));
  EXPECT_FALSE(cubin("sm_121", "12.0"));
  EXPECT_FALSE(cubin("sm_89", "8.6"));
  EXPECT_FALSE(cubin("sm_90", "10.0"));
  EXPECT_FALSE(cubin("sm_110", "12.0"));
}

TEST(Sm, LimitsSuffixAToItsCapability) {
  EXPECT_TRUE(cubin("sm_90a", "9.0"));
  EXPECT_FALSE(cubin("sm_100a", "10.3"));
  EXPECT_FALSE(cubin("sm_120a", "12.1"));
  EXPECT_FALSE(ptx("sm_90a", "10.0"));
  EXPECT_TRUE(ptx("sm_90a", "9.0"));
}

TEST(Sm, LimitsSuffixFToItsFamily) {
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

TEST(Sm, AcceptsPtxOnLaterCapabilities) {
  EXPECT_TRUE(ptx("sm_80", "8.0"));
  EXPECT_TRUE(ptx("sm_80", "12.1"));
  EXPECT_FALSE(ptx("sm_90", "8.9"));
}

TEST(MajorMinor, ReadsTheFirstTwoNumbers) {
  EXPECT_EQ(parse_major_minor("12.9"), (MajorMinor{12, 9}));
  EXPECT_EQ(parse_major_minor("12.9.1"), (MajorMinor{12, 9}));
  EXPECT_LT(*parse_major_minor("12.10"), *parse_major_minor("13.0"));
  EXPECT_LT(*parse_major_minor("12.9"), *parse_major_minor("12.10"));
  for (const char* text : {"", "12", "12.", ".1", "a.b", "-1.0"}) EXPECT_FALSE(parse_major_minor(text)) << text;
}

}  // namespace
}  // namespace pbprobe
