// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/program.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

ProgramCall shell(const std::string& script) {
  return {.arguments = {"sh", "-c", script}};
}

TEST(Program, ReturnsBothStreamsAndExitCode) {
  const auto output = run_program(shell("echo printed; echo warned >&2; exit 3"));
  ASSERT_TRUE(output.ok()) << output.error().message;
  EXPECT_EQ(output->exit_code, 3);
  EXPECT_EQ(output->out, "printed\n");
  EXPECT_EQ(output->err, "warned\n");
}

TEST(Program, ReadsOutputLargerThanAPipe) {
  const auto output = run_program(shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"));
  ASSERT_TRUE(output.ok()) << output.error().message;
  EXPECT_EQ(output->out.size(), 1000000U);
  EXPECT_EQ(output->err.size(), 1000000U);
}

TEST(Program, ReadsNothingAndSeesOnlyTheGivenEnvironment) {
  auto call = shell("cat; echo $MADE_UP$HOME");
  call.environment = {"MADE_UP=yes", "PATH=/usr/bin:/bin"};
  const auto output = run_program(call);
  ASSERT_TRUE(output.ok()) << output.error().message;
  EXPECT_EQ(output->out, "yes\n");
}

TEST(Program, FailsIfExitStatusIsUnknown) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const auto output = run_program(shell("kill -9 $$"));
  std::signal(SIGCHLD, before);
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, ErrorCode::failed_child);
}

struct Failing {
  const char* name;
  ProgramCall call;
  ErrorCode code;
  const char* message;
};

TEST(Program, ReportsMissingProgramAsNotFound) {
  if (PBPROBE_EMULATED) GTEST_SKIP() << "QEMU's posix_spawn does not report a missing program";
  const auto output = run_program({.arguments = {"pbprobe-made-up"}});
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, ErrorCode::not_found);
  EXPECT_EQ(output.error().message, "pbprobe-made-up cannot be started: No such file or directory");
}

TEST(Program, ReportsKindOfFailure) {
  auto slow = shell("exec sleep 30");
  slow.seconds = 0.1;
  auto much = shell("echo 0123456789");
  much.output_bytes = 10;
  for (const auto& failing :
       {Failing{"slow", slow, ErrorCode::limit, "sh gave no answer within 0.1 s"},
        Failing{"much", much, ErrorCode::limit, "sh: the program wrote 11 bytes of output, and the limit is 10"},
        Failing{"killed", shell("kill -9 $$"), ErrorCode::failed_child, "sh was ended by signal 9"}}) {
    const auto output = run_program(failing.call);
    ASSERT_FALSE(output.ok()) << failing.name;
    EXPECT_EQ(output.error().code, failing.code) << failing.name;
    EXPECT_EQ(output.error().message, failing.message);
  }
}

}  // namespace
}  // namespace pbprobe
