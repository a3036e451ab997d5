// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/roofline.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

BenchRow make_row(std::string target, int64_t size, double gflops, double peak) {
  const double us = 2e-3 * static_cast<double>(size * size * size) / gflops;
  return {.kernel = "k",
          .target = std::move(target),
          .dtype = "fp32",
          .m = size,
          .n = size,
          .k = size,
          .layout = "nt",
          .out = "fp32",
          .instruction = "fma",
          .threads = 2,
          .gflops = gflops,
          .peak_gflops = peak,
          .best = true,
          .samples_us = {0.9 * us, us, 1.1 * us}};
}

// One row of C beside a loop that reads B, 4096 × 4096 × 4 bytes, in 1 ms.
BenchRow thin_row(double gflops) {
  BenchRow row = make_row("avx2", 4096, gflops, 100);
  row.m = 1;
  row.peers["reading"] = {.gflops = 33.5, .ratio = 1, .samples_us = {1000, 1000, 1000}};
  return row;
}

TEST(Roofline, TakesLowerOfInstructionAndMemory) {
  const auto roofs = compute_roofs({.rows = {make_row("avx2", 1024, 80, 100), thin_row(25)}}, nullptr);
  ASSERT_EQ(roofs.size(), 1U);
  const Roof& roof = roofs[0];
  EXPECT_EQ(roof.device, "CPU, 2 threads");
  EXPECT_NEAR(roof.gb_per_s.value_or(0), 67.1, 0.1);
  ASSERT_EQ(roof.ceilings.size(), 1U);
  EXPECT_EQ(roof.ceilings[0].name, "fma fp32");
  ASSERT_EQ(roof.points.size(), 2U);
  EXPECT_EQ(roof.points[0].roof, 100);
  EXPECT_FALSE(roof.points[0].by_memory);
  EXPECT_NEAR(roof.points[0].intensity, 1024.0 / 6, 1e-9) << "2n³ operations for 12n² bytes";
  EXPECT_NEAR(roof.points[0].low, 80 / 1.08, 1e-9) << "nine tenths of the way through sorted samples";
  EXPECT_NEAR(roof.points[0].high, 80 / 0.92, 1e-9);
  EXPECT_TRUE(roof.points[1].by_memory);
  EXPECT_NEAR(roof.points[1].roof.value_or(0), 33.5, 0.1);
}

TEST(Roofline, MarksPointsAboveTheirRoof) {
  EXPECT_FALSE(compute_roofs({.rows = {make_row("avx2", 1024, 100, 100)}}, nullptr)[0].points[0].above);
  EXPECT_FALSE(compute_roofs({.rows = {make_row("avx2", 1024, 102, 100)}}, nullptr)[0].points[0].above)
      << "as runs differ";
  EXPECT_TRUE(compute_roofs({.rows = {make_row("avx2", 1024, 110, 100)}}, nullptr)[0].points[0].above);
  EXPECT_TRUE(compute_roofs({.rows = {make_row("avx2", 1024, 80, 100), thin_row(40)}}, nullptr)[0].points[1].above);
}

TEST(Roofline, SkipsDisturbedFigures) {
  BenchRow row = make_row("sm90", 1024, 110, 100);
  row.threads = 0;
  row.disturbed = "python";
  const auto roofs = compute_roofs({.rows = {row}}, nullptr);
  EXPECT_FALSE(roofs[0].points[0].above);
  EXPECT_TRUE(roofs[0].points[0].disturbed);
}

TEST(Roofline, BuildsOneRoofPerGpu) {
  Host host;
  host.gpus = {{.index = 0, .name = "A", .capability = "9.0", .target = "sm90"},
               {.index = 1, .name = "B", .capability = "12.0", .target = "sm120"}};
  BenchRow first = make_row("sm90", 4096, 80, 100);
  BenchRow second = make_row("sm120", 4096, 20, 30);
  first.threads = second.threads = 0;
  Measurements measured{.rows = {first, second}};
  measured.libtorch = LibtorchRun{.path = "/t"};
  measured.libtorch->figures = {{.device = "cuda:1",
                                 .dtype = "fp32",
                                 .m = 64,
                                 .n = 64,
                                 .k = 64,
                                 .layout = "nt",
                                 .threads = 0,
                                 .gflops = 33,
                                 .samples_us = {1}}};
  measured.probes = {{.device = "cuda:1", .target = "sm120", .name = "copy", .unit = "GB/s", .value = 1000},
                     {.device = "cuda:1", .target = "sm120", .name = "fma fp32", .unit = "Gop/s", .value = 31}};
  const auto roofs = compute_roofs(measured, &host);
  ASSERT_EQ(roofs.size(), 2U);
  EXPECT_EQ(roofs[0].device, "GPU 0 A");
  EXPECT_EQ(roofs[0].gb_per_s, std::nullopt);
  EXPECT_EQ(roofs[1].device, "GPU 1 B");
  EXPECT_EQ(roofs[1].gb_per_s, 1000);
  EXPECT_EQ(roofs[1].ceilings[0].gflops, 31) << "the higher of the kernel's loop and of the probe";
  ASSERT_EQ(roofs[1].points.size(), 2U);
  EXPECT_TRUE(roofs[1].points[1].above) << "libtorch's 33 of 31";
}

TEST(Roofline, AddsOtherLibtorchOperations) {
  BenchRow row = make_row("sm90", 4096, 80, 100);
  row.threads = 0;
  Measurements measured{.rows = {row}};
  measured.libtorch = LibtorchRun{.path = "/t"};
  const auto speed = [](std::string name, std::string unit, double value, std::optional<double> intensity) {
    return ProbeFigure{.device = "cuda:0",
                       .target = "libtorch",
                       .name = std::move(name),
                       .unit = std::move(unit),
                       .value = value,
                       .samples = {0.9 * value, value, 1.1 * value},
                       .intensity = intensity};
  };
  measured.libtorch->speeds = {speed("attention fp32", "Gop/s", 90, 1024),
                               speed("elementwise fp32", "GB/s", 400, 0.125),
                               speed("convolution fp32", "Gop/s", 120, 300), speed("cuDNN", "Gop/s", 50, {})};
  measured.probes = {{.device = "cuda:0", .target = "sm90", .name = "copy", .unit = "GB/s", .value = 500}};
  const auto roofs = compute_roofs(measured, nullptr);
  ASSERT_EQ(roofs.size(), 1U);
  const auto& points = roofs[0].points;
  ASSERT_EQ(points.size(), 4U) << "what does not state what it moves has no place in the picture";
  EXPECT_EQ(points[1].who, "libtorch attention");
  EXPECT_TRUE(points[1].of_libtorch);
  EXPECT_FALSE(points[1].above);
  EXPECT_NEAR(points[1].low, 90 * 0.92, 1e-9);
  EXPECT_NEAR(points[1].high, 90 * 1.08, 1e-9);
  EXPECT_EQ(points[2].gflops, 50) << "an operation for each 8 bytes";
  EXPECT_EQ(points[2].roof, 62.5);
  EXPECT_TRUE(points[2].by_memory);
  EXPECT_TRUE(points[3].above) << "120 of 100";
}

TEST(Roofline, LeavesRoofNullWithoutCeiling) {
  BenchRow row = make_row("avx2", 64, 80, 100);
  row.peak_gflops.reset();
  const auto roofs = compute_roofs({.rows = {row}}, nullptr);
  EXPECT_EQ(roofs[0].points[0].roof, std::nullopt);
  EXPECT_FALSE(roofs[0].points[0].above);
  EXPECT_TRUE(compute_roofs({}, nullptr).empty());
}

}  // namespace
}  // namespace pbprobe
