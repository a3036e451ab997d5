// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Judges a build by its baseline.
#include <fmt/ranges.h>

#include "probes/judge/evidence/baseline.hpp"
#include "probes/judge/policy/obstacles.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Returns why the speeds are unknown: the builds are not comparable, or were not compared. nullopt if they are known.
std::optional<Answer> no_speeds(const BaselineComparison& beside) {
  if (!beside.differences.empty())
    return Answer{
        .seen = {},
        .unknown = Seen{.what = say("not comparable with {}: {}", beside.path, fmt::join(beside.differences, ", ")),
                        .remedy = "take a baseline of the same torch, CUDA line, BLAS and thread runtime"}};
  if (!beside.gains.empty()) return std::nullopt;
  return Answer{
      .seen = {},
      .unknown = Seen{.what = beside.problem.value_or("speeds were not compared with " + beside.path),
                      .remedy = "compare speeds with --require measured, on a machine that can run both builds"}};
}

Answer areas_that(const Facts& facts, GainClass which, std::string_view what) {
  const BaselineComparison& beside = *facts.report.baseline;
  if (auto answer = no_speeds(beside)) return std::move(*answer);
  Answer answer;
  for (const auto& gain : beside.gains) {
    if (gain.disturbed) answer.unknown = report_other_users(*gain.disturbed);
    if (!gain.disturbed && classify_gain(gain) == which)
      answer.seen.push_back({.what = say("{}: {}", make_words(what), describe_gain(gain)), .where = beside.path});
  }
  return answer;
}

Answer nothing_is_slower(const Facts& facts) {
  return areas_that(facts, GainClass::less, "slower than the baseline");
}

Answer each_area_gains(const Facts& facts) {
  return areas_that(facts, GainClass::not_shown, "no gain shown");
}

Answer is_smaller(const Facts& facts) {
  const BaselineComparison& beside = *facts.report.baseline;
  if (beside.bytes < beside.baseline_bytes) return {};
  return {.seen = {{.what = "no smaller than the baseline: " + size_sentence(beside), .where = beside.path}}};
}

}  // namespace

std::vector<Check> baseline_checks() {
  using enum Need;
  return {
      {.id = "PB520",
       .level = Level::measured,
       .needs = {baseline},
       .remedy = "compare the two builds' flags, back ends and compilers: a specialized build must not lose",
       .ask = nothing_is_slower},
      {.id = "PB521",
       .level = Level::measured,
       .severity = Severity::note,
       .needs = {baseline},
       .remedy = "nothing to fix if the claimed instructions do not make these operations faster: then the generic "
                 "build is as good",
       .ask = each_area_gains},
      {.id = "PB522",
       .severity = Severity::warn,
       .needs = {baseline},
       .remedy = "leave code out that the claim does not need: other SMs, PTX, libraries that nothing loads",
       .ask = is_smaller},
  };
}

}  // namespace pbprobe
