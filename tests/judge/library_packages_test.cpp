// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/libraries/library_packages.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

std::optional<std::string> package_for(const std::string& library, std::optional<int64_t> cuda = {}) {
  return find_packages({library}, cuda).front().package;
}

TEST(LibraryPackages, FollowsTheTableOfToolkitReleases) {
  EXPECT_EQ(package_for("libcudart.so.12"), "nvidia-cuda-runtime-cu12");
  EXPECT_EQ(package_for("libcudart.so.13"), "nvidia-cuda-runtime");
  EXPECT_EQ(package_for("libcublasLt.so.12", 13), "nvidia-cublas-cu12");
  EXPECT_EQ(package_for("libcufft.so.11"), "nvidia-cufft-cu12");
  EXPECT_EQ(package_for("libnvJitLink.so.13"), "nvidia-nvjitlink");
}

TEST(LibraryPackages, ChoosesSharedLibraryByCuda) {
  EXPECT_EQ(package_for("libcurand.so.10", 12), "nvidia-curand-cu12");
  EXPECT_EQ(package_for("libcudnn_ops.so.9", 13), "nvidia-cudnn-cu13");
  EXPECT_EQ(package_for("libnccl.so.2"), "nvidia-nccl-cu12 or nvidia-nccl-cu13");
  EXPECT_EQ(find_packages({"libnccl.so.2", "libcudart.so.13"}, 12).front().package, "nvidia-nccl-cu13");
}

TEST(LibraryPackages, ReturnsNoPackageForOtherLibraries) {
  EXPECT_EQ(package_for("libcudart.so.7"), std::nullopt);
  EXPECT_EQ(package_for("libtiff.so.7"), std::nullopt);
  EXPECT_EQ(package_for("libtorch_cpu.so"), "torch");
}

}  // namespace
}  // namespace pbprobe
