// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/statuses.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

// Codes caused by a kernel, and missing code for the device.
TEST(Statuses, ReturnsNulloptForFaults) {
  for (const int code : {1, 200, 209, 218, 223, 400, 700, 701, 710, 714, 715, 716, 717, 718, 719, 720, 721})
    EXPECT_EQ(classify_status(StatusSource::cuda, code), std::nullopt) << code;
  EXPECT_EQ(classify_status(StatusSource::cublas, 13), std::nullopt);
  EXPECT_EQ(classify_status(StatusSource::cudnn, 5000), std::nullopt);
  EXPECT_EQ(classify_status(StatusSource::nccl, 3), std::nullopt);
}

TEST(Statuses, ReturnsWhyACallCouldNotRun) {
  const std::pair<int, Obstacle> cuda[] = {
      {2, Obstacle::out_of_memory},   {46, Obstacle::busy},           {808, Obstacle::busy},
      {214, Obstacle::device_failed}, {220, Obstacle::device_failed}, {226, Obstacle::device_failed},
      {802, Obstacle::device_failed}, {221, Obstacle::missing},       {302, Obstacle::missing},
      {702, Obstacle::time_limit},    {36, Obstacle::driver},         {222, Obstacle::driver},
      {803, Obstacle::driver},        {800, Obstacle::not_permitted}, {100, Obstacle::no_device},
      {801, Obstacle::unsupported},   {999, Obstacle::unexplained},   {4711, Obstacle::unexplained}};
  for (const auto& [code, why] : cuda) EXPECT_EQ(classify_status(StatusSource::cuda, code), why) << code;
  EXPECT_EQ(classify_status(StatusSource::cublas, 3), Obstacle::out_of_memory);
  EXPECT_EQ(classify_status(StatusSource::cudnn, 4004), Obstacle::out_of_memory);
  EXPECT_EQ(classify_status(StatusSource::cudnn, 2), Obstacle::out_of_memory) << "cuDNN 8";
  EXPECT_EQ(classify_status(StatusSource::nccl, 1), Obstacle::unexplained);
}

TEST(Statuses, FindsCauseInExceptionMessages) {
  EXPECT_EQ(
      classify_message("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 139.80 GiB"),
      Obstacle::out_of_memory);
  // Wording of every CUDA error in torch 2.11.0.
  const auto of_torch = [](const std::string& error) {
    return classify_message(
        "CUDA error: " + error +
        "\nSearch for `cudaError…' in https://docs.nvidia.com/cuda/cuda-runtime-api/ for more "
        "information.\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n");
  };
  EXPECT_EQ(of_torch("out of memory"), Obstacle::out_of_memory);
  EXPECT_EQ(of_torch("CUDA-capable device(s) is/are busy or unavailable"), Obstacle::busy);
  EXPECT_EQ(of_torch("uncorrectable ECC error encountered"), Obstacle::device_failed);
  EXPECT_EQ(of_torch("the launch timed out and was terminated"), Obstacle::time_limit);
  EXPECT_EQ(of_torch("device-side assert triggered"), std::nullopt);
  EXPECT_EQ(of_torch("an illegal instruction was encountered"), std::nullopt);
  EXPECT_EQ(classify_message("CUDA error: CUDA-capable device(s) is/are busy or unavailable"), Obstacle::busy);
  EXPECT_EQ(classify_message("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
            Obstacle::out_of_memory);
  EXPECT_EQ(classify_message("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
            Obstacle::out_of_memory);
  EXPECT_EQ(classify_message("what():  std::bad_alloc"), Obstacle::out_of_memory);
  EXPECT_EQ(classify_message("CUDA driver version is insufficient for CUDA runtime version"), Obstacle::driver);
  EXPECT_EQ(classify_message("CUDA error: no kernel image is available for execution on the device"), std::nullopt);
  EXPECT_EQ(classify_message("CUDA error: an illegal memory access was encountered; later: out of memory"),
            std::nullopt);
  EXPECT_EQ(classify_message("mat1 and mat2 shapes cannot be multiplied"), std::nullopt);
  EXPECT_TRUE(is_fault("CUDA error: no kernel image is available for execution on the device"));
  EXPECT_FALSE(is_fault("CUDA out of memory"));
  EXPECT_FALSE(is_fault("mat1 and mat2 shapes cannot be multiplied"));
}

}  // namespace
}  // namespace pbprobe
