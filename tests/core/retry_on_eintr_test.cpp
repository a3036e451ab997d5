// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/retry_on_eintr.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

TEST(RetryOnEintr, RepeatsCallUntilNotInterrupted) {
  int calls = 0;
  const auto third = [&] {
    errno = EINTR;
    return ++calls < 3 ? -1 : 7;
  };
  EXPECT_EQ(retry_on_eintr(third), 7);
  EXPECT_EQ(calls, 3);
}

TEST(RetryOnEintr, ReturnsEintrAfterLastAttempt) {
  int calls = 0;
  const auto never = [&] {
    ++calls;
    errno = EINTR;
    return -1L;
  };
  EXPECT_EQ(retry_on_eintr(never, 5), -1L);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(calls, 6) << "once, and five times again";
}

TEST(RetryOnEintr, ReturnsOtherErrorsAtOnce) {
  int calls = 0;
  const auto refused = [&] {
    ++calls;
    errno = EAGAIN;
    return -1;
  };
  EXPECT_EQ(retry_on_eintr(refused), -1);
  EXPECT_EQ(calls, 1);
}

TEST(RetryOnEintr, IgnoresOldErrnoAfterSuccess) {
  int calls = 0;
  errno = EINTR;
  EXPECT_EQ(retry_on_eintr([&] { return calls++; }), 0);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace pbprobe
