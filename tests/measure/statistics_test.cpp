// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/statistics.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pbprobe {
namespace {

using testing::HasSubstr;

TEST(Statistics, ReturnsMiddleAsMedian) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median(std::array{7.0}), 7);
  EXPECT_EQ(median(std::array{9.0, 1.0, 2.0}), 2);
  EXPECT_EQ(median(std::array{4.0, 1.0, 2.0, 100.0}), 3);
}

TEST(Statistics, ReturnsSpreadOfMiddleHalf) {
  EXPECT_DOUBLE_EQ(spread(std::array{8.0, 9.0, 10.0, 11.0, 1000.0}), 0.2);
  EXPECT_EQ(spread(std::array{5.0}), 0);
  EXPECT_EQ(spread({}), 0);
}

TEST(Statistics, ComputesRatioFromPairs) {
  EXPECT_DOUBLE_EQ(median_ratio(std::array{2.0, 20.0, 9.0}, std::array{1.0, 10.0, 3.0}), 2);
  EXPECT_DOUBLE_EQ(median_ratio(std::array{2.0, 20.0, 9.0}, std::array{1.0, 0.0, 3.0}), 2.5);
}

TEST(Statistics, GflopsCountTwoPerProduct) {
  EXPECT_DOUBLE_EQ(compute_gflops(1000, 1000, 1000, 1000), 2000);
  EXPECT_EQ(compute_gflops(1, 1, 1, 0), 0);
}

constexpr std::array<int64_t, 2> kAllowed{64, 32};

TEST(Peak, AgreesWithTheTable) {
  // 3 GHz · 64 · 2 cores = 384, measured 380.
  const std::array<PeakPair, 3> pairs{{{380, 190, 3.0}, {376, 282, 3.0}, {380, 304, 3.0}}};
  const PeakVerdict verdict = judge_peak(pairs, 304, kAllowed, false, 2);
  EXPECT_EQ(verdict.why_not, "");
  EXPECT_DOUBLE_EQ(verdict.fraction, 0.75);
  EXPECT_DOUBLE_EQ(verdict.clock_ghz, 3.0);
}

TEST(Peak, SlicesBelowNineTenthsOfTheBestAreDropped) {
  const std::array<PeakPair, 3> pairs{{{384, 192, 3.0}, {200, 190, 3.0}, {384, 192, 3.0}}};
  EXPECT_DOUBLE_EQ(judge_peak(pairs, 192, kAllowed, false, 2).fraction, 0.5);
}

TEST(Peak, MustBeAtLeastWhatWasReached) {
  const std::array<PeakPair, 1> pairs{{{192, 100, 3.0}}};
  EXPECT_THAT(judge_peak(pairs, 200, kAllowed, false, 1).why_not, HasSubstr("192 Gop/s, is below the 200 Gop/s"));
}

TEST(Peak, MustFitTheTableWithinThreePercent) {
  const std::array<PeakPair, 1> low{{{384 * 0.965, 100, 3.0}}};
  EXPECT_THAT(
      judge_peak(low, 100, kAllowed, false, 2).why_not,
      HasSubstr("shows 61.76 operations per clock and core, and pbprobe's table for this target allows 64 or 32"));
  EXPECT_EQ(judge_peak(low, 100, kAllowed, true, 2).why_not, "") << "second-hand figures refute nothing";
  const std::array<PeakPair, 1> close{{{384 * 0.975, 100, 3.0}}};
  EXPECT_EQ(judge_peak(close, 100, kAllowed, false, 2).why_not, "");
}

TEST(Peak, NeedsSlicesAndAClock) {
  EXPECT_THAT(judge_peak({}, 1, kAllowed, false, 1).why_not, HasSubstr("the peak rate was not measured"));
  const std::array<PeakPair, 1> pair{{{100, 50, 1}}};
  EXPECT_THAT(judge_peak(pair, 50, {}, false, 1).why_not, HasSubstr("states none for this type"));
  const std::array<PeakPair, 1> no_clock{{{100, 50, 0}}};
  EXPECT_THAT(judge_peak(no_clock, 50, kAllowed, false, 1).why_not, HasSubstr("the clock frequency was not read"));
}

}  // namespace
}  // namespace pbprobe
