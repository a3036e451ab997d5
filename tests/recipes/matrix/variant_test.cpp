// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/variant.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Variant, ParsesEveryNameOfTheMatrix) {
  std::set<std::string> names;
  for (const auto& line : matrix().lines) {
    for (const auto& python : matrix().python.choices) {
      for (const auto& variant : line_variants(line, python)) {
        const auto name = variant_name(variant);
        EXPECT_TRUE(names.insert(name).second) << name;
        EXPECT_EQ(name.find('.'), std::string::npos) << name;
        const auto read = parse_variant(name);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, variant);
        const auto by_pname = parse_variant(variant_pname(variant));
        ASSERT_TRUE(by_pname) << by_pname.error().message;
        EXPECT_EQ(*by_pname, variant);
      }
    }
  }
  for (const char* line : {"cuda12_8", "cuda12_9", "cuda13_0"}) {
    for (const char* python : {"311", "312", "313"})
      EXPECT_EQ(names.count(fmt::format("pytorch-python{}-{}-sm90-avx512", python, line)), 1U) << line << python;
  }
  EXPECT_EQ(names.count("pytorch-python313-cpu-avx2"), 1U);
}

TEST(Variant, IsNamedAsItsRecipe) {
  const Variant spark{.line = "cuda13_0", .python = "313", .gpu = "sm121", .cpu = "armv9"};
  EXPECT_EQ(variant_name(spark), "pytorch-python313-cuda13_0-sm121-armv9");
  EXPECT_EQ(variant_pname(spark), "pytorch210-python313-cuda13_0-sm121-armv9");
  const Variant cpu{.line = "cuda13_0", .python = "313", .gpu = std::nullopt, .cpu = "avx2"};
  EXPECT_EQ(variant_name(cpu), "pytorch-python313-cpu-avx2");
  EXPECT_EQ(variant_pname(cpu), "pytorch210-python313-cpu-avx2");
  EXPECT_EQ(python_version("313"), "3.13");
}

TEST(Variant, RunsWhereBothItsTargetsAre) {
  EXPECT_THAT(variant_platforms({"cuda13_0", "313", "sm90", "armv9"}), ElementsAre("aarch64-linux"));
  EXPECT_THAT(variant_platforms({"cuda13_0", "313", "sm90", "avx2"}), ElementsAre("x86_64-linux"));
  EXPECT_THAT(variant_platforms({"cuda13_0", "313", std::nullopt, "avx"}), ElementsAre("x86_64-linux"));
}

struct WrongName {
  const char* title;
  const char* name;
  const char* message;
};

class RefusedVariant : public testing::TestWithParam<WrongName> {};

TEST_P(RefusedVariant, NamesTheFaultAndThePossibleWords) {
  const auto variant = parse_variant(GetParam().name);
  ASSERT_FALSE(variant);
  EXPECT_EQ(variant.error().code, ErrorCode::usage);
  EXPECT_THAT(variant.error().message, HasSubstr(GetParam().name));
  EXPECT_THAT(variant.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Variant, RefusedVariant,
    testing::Values(
        WrongName{"UnknownSm", "pytorch-python313-cuda13_0-sm999-armv9", "unknown SM \"sm999\": choose one of sm61, "},
        WrongName{"UnknownIsa", "pytorch-python313-cuda13_0-sm90-avx1024",
                  "unknown ISA \"avx1024\": choose one of avx, "},
        WrongName{"SmAndIsaSwapped", "pytorch-python313-cuda13_0-armv9-sm121", "unknown SM \"armv9\""},
        WrongName{"UnknownLine", "pytorch-python313-cuda14_0-sm90-avx2",
                  "unknown line \"cuda14_0\": choose one of cuda12_8"},
        WrongName{"UnknownPython", "pytorch-python27-cuda13_0-sm90-avx2", "unknown Python \"27\": choose one of 313"},
        WrongName{"NoSuchMachine", "pytorch-python313-cuda13_0-sm121-avx512",
                  "sm121 with avx512: no such machine (sm121 is found on aarch64-linux only"},
        WrongName{"IsaNotBuiltForThisSm", "pytorch-python313-cuda13_0-sm90-avx",
                  "line cuda13_0 of the matrix has no sm90 with avx: choose one of avx2"},
        WrongName{"SmTooNewForTheLine", "pytorch-python313-cuda12_8-sm103-avx2",
                  "CUDA 12.8 does not know sm103: the first that does is 12.9: lines that have it: cuda12_9, cuda13_0"},
        WrongName{
            "SmTooOldForTheLine", "pytorch-python313-cuda13_0-sm61-avx2",
            "CUDA 13.0 has dropped sm61: the last that builds it is 12.9: lines that have it: cuda12_8, cuda12_9"},
        WrongName{"Dots", "pytorch-python313-cuda13.0-sm90-avx2", "a variant's name has no dots"},
        WrongName{"CpuOnlyWithALine", "pytorch-python313-cuda12_8-cpu-avx2", "pytorch-python313-cpu-avx2"},
        WrongName{"Nightly", "pytorch-python313-cuda13_0-sm121-armv9-nightly", "it has 6 parts"},
        WrongName{"TooShort", "pytorch-python313-cuda13_0", "it has 3 parts"},
        WrongName{"AnotherFamily", "torchvision-python313-cuda13_0-sm90-avx2",
                  "a variant is pytorch-python313-LINE-SM-ISA"},
        WrongName{"PnameOfAnotherTorch", "pytorch29-python313-cuda13_0-sm90-avx2",
                  "line cuda13_0 of the matrix builds torch 2.10.0, whose names start with pytorch or pytorch210"},
        WrongName{"UnknownIsaWithoutCuda", "pytorch-python313-cpu-sm90", "unknown ISA \"sm90\""}),
    [](const auto& test) { return std::string(test.param.title); });

TEST(ListVariants, FiltersByLineSmIsaAndPython) {
  std::vector<Variant> all;
  for (const auto& line : matrix().lines) {
    for (const auto& variant : line_variants(line, "313")) all.push_back(variant);
  }
  const auto expect = [&](const VariantFilter& filter, const auto& belongs) {
    std::vector<Variant> expected;
    std::copy_if(all.begin(), all.end(), std::back_inserter(expected), belongs);
    EXPECT_EQ(*list_variants(filter), expected);
    EXPECT_LT(expected.size(), all.size());
    return expected.size();
  };
  const auto of_line = [](const Variant& v) { return v.line == "cuda13_0"; };
  EXPECT_EQ(*list_variants({.line = "all"}), all);
  EXPECT_GT(expect({}, of_line), 0U);
  EXPECT_GT(expect({.line = "cuda12_9"}, [](const auto& v) { return v.line == "cuda12_9"; }), 0U);
  EXPECT_GT(expect({.gpu = "sm121"}, [&](const auto& v) { return of_line(v) && v.gpu == "sm121"; }), 0U);
  EXPECT_GT(expect({.gpu = "cpu"}, [](const auto& v) { return !v.gpu; }), 0U);
  EXPECT_GT(expect({.line = "all", .gpu = "sm61"}, [](const auto& v) { return v.gpu == "sm61"; }), 0U);
  EXPECT_GT(expect({.cpu = "armv9"}, [&](const auto& v) { return of_line(v) && v.cpu == "armv9"; }), 0U);
  EXPECT_EQ(expect({.gpu = "sm61"}, [&](const auto& v) { return of_line(v) && v.gpu == "sm61"; }), 0U);
  EXPECT_EQ(list_variants({.gpu = "sm121", .python = "312"})->front().python, "312");
}

TEST(ListVariants, RefusesWhatTheMatrixDoesNotKnow) {
  EXPECT_THAT(list_variants({.line = "cuda11_8"}).error().message, HasSubstr("unknown line \"cuda11_8\""));
  EXPECT_THAT(list_variants({.gpu = "sm87"}).error().message, HasSubstr("unknown SM \"sm87\""));
  EXPECT_THAT(list_variants({.cpu = "sm90"}).error().message, HasSubstr("unknown ISA \"sm90\""));
  EXPECT_THAT(list_variants({.python = "39"}).error().message, HasSubstr("unknown Python \"39\""));
}

}  // namespace
}  // namespace pbprobe
