// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/host_names.hpp"

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
  host.kernel = "6.1.0-18-amd64";
  host.glibc = "2.36";
  host.cpu.architecture = "x86_64";
  host.cpu.features = {"sse4_1", "sse4_2", "movbe", "popcnt", "abm", "bmi1", "bmi2", "avx", "f16c", "fma", "avx2"};
  host.cpu.targets = {"avx", "avx2"};
  return host;
}

Host spark() {
  Host host;
  host.kernel = "6.11.0-1016-nvidia";
  host.cpu.architecture = "aarch64";
  host.cpu.features = {"asimdhp", "asimddp", "sve2"};
  host.cpu.targets = {"armv8_2", "armv9"};
  host.driver.cuda_version = "13.0";
  host.gpus = {gpu("12.1")};
  return host;
}

TEST(HostNames, ListsVariantPropertiesOfX86) {
  const std::string names = host_names(haswell(), Naming::variant);
  EXPECT_THAT(names, HasSubstr("x86_64 :: level :: v3\n"));
  EXPECT_THAT(names, HasSubstr("x86_64 :: avx2 :: on\n"));
  EXPECT_THAT(names, Not(HasSubstr("nvidia")));
}

TEST(HostNames, ListsVariantPropertiesOfSpark) {
  EXPECT_EQ(host_names(spark(), Naming::variant),
            "aarch64 :: asimdhp :: on\naarch64 :: asimddp :: on\naarch64 :: sve2 :: on\n"
            "nvidia :: sm_arch :: 121_real\n");
}

TEST(HostNames, UsesLowestCapabilityForConda) {
  Host host = haswell();
  host.driver.cuda_version = "13.0";
  host.gpus = {gpu("12.0"), gpu("9.0"), gpu("8.9")};
  host.gpus[2].problem = "it fell off the bus";
  EXPECT_EQ(host_names(host, Naming::conda),
            "__unix=0=0\n__linux=6.1.0=0\n__glibc=2.36=0\n__archspec=1=x86_64_v3\n__cuda=13.0=0\n__cuda_arch=9.0=0\n");
}

TEST(HostNames, ListsCondaNamesWithoutGpu) {
  Host host = haswell();
  std::erase(host.cpu.features, "popcnt");
  EXPECT_EQ(host_names(host, Naming::conda), "__unix=0=0\n__linux=6.1.0=0\n__glibc=2.36=0\n__archspec=1=x86_64\n");
}

TEST(HostNames, ListsLowerLevelsAsNixFeatures) {
  EXPECT_EQ(host_names(haswell(), Naming::nix), "gccarch-x86-64\ngccarch-x86-64-v2\ngccarch-x86-64-v3\n");
  EXPECT_EQ(host_names(spark(), Naming::nix), "gccarch-armv8.2-a\ngccarch-armv9-a\ncuda\n");
}

TEST(HostNames, RequiresEachFeatureOfALevel) {
  for (const std::string feature : {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}) {
    Host host = haswell();
    std::erase(host.cpu.features, feature);
    EXPECT_THAT(host_names(host, Naming::nix), Not(HasSubstr("v3"))) << feature;
  }
  Host host = haswell();
  for (const char* feature : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) {
    EXPECT_THAT(host_names(host, Naming::nix), Not(HasSubstr("v4"))) << "before " << feature;
    host.cpu.features.emplace_back(feature);
  }
  EXPECT_THAT(host_names(host, Naming::nix), HasSubstr("gccarch-x86-64-v4\n"));
}

}  // namespace
}  // namespace pbprobe::test
