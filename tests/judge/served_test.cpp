// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/gpu/served.hpp"
#include "probes/judge/libraries/package_rows.hpp"

#include <gmock/gmock.h>

namespace pbprobe::test {
namespace {

using Names = std::vector<std::string>;

File make_kernels_file(const std::string& sm, Names names) {
  File file{.path = "pkg/" + sm + ".so"};
  file.device_code.emplace().census.emplace()[sm] = {.kernels = static_cast<int64_t>(names.size()),
                                                     .names = std::move(names)};
  return file;
}

File make_ptx_file(const std::string& sm, Names names) {
  File file{.path = "pkg/ptx.so"};
  file.device_code.emplace().ptx_kernels.emplace()[sm] = std::move(names);
  return file;
}

constexpr Sm kSpark{12, 1};

TEST(Served, CountsEachKernelByItsBestCode) {
  const Inventory inventory{.files = {make_kernels_file("sm_120", {"_Z1av", "_Z1bv"}),
                                      make_kernels_file("sm_121", {"_Z1av"}),
                                      make_kernels_file("sm_90", {"_Z1av", "_Z1bv", "_Z1cv", "_Z1dv"}),
                                      make_ptx_file("sm_80", {"_Z1bv", "_Z1cv"})}};
  const ServedGpu spark = count_gpu_kernels(inventory, kSpark);
  EXPECT_EQ(spark.sm, "sm_121");
  EXPECT_EQ(spark.native, 1);      // a
  EXPECT_EQ(spark.same_major, 1);  // b
  EXPECT_EQ(spark.ptx, 1);         // c
  EXPECT_EQ(spark.none, 1);        // d
  ASSERT_EQ(spark.lacking.size(), 1U);
  EXPECT_THAT(spark.lacking[0].only_for, testing::ElementsAre("sm_90"));
  EXPECT_THAT(spark.lacking[0].first, testing::ElementsAre("_Z1dv"));
  EXPECT_EQ(count_gpu_kernels(inventory, {9, 0}).native, 4);
}

TEST(Served, LimitsSuffixedCubinToItsChip) {
  const auto one = [](const char* sm, Sm gpu) {
    return count_gpu_kernels({.files = {make_kernels_file(sm, {"_Z1av"})}}, gpu);
  };
  EXPECT_EQ(one("sm_120a", kSpark).code, GpuCode::none);
  EXPECT_EQ(one("sm_120a", kSpark).kept_by_suffix, 1);
  EXPECT_EQ(one("sm_120f", kSpark).code, GpuCode::same_major);
  EXPECT_EQ(one("sm_100f", kSpark).code, GpuCode::none);
  EXPECT_EQ(one("sm_100f", kSpark).kept_by_suffix, 0);  // code for another family
  EXPECT_EQ(one("sm_121a", kSpark).code, GpuCode::native);
  EXPECT_EQ(one("sm_121a", {12, 0}).kept_by_suffix, 0);  // code for a later chip
}

TEST(Served, ReturnsBestCodeOfRowWithSuffix) {
  const auto best = [](Distribution row) { return find_row_code(row, kSpark); };
  EXPECT_EQ(best({.cubin = {{"sm_90", 1}, {"sm_120", 1}}, .ptx = {{"sm_80", 1}}}).best, GpuCode::same_major);
  EXPECT_EQ(best({.cubin = {{"sm_90", 1}}, .ptx = {{"sm_80", 1}}}).best, GpuCode::ptx);
  EXPECT_EQ(best({.cubin = {{"sm_90", 1}}, .self_loaded = {{"sm_121", 1}}}).best, GpuCode::native);
  const RowCode bound = best({.cubin = {{"sm_90", 1}, {"sm_120a", 1}}});
  EXPECT_EQ(bound.best, GpuCode::none);
  ASSERT_TRUE(bound.kept);
  EXPECT_EQ(sm_name(*bound.kept), "sm_120a");
  EXPECT_EQ(best({.cubin = {{"sm_90a", 1}}}).kept, std::nullopt);
  EXPECT_FALSE(best({}).any);
}

TEST(Served, AcceptsPtxUpToCudaOfDriver) {
  const auto taken = [](const char* version, std::optional<MajorMinor> driver) {
    File file = make_ptx_file("sm_90", {"_Z1av"});
    file.device_code->ptx_versions = {{"sm_90", version}, {"sm_130", "1.0"}};
    return count_gpu_kernels({.files = {file}}, kSpark, driver).ptx_taken;
  };
  EXPECT_EQ(taken("9.0", MajorMinor{13, 0}), true);
  EXPECT_EQ(taken("9.2", MajorMinor{13, 0}), false);
  EXPECT_EQ(taken("8.7", MajorMinor{12, 6}), false);  // ISA of CUDA 12.8
  EXPECT_EQ(taken("8.5", MajorMinor{12, 6}), true);
  EXPECT_EQ(taken("9.2", std::nullopt), std::nullopt);
  EXPECT_EQ(taken("12.0", MajorMinor{13, 0}), std::nullopt);  // newer than this program
}

TEST(Served, LimitsSuffixedPtxToItsChip) {
  const auto one = [](const char* sm) {
    return count_gpu_kernels({.files = {make_ptx_file(sm, {"_Z1av"})}}, kSpark).code;
  };
  EXPECT_EQ(one("sm_90a"), GpuCode::none);
  EXPECT_EQ(one("sm_90"), GpuCode::ptx);
  EXPECT_EQ(one("sm_130"), GpuCode::none);
  const auto kept = [](const char* sm) {
    return count_gpu_kernels({.files = {make_ptx_file(sm, {"_Z1av"})}}, kSpark).kept_by_suffix;
  };
  EXPECT_EQ(kept("sm_90a"), 1);
  EXPECT_EQ(kept("sm_100f"), 1);
  EXPECT_EQ(kept("sm_130f"), 0);
}

TEST(Served, IgnoresCompilerSuffixesInNames) {
  const Inventory inventory{.files = {make_kernels_file("sm_90", {"_ZN3cub16CUB_300001_SM_9011EmptyKernelIvEEvv"}),
                                      make_kernels_file("sm_120", {"_ZN3cub17CUB_300001_SM_12011EmptyKernelIvEEvv"})}};
  EXPECT_EQ(count_gpu_kernels(inventory, kSpark).same_major, 1);
  EXPECT_EQ(count_gpu_kernels(inventory, kSpark).none, 0);
}

TEST(Served, NamesOneKernelForTenFunctions) {
  Names names;
  for (int i = 10; i < 40; ++i) names.push_back("_Z3f" + std::to_string(i) + "IiEvT_");
  for (int i = 10; i < 40; ++i) names.push_back("_Z3f" + std::to_string(i) + "IfEvT_");
  const ServedGpu spark = count_gpu_kernels({.files = {make_kernels_file("sm_90", names)}}, kSpark);
  ASSERT_EQ(spark.lacking.size(), 1U);
  EXPECT_EQ(spark.lacking[0].kernels, 60);
  EXPECT_EQ(spark.lacking[0].first.size(), 10U);
  EXPECT_EQ(spark.lacking[0].first[0], "_Z3f10IfEvT_");
  EXPECT_EQ(spark.lacking[0].first[1], "_Z3f11IfEvT_");
}

TEST(Served, ReturnsUnknownWithoutDeviceCode) {
  EXPECT_EQ(count_gpu_kernels({.files = {File{.path = "pkg/plain.so"}}}, kSpark).code, GpuCode::unknown);
}

}  // namespace
}  // namespace pbprobe::test
