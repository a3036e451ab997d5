// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "probes/judge/policy/obstacles.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

Seen describe_wrong(const OperatorRun& run, const OperatorResult& result) {
  const std::string way = result.way && *result.way != "call" ? fmt::format(" ({})", *result.way) : "";
  std::string figures;
  if (result.expected && result.index)
    figures =
        fmt::format("; element {} is {}, and the reference gives {}{}", *result.index, result.actual.value_or(""),
                    *result.expected, result.tolerances ? fmt::format(" ({} tolerances)", *result.tolerances) : "");
  const std::string input = result.input ? fmt::format("; inputs: {}", *result.input) : "";
  const std::string kernels =
      result.kernels && !result.kernels->empty() ? fmt::format("; kernel: {}", result.kernels->front()) : "";
  return {.what =
              say("{} in {} is wrong on {}{}: {}{}{}{}", result.name, result.type, run.device, make_words(way),
                  result.reason.value_or("it differs"), make_words(figures), make_words(input), make_words(kernels))};
}

// Returns why a run proves nothing about its operators; nullopt if it compared one.
std::optional<std::string> explain_nothing_compared(const OperatorRun& run) {
  if (run.problem) return "could not be compared: " + *run.problem;
  if (run.operators == 0 || run.right + run.wrong + run.crashed > 0) return std::nullopt;
  const std::string first = run.results.empty()
                                ? ""
                                : fmt::format(": {} in {}: {}", run.results.front().name, run.results.front().type,
                                              run.results.front().reason.value_or("not run"));
  return fmt::format("could not be compared: none of {} ran{}", run.operators,
                     run.omitted.empty() ? first : " in the time limit");
}

// Looks at the operators themselves, or at functions of torch.compile.
Answer find_wrong(const Facts& facts, bool compiled) {
  Answer answer;
  for (const auto& run : *facts.report.operators) {
    if (run.compiled != compiled) continue;
    for (const auto& result : run.results) {
      if (result.state == OperatorState::wrong) answer.seen.push_back(describe_wrong(run, result));
    }
    if (const auto why = explain_nothing_compared(run))
      answer.unknown = could_not_run(
          facts, fmt::format("{} on {} {}", compiled ? "functions of torch.compile" : "operators", run.device, *why),
          run.obstacle.value_or(run.omitted.empty() ? Obstacle::unexplained : Obstacle::time_limit), "");
  }
  return answer;
}

Answer operators_are_right(const Facts& facts) {
  return find_wrong(facts, false);
}

Answer compiled_functions_are_right(const Facts& facts) {
  return find_wrong(facts, true);
}

Answer operators_do_not_crash(const Facts& facts) {
  Answer answer;
  for (const auto& run : *facts.report.operators) {
    for (const auto& result : run.results) {
      if (result.state == OperatorState::crashed)
        answer.seen.push_back({.what = say("{} in {} crashed on {}: {}", result.name, result.type, run.device,
                                           result.reason.value_or("the process ended"))});
    }
  }
  return answer;
}

Check make_check(Check check) {
  check.subject = Subject::running;
  check.level = Level::executed;
  check.needs = {Need::host, Need::inventory, Need::operators};
  return check;
}

}  // namespace

std::vector<Check> operators_checks() {
  return {
      make_check({.id = "PB551",
                  .remedy = "do not compute with these operators in this build: try another build, and report the "
                            "operator with its inputs to the project that made it",
                  .ask = operators_are_right}),
      make_check({.id = "PB552",
                  .remedy = "run the operator alone under gdb, or compute-sanitizer on a GPU, and report the crash "
                            "to the project that made this build",
                  .ask = operators_do_not_crash}),
      make_check({.id = "PB553",
                  .remedy = "do not use torch.compile with these operators here (TORCH_COMPILE_DISABLE=1): try another "
                            "compiler or Triton, and report the operator with its inputs to PyTorch",
                  .ask = compiled_functions_are_right}),
  };
}

}  // namespace pbprobe
