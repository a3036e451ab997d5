// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/timing.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

// Time passes only where a candidate runs.
class Interleave : public testing::Test {
 protected:
  Candidate candidate(const std::string& name, double seconds, double slice_seconds = 0) {
    return {.name = name,
            .sample = [this, name, seconds](int64_t repeats) -> Result<double> {
              order_ += name;
              repeats_.push_back(repeats);
              now_ += seconds * static_cast<double>(repeats);
              return seconds * 1e6;
            },
            .slice_seconds = slice_seconds};
  }
  SecondsClock clock() {
    return [this] { return now_; };
  }

  double now_ = 1000;
  std::string order_;
  std::vector<int64_t> repeats_;
};

TEST_F(Interleave, GoesRoundAfterWarmingUp) {
  std::vector<Candidate> two{candidate("A", 0.125), candidate("B", 0.25)};
  auto rounds = interleave(two, {.budget_seconds = 1.125, .least_rounds = 2}, clock());
  ASSERT_TRUE(rounds.ok());
  EXPECT_EQ(order_, "AABBABABAB");
  EXPECT_EQ(rounds->samples_us[0].size(), 3U);
  EXPECT_EQ(rounds->samples_us[1].size(), 3U);
  EXPECT_FALSE(rounds->cut_short);
  EXPECT_DOUBLE_EQ(rounds->samples_us[1][0], 2.5e5);
}

TEST_F(Interleave, DoesTheLeastEvenOverTheBudgetAndNeverMoreThanTheMost) {
  std::vector<Candidate> one{candidate("A", 1)};
  EXPECT_EQ(interleave(one, {.budget_seconds = 0.5}, clock())->samples_us[0].size(), 3U);
  EXPECT_EQ(interleave(one, {.budget_seconds = 1e6, .most_rounds = 7}, clock())->samples_us[0].size(), 7U);
}

TEST_F(Interleave, BeginsNoRoundThatWouldEndAfterTheDeadline) {
  std::vector<Candidate> one{candidate("A", 1)};
  auto rounds = interleave(one, {.budget_seconds = 100, .deadline_seconds = now_ + 4.5}, clock());
  ASSERT_TRUE(rounds.ok());
  EXPECT_EQ(rounds->samples_us[0].size(), 2U) << "two of the 4.5 seconds go into the warm-up";
  EXPECT_TRUE(rounds->cut_short);
  EXPECT_LE(now_, 1004.5);
}

TEST_F(Interleave, FinishesFirstRoundAfterDeadline) {
  std::vector<Candidate> one{candidate("A", 1)};
  auto rounds = interleave(one, {.budget_seconds = 1, .deadline_seconds = now_ + 0.5}, clock());
  ASSERT_TRUE(rounds.ok());
  EXPECT_EQ(rounds->samples_us[0].size(), 1U);
  EXPECT_TRUE(rounds->cut_short);
}

TEST_F(Interleave, RepeatsShortOnesUntilTheyFillTheirSlice) {
  std::vector<Candidate> one{candidate("A", 0.0625, 1)};
  ASSERT_TRUE(interleave(one, {.budget_seconds = 0.5, .least_rounds = 1, .most_rounds = 1}, clock()).ok());
  EXPECT_EQ(repeats_, (std::vector<int64_t>{1, 1, 16}));
}

TEST_F(Interleave, DropsFailedOptionalCandidate) {
  int calls = 0;
  Candidate guest{.name = "guest",
                  .sample = [&](int64_t) -> Result<double> {
                    if (++calls > 3) return make_error(ErrorCode::device, "tired");
                    return 1.0;
                  },
                  .required = false};
  std::vector<Candidate> two{candidate("A", 0.125), guest};
  auto rounds = interleave(two, {.budget_seconds = 0.625}, clock());
  ASSERT_TRUE(rounds.ok());
  EXPECT_EQ(rounds->samples_us[0].size(), 5U);
  EXPECT_TRUE(rounds->samples_us[1].empty());
  EXPECT_EQ(rounds->failures[1], "guest: tired");
}

TEST_F(Interleave, StopsIfRequiredCandidateFails) {
  std::vector<Candidate> one{
      {.name = "kernel", .sample = [](int64_t) -> Result<double> { return make_error(ErrorCode::device, "lost"); }}};
  auto rounds = interleave(one, {}, clock());
  ASSERT_FALSE(rounds.ok());
  EXPECT_EQ(rounds.error().message, "kernel: lost");
}

TEST_F(Interleave, NamesRequiredCandidateThatFailsLater) {
  int calls = 0;
  std::vector<Candidate> one{{.name = "kernel", .sample = [&](int64_t) -> Result<double> {
                                if (++calls > 3) return make_error(ErrorCode::device, "lost");
                                return 1.0;
                              }}};
  auto rounds = interleave(one, {.budget_seconds = 10}, clock());
  ASSERT_FALSE(rounds.ok());
  EXPECT_EQ(rounds.error().message, "kernel: lost");
}

TEST(FastestOf, TakesTheLeastTimeAndPassesOverWhatFails) {
  const std::vector<double> times{3, -1, 1, 2};
  std::vector<int> asked;
  const auto time = [&](int candidate, int64_t) -> Result<double> {
    asked.push_back(candidate);
    const double us = times[static_cast<size_t>(candidate)];
    if (us < 0) return make_error(ErrorCode::device, "status 15");
    return us;
  };
  const auto chosen = find_fastest_candidate(4, time);
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(*chosen, 2);
  EXPECT_EQ(asked, (std::vector<int>{0, 0, 1, 2, 2, 3, 3}));  // a first run, and some that count
}

TEST(FastestOf, RejectsEmptyList) {
  const auto time = [](int, int64_t) -> Result<double> { return make_error(ErrorCode::device, "status 15"); };
  EXPECT_EQ(find_fastest_candidate(2, time).error().message, "status 15");
  EXPECT_EQ(find_fastest_candidate(0, time).error().message, "no candidate was given");
}

TEST(BudgetTest, SharesWhatIsLeft) {
  double now = 5;
  const Budget budget(3, [&] { return now; });
  EXPECT_DOUBLE_EQ(budget.share(3), 1);
  now = 7;
  EXPECT_DOUBLE_EQ(budget.left(), 1);
  EXPECT_DOUBLE_EQ(budget.share(2), 0.5);
  now = 9;
  EXPECT_DOUBLE_EQ(budget.share(2), 0);
}

}  // namespace
}  // namespace pbprobe
