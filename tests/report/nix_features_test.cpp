// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/text.hpp"

#include <gmock/gmock.h>

namespace pbprobe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Gpu gpu(const char* capability) {
  Gpu one;
  one.capability = capability;
  return one;
}

Host haswell() {
  Host host;
  host.cpu.architecture = "x86_64";
  host.cpu.features = {"sse4_1", "sse4_2", "movbe", "popcnt", "abm", "bmi1", "bmi2", "avx", "f16c", "fma", "avx2"};
  host.cpu.targets = {"avx", "avx2"};
  return host;
}

Host spark() {
  Host host;
  host.cpu.architecture = "aarch64";
  host.cpu.features = {"asimdhp", "asimddp", "sve2"};
  host.cpu.targets = {"armv8_2", "armv9"};
  host.gpus = {gpu("12.1")};
  return host;
}

TEST(NixFeatures, ListsLowerLevels) {
  EXPECT_EQ(render_nix_features(haswell()), "gccarch-x86-64\ngccarch-x86-64-v2\ngccarch-x86-64-v3\n");
  EXPECT_EQ(render_nix_features(spark()), "gccarch-armv8.2-a\ngccarch-armv9-a\ncuda\n");
}

TEST(NixFeatures, RequiresEachFeatureOfALevel) {
  for (const std::string feature : {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}) {
    Host host = haswell();
    std::erase(host.cpu.features, feature);
    EXPECT_THAT(render_nix_features(host), Not(HasSubstr("v3"))) << feature;
  }
  Host host = haswell();
  for (const char* feature : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) {
    EXPECT_THAT(render_nix_features(host), Not(HasSubstr("v4"))) << "before " << feature;
    host.cpu.features.emplace_back(feature);
  }
  EXPECT_THAT(render_nix_features(host), HasSubstr("gccarch-x86-64-v4\n"));
}

}  // namespace
}  // namespace pbprobe::test
