// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/measure/child/child.hpp"
#include "probes/process/sandbox.hpp"
#include "probes/process/sentences.hpp"

namespace pbprobe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// supervise() expects these blocked.
class Supervise : public testing::Test {
 protected:
  void SetUp() override {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, &before_);
  }
  void TearDown() override { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

[[noreturn]] void sleep_for_ever() {
  while (true) pause();
}

TEST_F(Supervise, ReportsExitCodeOfWorker) {
  const pid_t worker = fork();
  if (worker == 0) _exit(7);
  const WorkerEnd ended = supervise(worker, {.end_them = ::kill});
  EXPECT_EQ(ended.how, How::exited);
  EXPECT_EQ(ended.code, 7);
  EXPECT_EQ(ended.left_behind, 0);
}

TEST_F(Supervise, EndsSleepingWorkerAtLimit) {
  const pid_t worker = fork();
  if (worker == 0) sleep_for_ever();
  const WorkerEnd ended = supervise(worker, {.limit_seconds = 0.1, .end_them = ::kill});
  EXPECT_EQ(ended.how, How::time_limit);
  EXPECT_EQ(waitpid(worker, nullptr, WNOHANG), -1) << "it was not reaped";
}

// A process in the driver can ignore SIGKILL; here the signal is simply never sent.
TEST_F(Supervise, ReportsWorkerThatSurvivesKillAsHung) {
  const pid_t worker = fork();
  if (worker == 0) sleep_for_ever();
  int asked = 0;
  const WorkerEnd ended =
      supervise(worker, {.limit_seconds = 0.1, .patience_seconds = 0.2, .end_them = [&](pid_t pid, int) {
                           asked += pid == worker ? 1 : 0;
                           return 0;
                         }});
  EXPECT_EQ(ended.how, How::hung);
  EXPECT_GT(asked, 0);
  EXPECT_EQ(waitpid(worker, nullptr, WNOHANG), 0) << "the worker must still run";
  kill(worker, SIGKILL);
  EXPECT_EQ(waitpid(worker, nullptr, 0), worker);
}

// In a foreign namespace of processes, with another /proc, the numbers of /proc differ from the numbers of kill().
TEST_F(Supervise, EndsNoProcessWithForeignProc) {
  Sandbox sandbox = prepare_sandbox();
  sandbox.pids = true;
  sandbox.proc = false;
  const pid_t child = fork_into(sandbox);
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!sandbox.apart) _exit(77);
    const pid_t worker = fork();
    if (worker == 0) sleep_for_ever();
    const auto end_worker_only = [worker](pid_t pid, int signal) {
      if (pid != worker) _exit(3);
      return kill(pid, signal);
    };
    const WorkerEnd ended = supervise(worker, {.limit_seconds = 0.1, .end_them = end_worker_only});
    _exit(ended.how == How::time_limit ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  status = read_kept_status(sandbox).value_or(status);
  close_sandbox(sandbox);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this system allows no namespaces";
  EXPECT_EQ(status, 0);
}

TEST(Sentences, NameHungWorkerAndItsStep) {
  EventLog log;
  log.any = true;
  log.stage = {Step::libtorch, "computing with /t on cuda:0"};
  log.ended = WorkerEnd{.how = How::hung};
  EXPECT_TRUE(is_hung(log, {}));
  EXPECT_THAT(fault_sentence(log, {}, "", 5).value_or(""), AllOf(HasSubstr("computing with /t on cuda:0 hangs"),
                                                                 HasSubstr("also after SIGKILL"), HasSubstr("reboot")));
}

TEST(Sentences, ReportNoFaultForUnknownEnd) {
  EventLog log;
  log.any = log.finished = true;
  log.stage = {Step::kernels, "timing m 8, n 8, k 8"};
  log.ended = WorkerEnd{.how = How::unseen};
  EXPECT_EQ(fault_sentence(log, {}, "", 5).value_or(""),
            "timing m 8, n 8, k 8: the exit status of its process is not known: waiting for it failed");
  EXPECT_EQ(fault_obstacle(log, {}, ""), Obstacle::unexplained);
}

TEST(EndStatus, ReportsKeeperThatCouldNotWait) {
  Sandbox sandbox = prepare_sandbox();
  ASSERT_GE(sandbox.status_write, 0);
  sandbox.apart = true;
  EXPECT_EQ(end_status(sandbox, 0), std::nullopt);
  EXPECT_EQ(end_status(sandbox, std::nullopt), std::nullopt);
  EXPECT_EQ(end_status(sandbox, SIGKILL), SIGKILL) << "it was ended before it could say anything";
  constexpr int kCode3 = 3 << 8;
  ASSERT_EQ(write(sandbox.status_write, &kCode3, sizeof kCode3), static_cast<ssize_t>(sizeof kCode3));
  EXPECT_EQ(end_status(sandbox, std::nullopt), kCode3);
  close_sandbox(sandbox);
  EXPECT_EQ(end_status({}, 0), 0) << "no process has a status";
}

TEST(Sentences, ReturnNothingForFinishedWorker) {
  EventLog log;
  log.any = log.finished = true;
  log.ended = WorkerEnd{};
  EXPECT_EQ(fault_sentence(log, {}, "noise", 5), std::nullopt);
}

TEST(Sentences, ReportCrashAfterAnswer) {
  EventLog log;
  log.any = log.finished = true;
  log.ended = WorkerEnd{.how = How::signal, .signal = "SIGSEGV"};
  EXPECT_THAT(fault_sentence(log, {}, "", 5).value_or(""), HasSubstr("SIGSEGV"));
}

TEST(Sentences, ReadStatusOfDeadSupervisor) {
  EventLog log;
  log.any = true;
  log.stage = {Step::kernels, "timing m 8, n 8, k 8"};
  EXPECT_THAT(fault_sentence(log, {.status = SIGKILL}, "", 5).value_or(""),
              AllOf(HasSubstr("timing m 8, n 8, k 8 ended its process by SIGKILL"), HasSubstr("out of memory")));
}

TEST(Sentences, LastWordsAreOneLineAndShort) {
  EventLog log;
  log.any = true;
  log.ended = WorkerEnd{.how = How::signal, .signal = "SIGABRT"};
  const std::string sentence =
      fault_sentence(log, {}, std::string(500, 'x') + "\nwhat():\x1b[31m bad\n", 5).value_or("");
  EXPECT_THAT(sentence, HasSubstr("what():?[31m bad\""));
  EXPECT_EQ(sentence.find('\n'), std::string::npos);
  EXPECT_LT(sentence.size(), 500U);
}

TEST(SignalName, ReturnsNumberOfOtherSignals) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(40), "signal 40");
}

}  // namespace
}  // namespace pbprobe
