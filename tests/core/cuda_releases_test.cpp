// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// recipes/cuda_components.json: its rows, and that the program holds them.
#include "core/cuda_releases.hpp"
#include "core/json.hpp"
#include "core/major_minor.hpp"
#include "paths.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

namespace pbprobe {
namespace {

const ToolkitComponent& component(const std::string& release, const std::string& name) {
  for (const auto& row : all_cuda_releases()) {
    if (row.release != release) continue;
    for (const auto& entry : row.components) {
      if (entry.component == name) return entry;
    }
  }
  ADD_FAILURE() << name << " of " << release << " is not in the table";
  static const ToolkitComponent none;
  return none;
}

TEST(CudaReleases, EmbedsTheFile) {
  std::ostringstream text;
  text << std::ifstream(std::string(PBPROBE_SOURCE_DIR) + "/recipes/cuda_components.json").rdbuf();
  const ToolkitTable embedded{all_cuda_releases()};
  const auto file = parse_json(text.str());
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(to_json(embedded), *file);
}

// Versions required by the metadata of torch 2.8.0 and 2.11.0.
TEST(CudaReleases, AssignsSeveralVersionsToOneRelease) {
  EXPECT_EQ(component("13.0.2", "cuBLAS").version, "13.1.0.3");
  EXPECT_EQ(component("13.0.2", "CUDA runtime").version, "13.0.96");
  EXPECT_THAT(component("13.0.2", "cuFFT").sonames, testing::ElementsAre("libcufft.so.12", "libcufftw.so.12"));
  EXPECT_THAT(component("13.0.2", "cuFile").sonames, testing::Contains("libcufile.so.0"));
  EXPECT_EQ(component("12.8.1", "cuBLAS").version, "12.8.4.1");
  EXPECT_EQ(component("12.8.1", "cuSPARSE").version, "12.5.8.93");
  EXPECT_THAT(component("12.8.1", "cuSOLVER").sonames, testing::Contains("libcusolver.so.11"));
}

TEST(CudaReleases, ListsEqualComponentsForAllMatrixLines) {
  std::set<std::string> releases;
  for (const auto& row : all_cuda_releases()) {
    EXPECT_TRUE(releases.insert(row.release).second) << row.release << " stands twice";
    const bool has_cufile = parse_major_minor(row.release) >= MajorMinor{12, 8} || row.release == "12.6.3";
    EXPECT_EQ(row.components.size() + (has_cufile ? 0 : 1), all_cuda_releases().back().components.size())
        << row.release;
    for (const auto& entry : row.components) EXPECT_FALSE(entry.version.empty()) << row.release << entry.component;
  }
  for (const char* begin : {"12.1", "12.4", "12.6", "12.8", "12.9.1", "13.0", "13.2"}) {
    EXPECT_TRUE(std::any_of(releases.begin(), releases.end(), [&](const auto& name) {
      return is_version_of(name, begin);
    })) << begin;
  }
}

TEST(CudaReleases, AcceptsNewerNvJitLink) {
  const ToolkitComponent linker{"nvJitLink", "13.2.86", true, {}};
  EXPECT_TRUE(fits_release(linker, "13.2.86"));
  EXPECT_TRUE(fits_release(linker, "13.10.1"));
  EXPECT_FALSE(fits_release(linker, "13.0.88"));
  EXPECT_FALSE(fits_release(linker, "14.0.1"));
  EXPECT_TRUE(component("13.2.2", "nvJitLink").newer_too);
  const ToolkitComponent blas{"cuBLAS", "13.1.0.3", false, {}};
  EXPECT_TRUE(fits_release(blas, "13.1.0"));  // file names may have a shortened version
  EXPECT_FALSE(fits_release(blas, "13.1.1.3"));
}

TEST(CudaReleases, AcceptsNewerNvJitLinkInEachRelease) {
  EXPECT_TRUE(fits_release(component("12.1.1", "nvJitLink"), "12.9.86"));
  EXPECT_FALSE(fits_release(component("12.1.1", "nvJitLink"), "12.0.140"));
}

TEST(CudaReleases, ComparesVersionsByTheirParts) {
  EXPECT_TRUE(is_version_of("13.0.2", "13.0"));
  EXPECT_TRUE(is_version_of("13.0", "13.0"));
  EXPECT_FALSE(is_version_of("13.01", "13.0"));
  EXPECT_FALSE(is_version_of("13.0", "13.0.2"));
}

}  // namespace
}  // namespace pbprobe
