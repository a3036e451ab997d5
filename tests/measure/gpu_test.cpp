// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// On this machine's first usable GPU. Without one they are skipped; PBPROBE_REQUIRE_HARDWARE=1 makes that a failure.
#include "probes/measure/gpu_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/host.hpp"
#include "kernels/gemm/table.hpp"
#include "probes/measure/libtorch_probe.hpp"
#include "tests/measure/child.hpp"

namespace pbprobe {
namespace {

using testing::IsEmpty;

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    auto host = detect_host(system_sources());
    ASSERT_TRUE(host.ok()) << host.error().message;
    request_.host = *host;
    index_ = first_usable_gpu(*host);
    if (index_ >= 0) return;
    const char* const required = std::getenv("PBPROBE_REQUIRE_HARDWARE");
    if (required != nullptr && std::string_view(required) == "1")
      FAIL() << host->driver.sentence << " (PBPROBE_REQUIRE_HARDWARE=1)";
    GTEST_SKIP() << host->driver.sentence;
  }
  [[nodiscard]] const Gpu& gpu() const {
    return *std::find_if(request_.host.gpus.begin(), request_.host.gpus.end(),
                         [this](const Gpu& each) { return each.index == index_; });
  }
  Measurements measure() {
    auto result = measure_in_child(request_, {.program = self()});
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(*result) : Measurements{};
  }
  MeasureRequest request_;
  int32_t index_ = -1;
};

TEST_F(OnGpu, MemoryTravelsThereAndBack) {
  auto device = GpuDevice::open(index_);
  ASSERT_TRUE(device.ok()) << device.error().message;
  std::vector<unsigned char> there(5 << 20);
  for (size_t i = 0; i < there.size(); ++i) there[i] = static_cast<unsigned char>(i * 7 + i / 256);
  auto buffer = device->allocate(there.size() + 3);
  ASSERT_TRUE(buffer.ok()) << buffer.error().message;
  ASSERT_TRUE(device->upload(*buffer, 3, there.data(), there.size()).ok());
  std::vector<unsigned char> back(there.size());
  ASSERT_TRUE(device->download(back.data(), *buffer, 3, back.size()).ok());
  EXPECT_EQ(there, back);
}

TEST_F(OnGpu, TheTimeOfACallDoesNotDependOnHowManyAreQueued) {
  auto device = GpuDevice::open(index_);
  ASSERT_TRUE(device.ok()) << device.error().message;
  auto buffer = device->allocate(256 << 20);
  ASSERT_TRUE(buffer.ok()) << buffer.error().message;
  const auto write = [&] { return device->fill(*buffer, 1); };
  ASSERT_TRUE(device->time_us(write, 1).ok());
  auto one = device->time_us(write, 1);
  auto twenty = device->time_us(write, 20);
  ASSERT_TRUE(one.ok() && twenty.ok());
  EXPECT_GT(*one, 10) << "256 MiB at 25 TB/s";
  EXPECT_NEAR(*one / *twenty, 1, 0.5);
}

TEST_F(OnGpu, MoreMemoryThanThereIsNamesTheDriversError) {
  auto device = GpuDevice::open(index_);
  ASSERT_TRUE(device.ok()) << device.error().message;
  auto buffer = device->allocate(size_t{1} << 50);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code, ErrorCode::device);
  EXPECT_THAT(buffer.error().message, testing::HasSubstr("cuMemAlloc(1125899906842624 bytes)"));
}

TEST_F(OnGpu, EveryKernelIsVerifiedAndTimed) {
  const std::string target = gpu().target.value_or("");
  const TargetBuild* const build = find_build(target);
  if (build == nullptr || !build->built) GTEST_SKIP() << "no kernels for " << gpu().capability << " in this build";
  request_.benches = {{.target = target, .shapes = {{1024, 1024, 1024}, {130, 70, 33}}}};
  request_.budget_seconds = 20;
  const Measurements m = measure();
  EXPECT_THAT(m.problems, IsEmpty());
  ASSERT_GE(m.rows.size(), 2U) << testing::PrintToString(m.notes);
  int best = 0;
  for (const BenchRow& row : m.rows) {
    EXPECT_EQ(row.threads, 0);
    EXPECT_GT(row.gflops, 0.1);
    EXPECT_GE(row.samples_us.size(), 3U);
    EXPECT_TRUE(row.peak_fraction.has_value() != row.note.has_value()) << "a fraction or a reason";
    EXPECT_LE(row.peak_fraction.value_or(0), 1.0);
    ASSERT_TRUE(row.clock_ghz);
    EXPECT_GT(*row.clock_ghz, 0.2);
    EXPECT_LT(*row.clock_ghz, 4.0);
    best += row.best ? 1 : 0;
  }
  EXPECT_EQ(best, 2) << "one a shape";
}

TEST_F(OnGpu, LibtorchComputesThere) {
  const char* const root = std::getenv("PBPROBE_TEST_TORCH");
  if (root == nullptr) GTEST_SKIP() << "PBPROBE_TEST_TORCH is not set: name the site-packages folder that holds torch";
  request_.libtorch_dir = std::string(root) + "/torch/lib";
  if (!std::filesystem::exists(*request_.libtorch_dir + "/libtorch_cuda.so")) GTEST_SKIP() << "a build for CPUs only";
  for (const DType dtype : {DType::fp32, DType::bf16})
    request_.benches.push_back({.dtype = dtype, .shapes = {{1024, 1024, 1024}}, .against = {"libtorch"}});
  request_.budget_seconds = 30;
  request_.limit_seconds = 120;
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_EQ(m.libtorch->problem, std::nullopt);
  EXPECT_EQ(m.libtorch->executed_on_gpu, true);
  const auto& figures = m.libtorch->figures;
  const auto there = std::count_if(figures.begin(), figures.end(), [](const auto& f) { return f.device != "cpu"; });
  EXPECT_GE(there, 2) << testing::PrintToString(m.notes);
}

}  // namespace
}  // namespace pbprobe
