// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One real torch against itself behind libraries that forward to it: one as it is, one whose softmax waits.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paths.hpp"
#include "probes/process/statistics.hpp"
#include "tests/measure/child.hpp"

namespace pbprobe::test {
namespace {

class LibtorchGain : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("PBPROBE_TEST_TORCH") == nullptr)
      GTEST_SKIP() << "set PBPROBE_TEST_TORCH to a site-packages folder";
  }

  static Result<Measurements> run(const std::filesystem::path& folder) {
    MeasureRequest request{.host = small_host(), .libtorch_dir = folder, .timings = true};
    return measure_in_child(request, {.program = self()});
  }

  static std::vector<AreaGain> gains(const std::filesystem::path& build, const std::filesystem::path& baseline,
                                     int64_t rounds) {
    auto gains = measure_gains({.build = [=] { return run(build); },
                                .baseline = [=] { return run(baseline); },
                                .least_rounds = rounds,
                                .most_rounds = rounds,
                                .budget_seconds = 600});
    EXPECT_TRUE(gains.ok()) << (gains.ok() ? "" : gains.error().message);
    return gains.ok() ? std::move(*gains) : std::vector<AreaGain>();
  }
};

TEST_F(LibtorchGain, TimesEachAreaAndStart) {
  const auto measurements = run(std::string(PBPROBE_FAKES) + "/same_area");
  ASSERT_TRUE(measurements.ok()) << measurements.error().message;
  ASSERT_TRUE(measurements->libtorch);
  std::vector<std::string> areas;
  for (const AreaTiming& timing : measurements->libtorch->timings) {
    areas.push_back(timing.area);
    for (const double us : timing.samples_us) EXPECT_GT(us, 0) << timing.area;
  }
  EXPECT_THAT(areas, testing::ElementsAre("start", "elementwise", "reduction", "softmax", "sort", "matmul in FP32",
                                          "matmul in BF16", "matmul in INT8", "convolution", "recurrent cell", "FFT",
                                          "linear algebra in FP32"));
}

// Two rounds, each side first once: the slowdown is so large that it decides every round.
TEST_F(LibtorchGain, ReportsDeliberateSlowdown) {
  auto areas = gains(std::string(PBPROBE_FAKES) + "/slow_area", std::string(PBPROBE_FAKES) + "/same_area", 2);
  const auto softmax =
      std::find_if(areas.begin(), areas.end(), [](const AreaGain& gain) { return gain.area == "softmax"; });
  ASSERT_NE(softmax, areas.end());
  EXPECT_EQ(classify_gain(*softmax), GainClass::less) << softmax->low << " to " << softmax->high;
  EXPECT_LT(softmax->gain, 0.5);
}

}  // namespace
}  // namespace pbprobe::test
