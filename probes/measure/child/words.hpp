// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Capture of stderr during a library call, for exceptions that its C interface hides; and reports of crashes.
#pragma once

#include <string>

#include "core/result.hpp"
#include "probes/process/channel.hpp"

namespace pbprobe {

// Redirects stderr to memory; the destructor writes the text to stderr. Only one can exist. Leaves stderr unchanged if
// the memory cannot be created.
class StderrCapture {
 public:
  StderrCapture();
  StderrCapture(const StderrCapture&) = delete;
  StderrCapture& operator=(const StderrCapture&) = delete;
  ~StderrCapture();

  // Returns the captured text, at most 64 KiB.
  [[nodiscard]] std::string reported() const;

  // Adds the obstacle to an error if the captured text has a known cause.
  [[nodiscard]] Error explained(Error error) const;

 private:
  int memory_ = -1;
};

// Writes the captured text to stderr before the process ends. Async-signal-safe.
void print_kept_words();

// Installs handlers that record SIGILL, SIGSEGV, SIGBUS and SIGFPE as {"crash": {…}} in `words`, shared memory.
void report_crashes(CrashMessage* words);

}  // namespace pbprobe
