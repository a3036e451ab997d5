// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The minimum CPU of a package's row.
#include "core/facts/environment.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

using Counts = std::map<std::string, int64_t>;

std::string minimum(HostCode code, const char* name = "ext", const char* path = "ext/_C.so",
                    const char* other = nullptr) {
  Inventory inventory;
  inventory.layout = "distribution";
  inventory.packages = {{.folder = std::string(name) + "-1.0.dist-info", .name = name, .version = "1.0"}};
  File& file = inventory.files.emplace_back();
  file.path = path;
  file.machine = "x86_64";
  file.host_code = std::move(code);
  if (other != nullptr) inventory.files.emplace_back().path = other;
  return make_distribution(inventory).minimum_cpu.value_or("none");
}

TEST(MinimumCpuOfPackage, NamesWhatRunsAtLoadAndWhatIsSelected) {
  EXPECT_EQ(minimum({}), "x86_64");
  EXPECT_EQ(minimum({.features = Counts{{"avx2", 9}, {"avx512f", 3}}}), "x86_64; selects avx512 at run time");
  EXPECT_EQ(minimum({.features = Counts{{"sse4_1", 9}}}), "x86_64; selects sse4_1 at run time");
  const Counts avx2{{"avx", 1}, {"avx2", 9}};
  EXPECT_EQ(minimum({.features = avx2, .unguarded = avx2, .at_load = avx2}), "avx2");
}

// catboost, pyarrow and others run on a Nehalem: assembly of BoringSSL and LLVM is chosen at run time.
TEST(MinimumCpuOfPackage, IsNotKnownWhereNothingTellsTheGuard) {
  const Counts open{{"avx512f", 9}, {"apx_f", 2}, {"avx10_2", 1}};
  EXPECT_EQ(minimum({.features = open, .unguarded = open}), "not known");
  EXPECT_EQ(minimum({.features = open, .unclassified = open}), "not known");
  const Counts avx2{{"avx", 1}, {"avx2", 9}};
  EXPECT_EQ(minimum({.features = open, .unguarded = open, .at_load = avx2}), "at least avx2");
}

// polars, jaxlib: nearly no function has moves of SSE2 in their old encoding.
TEST(MinimumCpuOfPackage, IsAvxWhereTheCompilerWroteIt) {
  const Counts avx2{{"avx", 1}, {"avx2", 9}};
  HostCode code{.features = avx2, .unclassified = avx2, .sse_functions = 3, .avx_functions = 97};
  EXPECT_EQ(minimum(code), "at least avx");
  EXPECT_EQ(minimum(code, "ext", "ext/_C_avx2.so", "ext/_C.so"), "x86_64; selects avx2 at run time");
  EXPECT_EQ(minimum(code, "ext", "ext/_C_avx2.so"), "at least avx");
  EXPECT_EQ(minimum(code, "ext", "ext/_C_avx2.so", "ext/_D.so"), "at least avx");
  code.sse_functions = 40;
  EXPECT_EQ(minimum(code), "not known");
}

TEST(MinimumCpuOfPackage, IsBelowAvxWhereTheCompilerWroteSse) {
  const Counts open{{"popcnt", 1}, {"avx2", 9}, {"avx512f", 9}};
  HostCode code{.features = open, .unclassified = open, .sse_functions = 60, .avx_functions = 40};
  EXPECT_EQ(minimum(code), "at most x86_64+popcnt; selects avx512 at run time");
  code.unclassified.erase("popcnt");
  EXPECT_EQ(minimum(code), "x86_64; selects avx512 at run time");
  code.at_load = {{"avx", 1}};  // memmove() of Go's runtime
  EXPECT_EQ(minimum(code), "x86_64; selects avx512 at run time");
  code.avx_functions = 61;
  EXPECT_EQ(minimum(code), "at least avx");
  code.at_load.clear();
  EXPECT_EQ(minimum(code), "not known");
}

TEST(MinimumCpuOfPackage, CoversUnguardedCodeOfTorch) {
  const Counts avx2{{"avx", 1}, {"avx2", 9}};
  EXPECT_EQ(minimum({.features = avx2, .unguarded = avx2}, "torch"), "avx2");
}

}  // namespace
}  // namespace pbprobe
