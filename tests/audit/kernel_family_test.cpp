// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/device_code/kernel_family.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

TEST(KernelFamily, IsTheLastNameBeforeTemplateArguments) {
  EXPECT_EQ(
      find_kernel_family("_ZN2at6native18radixSortKVInPlaceILi2ELin1ELi16ELi2ElljEEvNS_4cuda6detail10TensorInfoI"),
      "radixSortKVInPlace");
  EXPECT_EQ(
      find_kernel_family("_ZN2at6native43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6319cunn_SoftMaxForwardILi2EdddE"),
      "cunn_SoftMaxForward");
  EXPECT_EQ(
      find_kernel_family("_ZN14at_cuda_detail3cub6detail4scan20DeviceScanInitKernelINS0_13ScanTileStateIdLb1EEEE"),
      "DeviceScanInitKernel");
  EXPECT_EQ(find_kernel_family("_ZNSt6native3addEv"), "add");
  EXPECT_EQ(find_kernel_family("_ZL10add_kernelPf"), "add_kernel");
}

TEST(KernelFamily, EndsBeforeANumber) {
  EXPECT_EQ(
      find_kernel_family("_Z39fmha_cutlassF_f16_aligned_64x64_rf_sm50N22PyTorchMemEffAttention15AttentionKernelI"),
      "fmha_cutlassF_f");
  EXPECT_EQ(find_kernel_family("_ZN2at6native7Kernel2IfEEvv"), "Kernel");
  EXPECT_EQ(find_kernel_family("kernel_12"), "kernel");
}

TEST(KernelFamily, IsTheNameIfNothingElseIsLeft) {
  EXPECT_EQ(find_kernel_family("7"), "7");
  EXPECT_EQ(find_kernel_family("_Z"), "_Z");
  EXPECT_EQ(find_kernel_family("_Z99short"), "_Z");
  EXPECT_EQ(find_kernel_family(""), "");
}

}  // namespace
}  // namespace pbprobe
