// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests the check of the memory of a GEMM's arrays, on a driver that only answers: each array in each wrong memory is
// rejected by name.
#include "kernels/cuda/host/places.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/driver/driver_api.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

struct Place {
  unsigned type = kCuMemoryDevice;
  int managed = 0;
  int device = 1;
};
std::map<CuDevicePtr, Place> places;  // memory that the driver knows; malloc()'s memory is missing
int current = 1;
int asked = 0;
CuResult answer = kCudaSuccess;

CuResult tell(unsigned count, int* attributes, void** values, CuDevicePtr pointer) {
  ++asked;
  if (answer != kCudaSuccess) return answer;
  const auto found = places.find(pointer);
  const Place place = found == places.end() ? Place{0, 0, -2} : found->second;
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == kCuPointerMemoryType) *static_cast<unsigned*>(values[i]) = place.type;
    if (attributes[i] == kCuPointerIsManaged) *static_cast<int*>(values[i]) = place.managed;
    if (attributes[i] == kCuPointerDeviceOrdinal) *static_cast<int*>(values[i]) = place.device;
  }
  return kCudaSuccess;
}

class Places : public testing::Test {
 protected:
  void SetUp() override {
    driver_.cuGetErrorName = [](CuResult, const char** name) { return *name = "CUDA_ERROR_ILLEGAL_ADDRESS", 0; };
    driver_.cuGetErrorString = [](CuResult, const char** text) { return *text = "an illegal address", 0; };
    driver_.cuCtxGetDevice = [](CuDevice* device) { return *device = current, 0; };
    driver_.cuPointerGetAttributes = tell;
    current = 1;
    answer = kCudaSuccess;
    asked = 0;
    places.clear();
    for (CuDevicePtr at = 1; at <= 7; ++at) places[at * 4096] = {};
    plan_.kernel = find_kernel("gemm_bf16_64x128_sm90");
    ASSERT_NE(plan_.kernel, nullptr);
    plan_.problem = make_problem(5, 7, 3, DType::bf16);
    plan_.problem.bias = plan_.problem.scale_a = plan_.problem.scale_b = true;
    plan_.workspace_bytes = 64;
  }
  [[nodiscard]] Result<void> check() const { return check_places(driver_, 1, plan_, operands_, context_); }
  template <class T>
  static T* at(uintptr_t page) {
    return reinterpret_cast<T*>(page * 4096);
  }

  DriverApi driver_;
  Plan plan_;
  Operands operands_{.a = at<const void>(1),
                     .b = at<const void>(2),
                     .c = at<void>(3),
                     .bias = at<const float>(4),
                     .scale_a = at<const float>(5),
                     .scale_b = at<const float>(6)};
  Context context_{.workspace = at<void>(7)};
};

constexpr const char* kNames[] = {"A", "B", "C", "bias", "scale_a", "scale_b", "the workspace"};

TEST_F(Places, AcceptsMemoryOfThisGpu) {
  const auto result = check();
  EXPECT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(asked, 7);
}

TEST_F(Places, RejectsHostMemoryByName) {
  for (CuDevicePtr page = 1; page <= 7; ++page) {
    for (const bool known : {false, true}) {
      SetUp();
      places.erase(page * 4096);
      if (known) places[page * 4096] = {kCuMemoryHost, 0, 1};  // page-locked
      const auto result = check();
      ASSERT_FALSE(result.ok()) << kNames[page - 1];
      EXPECT_EQ(result.error().code, ErrorCode::usage);
      EXPECT_THAT(result.error().message,
                  HasSubstr(fmt::format("{} at {:#x} is in host memory", kNames[page - 1], page * 4096)));
      EXPECT_THAT(result.error().message, HasSubstr("computes on GPU 1: copy it"));
    }
  }
}

TEST_F(Places, RejectsMemoryOfAnotherGpu) {
  for (CuDevicePtr page = 1; page <= 7; ++page) {
    SetUp();
    places[page * 4096].device = 0;
    const auto result = check();
    ASSERT_FALSE(result.ok()) << kNames[page - 1];
    EXPECT_EQ(result.error().code, ErrorCode::usage);
    EXPECT_THAT(result.error().message,
                HasSubstr(fmt::format("{} at {:#x} is in memory of GPU 0", kNames[page - 1], page * 4096)));
  }
}

TEST_F(Places, AcceptsManagedMemory) {
  for (auto& [at, place] : places) place = {kCuMemoryHost, 1, -1};
  EXPECT_TRUE(check().ok());
}

TEST_F(Places, RejectsContextOfAnotherGpu) {
  current = 0;
  const auto result = check();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::usage);
  EXPECT_THAT(result.error().message, HasSubstr("the current context is GPU 0's"));
}

// The driver is not asked about memory that is not read: it may be anything.
TEST_F(Places, IgnoresOperandsThatAreNotRead) {
  plan_.problem = make_problem(5, 7, 0, DType::bf16);
  plan_.workspace_bytes = 0;
  places.clear();
  places[3 * 4096] = {};
  const auto result = check();
  EXPECT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(asked, 1);
}

TEST_F(Places, AreNotAskedOfABrokenContext) {
  answer = kCudaErrorIllegalAddress;
  const auto result = check();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::device);
  EXPECT_THAT(result.error().message, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
  EXPECT_THAT(result.error().message, HasSubstr("start the process again"));
}

}  // namespace
}  // namespace pbprobe
