// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/gpu_monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace pbprobe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

GpuUse use(std::string device, std::string when, std::vector<GpuProcess> processes, int64_t percent = 0) {
  return {.device = std::move(device),
          .when = std::move(when),
          .utilization_percent = percent,
          .processes = std::move(processes)};
}

Measurements measured() {
  Measurements measurements;
  measurements.rows = {{.kernel = "on a GPU", .threads = 0}, {.kernel = "on the CPU", .threads = 2}};
  measurements.probes = {{.device = "cuda:0", .name = "copy"}, {.device = "cuda:1", .name = "copy"}};
  measurements.libtorch = LibtorchRun{.path = "/t"};
  measurements.libtorch->figures = {{.device = "cuda:0"}, {.device = "cpu", .threads = 1}};
  measurements.libtorch->timings = {{.area = "softmax", .device = "cuda:0"}};
  measurements.libtorch->speeds = {{.device = "cuda:0,1", .name = "NCCL all-reduce"}};
  return measurements;
}

TEST(GpuMonitor, MarksFiguresWithOtherUsers) {
  for (const char* when : {"before", "after"}) {
    Measurements m = measured();
    mark_disturbed(m, {use("cuda:0", when, {{.pid = 4711, .name = "python"}}), use("cuda:1", when, {})});
    for (const auto& disturbed : {m.rows[0].disturbed, m.probes[0].disturbed, m.libtorch->figures[0].disturbed,
                                  m.libtorch->timings[0].disturbed, m.libtorch->speeds[0].disturbed})
      EXPECT_EQ(disturbed.value_or("nobody"), "python (process 4711) on cuda:0");
    EXPECT_EQ(m.probes[1].disturbed, std::nullopt) << "another GPU";
    EXPECT_EQ(m.rows[1].disturbed, std::nullopt) << "the CPU";
    EXPECT_EQ(m.libtorch->figures[1].disturbed, std::nullopt) << "the CPU";
    ASSERT_TRUE(m.gpu_use);
    EXPECT_EQ(m.gpu_use->size(), 2U);
  }
}

TEST(GpuMonitor, CountsWorkOfHiddenProcesses) {
  EXPECT_THAT(describe_other_users({use("cuda:0", "before", {}, 97)}, "cuda:0").value_or(""),
              HasSubstr("97 % utilization of cuda:0"));
  EXPECT_EQ(describe_other_users({use("cuda:0", "after", {}, 97)}, "cuda:0"), std::nullopt) << "that was our own";
  EXPECT_EQ(describe_other_users({use("cuda:0", "before", {}, 3)}, "cuda:0"), std::nullopt) << "a display";
}

TEST(GpuMonitor, ReportsNoOtherUser) {
  const std::vector<GpuUse> uses{
      use("cuda:0", "before", {{.pid = getpid(), .name = "python"}, {.pid = 7, .name = "nvidia-cuda-mps-server"}})};
  EXPECT_EQ(describe_other_users(uses, "cuda:0"), std::nullopt);
  Measurements m = measured();
  mark_disturbed(m, uses);
  EXPECT_EQ(m.rows[0].disturbed, std::nullopt);
}

TEST(GpuMonitor, ComparesWholeDeviceNumbers) {
  const std::vector<GpuUse> uses{use("cuda:1", "before", {{.pid = 9, .name = "a"}})};
  EXPECT_EQ(describe_other_users(uses, "cuda:12"), std::nullopt);
  EXPECT_NE(describe_other_users(uses, "cuda:0,1"), std::nullopt);
}

}  // namespace
}  // namespace pbprobe
