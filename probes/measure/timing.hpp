// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Interleaved rounds, A B C A B C …, within a time budget.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/obstacle.hpp"
#include "core/result.hpp"

namespace pbprobe {

// Seconds on a steady clock; a test puts its own here.
using SecondsClock = std::function<double()>;
[[nodiscard]] SecondsClock steady_seconds();

// One side of a comparison. `sample` runs it `repeats` times and returns the microseconds of one run.
struct Candidate {
  std::string name;
  std::function<Result<double>(int64_t repeats)> sample;
  double slice_seconds = 0;  // repeats until a sample takes this long; 0: one run a sample
  bool required = true;      // false: where it fails it leaves, and the others go on
};

struct RoundLimits {
  double budget_seconds = 1;    // for all rounds together
  double deadline_seconds = 0;  // on the clock: only the first round may end after it; 0: none
  int64_t least_rounds = 3;     // done even if the budget is too small for them, as long as the deadline allows
  int64_t most_rounds = 50;
};

struct Rounds {
  std::vector<std::vector<double>> samples_us;     // per candidate, one a round
  std::vector<std::string> failures;               // per candidate: why it left, or ""
  std::vector<std::optional<Obstacle>> obstacles;  // per candidate that left: null for a fault
  std::optional<size_t> first_failed;              // candidate that left first
  bool cut_short = false;                          // fewer than least_rounds: the deadline came first
};

// Warms up once each, finds the repeats, then goes round. Error: that of a required candidate.
[[nodiscard]] Result<Rounds> interleave(std::vector<Candidate>& candidates, const RoundLimits& limits,
                                        const SecondsClock& clock);

// Times each of `count` candidates a few times after a first run, and gives the index of the fastest. Whoever compares
// with it times it again: a choice from few samples flatters. Error: none could run, with what the last one answered.
[[nodiscard]] Result<int> fastest_of(int count,
                                     const std::function<Result<double>(int candidate, int64_t repeats)>& time_us);

// What is left of a budget, and the share of each of the pieces still to come.
class Budget {
 public:
  Budget(double seconds, SecondsClock clock) : clock_(std::move(clock)), end_(clock_() + seconds) {}
  [[nodiscard]] double left() const { return end_ - clock_(); }
  [[nodiscard]] double share(int64_t pieces_left) const;
  [[nodiscard]] double deadline() const { return end_; }
  [[nodiscard]] const SecondsClock& clock() const { return clock_; }

 private:
  SecondsClock clock_;
  double end_;
};

}  // namespace pbprobe
