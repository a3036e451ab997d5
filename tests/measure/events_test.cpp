// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/events.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "probes/process/request.hpp"

namespace pbprobe {
namespace {

// Returns the bytes that a writer puts into a pipe.
template <class Write>
std::string written(Write&& write) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EventWriter events(ends[1]);
  write(events);
  close(ends[1]);
  std::string text(4096, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(read(ends[0], text.data(), text.size()), 0)));
  close(ends[0]);
  return text;
}

TEST(Events, ReadsWrittenEvents) {
  const std::string text = written([](EventWriter& events) {
    events.stage(Step::libtorch, "loading /t/libtorch_cpu.so");
    events.row({.kernel = "gemm", .m = 3, .samples_us = {1.5}});
    events.libtorch({.path = "/t"});
    events.libtorch({.path = "/t", .loaded = true, .version = "2.11.0"});
    events.problem("one");
    events.note("two");
    events.finished();
    events.ended({.how = How::signal, .signal = "SIGSEGV", .left_behind = 2});
  });
  const EventLog log = read_events(text);
  EXPECT_TRUE(log.any);
  EXPECT_TRUE(log.finished);
  EXPECT_EQ(log.strange, "");
  EXPECT_EQ(log.stage.step, Step::libtorch);
  EXPECT_EQ(log.stage.doing, "loading /t/libtorch_cpu.so");
  ASSERT_EQ(log.measurements.rows.size(), 1U);
  EXPECT_EQ(log.measurements.rows[0].kernel, "gemm");
  EXPECT_EQ(log.measurements.rows[0].samples_us, std::vector<double>{1.5});
  ASSERT_TRUE(log.measurements.libtorch);
  EXPECT_EQ(log.measurements.libtorch->version, "2.11.0");
  EXPECT_EQ(log.measurements.problems, std::vector<std::string>{"one"});
  EXPECT_EQ(log.measurements.notes, std::vector<std::string>{"two"});
  ASSERT_TRUE(log.ended);
  EXPECT_EQ(log.ended->signal, "SIGSEGV");
  EXPECT_EQ(log.ended->left_behind, 2);
}

TEST(Events, DropsOnlyTornLine) {
  std::string text = written([](EventWriter& events) {
    events.row({.kernel = "first"});
    events.row({.kernel = "second"});
  });
  text.resize(text.size() - 20);
  text += written([](EventWriter& events) { events.ended({.how = How::signal, .signal = "SIGKILL"}); });
  const EventLog log = read_events(text);
  ASSERT_EQ(log.measurements.rows.size(), 1U);
  EXPECT_EQ(log.measurements.rows[0].kernel, "first");
  ASSERT_TRUE(log.ended);
}

TEST(Events, KeepsInvalidEventsAsStrange) {
  const EventLog log = read_events("Usage: other [options]\nmore\n{\"row\": 5}\n{\"unknown\": 1}\n");
  EXPECT_FALSE(log.any);
  EXPECT_EQ(log.strange, "Usage: other [options]");
}

TEST(Events, IgnoresProcessForkedBehindWriter) {
  const std::string text = written([](EventWriter& events) {
    if (const pid_t child = fork(); child == 0) {
      events.note("from the second one");
      _exit(0);
    }
    usleep(50000);
    events.note("from the first one");
  });
  EXPECT_EQ(read_events(text).measurements.notes, std::vector<std::string>{"from the first one"});
}

TEST(Events, ForeignBytesStayOnOneLine) {
  EXPECT_EQ(one_line("a\nb\x01\xff c\n\n", 20), "a b?? c");
  EXPECT_EQ(one_line("abcdef", 3), "abc...");
}

TEST(Request, IsReadBackAsWritten) {
  MeasureRequest request;
  request.libtorch_dir = "/t";
  request.benches = {{.target = "avx2",
                      .dtype = DType::bf16,
                      .layout = "tn",
                      .out = DType::fp32,
                      .shapes = {{1, 2, 3}},
                      .threads = 2,
                      .against = {"libtorch"}}};
  request.budget_seconds = 1.5;
  auto again = from_json<MeasureRequest>(to_json(request));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_json(*again), to_json(request));
  EXPECT_EQ(again->benches[0].shapes[0].k, 3);
}

}  // namespace
}  // namespace pbprobe
