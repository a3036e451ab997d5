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

// Returns seconds of a steady clock. Tests replace the clock.
using SecondsClock = std::function<double()>;
[[nodiscard]] SecondsClock steady_seconds();

// One side of a comparison. `sample` runs it `repeats` times and returns the microseconds of one run.
struct Candidate {
  std::string name;
  std::function<Result<double>(int64_t repeats)> sample;
  double slice_seconds = 0;  // repeats until a sample takes this long; 0 for one run per sample
  bool required = true;      // false if the other candidates continue after its failure
};

struct RoundLimits {
  double budget_seconds = 1;    // for all rounds together
  double deadline_seconds = 0;  // on the clock; only the first round may end later; 0 for none
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

// Warms up each candidate, determines the repeats, then runs rounds. Returns the error of a required candidate.
[[nodiscard]] Result<Rounds> interleave(std::vector<Candidate>& candidates, const RoundLimits& limits,
                                        const SecondsClock& clock);

// Times each of `count` candidates a few times after a warm-up, and returns the index of the fastest. Time the winner
// again, because the minimum of few samples is too optimistic. Error: none could run; the message is from the last one.
[[nodiscard]] Result<int> find_fastest_candidate(
    int count, const std::function<Result<double>(int candidate, int64_t repeats)>& time_us);

// Rest of a time budget, and the share of each remaining piece.
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
