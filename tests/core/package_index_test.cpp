// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/package_index.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

TEST(PackageIndex, FindsIndexOfLocalVersion) {
  EXPECT_EQ(find_pytorch_index("torch", "2.7.1+cu126"), "https://download.pytorch.org/whl/cu126");
  EXPECT_EQ(find_pytorch_index("TorchVision", "0.22.1+cpu"), "https://download.pytorch.org/whl/cpu");
  EXPECT_EQ(find_pytorch_index("torch", "2.12.0.dev20260401+cu130"), "https://download.pytorch.org/whl/nightly/cu130");
  EXPECT_EQ(find_pytorch_index("torch", "2.10.0+rocm7.1"), "https://download.pytorch.org/whl/rocm7.1");
}

TEST(PackageIndex, KnowsNoIndexOfOtherVersions) {
  EXPECT_EQ(find_pytorch_index("torch", "2.7.1"), std::nullopt);
  EXPECT_EQ(find_pytorch_index("torch", "2.7.0a0+nv25.3"), std::nullopt);
  EXPECT_EQ(find_pytorch_index("torch", "2.7.0a0+git1a2b"), std::nullopt);
  EXPECT_EQ(find_pytorch_index("flashinfer-jit-cache", "0.5.0+cu130"), std::nullopt);
}

TEST(PackageIndex, WritesReinstallWithVersionAndIndex) {
  EXPECT_EQ(make_torch_reinstall("2.7.1"),
            "pip install --force-reinstall torch==2.7.1 --index-url https://pypi.org/simple");
  EXPECT_EQ(make_torch_reinstall("2.7.1+cu128"),
            "pip install --force-reinstall torch==2.7.1+cu128 --index-url https://download.pytorch.org/whl/cu128");
  EXPECT_EQ(make_torch_reinstall("2.7.0a0+git1a2b"), std::nullopt);
}

TEST(PackageIndex, PinsInstalledTorch) {
  EXPECT_EQ(make_torch_pin("2.7.1"), "torch==2.7.1 --index-url https://pypi.org/simple");
  EXPECT_EQ(make_torch_pin("2.7.1+cu128"), "torch==2.7.1 --extra-index-url https://download.pytorch.org/whl/cu128");
  EXPECT_EQ(make_torch_pin("2.7.0a0+git1a2b"), "torch==2.7.0a0");
}

}  // namespace
}  // namespace pbprobe
