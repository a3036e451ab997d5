// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/spawn.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paths.hpp"
#include "probes/process/sandbox.hpp"
#include "tests/measure/child.hpp"
#include "tests/temp_folder.hpp"

namespace pbprobe {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// Marks the children of one test in their environment, and wants none left at its end.
class Spawn : public testing::Test {
 protected:
  void SetUp() override {
    mark_ = "PBPROBE_TEST_MARK=" + std::to_string(getpid()) + "-" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    const size_t equals = mark_.find('=');
    setenv(mark_.substr(0, equals).c_str(), mark_.c_str() + equals + 1, 1);
  }
  void TearDown() override {
    EXPECT_EQ(count_processes(mark_), 0) << "processes were left behind";
    unsetenv("PBPROBE_TEST_MARK");
  }

  static Result<Measurements> load(const std::string& fake, double limit_seconds = 20) {
    MeasureRequest request{.host = small_host(), .libtorch_dir = std::string(PBPROBE_FAKES) + "/" + fake};
    request.limit_seconds = limit_seconds;
    return measure_in_child(request, {.program = self()});
  }
  static std::string load_problem(const std::string& fake, double limit_seconds = 20) {
    auto result = load(fake, limit_seconds);
    if (!result.ok()) return "error: " + result.error().message;
    if (!result->libtorch) return "no libtorch section";
    return result->libtorch->problem.value_or("no problem");
  }
  static std::optional<Obstacle> classify_status(const std::string& fake, double limit_seconds = 20) {
    auto result = load(fake, limit_seconds);
    return result.ok() && result->libtorch ? result->libtorch->obstacle : std::nullopt;
  }

 private:
  std::string mark_;
};

TEST_F(Spawn, AnswersNothingToEmptyRequest) {
  auto result = measure_in_child({.host = small_host()}, {.program = self()});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->rows.empty());
  EXPECT_TRUE(result->problems.empty());
  EXPECT_TRUE(result->notes.empty());
  EXPECT_FALSE(result->libtorch);
}

TEST_F(Spawn, NamesSignalOfAbortInInitializer) {
  EXPECT_THAT(load_problem("abort"), AllOf(HasSubstr("loading " + std::string(PBPROBE_FAKES) +
                                                     "/abort/libtorch_cpu.so ended its process by SIGABRT"),
                                           HasSubstr("reinstall or rebuild"), HasSubstr("std::runtime_error")));
  EXPECT_EQ(classify_status("abort"), std::nullopt);
}

// A child that had no memory, or no time, is not known to be wrong.
TEST_F(Spawn, TooLittleMemoryIsNoFaultOfTheBuild) {
  EXPECT_THAT(load_problem("no_memory"), AllOf(HasSubstr("SIGABRT"), HasSubstr("too little memory")));
  EXPECT_EQ(classify_status("no_memory"), Obstacle::out_of_memory);
}

TEST_F(Spawn, NamesIllegalInstructionWithItsBytes) {
  EXPECT_THAT(load_problem("illegal"),
              AllOf(HasSubstr("SIGILL at libtorch_cpu.so+0x"), HasSubstr("use a build for this CPU")));
  EXPECT_EQ(classify_status("illegal"), std::nullopt);
#if defined(__x86_64__)
  EXPECT_THAT(load_problem("illegal"), HasSubstr("bytes 0f 0b "));
#else
  EXPECT_THAT(load_problem("illegal"), HasSubstr("bytes 00 00 00 00 "));
#endif
}

TEST_F(Spawn, EndsDeadlockAtTimeLimit) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(load_problem("deadlock", 0.5), AllOf(HasSubstr("did not end within 0.5 s"), HasSubstr("--budget")));
  EXPECT_EQ(classify_status("deadlock", 0.5), Obstacle::time_limit);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
}

TEST_F(Spawn, GarbageOnStdoutIsKeptApartFromTheAnswer) {
  auto result = load("garbage");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->rows.empty());
  ASSERT_EQ(result->notes.size(), 1U);
  EXPECT_THAT(result->notes[0], HasSubstr("also printed 600000 bytes: "));
  EXPECT_THAT(result->libtorch->problem.value_or(""), HasSubstr("older than torch 2.8"));
}

TEST_F(Spawn, EndsAndNamesDaemon) {
  auto result = load("daemon");
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->problems.size(), 1U);
  // One, or two while the process that started it is about to end.
  EXPECT_THAT(result->problems[0], AllOf(AnyOf(HasSubstr("1 process outlived"), HasSubstr("2 processes outlived")),
                                         HasSubstr("daemon starts processes when it is loaded")));
}

TEST_F(Spawn, RejectsAnswerOfForkedLibrary) {
  EXPECT_THAT(load_problem("fork_and_leave"), HasSubstr("with exit code 0 and without an answer"));
}

TEST_F(Spawn, ReportsExitCodeOfLibrary) {
  EXPECT_THAT(load_problem("exit"), HasSubstr("with exit code 3 and without an answer"));
}

TEST_F(Spawn, NamesMissingDependency) {
  EXPECT_THAT(load_problem("missing"), HasSubstr("needs libpbprobe_absent.so, which is missing"));
  EXPECT_EQ(classify_status("missing"), Obstacle::missing);
}

TEST_F(Spawn, NamesOtherPlatform) {
  if (!std::filesystem::exists(std::string(PBPROBE_FAKES) + "/foreign/libtorch_cpu.so"))
    GTEST_SKIP() << "no compiler for the other platform: install g++-aarch64-linux-gnu";
  EXPECT_THAT(load_problem("foreign"),
              AllOf(HasSubstr("it is built for "), HasSubstr("take the build for this machine")));
}

TEST_F(Spawn, RejectsLibraryWithoutShims) {
  EXPECT_THAT(load_problem("old"), AllOf(HasSubstr("has no aoti_torch_abi_version"), HasSubstr("torch 2.8 or later")));
}

TEST_F(Spawn, CatchesLibraryThatComputesWrong) {
  auto result = load("wrong");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->libtorch->loaded);
  EXPECT_FALSE(result->libtorch->executed);
  EXPECT_EQ(result->libtorch->version, "2.99.1");
  EXPECT_THAT(result->libtorch->problem.value_or(""), AllOf(HasSubstr("C[0,0]"), HasSubstr("computes wrong")));
  EXPECT_EQ(result->libtorch->obstacle, std::nullopt) << "wrong numbers are a fault";
}

TEST_F(Spawn, NamesEmptyFileTextOrMissingFolder) {
  const std::filesystem::path folder = std::filesystem::path(PBPROBE_FAKES) / ("text" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string name = folder.filename();
  std::ofstream(folder / "libtorch_cpu.so").close();
  EXPECT_THAT(load_problem(name), HasSubstr("it is not a shared object"));
  std::ofstream(folder / "libtorch_cpu.so") << std::string(100, 'x');
  EXPECT_THAT(load_problem(name), HasSubstr("it is not a shared object"));
  std::filesystem::remove_all(folder);
  EXPECT_THAT(load_problem(name), HasSubstr("No such file or directory"));
}

// --- foreign code that means harm ---

// Reports whether this system gives a child its own namespaces.
bool can_be_apart() {
  Sandbox sandbox = prepare_sandbox();
  const pid_t child = fork_into(sandbox);
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  close_sandbox(sandbox);
  return sandbox.apart;
}

Result<Measurements> load_within(const std::string& fake, const ChildLimits& limits) {
  MeasureRequest request{.host = small_host(), .libtorch_dir = std::string(PBPROBE_FAKES) + "/" + fake};
  request.limit_seconds = 20;
  return measure_in_child(request, limits);
}

// TearDown wants none of them left. Those that left the session are counted in a namespace only; without one they end
// at the time limit.
TEST_F(Spawn, EndsAndNamesForkBomb) {
  auto result = load_within("fork_bomb", {.processes = 60, .program = self()});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const std::string problem = result->libtorch->problem.value_or("");
  if (can_be_apart()) {
    EXPECT_THAT(problem, AllOf(HasSubstr("fork_bomb/libtorch_cpu.so was killed by pbprobe, because it used "),
                               HasSubstr("60 are allowed")));
  } else {
    EXPECT_THAT(problem, HasSubstr("did not end within 20 s and was killed"));
  }
}

TEST_F(Spawn, OutputWithoutEndIsKeptShortAndEndsAtTheLimit) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(load_problem("flood", 2), HasSubstr("did not end within 2 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(9));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 1 << 20) << "its output was kept in memory";
}

TEST_F(Spawn, EndsAndNamesMemoryHog) {
  auto result = load_within("hog", {.memory_bytes = 256 << 20, .program = self()});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->libtorch->problem.value_or(""), AllOf(HasSubstr("MB of memory"), HasSubstr("256 are allowed")));
  EXPECT_EQ(result->libtorch->obstacle, Obstacle::out_of_memory);
}

TEST_F(Spawn, SurvivesKillOfOwnGroup) {
  EXPECT_THAT(load_problem("kill_group"), HasSubstr("ended its process by SIGKILL"));
  EXPECT_EQ(classify_status("kill_group"), Obstacle::killed);
}

TEST_F(Spawn, SurvivesKillOfParentGroup) {
  EXPECT_THAT(load_problem("kill_parent"), HasSubstr("ended its process by SIGKILL"));
}

TEST_F(Spawn, ContainsKillOfAllReachableProcesses) {
  if (!can_be_apart()) GTEST_SKIP() << "this system allows no namespaces";
  struct stat facts {};
  ASSERT_EQ(stat("/proc/self/ns/pid", &facts), 0);
  setenv("PBPROBE_TEST_NAMESPACE", std::to_string(facts.st_ino).c_str(), 1);
  EXPECT_THAT(load_problem("kill_all"), HasSubstr("ended its process by SIGKILL"));
  unsetenv("PBPROBE_TEST_NAMESPACE");
}

bool has_landlock() {
  return syscall(444, nullptr, 0, 1) >= 1;
}

// The library answers for its process on each descriptor, as if it had been asked and was right.
TEST_F(Spawn, RejectsAnswerDuringLoad) {
  auto result = load("forger");
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result->libtorch);
  EXPECT_FALSE(result->libtorch->loaded);
  EXPECT_FALSE(result->libtorch->executed);
  EXPECT_EQ(result->libtorch->version, std::nullopt);
  EXPECT_THAT(result->libtorch->intruded.value_or("nothing"),
              AllOf(HasSubstr("bytes that begin with \"{\"libtorch\": "),
                    HasSubstr("while " + std::string(PBPROBE_FAKES) + "/forger/libtorch_cpu.so was loaded")));
  EXPECT_THAT(result->libtorch->problem.value_or(""), HasSubstr("with exit code 0 and without an answer"));
}

TEST_F(Spawn, CountsFloodOfAnswersWithoutStoringIt) {
  auto result = load("channel_flood", 40);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->libtorch->intruded.value_or("nothing"), HasSubstr("begin with \"xxxxxxxx"));
  EXPECT_FALSE(result->libtorch->executed);
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  EXPECT_LT(usage.ru_maxrss, 1 << 20) << "it was kept in memory";
}

TEST_F(Spawn, RejectsClosedChannelAsAnswer) {
  for (const char* fake : {"closer", "deaf"}) {
    auto result = load(fake);
    ASSERT_TRUE(result.ok()) << fake << ": " << result.error().message;
    EXPECT_FALSE(result->libtorch->loaded) << fake;
    EXPECT_NE(result->libtorch->problem, std::nullopt) << fake;
    EXPECT_EQ(result->libtorch->obstacle, std::nullopt) << fake;
  }
}

TEST_F(Spawn, HidesSecretsFromReadingLibrary) {
  auto result = load("reader");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(result->libtorch->problem.value_or(""), HasSubstr("older than torch 2.8"));
  EXPECT_EQ(result->libtorch->intruded, std::nullopt);
}

TEST_F(Spawn, EndsLibraryThatStopsItsSupervisor) {
  const auto start = std::chrono::steady_clock::now();
  MeasureRequest request{.host = small_host(), .libtorch_dir = std::string(PBPROBE_FAKES) + "/stopper"};
  request.limit_seconds = 0.5;
  auto result = measure_in_child(request, {.grace_seconds = 0.5, .program = self()});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->libtorch->obstacle, Obstacle::time_limit);
  EXPECT_FALSE(result->libtorch->loaded);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(Spawn, HidesSupervisorFromTracing) {
  if (!has_landlock()) GTEST_SKIP() << "this kernel has no Landlock";
  EXPECT_THAT(load_problem("tracer"), HasSubstr("with exit code 11 "));
}

TEST_F(Spawn, SurvivesChangedSurroundings) {
  auto result = load("wanderer");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_NE(result->libtorch->problem, std::nullopt);
  EXPECT_EQ(result->libtorch->intruded, std::nullopt);
}

TEST_F(Spawn, ReportsNoIntrusionWithoutAnswer) {
  for (const char* fake : {"wrong", "garbage", "exit", "daemon"}) {
    auto result = load(fake);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->libtorch->intruded, std::nullopt) << fake;
  }
}

// --- what foreign code writes ---

TEST_F(Spawn, FilesElsewhereAreNotWritten) {
  if (!has_landlock()) GTEST_SKIP() << "this kernel has no Landlock";
  const std::filesystem::path here = std::filesystem::path(testing::TempDir()) / ("planted" + std::to_string(getpid()));
  const char* const home = std::getenv("HOME");
  std::ofstream(here) << "before";
  for (const std::filesystem::path& path :
       {here, std::filesystem::path(home != nullptr ? home : "/tmp") / here.filename(),
        std::filesystem::current_path() / here.filename(), std::filesystem::path("/tmp") / here.filename()}) {
    setenv("PBPROBE_TEST_FILE", path.c_str(), 1);
    EXPECT_THAT(load_problem("writer"), HasSubstr("with exit code 11 ")) << path;  // 10: it was written
    EXPECT_TRUE(path == here || !std::filesystem::exists(path)) << path;
  }
  std::string text;
  std::ifstream(here) >> text;
  EXPECT_EQ(text, "before") << "nor cut";
  std::filesystem::remove(here);
  unsetenv("PBPROBE_TEST_FILE");
}

TEST_F(Spawn, AllowsWritesToScratch) {
  EXPECT_THAT(load_problem("scratch"), HasSubstr("with exit code 12 "));
}

TEST_F(Spawn, HowItWasKeptIsInTheFacts) {
  auto result = load("exit");
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result->libtorch->confinement);
  EXPECT_EQ(result->libtorch->confinement->landlock.has_value(), has_landlock());
  EXPECT_EQ(result->libtorch->confinement->why_not.has_value(), !has_landlock());
  EXPECT_EQ(result->libtorch->confinement->apart, can_be_apart());
}

// In a user namespace, root has no rights on other users' folders.
TEST_F(Spawn, RootReadsWhatOnlyRootMay) {
  if (geteuid() != 0) GTEST_SKIP() << "only for root";
  const test::TempFolder folder;
  ASSERT_EQ(chown(folder.path().c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0700), 0);
  Sandbox sandbox = prepare_sandbox();
  const pid_t child = fork_into(sandbox);
  ASSERT_GE(child, 0);
  if (child == 0) _exit(access(folder.path().c_str(), R_OK | X_OK) == 0 ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  status = read_kept_status(sandbox).value_or(status);
  close_sandbox(sandbox);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// CUDA looks itself up there by its number.
TEST_F(Spawn, ProcTellsOfWhatRunsInThere) {
  Sandbox sandbox = prepare_sandbox();
  const pid_t child = fork_into(sandbox);
  ASSERT_GE(child, 0);
  if (child == 0) _exit(has_own_proc() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  status = read_kept_status(sandbox).value_or(status);
  close_sandbox(sandbox);
  if (sandbox.apart && !sandbox.proc) GTEST_SKIP() << "this system mounts no /proc for it";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Spawn, ThereIsNoNetwork) {
  if (!can_be_apart()) GTEST_SKIP() << "this system allows no namespaces";
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof here;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&here), length), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&here), &length);
  setenv("PBPROBE_TEST_PORT", std::to_string(ntohs(here.sin_port)).c_str(), 1);
  EXPECT_THAT(load_problem("network"), HasSubstr("with exit code 11 "));  // 10: it was reached
  unsetenv("PBPROBE_TEST_PORT");
  close(listener);
}

// --- programs that are not pbprobe, or not well ---

TEST_F(Spawn, ReportsMissingProgram) {
  auto result = measure_in_child({.host = small_host()}, {.program = {"/nonexistent/pbprobe"}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::failed_child);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("/nonexistent/pbprobe"), HasSubstr("No such file")));
}

TEST_F(Spawn, OutputThatIsNoJson) {
  auto result = measure_in_child({.host = small_host()}, {.program = self("text")});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("answered \"Usage: something [else]\", which is not JSON"),
                                            HasSubstr("is it a pbprobe of this version?")));
}

TEST_F(Spawn, ReportsExitWithoutAnswer) {
  auto result = measure_in_child({.host = small_host()}, {.program = self("exit")});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("exited with 3 and without an answer"));
}

TEST_F(Spawn, ReportsSignalWithoutAnswer) {
  auto result = measure_in_child({.host = small_host()}, {.program = self("abort")});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("was killed by SIGABRT before it answered"));
}

TEST_F(Spawn, EndsHangingSupervisorAfterGrace) {
  MeasureRequest request{.host = small_host()};
  request.limit_seconds = 0.2;
  auto result = measure_in_child(request, {.grace_seconds = 0.3, .program = self("hang")});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("exceeded its time limit and was killed"));
}

// TearDown wants the daemon gone, although it left the supervisor's group and the supervisor could not end it.
TEST_F(Spawn, EndsOrphansOfKilledSupervisor) {
  MeasureRequest request{.host = small_host()};
  request.limit_seconds = 0.2;
  auto result = measure_in_child(request, {.grace_seconds = 0.3, .program = self("daemon")});
  ASSERT_FALSE(result.ok());
}

TEST_F(Spawn, RejectsWrongRequest) {
  MeasureRequest request{.host = small_host()};
  request.benches = {{.layout = "xy", .shapes = {{8, 8, 8}}}};
  auto result = measure_in_child(request, {.program = self()});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::usage);
  EXPECT_EQ(result.error().message, "unknown layout \"xy\": choose nt, nn, tn or tt");
}

TEST_F(Spawn, RejectsTooLargeAnswer) {
  auto result = measure_in_child({.host = small_host()}, {.answer_bytes = 4, .program = self()});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::limit);
}

}  // namespace
}  // namespace pbprobe
