// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace pbprobe {
namespace {

constexpr int64_t kMostRepeats = 1 << 20;
constexpr int64_t kScreenRepeats = 5;

// Records a failure. Reports whether the run continues without the candidate.
bool leaves(const Candidate& candidate, const Error& error, Rounds& rounds, size_t at) {
  rounds.failures[at] = error.message;
  if (!rounds.first_failed) rounds.first_failed = at;
  rounds.obstacles[at] = error.obstacle;
  return !candidate.required;
}

Result<double> sample(const Candidate& candidate, int64_t repeats) {
  PBPROBE_TRY(const double us, candidate.sample(repeats), "{}", candidate.name);
  return us;
}

// Repeats so that one sample fills its slice, from two warm-up samples; `seconds` gets a round's expected time.
Result<int64_t> warm_up(const Candidate& candidate, double& seconds) {
  PBPROBE_TRY([[maybe_unused]] const double cold, sample(candidate, 1));
  PBPROBE_TRY(const double once_us, sample(candidate, 1));
  const double once = std::max(once_us * 1e-6, 1e-8);
  const auto repeats =
      candidate.slice_seconds <= 0
          ? int64_t{1}
          : std::clamp(static_cast<int64_t>(std::ceil(candidate.slice_seconds / once)), int64_t{1}, kMostRepeats);
  seconds += once * static_cast<double>(repeats);
  return repeats;
}

}  // namespace

SecondsClock steady_seconds() {
  return [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
}

Result<Rounds> interleave(std::vector<Candidate>& candidates, const RoundLimits& limits, const SecondsClock& clock) {
  Rounds rounds;
  rounds.samples_us.resize(candidates.size());
  rounds.failures.resize(candidates.size());
  rounds.obstacles.resize(candidates.size());
  std::vector<int64_t> repeats(candidates.size(), 0);  // 0: has left
  double round_seconds = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    auto found = warm_up(candidates[i], round_seconds);
    if (found.ok()) {
      repeats[i] = *found;
    } else if (!leaves(candidates[i], found.error(), rounds, i)) {
      return found.error();
    }
  }
  const double start = clock();
  for (int64_t round = 0; round < limits.most_rounds; ++round) {
    const double now = clock();
    if (round > 0 && limits.deadline_seconds > 0 && now + round_seconds > limits.deadline_seconds) {
      rounds.cut_short = round < limits.least_rounds;
      break;
    }
    if (round >= limits.least_rounds && now - start + round_seconds > limits.budget_seconds) break;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (repeats[i] == 0) continue;
      const auto taken = sample(candidates[i], repeats[i]);
      if (taken.ok()) {
        rounds.samples_us[i].push_back(*taken);
      } else {
        if (!leaves(candidates[i], taken.error(), rounds, i)) return taken.error();
        repeats[i] = 0;
        rounds.samples_us[i].clear();
      }
    }
    round_seconds = std::max((clock() - start) / static_cast<double>(round + 1), 1e-9);
  }
  return rounds;
}

Result<int> find_fastest_candidate(int count,
                                   const std::function<Result<double>(int candidate, int64_t repeats)>& time_us) {
  Error last = make_error(ErrorCode::unsupported, "no candidate was given");
  int chosen = -1;
  double best = 0;
  for (int i = 0; i < count; ++i) {
    auto us = time_us(i, 1);
    if (us.ok()) us = time_us(i, kScreenRepeats);
    if (!us.ok()) {
      last = us.error();
    } else if (chosen < 0 || *us < best) {
      best = *us;
      chosen = i;
    }
  }
  if (chosen < 0) return last;
  return chosen;
}

double Budget::share(int64_t pieces_left) const {
  return std::max(left(), 0.0) / static_cast<double>(std::max<int64_t>(pieces_left, 1));
}

}  // namespace pbprobe
