// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A program against a libtorch's headers, and what Python is asked: with a small torch of our own, sound and broken.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/pipeline/headers.hpp"
#include "probes/pipeline/python.hpp"
#include "tests/temp_folder.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Only headers: as much of torch as the program names, and a sum that it looks at.
std::string small_torch(int sum) {
  return "namespace torch { struct T { T t() const { return {}; } T sum() const { return {}; }\n"
         "  template <class V> V item() const { return " +
         std::to_string(sum) + "; } };\n  inline T ones(...) { return {}; }\n  inline T mm(T, T) { return {}; } }\n" +
         "struct Sizes { Sizes(int, int) {} };\nnamespace torch { inline T ones(Sizes) { return {}; } }\n";
}

class Headers : public testing::Test {
 protected:
  LibtorchArea build_headers(const std::string& header) {
    const fs::path include = folder_.path() / "include/torch/csrc/api/include/torch";
    fs::create_directories(include);
    fs::create_directories(folder_.path() / "lib");
    std::ofstream(include / "torch.h") << header;
    return try_headers((folder_.path() / "lib").string(), 60);
  }
  test::TempFolder folder_;
};

TEST_F(Headers, BuildARunningProgramWithASoundTorch) {
  const LibtorchArea area = build_headers(small_torch(36));
  if (area.skipped) GTEST_SKIP() << *area.skipped;
  EXPECT_EQ(area.problem, std::nullopt);
}

TEST_F(Headers, ReportsErrorsOfHeaders) {
  const LibtorchArea area = build_headers("#include <c10/absent.h>\n");
  if (area.skipped) GTEST_SKIP() << *area.skipped;
  EXPECT_THAT(area.problem.value_or(""), testing::AllOf(HasSubstr("does not build"), HasSubstr("c10/absent.h")));
}

TEST_F(Headers, WhoseProgramComputesWrongAreNamed) {
  const LibtorchArea area = build_headers(small_torch(35));
  if (area.skipped) GTEST_SKIP() << *area.skipped;
  EXPECT_THAT(area.problem.value_or(""), HasSubstr("ended with exit code 1"));
}

TEST_F(Headers, AcceptsMissingHeaders) {
  const LibtorchArea area = try_headers((folder_.path() / "lib").string(), 60);
  EXPECT_EQ(area.problem, std::nullopt);
  EXPECT_THAT(area.skipped.value_or(""), HasSubstr("include has no "));
}

class Compiler : public Headers {
 protected:
  LibtorchArea build_with_compiler(const std::string& compiler) {
    setenv("CXX", compiler.c_str(), 1);
    const LibtorchArea area = build_headers(small_torch(36));
    unsetenv("CXX");
    return area;
  }
};

TEST_F(Compiler, MayBeSeveralWordsAsAShellReadsThem) {
  const LibtorchArea area = build_with_compiler("env 'PBPROBE_UNUSED=a b' c++ -O1");
  EXPECT_EQ(area.problem, std::nullopt);
  EXPECT_EQ(area.skipped, std::nullopt);
}

TEST_F(Compiler, DoesNotBlameTorchForAMissingCompiler) {
  const LibtorchArea area = build_with_compiler("/made-up/c++");
  EXPECT_EQ(area.obstacle, Obstacle::missing) << area.problem.value_or("");
}

TEST_F(Compiler, DoesNotBlameTorchForABrokenCompiler) {
  const LibtorchArea area = build_with_compiler("false");
  EXPECT_EQ(area.obstacle, Obstacle::missing);
  EXPECT_THAT(area.problem.value_or(""), HasSubstr("set CXX"));
}

TEST_F(Compiler, DoesNotBlameTorchForASlowCompiler) {
  const fs::path include = folder_.path() / "include/torch/csrc/api/include/torch";
  fs::create_directories(include);
  std::ofstream(include / "torch.h") << small_torch(36);
  setenv("CXX", "sh -c 'sleep 60' sh", 1);
  const LibtorchArea area = try_headers((folder_.path() / "lib").string(), 0.5);
  unsetenv("CXX");
  EXPECT_EQ(area.obstacle, Obstacle::time_limit) << area.problem.value_or("");
}

std::vector<LibtorchArea> ask(const std::string& script, double seconds = 20) {
  return ask_python({"/bin/sh", "-c", script, "sh"}, seconds);
}

TEST(AskPython, KeepsTheLaterAnswerOfAnArea) {
  const auto areas = ask(R"(echo '{"area": "a", "device": "cpu", "problem": "nothing came back"}' > $1
                            echo '{"area": "a", "device": "cpu", "problem": null}' >> $1
                            echo '{"area": "b", "device": "cpu", "problem": null, "skipped": "why"}' >> $1)");
  ASSERT_EQ(areas.size(), 2U);
  EXPECT_EQ(areas[0].problem, std::nullopt);
  EXPECT_EQ(areas[1].skipped, "why");
}

TEST(AskPython, ReportsTheSignalInTheLastArea) {
  const auto areas = ask(R"(echo '{"area": "a", "device": "cuda:0", "problem": "nothing"}' > $1; kill -SEGV $$)");
  ASSERT_EQ(areas.size(), 1U);
  EXPECT_EQ(areas[0].device, "cuda:0");
  EXPECT_NE(areas[0].problem, std::nullopt);
  EXPECT_NE(areas[0].problem, "nothing");
  const auto none = ask("echo No module named pbprobe >&2; exit 1");
  ASSERT_EQ(none.size(), 1U);
  EXPECT_THAT(none[0].problem.value_or(""), HasSubstr("No module named pbprobe"));
  EXPECT_EQ(none[0].obstacle, std::nullopt);
}

TEST(AskPython, DoesNotBlameTorchForTimeOrMemory) {
  const auto areas = ask(R"(echo '{"area": "a", "device": "cpu", "problem": "nothing"}' > $1; sleep 60)", 0.5);
  ASSERT_EQ(areas.size(), 1U);
  EXPECT_EQ(areas[0].obstacle, Obstacle::time_limit);
  EXPECT_EQ(areas[0].skipped, std::nullopt) << "an unfinished process skips no area";
  const auto full = ask("echo torch.OutOfMemoryError: CUDA out of memory >&2; exit 1");
  ASSERT_EQ(full.size(), 1U);
  EXPECT_EQ(full[0].obstacle, Obstacle::out_of_memory);
}

}  // namespace
}  // namespace pbprobe
