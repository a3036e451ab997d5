// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Every host of recorded/ is detected on any machine, and gives exactly what expected.json says. Its `features` there
// are from public feature tables (GCC's -march=…), not from this code; on aarch64 they are the dump's own words.
// A host may have targets besides that no host of expected.json has: rows that are newer than the recordings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/facts/json.hpp"
#include "tests/core/host/recorded_host.hpp"

namespace pbprobe::host {
namespace {

using testing::Contains;
using testing::Not;
using testing::UnorderedElementsAreArray;

std::vector<std::string> strings(const Json& array) {
  return array.get<std::vector<std::string>>();
}

std::map<std::string, int64_t> counts(const std::vector<CoreClass>& classes) {
  std::map<std::string, int64_t> result;
  for (const auto& core : classes) result[core.name] += core.count;
  return result;
}

// Without the targets that expected.json does not know.
std::vector<std::string> known_targets(std::vector<std::string> targets) {
  std::set<std::string> known;
  const auto document = read_json("expected.json");
  for (const auto& [name, host] : document.items()) {
    for (const auto& target : host.at("targets")) known.insert(target);
  }
  std::erase_if(targets, [&](const std::string& target) { return known.count(target) == 0; });
  return targets;
}

class RecordedHost : public testing::TestWithParam<std::string> {};

TEST_P(RecordedHost, DetectsRecordedHost) {
  const auto record = read_recorded(GetParam());
  const auto expected = read_json("expected.json").at(GetParam());
  const FakeRoot root;
  const auto host = detect_host(make_recorded_sources(record, root));
  ASSERT_TRUE(host.ok()) << host.error().message;
  const auto& cpu = host->cpu;
  EXPECT_EQ(cpu.architecture, record.at("architecture").get<std::string>());
  EXPECT_EQ(cpu.vendor, expected.at("vendor").get<std::string>());
  EXPECT_EQ(cpu.name, expected.at("name").get<std::string>());
  const auto& features = cpu.architecture == "aarch64" ? record.at("features") : expected.at("features");
  EXPECT_THAT(cpu.features, UnorderedElementsAreArray(strings(features)));
  EXPECT_THAT(known_targets(cpu.targets), UnorderedElementsAreArray(strings(expected.at("targets"))));
  EXPECT_EQ(counts(cpu.core_classes), (expected.at("core_classes").get<std::map<std::string, int64_t>>()));
  EXPECT_EQ(cpu.logical_cpus, record.at("cpus").get<int64_t>());
  const auto sve = expected.value("sve_bits", Json(nullptr));
  EXPECT_EQ(cpu.sve_bits, sve.is_null() ? std::nullopt : std::optional<int64_t>(sve.get<int64_t>()));
  EXPECT_EQ(host->driver.state, DriverState::no_driver);
}

INSTANTIATE_TEST_SUITE_P(All, RecordedHost, testing::ValuesIn(recorded_names()),
                         [](const auto& test) { return test.param; });

TEST(RecordedHosts, HaveExpectationsAndSource) {
  std::set<std::string> expected;
  const auto document = read_json("expected.json");
  for (const auto& [name, value] : document.items()) expected.insert(name);
  const auto names = recorded_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), expected);
  for (const auto& name : names) {
    EXPECT_THAT(read_recorded(name).at("source").get<std::string>(), testing::StartsWith("github.com/")) << name;
  }
}

// Known properties of these hosts, in addition to expected.json.
std::vector<std::string> detect_features(const std::string& name) {
  const FakeRoot root;
  return detect_host(make_recorded_sources(read_recorded(name), root))->cpu.features;
}
std::vector<std::string> detect_targets(const std::string& name) {
  const FakeRoot root;
  return detect_host(make_recorded_sources(read_recorded(name), root))->cpu.targets;
}

TEST(RecordedHosts, DetectsSveWithoutSve2OnGraviton3) {
  EXPECT_THAT(detect_features("graviton3"), Contains("sve"));
  EXPECT_THAT(detect_features("graviton3"), Not(Contains("sve2")));
  EXPECT_THAT(detect_targets("graviton3"), Contains("armv8_2"));
  EXPECT_THAT(detect_targets("graviton3"), Not(Contains("armv9")));
}

TEST(RecordedHosts, DetectsNoAvx512OnAlderLake) {
  EXPECT_THAT(detect_targets("alder_lake_i9_12900k"), Contains("avx2"));
  for (const auto& feature : detect_features("alder_lake_i9_12900k"))
    EXPECT_THAT(feature, Not(testing::HasSubstr("avx512")));
}

TEST(RecordedHosts, SeparateVnniFromBf16) {
  EXPECT_THAT(detect_targets("skylake_x"), Contains("avx512"));
  EXPECT_THAT(detect_features("skylake_x"), Not(Contains("avx512_vnni")));
  EXPECT_THAT(detect_features("ice_lake_server"), Contains("avx512_vnni"));
  EXPECT_THAT(detect_features("ice_lake_server"), Not(Contains("avx512_bf16")));
  EXPECT_THAT(detect_features("cooper_lake"), Contains("avx512_bf16"));
}

}  // namespace
}  // namespace pbprobe::host
