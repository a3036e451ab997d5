// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/throughput.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pbprobe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kSms = 132;

// Readings of NVML for an H100 under load, with the highest clocks and power cap of this card.
GpuReading h100() {
  return {
      .sm_mhz = 1755, .max_sm_mhz = 1980, .memory_mhz = 2619, .watts = 540, .limit_watts = 700, .throttle_reasons = 0};
}

const Peak kWgmma{.target = "sm90", .name = "peak_bf16_wgmma_sm90", .dtype = DType::bf16, .instruction = "wgmma"};
const Peak kMma{.target = "sm90", .name = "peak_bf16_sm90", .dtype = DType::bf16, .instruction = "mma.sync"};

Throughput judged(const Peak& peak, double per_clock, double ghz, const GpuReading& reading) {
  return judge_throughput(*find_target(peak.target), peak, per_clock * ghz * 1e9 * kSms, ghz, kSms, reading);
}

TEST(ThroughputTest, PassesAtRateOfTargetRow) {
  const auto seen = judged(kWgmma, 4096, 1.755, h100());
  EXPECT_FALSE(seen.slow) << seen.what;
  EXPECT_THAT(seen.what, HasSubstr("100 % of the 4096 of sm90"));
  EXPECT_THAT(seen.what, HasSubstr("power 540 of 700 W, throttle reasons: none"));
  EXPECT_FALSE(judged(kWgmma, 0.86 * 4096, 1.755, h100()).slow);
}

TEST(ThroughputTest, FailsBelowRateAtOwnClock) {
  const auto seen = judged(kWgmma, 0.84 * 4096, 1.755, h100());
  EXPECT_TRUE(seen.slow);
  EXPECT_THAT(seen.what, HasSubstr("84 % of the 4096 of sm90"));
  // The rate of its own instruction: mma.sync has a lower one there.
  EXPECT_FALSE(judged(kMma, 2715, 1.755, h100()).slow);
  EXPECT_TRUE(judged(kWgmma, 2715, 1.755, h100()).slow);
}

TEST(ThroughputTest, FailsAtThirdOfClock) {
  GpuReading reading = h100();
  reading.sm_mhz = 660;
  reading.throttle_reasons = 0x08;
  const auto seen = judged(kWgmma, 4096, 0.66, reading);
  EXPECT_TRUE(seen.slow);
  EXPECT_THAT(seen.what, HasSubstr("it runs at 33 % of its highest clock: its clocks are held down"));
  EXPECT_THAT(seen.what, HasSubstr("SM clock 660 of 1980 MHz"));
  EXPECT_THAT(seen.what, HasSubstr("hardware slowdown"));
}

TEST(ThroughputTest, NamesPowerCap) {
  GpuReading reading = h100();
  reading.sm_mhz = 1380;
  reading.watts = 349;
  reading.limit_watts = 350;
  reading.throttle_reasons = 0x04;
  const auto capped = judged(kWgmma, 4096, 1.38, reading);
  EXPECT_FALSE(capped.slow) << "its owner set that cap";
  EXPECT_THAT(capped.what, HasSubstr("it runs at 70 % of its highest clock: it is power-capped"));
  EXPECT_THAT(capped.what, HasSubstr("power 349 of 350 W, throttle reasons: power cap"));
  const auto at_a_third = judged(kWgmma, 4096, 0.66, reading);
  EXPECT_TRUE(at_a_third.slow);
  EXPECT_THAT(at_a_third.what, HasSubstr("it is power-capped"));
  EXPECT_THAT(judged(kWgmma, 4096, 1.755, h100()).what, Not(HasSubstr("power-capped")));
}

TEST(ThroughputTest, SecondHandRatesRefuteNothing) {
  const Peak gb10{.target = "sm121", .name = "peak_bf16_sm121", .dtype = DType::bf16, .instruction = "mma.sync"};
  EXPECT_FALSE(judged(gb10, 100, 2.4, {}).slow);
  const Peak fp32{.target = "sm121", .name = "peak_fp32_sm121", .dtype = DType::fp32, .instruction = "FFMA"};
  EXPECT_TRUE(judged(fp32, 100, 2.4, {}).slow);
}

TEST(ThroughputTest, MemoryIsHeldAgainstItsBus) {
  const auto seen = judge_bandwidth(3050, 5120, 2619, h100());
  EXPECT_FALSE(seen.slow);
  EXPECT_THAT(seen.what, HasSubstr("91 % of 3352 GB/s: 5120 bits at 2619 MHz"));
  EXPECT_FALSE(judge_bandwidth(2520, 5120, 2619, h100()).slow);
  EXPECT_TRUE(judge_bandwidth(2510, 5120, 2619, h100()).slow);
}

// A GB10's NVML has neither memory nor power, and its driver no memory clock.
TEST(ThroughputTest, UnifiedMemoryWithoutNvmlIsUnknown) {
  NvmlApi nvml;
  nvml.nvmlDeviceGetClockInfo = [](NvmlDevice, int clock, unsigned* mhz) -> NvmlReturn {
    *mhz = 2418;
    return clock == kNvmlClockSm ? kNvmlSuccess : kNvmlNotSupported;
  };
  nvml.nvmlDeviceGetPowerUsage = [](NvmlDevice, unsigned*) -> NvmlReturn { return kNvmlNotSupported; };
  nvml.nvmlDeviceGetCurrentClocksThrottleReasons = [](NvmlDevice, unsigned long long* bits) -> NvmlReturn {
    *bits = 0x4;
    return kNvmlSuccess;
  };
  const GpuReading reading = read_gpu(nvml, nullptr);
  EXPECT_EQ(describe(reading),
            "SM clock 2418 of not reported MHz, memory clock not reported MHz, power not reported of not reported W, "
            "throttle reasons: power cap");
  const auto seen = judge_bandwidth(200, 256, std::nullopt, reading);
  EXPECT_FALSE(seen.slow);
  EXPECT_THAT(seen.what, HasSubstr("no memory clock to hold it against"));
}

constexpr int64_t kGibibyte = int64_t{1} << 30;

TEST(RoomTest, LargeCasesLookBeforeTheyAllocate) {
  EXPECT_EQ(room_lacking(24 * kGibibyte, 70 * kGibibyte, false, std::nullopt), "");
  EXPECT_EQ(room_lacking(24 * kGibibyte, 10 * kGibibyte, false, std::nullopt),
            "it takes 24.0 GiB, and 10.0 GiB of this GPU's memory are free");
}

TEST(RoomTest, UnifiedMemoryIsTheMachines) {
  EXPECT_EQ(room_lacking(24 * kGibibyte, 119 * kGibibyte, true, 100 * kGibibyte), "");
  EXPECT_EQ(room_lacking(24 * kGibibyte, 119 * kGibibyte, true, 25 * kGibibyte),
            "it takes 24.0 GiB of unified memory, and of the machine's 25.0 GiB are available");
  EXPECT_NE(room_lacking(24 * kGibibyte, 119 * kGibibyte, true, std::nullopt), "");
}

}  // namespace
}  // namespace pbprobe::test
