// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// recipes/targets.json: its rows, and that a broken table is refused.
#include "core/targets.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/dtype.hpp"
#include "paths.hpp"

namespace pbprobe {
namespace {

using testing::Contains;
using testing::ElementsAre;

Json table() {
  std::ostringstream text;
  text << std::ifstream(std::string(PBPROBE_SOURCE_DIR) + "/recipes/targets.json").rdbuf();
  const auto json = parse_json(text.str());
  EXPECT_TRUE(json.ok());
  return *json;
}

const Target& row(std::string_view id) {
  const Target* target = find_target(id);
  EXPECT_NE(target, nullptr) << id;
  static const Target none;
  return target == nullptr ? none : *target;
}

TEST(Targets, EmbedsTheFile) {
  TargetTable embedded;
  embedded.targets = all_targets();
  EXPECT_EQ(to_json(embedded), table());
}

TEST(Targets, ContainEachKnownIdOnce) {
  std::set<std::string> gpu, cpu;
  for (const auto& target : all_targets()) {
    if (!has_variants(target)) continue;
    const bool is_new = (target.kind == TargetKind::gpu ? gpu : cpu).insert(target.id).second;
    EXPECT_TRUE(is_new) << target.id << " stands twice";
  }
  const char* sms[] = {"sm61", "sm75", "sm80", "sm86", "sm89", "sm90", "sm100", "sm103", "sm110", "sm120", "sm121"};
  const char* isas[] = {"avx", "avx2", "avx512", "avx512bf16", "avx512vnni", "armv8_2", "armv9"};
  EXPECT_THAT(gpu, testing::IsSupersetOf(sms));
  EXPECT_THAT(cpu, testing::IsSupersetOf(isas));
}

TEST(Targets, AmxIsOnlyForTheKernelsAndSm70OnlyForAudits) {
  std::set<std::string> without;
  for (const auto& target : all_targets()) {
    if (!has_variants(target)) without.insert(target.id);
  }
  EXPECT_THAT(without, ElementsAre("amx", "avxvnni", "sm70"));
  EXPECT_TRUE(row("amx").recipe_requires.empty());
  EXPECT_EQ(row("sm70").compiler, "none");
  EXPECT_EQ(row("sm70").last_cuda, "12.9");
}

TEST(Targets, HasConsistentGpuRows) {
  for (const auto& target : all_targets()) {
    if (target.kind != TargetKind::gpu) continue;
    SCOPED_TRACE(target.id);
    ASSERT_TRUE(target.capability);
    std::string number = *target.capability;
    std::erase(number, '.');
    EXPECT_EQ(target.id, "sm" + number);
    EXPECT_TRUE(target.architecture == number || target.architecture == number + "a") << target.architecture;
    EXPECT_EQ(target.min_driver.has_value(), !target.last_cuda.has_value());
    EXPECT_TRUE(target.recipe_flags.empty() && target.requires_features.empty() && target.recipe_requires.empty());
    EXPECT_TRUE(target.limits.shared_per_block_bytes && target.limits.tensor_memory_columns);
    EXPECT_FALSE(target.ops_per_clock.empty());
    EXPECT_EQ(target.compiler == "none", target.flags.empty());
    if (target.flags.empty()) continue;  // for audits only
    const bool nvrtc = target.compiler == "nvrtc";
    EXPECT_THAT(target.flags,
                ElementsAre(nvrtc ? "--gpu-architecture=sm_" + target.architecture
                                  : fmt::format("-gencode=arch=compute_{0},code=sm_{0}", target.architecture)));
    EXPECT_EQ(nvrtc, target.last_cuda.has_value());
    ASSERT_TRUE(target.ptx) << "whose PTX do its kernels become in tests on newer silicon?";
    EXPECT_LE(std::stoi(*target.ptx), std::stoi(number));
    EXPECT_EQ(nvrtc, *target.ptx == number && std::stoi(number) < 75);
    if (target.architecture.ends_with('a')) {
      EXPECT_THAT(target.siblings, Contains("sm_" + target.architecture));
    }
  }
}

TEST(Targets, HasConsistentCpuRows) {
  for (const auto& target : all_targets()) {
    if (target.kind != TargetKind::cpu) continue;
    SCOPED_TRACE(target.id);
    EXPECT_FALSE(target.capability || target.ptx || target.first_cuda || target.last_cuda || target.min_driver);
    EXPECT_EQ(target.compiler, "cxx");
    EXPECT_THAT(target.platforms, ElementsAre(target.architecture + "-linux"));
    EXPECT_FALSE(target.flags.empty() || target.requires_features.empty());
    for (const auto& feature : target.recipe_requires) EXPECT_THAT(target.requires_features, Contains(feature));
  }
}

TEST(Targets, PromisesInstructionsOfKnownTypes) {
  std::set<std::string> types;
  for (const auto& [type, name] : kDTypeNames) types.insert(std::string(name));
  for (const auto& target : all_targets()) {
    SCOPED_TRACE(target.id);
    EXPECT_FALSE(target.instructions.empty() || target.products.empty() || target.platforms.empty());
    for (const auto& path : target.instructions) {
      EXPECT_EQ(types.count(path.dtype), 1U) << path.dtype;
      EXPECT_FALSE(path.opcodes.empty()) << path.name;
    }
    for (const auto& ops : target.ops_per_clock) {
      for (const auto& lead : ops.leads) EXPECT_EQ(types.count(lead), 1U) << lead;
    }
  }
}

TEST(Targets, SharedMemoryOfABlock) {
  const std::pair<const char*, int64_t> kilobytes[] = {{"sm61", 48},   {"sm75", 64},  {"sm80", 163},  {"sm86", 99},
                                                       {"sm89", 99},   {"sm90", 227}, {"sm100", 227}, {"sm103", 227},
                                                       {"sm110", 227}, {"sm120", 99}, {"sm121", 99}};
  for (const auto& [id, kb] : kilobytes) EXPECT_EQ(row(id).limits.shared_per_block_bytes, kb * 1024) << id;
  EXPECT_EQ(row("sm61").limits.shared_per_sm_bytes, 96 * 1024);
  EXPECT_EQ(row("sm121").limits.shared_per_sm_bytes, 100 * 1024);
}

TEST(Targets, HaveFactsThatAreEasilyConfused) {
  EXPECT_THAT(row("sm89").products, Contains("L40S"));
  EXPECT_THAT(row("sm121").platforms, ElementsAre("aarch64-linux"));
  EXPECT_THAT(row("sm110").platforms, ElementsAre("aarch64-linux"));
  EXPECT_EQ(row("sm61").last_cuda, "12.9");
  EXPECT_EQ(row("sm110").first_cuda, "13.0");
  EXPECT_EQ(row("sm90").architecture, "90a");
  EXPECT_EQ(row("sm121").architecture, "121");
  EXPECT_THAT(row("avx").flags, ElementsAre("-mavx", "-mno-avx2", "-mno-fma", "-mno-bmi", "-mno-bmi2"));
  EXPECT_THAT(row("armv9").recipe_flags, ElementsAre("-march=armv9-a+sve2"));
  EXPECT_THAT(row("armv9").flags, ElementsAre("-march=armv9-a+dotprod+sve2+bf16+i8mm"));
  EXPECT_THAT(row("armv9").recipe_requires, ElementsAre("sve2"));
  EXPECT_EQ(row("sm103").ops_per_clock[0].leads, std::vector<std::string>{"int8"});
  const auto& paths = row("sm103").instructions;
  EXPECT_TRUE(std::none_of(paths.begin(), paths.end(),
                           [](const auto& path) { return path.dtype == "int8" && path.name.starts_with("tcgen05"); }));
}

TEST(Targets, GpusAreFoundByCapabilityAndUnknownIdsAreNamed) {
  ASSERT_NE(find_gpu_target("12.1"), nullptr);
  EXPECT_EQ(find_gpu_target("12.1")->id, "sm121");
  EXPECT_EQ(find_gpu_target("8.7"), nullptr);
  const auto unknown = require_target("sm_121");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::usage);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("sm121"));
}

// Values that no key of this schema takes.
std::vector<Json> wrong_values(const Json& schema) {
  const Json& inner = schema.contains("anyOf") ? schema["anyOf"][0] : schema;
  if (inner.contains("$ref")) return {Json::array(), Json("text"), Json(1)};
  if (!inner.contains("type")) return {Json(42), Json::object(), Json(false)};  // "const" and "enum" hold strings
  const Json& types = inner["type"];
  const std::string type = types.is_array() ? types[0] : types;
  if (type == "number") return {Json("text"), Json(true), Json::array()};
  if (type == "integer") return {Json("text"), Json(1.5), Json(true), Json::array()};
  if (type == "array") return {Json::object(), Json("text"), Json(1)};
  if (type == "object") return {Json::array(), Json("text"), Json(1)};
  return {Json(42), Json::object(), Json(false)};
}

// Breaks one key at a time, at every depth, and wants each broken table refused by the name of the key.
class Breaker {
 public:
  void walk(const Json& schema, const Json::json_pointer& at) {
    if (schema.contains("$ref")) return walk(schema_.at(Json::json_pointer(std::string(schema["$ref"]).substr(1))), at);
    if (schema.contains("items")) {
      if (!whole_.at(at).empty()) walk(schema["items"], at / 0);
      return;
    }
    if (!schema.contains("properties")) return;
    for (const auto& [key, property] : schema["properties"].items()) {
      const auto& required = schema["required"];
      if (std::find(required.begin(), required.end(), Json(key)) != required.end()) {
        Json broken = whole_;
        broken.at(at).erase(key);
        expect_refused(broken, key, "removed");
      }
      for (const auto& value : wrong_values(property)) {
        Json broken = whole_;
        broken.at(at / key) = value;
        expect_refused(broken, key, value.dump());
      }
      const bool optional = property.contains("anyOf") || property.value("type", Json()).is_array();
      if (!optional) walk(property, at / key);
    }
  }
  void walk() { walk(schema_, Json::json_pointer()); }
  [[nodiscard]] int tried() const { return tried_; }

 private:
  void expect_refused(const Json& broken, const std::string& key, const std::string& change) {
    ++tried_;
    const auto read = from_json<TargetTable>(broken);
    ASSERT_FALSE(read.ok()) << key << " " << change;
    EXPECT_THAT(read.error().message, testing::HasSubstr(key)) << change;
  }

  const Json schema_ = json_schema<TargetTable>();
  const Json whole_ = table();
  int tried_ = 0;
};

TEST(Targets, RefusesEveryMissingKeyAndWrongType) {
  Breaker breaker;
  breaker.walk();
  EXPECT_GT(breaker.tried(), 100);
}

}  // namespace
}  // namespace pbprobe
