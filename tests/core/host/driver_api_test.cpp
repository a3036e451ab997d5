// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/driver/driver_api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "paths.hpp"
#include "tests/core/host/fake_root.hpp"

namespace pbprobe {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(DriverApi, LoadsByPathAndResolvesLinks) {
  // A copy: the loader remembers a library by the first path that it was loaded from.
  const host::FakeRoot root;
  const std::filesystem::path file = root.path() + "/libcuda.so.580.159.04";
  const std::filesystem::path link = root.path() + "/libcuda.so.1";
  std::filesystem::copy_file(FAKE_CUDA, file);
  std::filesystem::create_symlink(file, link);
  const auto api = load_driver_api(link.string());
  ASSERT_TRUE(api.ok()) << api.error().message;
  EXPECT_EQ(api->library, std::filesystem::canonical(file).string());
  EXPECT_NE(api->cuInit, nullptr);
}

TEST(DriverApi, LoadsOldDriverAndListsMissingFunctions) {
  const auto api = load_driver_api(FAKE_CUDA);
  ASSERT_TRUE(api.ok());
  EXPECT_EQ(api->cuLibraryLoadData, nullptr);
  EXPECT_NE(api->cuDevicePrimaryCtxRetain, nullptr);
  EXPECT_THAT(api->missing, Contains("cuLibraryLoadData"));
  EXPECT_THAT(api->missing, Not(Contains("cuDevicePrimaryCtxRetain")));
  const auto launch = require_launch(*api);
  ASSERT_FALSE(launch.ok());
  EXPECT_EQ(launch.error().code, ErrorCode::unsupported);
  EXPECT_THAT(launch.error().message, AllOf(HasSubstr("fake_cuda.so"), HasSubstr("cuLaunchKernelEx"),
                                            HasSubstr("install driver 525 or newer")));
  auto complete = *api;
  complete.missing.clear();
  EXPECT_TRUE(require_launch(complete).ok());
}

TEST(DriverApi, ReportsMissingLibraryAsNotFound) {
  const auto api = load_driver_api("/nonexistent/libcuda.so.1");
  ASSERT_FALSE(api.ok());
  EXPECT_EQ(api.error().code, ErrorCode::not_found);
  EXPECT_THAT(api.error().message, HasSubstr("/nonexistent/libcuda.so.1"));
}

TEST(DriverApi, RejectsOtherLibraries) {
  const auto api = load_driver_api(FAKE_NVML);
  ASSERT_FALSE(api.ok());
  EXPECT_EQ(api.error().code, ErrorCode::unsupported);
  EXPECT_THAT(api.error().message, AllOf(HasSubstr("lacks cuInit, "), HasSubstr("cuDeviceGetCount")));
  const auto nvml = load_nvml_api(FAKE_CUDA);
  ASSERT_FALSE(nvml.ok());
  EXPECT_THAT(nvml.error().message, HasSubstr("lacks nvmlInit_v2, nvmlShutdown"));
}

TEST(DriverApi, LoadsDriverOnce) {
  const auto& first = driver_api();
  EXPECT_EQ(&first, &driver_api());
  if (!first) {
    EXPECT_THAT(first.error().message, AllOf(HasSubstr("libcuda.so.1"), HasSubstr("/run/opengl-driver/lib")));
  }
}

Result<int> call_that_fails(const DriverApi& api) {
  CuDevice device = 0;
  PBPROBE_CU(api, "opening GPU 7", cuDeviceGet(&device, 7));
  return device;
}

TEST(DriverApi, ReturnsDriverErrorsWithNameAndCode) {
  const auto api = load_driver_api(FAKE_CUDA);
  ASSERT_TRUE(api.ok());
  const auto failed = call_that_fails(*api);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::device);
  EXPECT_EQ(failed.error().message, "opening GPU 7: CUDA_ERROR_INVALID_DEVICE (101), invalid device ordinal");
  EXPECT_EQ(driver_error(*api, 4711, "cuMemAlloc").message, "cuMemAlloc: CUDA error 4711 (4711)");
}

}  // namespace
}  // namespace pbprobe
