// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/parallel.hpp"

#include <atomic>
#include <new>

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

TEST(Parallel, ThrowsExceptionOfTaskToCaller) {
  for (const size_t thrower : {0U, 7U, 63U}) {
    EXPECT_THROW(run_tasks(64, 4,
                           [&](size_t i) {
                             if (i == thrower) throw std::bad_alloc();
                           }),
                 std::bad_alloc);
  }
}

// Also checks that an exception releases the spare cores.
TEST(Parallel, RunsTasksAfterException) {
  EXPECT_THROW(run_tasks(4, 4, [](size_t) { run_on_spare_cores(64, [](size_t) { throw std::bad_alloc(); }); }),
               std::bad_alloc);
  std::atomic<size_t> sum{0};
  run_tasks(4, 4, [&](size_t) { run_on_spare_cores(64, [&](size_t i) { sum += i; }); });
  EXPECT_EQ(sum, 4U * 63U * 64U / 2U);
}

}  // namespace
}  // namespace pbprobe
