// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a library prints to stderr while it is asked: the exception that its C interface does not hand out.
#pragma once

#include <string>

#include "core/result.hpp"
#include "probes/process/channel.hpp"

namespace pbprobe {

// From its making on stderr goes to memory; at its end what came is passed on. One at a time; where there is no such
// memory, stderr stays as it is.
class Words {
 public:
  Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words();

  // All that came so far, of which 64 KiB are kept.
  [[nodiscard]] std::string reported() const;

  // The error with why it could not run, where a library threw and reported it in words that are known.
  [[nodiscard]] Error explained(Error error) const;

 private:
  int memory_ = -1;
};

// For who is about to end: passes on what came. Safe in a signal's handler.
void pass_words_on();

// From here on SIGILL, SIGSEGV, SIGBUS and SIGFPE leave {"crash": {…}} in memory that the supervisor shares.
void report_crashes(CrashMessage* words);

}  // namespace pbprobe
