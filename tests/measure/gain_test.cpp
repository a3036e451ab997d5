// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/statistics.hpp"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pbprobe::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// A clock's noise about a median of `us`, some per cent wide.
class Machine {
 public:
  explicit Machine(uint32_t seed) : random_(seed) {}
  AreaTiming timing(const std::string& area, double us) {
    std::lognormal_distribution<double> noise(0, 0.03);
    AreaTiming timing{area, "cpu", {}};
    for (int i = 0; i < 5; ++i) timing.samples_us.push_back(us * noise(random_));
    return timing;
  }
  std::vector<Turn> rounds(int count, double build_us, double baseline_us) {
    std::vector<Turn> rounds;
    for (int i = 0; i < count; ++i)
      rounds.push_back(
          {{timing("sort", build_us), timing("FFT", 40)}, {timing("sort", baseline_us), timing("FFT", 40)}});
    return rounds;
  }

 private:
  std::mt19937 random_;
};

TEST(Gain, IsTheRatioOfTheMedians) {
  Machine machine(1);
  const auto gains = compute_gains(machine.rounds(12, 100, 150));
  ASSERT_EQ(gains.size(), 2U);
  EXPECT_EQ(gains[0].area, "sort");
  EXPECT_NEAR(gains[0].gain, 1.5, 0.05);
  EXPECT_LT(gains[0].low, gains[0].gain);
  EXPECT_GT(gains[0].high, gains[0].gain);
  EXPECT_EQ(gains[0].samples_us.size(), 12U);
  EXPECT_EQ(classify_gain(gains[0]), GainClass::more);
  EXPECT_EQ(classify_gain(gains[1]), GainClass::not_shown);
}

TEST(Gain, ShowsNoDifferenceInMostRuns) {
  int shown = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    Machine machine(seed);
    for (const auto& gain : compute_gains(machine.rounds(12, 100, 100))) {
      if (classify_gain(gain) == GainClass::not_shown) continue;
      ++shown;
      break;
    }
  }
  EXPECT_LE(shown, 10);
}

// Neighbours slow some processes tenfold. The bootstrap errs with a chance of 5 % each, so two of twenty runs are wrong
// every fourth time; ranks leave less than 1 %.
TEST(Gain, ShowsNoDifferenceOnBusyMachine) {
  int shown = 0;
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    std::lognormal_distribution<double> noise(0, 2);
    std::vector<Turn> rounds(12);
    for (Turn& round : rounds) {
      for (int area = 0; area < 12; ++area) {
        round.build.push_back({fmt::format("area {}", area), "cpu", {100 * noise(random)}});
        round.baseline.push_back({fmt::format("area {}", area), "cpu", {100 * noise(random)}});
      }
    }
    const auto gains = compute_gains(rounds);
    shown += std::any_of(gains.begin(), gains.end(),
                         [](const auto& gain) { return classify_gain(gain) != GainClass::not_shown; });
  }
  EXPECT_LE(shown, 1);
}

TEST(Gain, ReportsTenPercentLess) {
  Machine machine(3);
  const auto gains = compute_gains(machine.rounds(12, 112, 100));
  EXPECT_EQ(classify_gain(gains[0]), GainClass::less);
}

TEST(Gain, ShowsNoUncertainLoss) {
  EXPECT_EQ(classify_gain({.low = 0.975, .high = 0.99, .samples_us = {}, .baseline_samples_us = {}}),
            GainClass::not_shown);
  EXPECT_EQ(classify_gain({.low = 0.90, .high = 0.971, .samples_us = {}, .baseline_samples_us = {}}),
            GainClass::not_shown);
  EXPECT_EQ(classify_gain({.low = 0.90, .high = 0.969, .samples_us = {}, .baseline_samples_us = {}}), GainClass::less);
  EXPECT_EQ(classify_gain({.low = 1.0, .high = 1.2, .samples_us = {}, .baseline_samples_us = {}}),
            GainClass::not_shown);
  EXPECT_EQ(classify_gain({.low = 1.001, .high = 1.2, .samples_us = {}, .baseline_samples_us = {}}), GainClass::more);
}

TEST(Gain, ReportsEqualFiguresAsSame) {
  Machine machine(4);
  const auto rounds = machine.rounds(8, 100, 103);
  EXPECT_EQ(compute_gains(rounds)[0].low, compute_gains(rounds)[0].low);
}

TEST(Gain, OmitsAreaMissingInOneProcess) {
  Machine machine(5);
  auto rounds = machine.rounds(8, 100, 100);
  rounds[3].baseline.erase(rounds[3].baseline.begin());
  const auto gains = compute_gains(rounds);
  ASSERT_EQ(gains.size(), 1U);
  EXPECT_EQ(gains[0].area, "FFT");
}

TEST(Gain, ReturnsNothingWithoutRounds) {
  EXPECT_THAT(compute_gains({}), IsEmpty());
}

Measurements of(std::vector<AreaTiming> timings) {
  Measurements measurements;
  measurements.libtorch = LibtorchRun{.path = "/torch/lib", .loaded = true, .executed = true, .timings = {}};
  measurements.libtorch->timings = std::move(timings);
  return measurements;
}

TEST(Gain, TakesTurnsAndAlternatesWhoBegins) {
  std::string order;
  const auto side = [&](char letter) {
    return [&order, letter]() -> Result<Measurements> {
      order += letter;
      return of({{"sort", "cpu", {100}}});
    };
  };
  const auto gains = measure_gains({.build = side('B'), .baseline = side('G'), .least_rounds = 4, .most_rounds = 4});
  ASSERT_TRUE(gains.ok());
  EXPECT_EQ(order, "BGGBBGGB");
}

TEST(Gain, NamesFailedLibtorch) {
  const auto right = []() -> Result<Measurements> { return of({{"sort", "cpu", {100}}}); };
  const auto wrong = []() -> Result<Measurements> {
    Measurements measurements = of({});
    measurements.libtorch->executed = false;
    measurements.libtorch->problem = "it computes wrong";
    return measurements;
  };
  const auto gains = measure_gains({.build = right, .baseline = wrong});
  ASSERT_FALSE(gains.ok());
  EXPECT_EQ(gains.error().code, ErrorCode::failed_child);
  EXPECT_THAT(gains.error().message, HasSubstr("the baseline: it computes wrong"));
  const auto other = measure_gains({.build = wrong, .baseline = right});
  EXPECT_THAT(other.error().message, HasSubstr("the build: it computes wrong"));
}

TEST(Gain, NamesRemedyIfTimeIsTooShort) {
  const auto slow = []() -> Result<Measurements> { return of({{"sort", "cpu", {100}}}); };
  const auto gains = measure_gains({.build = slow, .baseline = slow, .budget_seconds = 0});
  ASSERT_FALSE(gains.ok());
  EXPECT_EQ(gains.error().code, ErrorCode::limit);
  EXPECT_THAT(gains.error().message, HasSubstr("--budget"));
}

}  // namespace
}  // namespace pbprobe::test
