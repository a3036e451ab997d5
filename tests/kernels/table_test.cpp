// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Rows of kernels.inc, files of kernels/cpu and kernels/cuda, and targets are one set.
#include "kernels/gemm/table.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/gemm/evidence.hpp"
#include "paths.hpp"

namespace pbprobe {
namespace {

TEST(Table, NamesAreUniqueAndSayTheirTarget) {
  std::set<std::string_view> names;
  for (const auto& kernel : kernel_table()) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name << " stands twice";
    EXPECT_EQ(kernel.name, std::string(kernel.function_name) + "_" + std::string(kernel.target));
    EXPECT_EQ(find_kernel(kernel.name), &kernel);
  }
  for (const auto& peak : peak_table()) EXPECT_TRUE(names.insert(peak.name).second) << peak.name << " stands twice";
}

TEST(Table, MatchesTargetsAndBuilds) {
  std::set<std::string_view> ids;
  for (const auto& target : all_targets()) ids.insert(target.id);
  std::set<std::string_view> builds;
  for (const auto& build : target_builds()) {
    EXPECT_TRUE(builds.insert(build.target).second) << build.target;
    EXPECT_EQ(build.built, build.why_not.empty()) << build.target;
    EXPECT_EQ(build.built, build.digest.size() == 64) << build.target;
  }
  EXPECT_EQ(ids, builds);
}

TEST(Table, RowsFilesAndTargetsAreOneSet) {
  const std::filesystem::path kernels = std::filesystem::path(PBPROBE_SOURCE_DIR) / "kernels";
  if (!std::filesystem::exists(kernels)) GTEST_SKIP() << "the sources are missing: " << kernels;
  std::set<std::string> files;
  for (const auto* folder : {"cpu", "cuda"}) {
    for (const auto& entry : std::filesystem::directory_iterator(kernels / folder)) {
      const auto& path = entry.path();
      if (path.extension() == ".cpp" || path.extension() == ".cu") files.insert(path.stem().string());
    }
  }
  std::set<std::string> rows;
  for (const auto& kernel : kernel_table()) {
    rows.insert(std::string(kernel.target) + (kernel.part.empty() ? "" : "_" + std::string(kernel.part)));
    EXPECT_NE(find_target(kernel.target), nullptr) << kernel.target << " is not in targets.json";
  }
  EXPECT_EQ(files, rows) << "files of kernels/cpu and kernels/cuda, and cubins of kernels.inc";
}

TEST(Table, ListsKernelsForUnknownName) {
  EXPECT_EQ(find_kernel("gemm"), nullptr);
  const auto result = require_kernel("gemm");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, testing::HasSubstr("gemm_fp32_128x128_sm121"));
}

// --- evidence ---

EvidenceRecord record(const Kernel& kernel, std::string digest, EvidenceLevel level) {
  EvidenceRecord result;
  result.kernel = kernel.name;
  result.digest = std::move(digest);
  result.level = level;
  result.device = "somewhere";
  return result;
}

TEST(Evidence, CountsOnlyWithTheDigestThatIsBuilt) {
  const Kernel& kernel = kernel_table().front();
  TargetBuild build;
  build.target = kernel.target;
  EXPECT_EQ(find_evidence(kernel, build, {}).level, EvidenceLevel::not_built);
  build.built = true;
  build.digest = "d1";
  EXPECT_EQ(find_evidence(kernel, build, {}).level, EvidenceLevel::assembled);
  const std::vector<EvidenceRecord> old{record(kernel, "d0", EvidenceLevel::executed)};
  EXPECT_EQ(find_evidence(kernel, build, old).level, EvidenceLevel::assembled);
  const std::vector<EvidenceRecord> both{record(kernel, "d1", EvidenceLevel::emulated),
                                         record(kernel, "d1", EvidenceLevel::executed)};
  const auto best = find_evidence(kernel, build, both);
  EXPECT_EQ(best.level, EvidenceLevel::executed);
  ASSERT_TRUE(best.record.has_value());
  EXPECT_EQ(best.record->device, "somewhere");
  auto other = both;
  for (auto& entry : other) entry.kernel = "gemm_of_another";
  EXPECT_EQ(find_evidence(kernel, build, other).level, EvidenceLevel::assembled);
}

// A kernel that ran as PTX is not the built cubin, but has the same sources.
TEST(Evidence, MatchesPtxBySources) {
  const Kernel& kernel = kernel_table().front();
  TargetBuild build;
  build.target = kernel.target;
  build.built = true;
  build.digest = "cubin";
  build.source_digest = "sources";
  const auto level = [&](const char* digest) {
    const std::vector<EvidenceRecord> records{record(kernel, digest, EvidenceLevel::executed_via_ptx)};
    return find_evidence(kernel, build, records).level;
  };
  EXPECT_EQ(level("sources"), EvidenceLevel::executed_via_ptx);
  EXPECT_EQ(level("cubin"), EvidenceLevel::assembled);
  EXPECT_EQ(level("older"), EvidenceLevel::assembled);
  const std::vector<EvidenceRecord> native{record(kernel, "sources", EvidenceLevel::executed)};
  EXPECT_EQ(find_evidence(kernel, build, native).level, EvidenceLevel::assembled);
}

TEST(Evidence, NeedsStressLaunchesOfGpuKernels) {
  const auto all = kernel_table();
  const auto gpu = std::find_if(all.begin(), all.end(), [](const Kernel& kernel) { return kernel.threads > 0; });
  ASSERT_NE(gpu, all.end());
  TargetBuild build;
  build.target = gpu->target;
  build.built = true;
  build.digest = "d1";
  const auto level = [&](std::optional<int64_t> launches) {
    auto entry = record(*gpu, "d1", EvidenceLevel::executed);
    entry.launches = launches;
    return find_evidence(*gpu, build, std::vector{entry}).level;
  };
  EXPECT_EQ(level(kMinStressLaunches), EvidenceLevel::executed);
  EXPECT_EQ(level(kMinStressLaunches - 1), EvidenceLevel::assembled);
  EXPECT_EQ(level(std::nullopt), EvidenceLevel::assembled);
}

TEST(Evidence, RecordsAreReadBackAsWritten) {
  auto written = record(kernel_table().front(), std::string(64, 'a'), EvidenceLevel::executed_via_ptx);
  written.via = "compute_80 PTX, run on 9.0";
  written.tiers = {"exact", "random"};
  written.shapes = 400;
  const auto read = from_json<EvidenceRecord>(to_json(written));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(written));
  EXPECT_EQ(to_json(written)["level"], "executed-via-ptx");
}

TEST(Evidence, NamesKernelsOfTableInEmbeddedRecords) {
  const auto& records = evidence_records();
  ASSERT_TRUE(records.ok()) << records.error().message;
  for (const auto& entry : *records) {
    EXPECT_NE(find_kernel(entry.kernel), nullptr) << entry.kernel;
    EXPECT_EQ(entry.digest.size(), 64U) << entry.kernel;
    EXPECT_GT(entry.shapes, 0) << entry.kernel;
  }
}

}  // namespace
}  // namespace pbprobe
