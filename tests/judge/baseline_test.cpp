// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests which differences make the speeds of two builds incomparable.
#include "probes/judge/evidence/baseline.hpp"

#include <gmock/gmock.h>

#include "tests/judge/cases.hpp"

namespace pbprobe::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Inventory comparable() {
  Report report = audit_report();
  File& cpu = file_named(report, "libtorch_cpu.so");
  cpu.needed = {"libgomp.so.1"};
  cpu.links->versions = {{"oneDNN", "3.10.2"}};
  return *report.inventory;
}

File& libtorch_cpu(Inventory& inventory) {
  for (auto& file : inventory.files) {
    if (file.path.ends_with("/libtorch_cpu.so")) return file;
  }
  return inventory.files.front();
}

std::vector<std::string> differences(const Inventory& build, const Inventory& baseline) {
  return compare_builds(build, baseline).differences;
}

TEST(CompareBuilds, AcceptsEqualBuilds) {
  EXPECT_THAT(differences(comparable(), comparable()), IsEmpty());
}

TEST(CompareBuilds, NamesOtherOneDnn) {
  Inventory other = comparable();
  libtorch_cpu(other).links->versions = {{"oneDNN", "3.7.1"}};
  EXPECT_THAT(differences(comparable(), other), ElementsAre("oneDNN 3.10.2 against 3.7.1"));
  libtorch_cpu(other).links->versions.clear();  // linked in, without symbols that show the version
  EXPECT_THAT(differences(comparable(), other), ElementsAre("oneDNN 3.10.2 against unknown"));
  EXPECT_THAT(differences(other, other), ElementsAre("oneDNN unknown against unknown"));
  libtorch_cpu(other).links->contains = {"FBGEMM", "MKL"};
  EXPECT_THAT(differences(comparable(), other), ElementsAre("oneDNN 3.10.2 against none"));
  EXPECT_THAT(differences(other, other), IsEmpty()) << "both are built without";
}

TEST(CompareBuilds, ReadsVersionOfSeparateOneDnn) {
  Inventory shared = comparable();
  libtorch_cpu(shared).links->versions.clear();
  libtorch_cpu(shared).links->contains = {"FBGEMM", "MKL"};
  libtorch_cpu(shared).needed.emplace_back("libdnnl.so.3");
  EXPECT_THAT(differences(shared, comparable()), ElementsAre("oneDNN unknown against 3.10.2"));
  File library;
  library.path = "torch/lib/libdnnl.so.3";
  library.links = Links{.versions = {{"oneDNN", "3.10.2"}}};
  shared.files.push_back(library);
  EXPECT_THAT(differences(shared, comparable()), IsEmpty());
}

TEST(CompareBuilds, NamesEachDifference) {
  Inventory other = comparable();
  other.torch_version = "2.10.0+cu130";
  other.cuda_version = "12.8";
  libtorch_cpu(other).links->contains = {"OpenBLAS", "oneDNN"};
  libtorch_cpu(other).needed = {"libomp.so"};
  EXPECT_THAT(differences(comparable(), other),
              ElementsAre("torch 2.11.0 against 2.10.0", "CUDA 13.0 against 12.8", "BLAS MKL against OpenBLAS",
                          "threads by libgomp against libomp"));
}

TEST(KernelNames, OmitBuildDependentParts) {
  EXPECT_EQ(stable_name("_ZN2at4cuda40_GLOBAL__N__758183f4_8_Sleep_cu_088d913f11spin_kernelEl"),
            "_ZN2at4cuda40_GLOBAL__N__00000000_8_Sleep_cu_0000000011spin_kernelEl");
  EXPECT_EQ(stable_name("_ZN6thrust31THRUST_300001_SM_750_800_900_NS8cuda_cub4core"),
            "_ZN6thrustTHRUST_300001_NS8cuda_cub4core");
  EXPECT_EQ(stable_name("_ZN3cub29CUB_200302_700_750_800_860_NS11EmptyKernelIvEEvv"),
            "_ZN3cubCUB_200302_NS11EmptyKernelIvEEvv");
  EXPECT_EQ(stable_name("_ZN3cub17CUB_300001_SM_9006detail11EmptyKernelIvEEvv"),
            "_ZN3cubCUB_3000016detail11EmptyKernelIvEEvv");
  for (const char* name :
       {"_Z3add", "", "_GLOBAL__N__", "_GLOBAL__N__758183f4_9999_x", "_INTERNAL_1_2", "THRUST_", "9CUB_1_SM_"})
    EXPECT_EQ(stable_name(name), name);
}

TEST(KernelNames, ComparesKernelsOfNearestSm) {
  using Names = std::vector<std::string>;  // {{"a", "b"}} alone would construct one string from two iterators
  Inventory build{.torch_version = "2.11.0+cu130", .cuda_version = "13.0"};
  File& file = build.files.emplace_back();
  file = {.path = "torch/lib/libtorch_cuda.so", .component = "libtorch"};
  auto& census = file.device_code.emplace().census.emplace();
  census["sm_121"] = {.kernels = 2, .cubins = 2, .names = Names{"_Z1a", "_Z1b"}};
  census["sm_121a"] = {.kernels = 1, .cubins = 1, .names = {{"_Z1c"}}};
  Inventory baseline = build;
  auto& theirs = *baseline.files[0].device_code->census;
  theirs = {{"sm_90", {.kernels = 1, .cubins = 4, .names = {{"_Z1x"}}}},
            {"sm_120", {.kernels = 4, .cubins = 4, .names = Names{"_Z1a", "_Z1b", "_Z1c", "_Z1d"}}},
            {"sm_121a", {.kernels = 1, .cubins = 1, .names = {{"_Z1y"}}}}};
  const Claim claim{.targets = {"sm121", "armv9"}};
  const auto missing = compare_kernels(build, baseline, claim);
  ASSERT_TRUE(missing);
  ASSERT_EQ(missing->size(), 1U);
  EXPECT_EQ(missing->front().baseline_sm, "sm_120");
  EXPECT_EQ(missing->front().kernels, 4);
  EXPECT_EQ(missing->front().missing, 1);
  EXPECT_EQ(missing->front().first, std::vector<std::string>{"_Z1d"});
  baseline.cuda_version = "13.2";
  EXPECT_FALSE(compare_kernels(build, baseline, claim));
  baseline.cuda_version = "13.0";
  theirs.at("sm_120").names.reset();
  EXPECT_FALSE(compare_kernels(build, baseline, claim));
}

TEST(KernelNames, ReadsExpectedKernelsFromBaseline) {
  Inventory baseline{.artifact = "generic/torch", .torch_version = "2.16.0+cu130", .cuda_version = "13.0"};
  File& file = baseline.files.emplace_back();
  file = {.path = "torch/lib/libtorch_cuda.so", .component = "libtorch"};
  file.device_code.emplace().census = {
      {{"sm_90", {.kernels = 9, .cubins = 4, .code_bytes = 512}}, {"sm_90a", {.kernels = 1, .cubins = 1}}}};
  File& nvshmem = baseline.files.emplace_back();
  nvshmem = {.path = "torch/lib/libtorch_nvshmem.so", .component = "libtorch", .links = Links{}};
  nvshmem.device_code.emplace().census = {{{"sm_90", {.kernels = 9, .cubins = 1}}}};
  const Inventory build{.torch_version = "2.16.0"};
  const auto reference = make_reference(build, baseline);
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->build, "generic/torch");
  ASSERT_EQ(reference->code.size(), 1U);
  EXPECT_EQ(reference->code.at("sm_90").units, 4);
  EXPECT_EQ(reference->code.at("sm_90").kernels, 9);
  EXPECT_EQ(reference->code.at("sm_90").code_bytes, 512);
  ASSERT_EQ(reference->files.size(), 1U);
  EXPECT_EQ(reference->files.at("libtorch_nvshmem.so").code.at("sm_90").kernels, 9);
  EXPECT_FALSE(make_reference({.torch_version = "2.15.0"}, baseline));
  EXPECT_FALSE(make_reference(build, build)) << "without device code";
}

}  // namespace
}  // namespace pbprobe::test
