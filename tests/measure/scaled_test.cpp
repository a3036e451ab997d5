// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The areas of scaled types, on a torch that computes all of them on the CPU (fake/scaled_torch.c), sound and wrong.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paths.hpp"
#include "probes/measure/child/words.hpp"
#include "probes/measure/libtorch/areas.hpp"
#include "probes/measure/libtorch/scaled.hpp"

namespace pbprobe {
namespace {

using area::Scaling;
using testing::HasSubstr;

class ScaledAreas : public testing::Test {
 protected:
  void TearDown() override { unsetenv("PBPROBE_TEST_FAULT"); }

  static Result<void> check(const area::ScaledKind& kind, const area::ScaledDevice& device) {
    static const auto library = Libtorch::load(std::string(PBPROBE_FAKES) + "/scaled_torch");
    if (!library.ok()) return library.error();
    return area::check_scaled({*library, nullptr}, kind, device);
  }
  static Result<void> check(const area::ScaledKind& kind, const char* id = "sm120", bool gpu = true) {
    return check(kind, {gpu, find_target(id)});
  }
  static Error refused(const area::ScaledKind& kind, const area::ScaledDevice& device) {
    setenv("PBPROBE_TEST_FAULT", "throws", 1);
    const auto right = check(kind, device);
    EXPECT_FALSE(right.ok()) << kind.name;
    return right.ok() ? Error{} : right.error();
  }
  static Error refused(const area::ScaledKind& kind, const char* id, bool gpu = true) {
    return refused(kind, {gpu, find_target(id)});
  }
  static LibtorchArea make_area(const Error& error) {
    LibtorchArea area{"area", "cuda:0", {}, {}, {}};
    record_area_error(area, error);
    return area;
  }
  static const area::ScaledKind& find_kind(std::string_view name) {
    for (const auto& kind : area::scaled_kinds())
      if (kind.name == name) return kind;
    ADD_FAILURE() << name;
    return area::scaled_kinds().front();
  }
};

TEST_F(ScaledAreas, PassForSoundTorch) {
  for (const auto& kind : area::scaled_kinds()) {
    const auto right = check(kind);
    EXPECT_TRUE(right.ok()) << kind.name << ": " << (right.ok() ? "" : right.error().message);
  }
}

bool is_hit(const std::string& fault, const area::ScaledKind& kind) {
  const bool blocks = kind.scaling == Scaling::mx || kind.scaling == Scaling::nvfp4;
  if (fault == "order") return kind.type == DType::e2m1x2;
  if (fault == "bias") return kind.type == DType::e4m3 || kind.scaling == Scaling::nvfp4;
  if (fault == "not swizzled") return blocks;
  if (fault == "next block") return blocks || kind.scaling == Scaling::blocks_of_128;
  return true;
}

TEST_F(ScaledAreas, NameAnElementOfWhatIsWrongAndNothingElse) {
  for (const char* fault :
       {"order", "bias", "not swizzled", "next block", "a unscaled", "b unscaled", "short k", "one element"}) {
    setenv("PBPROBE_TEST_FAULT", fault, 1);
    for (const auto& kind : area::scaled_kinds()) {
      const auto right = check(kind);
      ASSERT_EQ(right.ok(), !is_hit(fault, kind)) << fault << ", " << kind.name;
      if (right.ok()) continue;
      EXPECT_EQ(right.error().code, ErrorCode::malformed) << fault << ", " << kind.name;
      EXPECT_THAT(right.error().message, HasSubstr(" aten::_scaled_mm is ")) << fault << ", " << kind.name;
      const LibtorchArea area = make_area(right.error());
      EXPECT_TRUE(area.problem && !area.obstacle && !area.skipped) << fault << ", " << kind.name;
    }
  }
}

TEST_F(ScaledAreas, SkipUnsupportedAreasWithReason) {
  const LibtorchArea mx = make_area(refused(find_kind("MXFP8 GEMM"), "sm90"));
  EXPECT_EQ(mx.skipped, "torch computes this product on sm100, sm103, sm110, sm120, sm121, and this GPU is sm90");
  EXPECT_EQ(mx.problem, std::nullopt);
  EXPECT_EQ(make_area(refused(find_kind("FP8 GEMM"), "sm86")).skipped,
            "torch computes this product on sm89, sm90, sm100, sm103, sm110, sm120, sm121, and this GPU is sm86");
  EXPECT_EQ(make_area(refused(find_kind("FP8 GEMM with scales of 1x128 and 128x128"), "sm120")).skipped,
            "torch computes this product on sm90, and this GPU is sm120");
  EXPECT_THAT(make_area(refused(find_kind("MXFP4 GEMM"), "sm120")).skipped.value_or(""),
              HasSubstr("refuses these types"));
  EXPECT_THAT(make_area(refused(find_kind("FP8 GEMM"), "", false)).skipped.value_or(""),
              HasSubstr("no such product for CPUs"));
}

// A sound release is not to be blamed for what came later.
TEST_F(ScaledAreas, SkipAreasOptionalInThisRelease) {
  const auto skipped = [](std::string_view name, const char* id, MajorMinor torch, MajorMinor cuda) {
    const LibtorchArea area = make_area(refused(find_kind(name), {true, find_target(id), torch, cuda}));
    EXPECT_EQ(area.skipped.has_value(), !area.problem && !area.obstacle);
    return area.skipped.value_or("could not run");
  };
  constexpr const char* kBlocks = "FP8 GEMM with scales of 1x128 and 128x128";
  EXPECT_EQ(skipped(kBlocks, "sm90", {2, 8}, {12, 9}),
            "torch computes this product from 2.9 on, and this torch is 2.8");
  EXPECT_EQ(skipped(kBlocks, "sm90", {2, 9}, {12, 8}),
            "torch computes this product from CUDA 12.9 on, and this torch was compiled with 12.8");
  EXPECT_EQ(skipped(kBlocks, "sm90", {2, 9}, {12, 9}), "could not run");
  EXPECT_EQ(skipped("NVFP4 GEMM", "sm120", {2, 10}, {12, 8}),
            "torch computes this product from CUDA 13.0 on, and this torch was compiled with 12.8");
  EXPECT_EQ(skipped("NVFP4 GEMM", "sm120", {2, 10}, {13, 0}), "could not run");
  EXPECT_EQ(skipped("FP8 GEMM with scales of rows", "sm121", {2, 10}, {13, 0}),
            "not every release of torch computes this product on sm121, and this one does not");
  EXPECT_EQ(skipped("FP8 GEMM with scales of rows", "sm90", {2, 8}, {12, 8}), "could not run");
}

TEST_F(ScaledAreas, ReportNotRunIfTorchRefuses) {
  for (const auto& [name, id] : {std::pair{"MXFP8 GEMM", "sm120"}, std::pair{"NVFP4 GEMM", "sm100"},
                                 std::pair{"FP8 GEMM", "sm89"}, std::pair{"FP8 GEMM", "no row"}}) {
    const LibtorchArea area = make_area(refused(find_kind(name), id));
    EXPECT_EQ(area.obstacle, Obstacle::unexplained) << name << " on " << id;
    EXPECT_TRUE(area.problem && !area.skipped) << name << " on " << id;
  }
}

// An area that a release may lack is not skipped if torch's message names a fault or an obstacle.
TEST_F(ScaledAreas, SeparateFaultFromMissingSupport) {
  for (const auto& [words, code, obstacle] :
       {std::tuple{"CUBLAS_STATUS_NOT_SUPPORTED", ErrorCode::unsupported, std::optional<Obstacle>()},
        {"an illegal memory access was encountered", ErrorCode::failed_child, std::nullopt},
        {"no kernel image is available for execution", ErrorCode::failed_child, std::nullopt},
        {"CUDA out of memory", ErrorCode::failed_child, Obstacle::out_of_memory}}) {
    Error seen;
    {
      const StderrCapture caught;
      std::fprintf(stderr, "Exception in aoti_torch: CUDA error: %s\n", words);
      seen = caught.explained(refused(find_kind("FP8 GEMM with scales of rows"), "sm121"));
    }
    EXPECT_EQ(seen.code, code) << words;
    EXPECT_EQ(seen.obstacle, obstacle) << words;
    if (code == ErrorCode::failed_child) {
      EXPECT_THAT(seen.message, HasSubstr(words));
    }
  }
  const StderrCapture caught;
  std::fprintf(stderr, "CUDA error: an illegal memory access was encountered\n");
  EXPECT_EQ(caught.explained(refused(find_kind("FP8 GEMM"), "sm89")).obstacle, std::nullopt);
}

TEST_F(ScaledAreas, RunBlockScalesOnlyOnGpus) {
  for (const auto& kind : area::scaled_kinds()) {
    const auto right = check(kind, "", false);
    EXPECT_EQ(right.ok(), kind.scaling == Scaling::tensor) << kind.name;
    if (right.ok()) continue;
    EXPECT_EQ(make_area(right.error()).skipped, "this area is tested only on GPUs") << kind.name;
  }
}

}  // namespace
}  // namespace pbprobe
