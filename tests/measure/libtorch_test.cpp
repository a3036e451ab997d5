// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// On a real libtorch: PBPROBE_TEST_TORCH names the site-packages folder that holds torch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/host.hpp"
#include "kernels/gemm/table.hpp"
#include "probes/measure/dlopen.hpp"
#include "probes/measure/statistics.hpp"
#include "tests/measure/child.hpp"

namespace pbprobe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class RealLibtorch : public testing::Test {
 protected:
  void SetUp() override {
    const char* const root = std::getenv("PBPROBE_TEST_TORCH");
    if (root == nullptr)
      GTEST_SKIP() << "PBPROBE_TEST_TORCH is not set: name the site-packages folder that holds torch";
    root_ = root;
    request_.host = detect_host(system_sources()).value();
    request_.libtorch_dir = root_ + "/torch/lib";
  }
  Measurements measure() {
    auto result = measure_in_child(request_, {.program = self()});
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(*result) : Measurements{};
  }
  // "2.11.0" of version.py's "2.11.0+cu130".
  [[nodiscard]] std::string version_in_python() const {
    std::ifstream file(root_ + "/torch/version.py");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const size_t begin = text.find("__version__ = '") + 15;
    return text.substr(begin, text.find_first_of("+'", begin) - begin);
  }
  std::string root_;
  MeasureRequest request_;
};

TEST_F(RealLibtorch, LoadsComputesAndSaysWhatItIs) {
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_EQ(m.libtorch->problem, std::nullopt);
  EXPECT_TRUE(m.libtorch->loaded);
  EXPECT_TRUE(m.libtorch->executed);
  EXPECT_EQ(m.libtorch->version.value_or("?"), version_in_python());
  EXPECT_THAT(m.libtorch->cpu_capability.value_or(""), testing::AnyOf("AVX512", "AVX2", "DEFAULT", "NO AVX", "SVE256"));
  EXPECT_THAT(m.problems, IsEmpty());
}

TEST_F(RealLibtorch, EveryAreaIsRight) {
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_GE(m.libtorch->areas.size(), 10U);
  for (const LibtorchArea& area : m.libtorch->areas) EXPECT_EQ(area.problem, std::nullopt) << area.area;
}

// The same torch behind a library that computes one area wrong, or dies in it.
TEST_F(RealLibtorch, AnAreaThatIsWrongIsNamedWithItsElement) {
  request_.libtorch_dir = PBPROBE_FAKES "/wrong_area";
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_TRUE(m.libtorch->executed);
  for (const LibtorchArea& area : m.libtorch->areas) {
    if (area.area == "softmax") {
      EXPECT_THAT(area.problem.value_or("right"), testing::HasSubstr("element 0 of aten::_softmax is "));
    } else {
      EXPECT_EQ(area.problem, std::nullopt) << area.area;
    }
  }
}

TEST_F(RealLibtorch, AnAreaThatItDiesInIsNamed) {
  request_.libtorch_dir = PBPROBE_FAKES "/deadly_area";
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_THAT(m.libtorch->problem.value_or(""),
              testing::AllOf(testing::HasSubstr("computing softmax with "), testing::HasSubstr("SIGILL")));
  ASSERT_FALSE(m.libtorch->areas.empty());
  EXPECT_EQ(m.libtorch->areas.back().area, "softmax");
  EXPECT_EQ(m.libtorch->areas.back().problem, "nothing came back from it");
}

TEST_F(RealLibtorch, TheTierCanBeForced) {
  setenv("ATEN_CPU_CAPABILITY", "default", 1);
  const Measurements m = measure();
  unsetenv("ATEN_CPU_CAPABILITY");
  ASSERT_TRUE(m.libtorch);
  EXPECT_THAT(m.libtorch->cpu_capability.value_or(""), testing::AnyOf("DEFAULT", "NO AVX"));
  EXPECT_TRUE(m.libtorch->executed);
}

TEST_F(RealLibtorch, StandsBesideOurKernelsAndAlone) {
  const bool emulated = std::string(PBPROBE_EMULATOR) != "";
  request_.budget_seconds = emulated ? 90 : 6;
  request_.limit_seconds = emulated ? 200 : 60;
  for (const DType dtype : {DType::fp32, DType::bf16, DType::int8})
    request_.benches.push_back({.dtype = dtype, .shapes = {{256, 192, 128}}, .against = {"libtorch"}});
  request_.host.gpus.clear();
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_EQ(m.libtorch->problem, std::nullopt);
  ASSERT_EQ(m.libtorch->figures.size(), 3U) << testing::PrintToString(m.notes);
  for (const LibtorchFigure& figure : m.libtorch->figures) {
    EXPECT_EQ(figure.device, "cpu");
    EXPECT_GT(figure.gflops, 0.01) << figure.dtype;
    EXPECT_GE(figure.samples_us.size(), 3U);
  }
  EXPECT_EQ(m.libtorch->figures[1].dtype, "bf16");
  for (const BenchRow& row : m.rows) {
    ASSERT_EQ(row.peers.count("libtorch"), 1U) << row.kernel;
    const PeerFigure& peer = row.peers.at("libtorch");
    EXPECT_EQ(peer.samples_us.size(), row.samples_us.size());
    EXPECT_DOUBLE_EQ(peer.ratio, median_ratio(peer.samples_us, row.samples_us)) << "above 1: ours is faster";
  }
}

// --- what the loader says, for machines that are not here ---

TEST(ExplainLoader, ANewerGlibcIsNamed) {
  const Error error = explain_loader("/t/libtorch_cpu.so",
                                     "/lib/libm.so.6: version `GLIBC_2.99' not found (required by /t/libtorch_cpu.so)");
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("built for a newer glibc than this machine's"), HasSubstr("GLIBC_2.99")));
}

TEST(ExplainLoader, MixedLibrariesAreNamed) {
  EXPECT_THAT(explain_loader("/t/a.so", "/t/a.so: undefined symbol: _ZN3c105ErrorC1E").message,
              HasSubstr("libraries of different builds are mixed"));
}

TEST(ExplainLoader, WhatIsUnknownIsQuoted) {
  EXPECT_THAT(explain_loader("/t/a.so", "cannot allocate memory in static TLS block").message,
              HasSubstr("static TLS block"));
}

}  // namespace
}  // namespace pbprobe
