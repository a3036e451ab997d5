// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/claim.hpp"

#include <gmock/gmock.h>

#include "core/json.hpp"

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Claim, ParsesAVariantNameAsExact) {
  const auto claim = parse_claim("pytorch-python313-cuda13_0-sm121-armv9");
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_TRUE(claim->exact);
  EXPECT_THAT(claim->targets, ElementsAre("sm121", "armv9"));
  EXPECT_EQ(claim->cuda, "13.0");
  EXPECT_EQ(claim->torch, "2.10.0");
  EXPECT_EQ(claim->python, "3.13");
  EXPECT_EQ(claim->blas, "openblas");
  EXPECT_EQ(claim->text, "pytorch-python313-cuda13_0-sm121-armv9");
}

TEST(Claim, ClaimsTorchAndCudaOfEachLine) {
  const auto old_line = parse_claim("pytorch-python313-cuda12_8-sm61-avx");
  EXPECT_EQ(old_line->torch, "2.8.0");
  EXPECT_EQ(old_line->cuda, "12.8");
  EXPECT_EQ(parse_claim("pytorch-python313-cuda12_9-sm103-avx2")->torch, "2.9.1");
}

TEST(Claim, ClaimsNoCudaForACpuVariant) {
  const auto claim = parse_claim("pytorch210-python312-cpu-avx512vnni");
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_TRUE(claim->exact);
  EXPECT_THAT(claim->targets, ElementsAre("avx512vnni"));
  EXPECT_FALSE(claim->cuda);
  EXPECT_EQ(claim->torch, "2.10.0");
  EXPECT_EQ(claim->python, "3.12");
}

TEST(Claim, ParsesAListAsAtLeast) {
  const auto claim = parse_claim(" sm90, avx512 ,cuda=13.0,torch=2.10.0,python=313,blas=mkl");
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_FALSE(claim->exact);
  EXPECT_THAT(claim->targets, ElementsAre("sm90", "avx512"));
  EXPECT_EQ(claim->cuda, "13.0");
  EXPECT_EQ(claim->torch, "2.10.0");
  EXPECT_EQ(claim->python, "3.13");
  EXPECT_EQ(claim->blas, "mkl");
  EXPECT_EQ(claim->text, "sm90, avx512 ,cuda=13.0,torch=2.10.0,python=313,blas=mkl");
  EXPECT_THAT(parse_claim("sm80,sm90,avx2,avx512")->targets, ElementsAre("sm80", "sm90", "avx2", "avx512"));
}

TEST(Claim, ParsesACandidateAndANightly) {
  for (const char* torch : {"2.10.0rc1", "2.12.0.dev20260101", "1.13.0a0", "2.10.0.post3"}) {
    const auto claim = parse_claim(std::string("avx2,torch=") + torch);
    ASSERT_TRUE(claim) << claim.error().message;
    EXPECT_EQ(claim->torch, torch);
  }
}

TEST(Claim, ParsesOnlyAsExact) {
  EXPECT_TRUE(parse_claim("sm90,only")->exact);
  EXPECT_TRUE(parse_claim("only,sm90,sm100,avx2")->exact);
}

TEST(Claim, AcceptsAnSmOfAnOlderCuda) {
  EXPECT_TRUE(parse_claim("sm61,cuda=12.9.1"));
}

TEST(Claim, ParsesAListWithoutTargets) {
  const auto claim = parse_claim("cuda=13.0");
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_TRUE(claim->targets.empty());
}

TEST(Claim, ParsesANameLikeItsList) {
  auto name = *parse_claim("pytorch-python313-cuda13_0-sm90-avx512");
  auto list = *parse_claim("sm90,avx512,cuda=13.0,torch=2.10.0,python=3.13,blas=openblas,only");
  name.text = list.text = "";
  EXPECT_EQ(to_json(name).dump(), to_json(list).dump());
}

struct WrongClaim {
  const char* title;
  const char* text;
  const char* message;
};

class RefusedClaim : public testing::TestWithParam<WrongClaim> {};

TEST_P(RefusedClaim, SaysWhatIsWrong) {
  const auto claim = parse_claim(GetParam().text);
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().code, ErrorCode::usage);
  EXPECT_THAT(claim.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Claim, RefusedClaim,
    testing::Values(
        WrongClaim{"Empty", "  ", "an empty claim"}, WrongClaim{"EmptyWord", "sm90,,avx2", "a word is missing"},
        WrongClaim{"TrailingComma", "sm90,", "a word is missing"},
        WrongClaim{"UnknownTarget", "sm90,avx3", "unknown target \"avx3\": choose one of "},
        WrongClaim{"SmByCapability", "sm_90", "unknown target \"sm_90\""},
        WrongClaim{"UnknownKey", "sm90,rocm=6.2", "unknown key \"rocm\": choose one of cuda, torch, python, blas"},
        WrongClaim{"CudaNoVersion", "cuda=cu130", "cuda=cu130: give a version, as in cuda=13.0"},
        WrongClaim{"TorchOfABuild", "torch=2.10.0rc1+cu130", "torch=2.10.0rc1+cu130: give a version"},
        WrongClaim{"TorchNoVersion", "torch=nightly", "torch=nightly: give a version"},
        WrongClaim{"PythonNoVersion", "python=cp313", "python=cp313: give a version"},
        WrongClaim{"UnknownBlas", "blas=opneblas", "blas=opneblas: choose one of openblas, mkl"},
        WrongClaim{"KeyTwice", "cuda=13.0,cuda=12.8", "cuda= twice, as 13.0 and as 12.8"},
        WrongClaim{"TargetTwice", "sm90,sm90", "the claim gives sm90 twice"},
        WrongClaim{"NoSuchMachine", "sm121,avx2", "sm121 with avx2: no such machine"},
        WrongClaim{"TwoArchitectures", "avx2,armv9",
                   "avx2 and armv9 exclude each other: no build is for both x86_64 and aarch64"},
        WrongClaim{"DroppedByCuda", "sm61,cuda=13.0", "CUDA 13.0 has dropped sm61"},
        WrongClaim{"TooNewForCuda", "sm121,cuda=12.8", "CUDA 12.8 does not know sm121"},
        WrongClaim{"TwoMinimumCpus", "avx2,avx512,only", "a build has one minimum CPU"},
        WrongClaim{"OnlyNothing", "only,cuda=13.0", "\"only\" without a target"},
        WrongClaim{"BrokenName", "pytorch-python313-cuda13_0-sm121-avx2",
                   "claim: variant \"pytorch-python313-cuda13_0-sm121-avx2\": sm121 with avx2: no such machine"}),
    [](const auto& test) { return std::string(test.param.title); });

}  // namespace
}  // namespace pbprobe
