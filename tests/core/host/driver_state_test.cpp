// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/driver_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace pbprobe::host {
namespace {

// No driver, an old one, no GPU and a bad GPU: four states, four different sentences, each with something to do.
TEST(DriverState, DescribesEachFaultDifferently) {
  DriverSight none;
  none.load_error = "libcuda.so.1: cannot open shared object file";
  DriverSight old;
  old.cuda_version = 12080;
  Gpu gpu;
  gpu.name = "NVIDIA GB10";
  gpu.capability = "12.1";
  gpu.target = "sm121";
  DriverSight empty;
  empty.cuda_version = 13000;
  empty.init = kCudaErrorNoDevice;
  DriverSight bad;
  bad.cuda_version = 13000;
  bad.init = kCudaErrorUnknown;
  bad.init_error = "cuInit: CUDA_ERROR_UNKNOWN (999)";

  const Driver drivers[] = {judge_driver(none, {}), judge_driver(old, {gpu}), judge_driver(empty, {}),
                            judge_driver(bad, {})};
  std::set<DriverState> states;
  std::set<std::string> sentences;
  for (const auto& driver : drivers) {
    states.insert(driver.state);
    sentences.insert(driver.sentence);
    EXPECT_THAT(driver.sentence, testing::ContainsRegex("install|--gpus all|reboot")) << driver.sentence;
    EXPECT_THAT(driver.sentence, testing::EndsWith("."));
  }
  EXPECT_EQ(states,
            (std::set{DriverState::no_driver, DriverState::too_old, DriverState::no_gpu, DriverState::gpu_bad}));
  EXPECT_EQ(sentences.size(), 4U);
}

}  // namespace
}  // namespace pbprobe::host
