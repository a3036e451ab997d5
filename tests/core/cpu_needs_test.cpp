// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/cpu_needs.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

std::string minimum(std::string_view architecture, std::vector<std::string> needs) {
  return minimum_cpu(architecture, needs);
}

TEST(CpuNeeds, NamesTheFirstTargetWithAllFeatures) {
  EXPECT_EQ(minimum("x86_64", {}), "x86_64");
  EXPECT_EQ(minimum("x86_64", {"avx", "avx2", "fma"}), "avx2");
  EXPECT_EQ(minimum("x86_64", {"sse4_1"}), "x86_64+sse4_1");
  EXPECT_EQ(minimum("aarch64", {"atomics", "asimddp"}), "armv8_2");
}

TEST(CpuNeeds, NamesNoSetThatNoCpuHas) {
  for (const std::vector<std::string>& needs : {std::vector<std::string>{"avx512f", "apx_f", "avx10_2"},
                                                {"avx", "fma4", "avx512f"},
                                                {"avx512er", "avx512vl"},
                                                {"xop", "sha_ni"}}) {
    EXPECT_FALSE(has_some_cpu(needs));
    EXPECT_EQ(minimum_cpu("x86_64", needs), kUnknownCpu);
  }
  EXPECT_EQ(minimum("aarch64", {"atomics", "lse128"}), kUnknownCpu);
}

TEST(CpuNeeds, AcceptsSetsOfSoldCpus) {
  const std::vector<std::string> piledriver{"avx", "fma", "f16c", "fma4", "xop", "tbm", "bmi1", "aes", "sse4a"};
  const std::vector<std::string> zen5{"sse4a", "avx2", "avx512f", "avx512vl", "avx_vnni", "gfni", "sha_ni"};
  const std::vector<std::string> granite_rapids{"avx512f", "avx512_fp16", "amx_tile", "amx_fp16", "avx_vnni", "sha_ni"};
  const std::vector<std::string> knights_landing{"avx512f", "avx512cd", "avx512er", "avx512pf"};
  for (const auto& cpu : {piledriver, zen5, granite_rapids, knights_landing}) EXPECT_TRUE(has_some_cpu(cpu));
}

TEST(CpuNeeds, CompletesRecordsOfOlderDetection) {
  const std::vector<std::string> nehalem{"pni", "ssse3", "sse4_1", "sse4_2", "popcnt"};
  EXPECT_EQ(lacking_features("x86_64", std::vector<std::string>{"cx16", "rdtscp", "avx"}, nehalem),
            std::vector<std::string>{"avx"});
  std::vector<std::string> current = nehalem;
  current.emplace_back("cx16");  // a hypervisor hides RDTSCP
  EXPECT_EQ(lacking_features("x86_64", std::vector<std::string>{"cx16", "rdtscp"}, current),
            std::vector<std::string>{"rdtscp"});
  EXPECT_EQ(complete_record(std::vector<std::string>{"pni", "avx2"}).size(), 2U);  // no SSE4.2: not completed
}

}  // namespace
}  // namespace pbprobe
