// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// On a real libtorch: PBPROBE_TEST_TORCH names the site-packages folder that holds torch.
#include <csignal>
#include <map>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/host.hpp"
#include "kernels/gemm/table.hpp"
#include "paths.hpp"
#include "probes/measure/child/dlopen.hpp"
#include "probes/measure/libtorch/speeds.hpp"
#include "probes/measure/libtorch/starts.hpp"
#include "probes/process/statistics.hpp"
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

TEST_F(RealLibtorch, ComputesEachAreaCorrectly) {
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_GE(m.libtorch->areas.size(), 19U);
  for (const LibtorchArea& area : m.libtorch->areas) {
    EXPECT_EQ(area.problem, std::nullopt) << area.area;
    const bool only_gpus = area.area == "convolution in FP16" || area.area == "wrong device index" ||
                           (area.area != "FP8 GEMM" && area.area.find("P8 GEMM") != std::string::npos) ||
                           area.area.find("FP4 GEMM") != std::string::npos;
    EXPECT_EQ(area.skipped.has_value(), only_gpus) << area.area << ": " << area.skipped.value_or("");
  }
}

TEST_F(RealLibtorch, SaysWithWhatItWorks) {
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_THAT(m.libtorch->libraries, testing::Contains(testing::Field(&LibtorchLibrary::name, "OpenMP")));
  EXPECT_THAT(m.libtorch->libraries, testing::Contains(testing::Field(&LibtorchLibrary::name, "BLAS")));
}

// A start runs in its own process, forked from this one, which loads no libtorch.
TEST_F(RealLibtorch, StartsInEachTierOfTheDispatcher) {
  request_.host.gpus.clear();
  std::vector<LibtorchStart> starts;
  try_starts(*request_.libtorch_dir, request_.host, 120,
             [&](LibtorchStart start) { starts.push_back(std::move(start)); });
  ASSERT_FALSE(starts.empty());
  EXPECT_EQ(starts.front().how, "ATEN_CPU_CAPABILITY=default");
  EXPECT_THAT(starts.front().cpu_capability.value_or(""), testing::AnyOf("DEFAULT", "NO AVX"));
  for (const LibtorchStart& start : starts) EXPECT_EQ(start.problem, std::nullopt) << start.how;
}

// Puts the same torch behind a library that computes one area wrong, or dies in it.
TEST_F(RealLibtorch, NamesWrongAreaAndElement) {
  request_.libtorch_dir = std::string(PBPROBE_FAKES) + "/wrong_area";
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

TEST_F(RealLibtorch, NamesAreaOfCrash) {
  request_.libtorch_dir = std::string(PBPROBE_FAKES) + "/deadly_area";
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_THAT(m.libtorch->problem.value_or(""),
              testing::AllOf(testing::HasSubstr("computing softmax with "), testing::HasSubstr("SIGILL")));
  ASSERT_FALSE(m.libtorch->areas.empty());
  EXPECT_EQ(m.libtorch->areas.back().area, "softmax");
  EXPECT_EQ(m.libtorch->areas.back().problem, "no result came back");
}

TEST_F(RealLibtorch, RunsForcedTier) {
  setenv("ATEN_CPU_CAPABILITY", "default", 1);
  const Measurements m = measure();
  unsetenv("ATEN_CPU_CAPABILITY");
  ASSERT_TRUE(m.libtorch);
  EXPECT_THAT(m.libtorch->cpu_capability.value_or(""), testing::AnyOf("DEFAULT", "NO AVX"));
  EXPECT_TRUE(m.libtorch->executed);
}

TEST_F(RealLibtorch, RunsWithAndWithoutKernels) {
  const bool emulated = std::string(PBPROBE_EMULATOR) != "";
  request_.budget_seconds = emulated ? 90 : 18;
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

// --- what is read of a libtorch on another machine ---

TEST(LibtorchLibraries, ConfigurationNamesArchitecturesAndVersions) {
  const Configuration read = read_configuration(
      "PyTorch built with:\n"
      "  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64\n"
      "  - Intel(R) MKL-DNN v3.10.2 (Git Hash f1d471933dc)\n"
      "  - OpenMP 201511 (a.k.a. OpenMP 4.5)\n"
      "  - CUDA Runtime 13.0\n"
      "  - NVCC architecture flags: -gencode;arch=compute_90,code=sm_90;-gencode;arch=compute_120,code=compute_120\n"
      "  - CuDNN 91.9  (built against CUDA 13.1)\n"
      "  - Magma 2.6.1\n"
      "  - Build settings: BLAS_INFO=mkl, CUDA_VERSION=13.0, CUDNN_VERSION=9.19.0, USE_NCCL=1, \n");
  EXPECT_EQ(read.built_for, (std::vector<std::string>{"sm_90", "compute_120"}));
  std::map<std::string, std::string> compiled, running;
  for (const auto& library : read.libraries) {
    if (library.compiled) compiled[library.name] = *library.compiled;
    if (library.running) running[library.name] = *library.running;
  }
  EXPECT_EQ(compiled, (std::map<std::string, std::string>{
                          {"BLAS", "mkl"}, {"CUDA", "13.0"}, {"MAGMA", "2.6.1"}, {"cuDNN", "9.19.0"}}));
  EXPECT_EQ(running, (std::map<std::string, std::string>{
                         {"CUDA", "13.0"}, {"MKL", "2024.2"}, {"OpenMP", "4.5"}, {"oneDNN", "3.10.2"}}));
  EXPECT_TRUE(read_configuration("").libraries.empty());
}

TEST(LibtorchLibraries, VersionsAreReadByTheirOwnRules) {
  EXPECT_EQ(cudnn_version(91900), "9.19.0");
  EXPECT_EQ(cudnn_version(8907), "8.9.7");
  EXPECT_EQ(nccl_version(22809), "2.28.9");
  EXPECT_EQ(nccl_version(2804), "2.8.4");
  EXPECT_EQ(cublas_version(130100), "13.1.0");
}

// --- processes of their own ---

TEST(InFork, GivesItsWordsItsEndOrItsTime) {
  const auto words = fork_and_run({{"PBPROBE_TEST_WORD", "seen"}}, 20, [] {
    const char* const word = std::getenv("PBPROBE_TEST_WORD");
    return std::string(word == nullptr ? "" : word);
  });
  ASSERT_TRUE(words.ok()) << words.error().message;
  EXPECT_EQ(*words, "seen");
  EXPECT_EQ(std::getenv("PBPROBE_TEST_WORD"), nullptr);
  const auto killed = fork_and_run({}, 20, []() -> std::string {
    raise(SIGILL);
    return "";
  });
  ASSERT_FALSE(killed.ok());
  EXPECT_THAT(killed.error().message, HasSubstr("ended by SIGILL"));
  const auto late = fork_and_run({}, 0.2, []() -> std::string {
    while (true) pause();
  });
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::limit);
}

// --- what the loader says, for machines that are not here ---

TEST(ExplainLoader, NamesNewerGlibc) {
  const Error error = explain_loader("/t/libtorch_cpu.so",
                                     "/lib/libm.so.6: version `GLIBC_2.99' not found (required by /t/libtorch_cpu.so)");
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("built for a newer glibc than"), HasSubstr("GLIBC_2.99")));
}

TEST(ExplainLoader, MixedLibrariesAreNamed) {
  EXPECT_THAT(explain_loader("/t/a.so", "/t/a.so: undefined symbol: _ZN3c105ErrorC1E").message,
              HasSubstr("libraries of different builds are mixed"));
}

TEST(ExplainLoader, PrintsUnknownMessage) {
  EXPECT_THAT(explain_loader("/t/a.so", "cannot allocate memory in static TLS block").message,
              HasSubstr("static TLS block"));
}

TEST(ExplainLoader, ReportsNoFaultWithoutCause) {
  EXPECT_EQ(explain_loader("/t/a.so", "").obstacle, Obstacle::unexplained);
  EXPECT_EQ(explain_loader("/t/a.so", "undefined symbol: f").obstacle, std::nullopt);
}

}  // namespace
}  // namespace pbprobe
