// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/pep440.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

PythonVersion parsed(const char* text) {
  const auto version = parse_python_version(text);
  EXPECT_TRUE(version) << text;
  return version.value_or(PythonVersion{});
}

bool same(const char* one, const char* other) {
  const bool there = same_version(parsed(one), parsed(other));
  EXPECT_EQ(there, same_version(parsed(other), parsed(one))) << one << " " << other;
  return there;
}

TEST(Pep440, ParsesAllSpellingsOfAVersion) {
  for (const auto& [one, other] : {std::pair("2.11.0", "2.11"),
                                   {"2.11.0", "v2.11.0"},
                                   {"2.11.0rc1", "2.11.0-RC.1"},
                                   {"2.11.0c1", "2.11.0pre1"},
                                   {"2.11.0a", "2.11.0alpha0"},
                                   {"2.11.0.post3", "2.11.0-3"},
                                   {"2.11.0.post3", "2.11.0rev3"},
                                   {"2.11.0.dev20260101", "2.11.0dev20260101"},
                                   {"2.12.0a0+git70d99e9", "2.12.0a0+GIT70D99E9"},
                                   {"2.11.0+cu130", "2.11.0"},
                                   {"2.11.0+cu13.0", "2.11.0+cu13_0"}})
    EXPECT_TRUE(same(one, other)) << one << " " << other;
}

TEST(Pep440, DistinguishesStagesAndBuilds) {
  for (const char* other : {"2.11.0rc1", "2.11.0a0", "2.11.0b1", "2.11.0.post1", "2.11.0.dev20260101", "2.11.1",
                            "2.1.10", "1!2.11.0", "2.11.0rc1.dev2", "2.110"})
    EXPECT_FALSE(same("2.11.0", other)) << other;
  EXPECT_FALSE(same("2.11.0rc1", "2.11.0rc2"));
  EXPECT_FALSE(same("2.11.0+cu130", "2.11.0+cu128"));
  EXPECT_FALSE(same("2.11.0+cu130", "2.11.0+cpu"));
}

TEST(Pep440, MatchesReleaseByItsNumbers) {
  const auto claims = [](const char* claim, const char* version) { return is_release(parsed(version), parsed(claim)); };
  for (const char* version : {"2.10.0", "2.10", "2.10.0+cu130", "2.10.0+cpu"}) {
    EXPECT_TRUE(claims("2.10.0", version)) << version;
    EXPECT_TRUE(claims("2.10", version)) << version;
  }
  EXPECT_TRUE(claims("2.10", "2.10.1"));
  EXPECT_FALSE(claims("2.10.0", "2.10.1"));
  EXPECT_FALSE(claims("2.1", "2.10.0"));
  for (const char* version :
       {"2.10.0rc1", "2.10.0a0+git70d99e9", "2.10.0.dev20260101+cu130", "2.10.0.post303", "2.10.0b1"}) {
    EXPECT_FALSE(claims("2.10.0", version)) << version;
    EXPECT_FALSE(claims("2.10", version)) << version;
    EXPECT_TRUE(claims(version, version)) << version;
  }
}

TEST(Pep440, RejectsInvalidVersions) {
  for (const char* text : {"", "unknown", "2.11.0 ", "2.11.0+", "2.11.0+cu..130", "2.11.", "2.11.0+cu130!", "a2",
                           "2..1", "2.11.0rc1rc2", "99999999999999999999", "2.11.0 # comment"})
    EXPECT_FALSE(parse_python_version(text)) << text;
}

TEST(Pep440, ComparesPackageNamesAsPip) {
  EXPECT_EQ(package_name("My.Torch__Vision"), "my-torch-vision");
  EXPECT_EQ(package_name("torch"), "torch");
}

TEST(Pep440, ChecksRequirements) {
  for (const auto& [version, takes] : {std::pair("2.11.0", "==2.11.0"),
                                       {"2.11.0+cu130", "==2.11.0"},
                                       {"2.11.0+cu130", "==2.11.0+cu130"},
                                       {"2.11.1", "==2.11.*"},
                                       {"2.11.0", ">=2.9,<2.12"},
                                       {"2.11.0", ">=2.10, !=2.10.1"},
                                       {"2.10.3", "~=2.10.0"},
                                       {"2.11.0", "~=2.10"},
                                       {"2.11.0", ">2.11.0rc1"},
                                       {"2.11.0.post2", ">2.11.0.post1"},
                                       {"2.11.0rc1", "<2.11.0rc2"},
                                       {"2.11.0.dev20260101", "<2.11.0a1"},
                                       {"2.11.0", "<=2.11"},
                                       {"2.11.0", ""}})
    EXPECT_TRUE(satisfies(parsed(version), takes)) << version << " " << takes;
  for (const auto& [version, refuses] : {std::pair("2.11.0", "==2.9.1"),
                                         {"2.11.0", "==2.11.0+cu130"},
                                         {"2.110.0", "==2.11.*"},
                                         {"2.12.0", ">=2.9,<2.12"},
                                         {"2.11.0", "~=2.10.0"},
                                         {"3.0", "~=2.10"},
                                         {"2.10.1", ">=2.10, !=2.10.1"},
                                         {"2.11.0rc1", ">=2.11.0"},
                                         {"2.11.0", ">2.11"},
                                         {"2.12.0rc1", "<2.12"},
                                         {"2.12.0.dev20260401", "<2.12"},
                                         {"2.11.0.post1", ">2.11"}})
    EXPECT_FALSE(satisfies(parsed(version), refuses)) << version << " " << refuses;
}

TEST(Pep440, RejectsInvalidSpecifiers) {
  for (const char* text : {">=2.9,<2.12", "==2.11.*", "===2.11", "~= 2.10.0", "(>=2)", "!=1.5.*"})
    EXPECT_TRUE(are_specifiers(text)) << text;
  for (const char* text : {">=>2", "=2.11", "2.11", ">=2.*", "==", "<>2"}) EXPECT_FALSE(are_specifiers(text)) << text;
}

}  // namespace
}  // namespace pbprobe
