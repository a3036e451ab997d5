// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/cli/progress.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>

#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/printable.hpp"
#include "core/temp_folder.hpp"
#include "probes/cli/cli.hpp"
#include "probes/process/tags.hpp"
#include "probes/report/page.hpp"

namespace pbprobe::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBetweenLines = 10;  // seconds between lines of a log
constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

size_t columns_of_terminal() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col - 1U : 79U;
}

// Lives until the program ends and is never destroyed, because a signal may arrive at any time.
class Progress {
 public:
  static Progress& get() {
    static auto* const progress = new Progress;
    return *progress;
  }

  void show(std::string_view step) {
    const std::lock_guard lock(mutex_);
    if (!running_) begin_run();
    step_ = printable(step);
    draw();
  }
  void expect(double seconds) {
    const std::lock_guard lock(mutex_);
    expected_ = seconds;
  }
  void clear() {
    {
      const std::lock_guard lock(mutex_);
      if (!running_) return;
      running_ = false;
      if (is_terminal_) fmt::print(stderr, "\r\033[K");
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  // Returns " after 7.3 s, while measuring: no result was written". Keeps the lock: threads that show or end progress
  // later block forever, because their results are incomplete.
  std::string end_here() {
    std::unique_lock lock(mutex_, std::defer_lock);
    for (int tries = 0; tries < 20 && !lock.try_lock(); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (lock.owns_lock()) lock.release();
    if (!running_) return "";
    if (is_terminal_) fmt::print(stderr, "\r\033[K");
    const std::string how_far = fmt::format(" after {:.1f} s, while {}: no result was written", seconds(), step_);
    return how_far;
  }

 private:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void begin_run() {
    running_ = true;
    start_ = Clock::now();
    next_line_ = kBetweenLines;
    is_terminal_ = ::isatty(STDERR_FILENO) == 1;
    try {
      thread_ = std::thread([this] { tick(); });
    } catch (const std::system_error&) {  // no further thread: a line at each step then
    }
  }
  void tick() noexcept try {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kBetweenLooks, [this] { return !running_; })) draw();
  } catch (const std::exception&) {  // too little memory for a line
  }
  void draw() {
    if (is_terminal_) {
      const std::string line = progress_line(step_, seconds(), expected_, columns_of_terminal(), shows_unicode());
      fmt::print(stderr, "\r\033[K{}", line);
      std::fflush(stderr);
    } else if (seconds() >= next_line_) {
      fmt::print(stderr, "pbprobe: {:.0f} s: {}\n", seconds(), step_);
      next_line_ = seconds() + kBetweenLines;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  bool running_ = false;
  bool is_terminal_ = false;
  std::string step_;
  double expected_ = 0;
  double next_line_ = kBetweenLines;
  Clock::time_point start_;
};

std::atomic<bool> is_stopping{false};

// Excludes signals that were ignored at the start (nohup, a background job of a shell).
sigset_t stopping_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

const char* name_of_signal(int signal) {
  return signal == SIGINT ? "Ctrl-C" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

// Ends the program by the signal, so that shells and make see the expected status.
[[noreturn]] void die_of(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  std::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  ::_exit(kCouldNotRun);
}

void* wait_for_signal(void*) {
  const sigset_t signals = stopping_signals();
  int signal = 0;
  while (::sigwait(&signals, &signal) != 0) {
  }
  try {
    is_stopping = true;
    const std::string how_far = Progress::get().end_here();
    constexpr double kPatience = 5;  // seconds
    end_all_started(kPatience);
    remove_temp_folders();
    remove_incomplete_paths();
    fmt::print(stderr, "pbprobe: stopped by {}{}\n", name_of_signal(signal), how_far);
  } catch (const std::exception&) {  // too little memory for the message
  }
  die_of(signal);
}

}  // namespace

std::string progress_line(std::string_view step, double seconds, double expected, size_t columns, bool unicode) {
  constexpr size_t kBar = 16;
  const std::string_view full = unicode ? "█" : "#";
  const std::string_view empty = unicode ? "░" : "-";
  std::string bar;
  const double part = expected > 0 ? std::min(seconds / expected, 0.99) : 0;
  const auto filled = static_cast<size_t>(part * static_cast<double>(kBar));
  const auto at = static_cast<size_t>(std::abs(static_cast<int>(seconds * 5) % 26 - 13));  // to and fro
  for (size_t i = 0; i < kBar; ++i) bar += (expected > 0 ? i < filled : i >= at && i < at + 3) ? full : empty;
  std::string line = fmt::format("{} {:3.0f} s", bar, seconds);
  if (expected > 0) line += fmt::format(" of about {:.0f}", std::max(expected, seconds));
  line += fmt::format("  {}", text::clean(step, unicode));
  while (text::columns(line) > columns) {
    do line.pop_back();
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80);
    // Also removes the first byte of the truncated character.
    if (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0xC0) line.pop_back();
  }
  return line;
}

void show_progress(std::string_view step) {
  Progress::get().show(step);
}

void expect_seconds(double seconds) {
  Progress::get().expect(seconds);
}

void clear_progress() {
  Progress::get().clear();
}

void wait_if_stopped() {
  while (is_stopping) ::pause();
}

void clean_up_when_stopped() {
  const sigset_t signals = stopping_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  pthread_attr_t attributes;
  constexpr size_t kStack = 256 << 10;
  pthread_t thread{};
  const bool made = ::pthread_attr_init(&attributes) == 0;
  if (made) ::pthread_attr_setstacksize(&attributes, kStack);
  // Without this thread, signals end the program as usual.
  if (!made || ::pthread_create(&thread, &attributes, wait_for_signal, nullptr) != 0)
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  else
    ::pthread_detach(thread);
  if (made) ::pthread_attr_destroy(&attributes);
}

}  // namespace pbprobe::cli
