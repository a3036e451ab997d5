// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests that policies with misspelt, missing or contradictory keys are rejected by name.
#include "probes/judge/policy/policy.hpp"

#include <gmock/gmock.h>

#include "core/json.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;

Json builder_json() {
  auto policy = built_in_policy("builder");
  policy->waive = {{"PB316", "torch/lib/libtorch_cuda.so", "known", "2027-01-01"}};
  policy->severity = {{"PB205", {Severity::fail, "strict"}}};
  return to_json(*policy);
}

void collect(const Json& json, const std::string& path, std::vector<std::string>& pointers) {
  if (!path.empty()) pointers.push_back(path);
  if (!json.is_structured()) return;
  size_t index = 0;
  for (const auto& [key, value] : json.items())
    collect(value, path + "/" + (json.is_array() ? std::to_string(index++) : key), pointers);
}

TEST(Policies, RequireEachKeyWithOneType) {
  const Json sound = builder_json();
  ASSERT_TRUE(parse_policy(sound.dump()).ok());
  std::vector<std::string> pointers;
  collect(sound, "", pointers);
  ASSERT_GT(pointers.size(), 14U);
  for (const auto& pointer : pointers) {
    const Json::json_pointer at(pointer);
    Json changed = sound;
    changed[at] = 7.5;
    EXPECT_FALSE(parse_policy(changed.dump()).ok()) << pointer << " as a number";
    const bool needed = pointer != "/severity/PB205" && pointer != "/waive/0/component" && pointer != "/waive/0";
    if (!needed) continue;
    changed = sound;
    changed[at.parent_pointer()].erase(at.back());
    EXPECT_FALSE(parse_policy(changed.dump()).ok()) << pointer << " left out";
  }
}

TEST(Policies, RejectAndNameMisspellings) {
  const auto refusal = [](const auto& change) {
    Json json = builder_json();
    change(json);
    auto policy = parse_policy(json.dump());
    return policy.ok() ? std::string("accepted") : policy.error().message;
  };
  EXPECT_THAT(refusal([](Json& json) { json["waives"] = Json::array(); }), HasSubstr("waives"));
  EXPECT_THAT(refusal([](Json& json) { json["levels"]["gpu"] = "shipped"; }), HasSubstr("levels.gpu"));
  EXPECT_THAT(refusal([](Json& json) { json["waive"][0]["untill"] = ""; }), HasSubstr("waive[0].untill"));
  EXPECT_THAT(refusal([](Json& json) { json["levels"]["sm"] = "shiped"; }), HasSubstr("unknown value \"shiped\""));
  EXPECT_THAT(refusal([](Json& json) { json["severity"]["PB999"] = json["severity"]["PB205"]; }),
              HasSubstr("no such check"));
  EXPECT_EQ(refusal([](Json& json) { json["severity"]["PB507"] = json["severity"]["PB205"]; }), "accepted")
      << "an older release had that check";
  EXPECT_THAT(refusal([](Json& json) { json["severity"]["PB205"] = "note"; }),
              HasSubstr("severity.PB205: expected an"));
  EXPECT_THAT(refusal([](Json& json) { json["severity"]["PB205"]["reason"] = "\n"; }),
              HasSubstr("severity.PB205.reason: it is empty: say why it counts as fail"));
  EXPECT_THAT(refusal([](Json& json) { json["severity"]["PB205"]["until"] = ""; }), HasSubstr("severity.PB205.until"));
  EXPECT_THAT(refusal([](Json& json) { json["waive"][0]["until"] = "2027-02-30"; }), HasSubstr("is not a date"));
  EXPECT_THAT(refusal([](Json& json) { json["waive"][0]["until"] = "soon"; }), HasSubstr("is not a date"));
  EXPECT_THAT(refusal([](Json& json) { json["waive"][0]["reason"] = " "; }), HasSubstr("waive[0].reason"));
  EXPECT_THAT(refusal([](Json& json) { json["schema"] = "pbprobe.policy/2"; }), HasSubstr("pbprobe.policy/1"));
  EXPECT_THAT(refusal([](Json& json) {
                json["severity"]["PB101"] = {{"severity", "warn"}, {"reason", "known"}};
              }),
              HasSubstr("severity.PB101: the check protects the integrity"));
  EXPECT_THAT(refusal([](Json& json) {
                json["severity"]["PB102"] = {{"severity", "fail"}, {"reason", "strict"}};
              }),
              testing::StrEq("accepted"));
  EXPECT_FALSE(built_in_policy("lenient").ok());
}

TEST(Policies, RequireMoreForHardware) {
  EXPECT_EQ(built_in_policy("builder")->levels.sm, Level::shipped);
  EXPECT_EQ(built_in_policy("hardware")->levels.sm, Level::executed);
  EXPECT_EQ(built_in_policy("hardware")->levels.isa, Level::executed);
}

TEST(Policies, ApplyLeniencyToReportsOnly) {
  EXPECT_EQ(built_in_policy("report")->stance, Stance::lenient);
  EXPECT_EQ(built_in_policy("builder")->stance, Stance::strict);
  EXPECT_EQ(built_in_policy("hardware")->stance, Stance::strict);
}

}  // namespace
}  // namespace pbprobe::test
