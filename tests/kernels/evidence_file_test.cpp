// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/evidence_file.hpp"

#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "tests/temp_folder.hpp"

namespace pbprobe::test {
namespace {

EvidenceRecord of(std::string kernel, std::string digest, std::string device) {
  EvidenceRecord record;
  record.kernel = std::move(kernel);
  record.digest = std::move(digest);
  record.device = std::move(device);
  return record;
}

std::vector<std::string> read(const std::filesystem::path& path) {
  std::ifstream file(path);
  const auto json = parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_TRUE(json.ok()) << json.error().message;
  const auto records = from_json<std::vector<EvidenceRecord>>(*json);
  EXPECT_TRUE(records.ok()) << records.error().message;
  std::vector<std::string> lines;
  for (const auto& record : *records) lines.push_back(record.kernel + " " + record.digest + " " + record.device);
  return lines;
}

TEST(EvidenceFile, KeepsOtherKernelsAndTheSameCodeElsewhere) {
  const TempFolder folder;
  const auto path = folder.path() / "sm90.json";
  for (const auto& record : {of("b", "1", "H100"), of("a", "1", "H100"), of("b", "1", "H200")}) {
    ASSERT_TRUE(add_record(path, record).ok());
  }
  EXPECT_THAT(read(path), testing::ElementsAre("a 1 H100", "b 1 H100", "b 1 H200"));
  ASSERT_TRUE(add_record(path, of("b", "2", "H200")).ok());
  EXPECT_THAT(read(path), testing::ElementsAre("a 1 H100", "b 2 H200"));
}

TEST(EvidenceFile, AddsLaunchesToTheRecordOfTheDevice) {
  const TempFolder folder;
  const auto path = folder.path() / "sm90.json";
  for (const auto& record : {of("a", "1", "H100"), of("a", "1", "H200")}) ASSERT_TRUE(add_record(path, record).ok());
  ASSERT_TRUE(add_launches(path, "a", "1", "H200", 7).ok());
  std::ifstream file(path);
  const auto json = parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_TRUE((*json)[0]["launches"].is_null());
  EXPECT_EQ((*json)[1]["launches"], 7);
  const auto older = add_launches(path, "a", "2", "H200", 7);
  ASSERT_FALSE(older.ok());
  EXPECT_THAT(older.error().message, testing::HasSubstr("run kernels_test"));
}

TEST(EvidenceFile, ManyWritersLoseNothing) {
  const TempFolder folder;
  const auto path = folder.path() / "sm90.json";
  constexpr int kWriters = 8;
  constexpr int kEach = 10;
  std::vector<std::thread> writers;
  writers.reserve(kWriters);
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(add_record(path, of(std::to_string(writer * kEach + i), "1", "H200")).ok());
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(read(path).size(), kWriters * kEach);
}

TEST(EvidenceFile, KeepsFileWithoutRecords) {
  const TempFolder folder;
  const auto path = folder.write("sm90.json", "no records");
  const auto result = add_record(path, of("a", "1", "H200"));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, testing::HasSubstr(path.string()));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "no records");
}

}  // namespace
}  // namespace pbprobe::test
