// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB551 and PB552: torch's operators compared with double precision.
#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

Report make_report(const OperatorResult& result) {
  Report report = h200();
  OperatorRun run{.device = "cpu", .torch = "2.11.0", .operators = 697, .right = 696, .results = {result}};
  report.operators = {{run}};
  return report;
}

}  // namespace

void add_operator_cases(std::vector<Case>& cases) {
  const OperatorResult not_run{.name = "sigmoid", .type = "float32", .reason = "RuntimeError: no kernel"};
  OperatorResult wrong = not_run;
  wrong.state = OperatorState::wrong;
  wrong.way = "call";
  wrong.reason = "1 of 25 elements differ";
  wrong.index = {3, 1};
  wrong.expected = "0.25";
  wrong.actual = "1.25";
  wrong.tolerances = "1e+05";
  wrong.input = "float32[5, 5]";
  cases.push_back({"PB551",
                   "sigmoid in float32 is wrong on cpu: 1 of 25 elements differ; element [3, 1] is 1.25, and double "
                   "precision gives 0.25 (1e+05 tolerances); inputs: float32[5, 5]",
                   make_report(wrong), make_report(not_run)});
  OperatorResult crashed = not_run;
  crashed.state = OperatorState::crashed;
  crashed.reason = "the process ended by signal 11";
  cases.push_back({"PB552", "sigmoid in float32 crashed on cpu: the process ended by signal 11", make_report(crashed),
                   make_report(not_run)});
}

}  // namespace pbprobe::test
