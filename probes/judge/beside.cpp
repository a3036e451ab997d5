// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a build is beside its baseline.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/baseline.hpp"
#include "probes/judge/questions.hpp"

namespace pbprobe::ask {
namespace {

// Of builds that cannot be compared, or were not, nothing is known.
std::optional<Answer> no_speeds(const BaselineComparison& beside) {
  if (!beside.differences.empty())
    return Answer{
        .seen = {},
        .unknown = Seen{.what = say("not comparable with {}: {}", beside.path, fmt::join(beside.differences, ", ")),
                        .remedy = "take a baseline of the same torch, CUDA line, BLAS and thread runtime"}};
  if (!beside.gains.empty()) return std::nullopt;
  return Answer{.seen = {},
                .unknown = Seen{.what = beside.problem.value_or("speeds were not compared with " + beside.path),
                                .remedy = "ask for it, on a machine that can run both: --require measured"}};
}

Answer areas_that(const Facts& facts, Gained which, std::string_view what) {
  const BaselineComparison& beside = *facts.report.baseline;
  if (auto answer = no_speeds(beside)) return std::move(*answer);
  Answer answer;
  for (const auto& gain : beside.gains) {
    if (gained(gain) == which)
      answer.seen.push_back({.what = say("{}: {}", in_words(what), sentence_of(gain)), .where = beside.path});
  }
  return answer;
}

}  // namespace

Answer nothing_is_slower(const Facts& facts) {
  return areas_that(facts, Gained::less, "slower than the baseline");
}

Answer each_area_gains(const Facts& facts) {
  return areas_that(facts, Gained::not_shown, "no gain shown");
}

Answer is_smaller(const Facts& facts) {
  const BaselineComparison& beside = *facts.report.baseline;
  if (beside.bytes < beside.baseline_bytes) return {};
  return {.seen = {{.what = "no smaller than the baseline: " + size_sentence(beside), .where = beside.path}}};
}

}  // namespace pbprobe::ask
