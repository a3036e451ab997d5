// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB551 to PB553: torch's operators, compared with double precision. PB338: compilers that may make them wrong.
#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

Report make_report(const OperatorResult& result) {
  Report report = h200();
  OperatorRun run{.device = "cpu", .torch = "2.11.0", .operators = 697, .right = 696, .results = {result}};
  report.operators = {{run}};
  return report;
}

// Models a machine with a GPU of 12.0, whose libtorch_cuda.so one ptxas made.
Report make_assembled(const std::string& version, OperatorState state = OperatorState::not_run) {
  Report report = h200();
  for (auto& gpu : report.host->gpus) gpu.capability = "12.0";
  libtorch_cuda(report).device_code->assemblers = {{{version, {{"sm_120", {.cubins = 445, .kernels = 9000}}}}}};
  if (state == OperatorState::not_run) return report;
  OperatorRun run{.device = "cuda", .only = {"mm"}, .operators = 1, .right = 1};
  if (state == OperatorState::wrong) run.not_repeated = {"mm"};
  report.operators = {{run}};
  return report;
}

Report make_triton(const std::string& version, const std::string& capability) {
  Report report = h200();
  for (auto& gpu : report.host->gpus) gpu.capability = capability;
  report.inventory->files.push_back(
      {.path = "triton/backends/nvidia/bin/ptxas-blackwell",
       .component = "PTX compiler",
       .compiler = Compiler{.version = version, .knows = {"sm_75", "sm_100a", "sm_121"}}});
  return report;
}

void add_compiler_cases(std::vector<Case>& cases) {
  const std::string defect =
      "libtorch_cuda.so: 445 cubins (9000 kernels) for sm_120 by ptxas 13.0.88, which can silently corrupt data in "
      "CuTe matrix products on GB202 (https://docs.nvidia.com/cuda/archive/13.1.1/cuda-toolkit-release-notes/"
      "index.html; fixed in CUDA 13.1.1); ";
  const Report sound = make_assembled("13.1.115");
  cases.push_back(
      {"PB338", defect + "the affected operators were not compared on this machine: run `pbprobe report --operators`",
       make_assembled("13.0.88"), sound});
  cases.push_back(
      {"PB338", defect + "not seen here: mm right", make_assembled("13.0.88", OperatorState::right), sound});
  cases.push_back({"PB338", defect + "confirmed here by mm", make_assembled("13.0.88", OperatorState::wrong), sound});
  cases.push_back({"PB338",
                   "Triton compiles for sm_100 with ptxas-blackwell 13.1.80, which makes matrix products of "
                   "Triton differ from run to run on B200",
                   make_triton("13.1.80", "10.0"), make_triton("13.3.33", "10.0")});
}

}  // namespace

void add_operator_cases(std::vector<Case>& cases) {
  const OperatorResult not_run{.name = "sigmoid", .type = "float32", .reason = "RuntimeError: no kernel"};
  OperatorResult wrong = not_run;
  wrong.state = OperatorState::wrong;
  wrong.way = "call";
  wrong.reason = "1 of 25 elements differ from double precision";
  wrong.index = {3, 1};
  wrong.expected = "0.25";
  wrong.actual = "1.25";
  wrong.tolerances = "1e+05";
  wrong.input = "float32[5, 5]";
  cases.push_back(
      {"PB551",
       "sigmoid in float32 is wrong on cpu: 1 of 25 elements differ from double precision; element [3, 1] is "
       "1.25, and the reference gives 0.25 (1e+05 tolerances); inputs: float32[5, 5]",
       make_report(wrong), make_report(not_run)});
  OperatorResult integer = wrong;
  integer.type = "int64";
  integer.reason = "1 of 25 elements differ from NumPy";
  integer.expected = "5";
  integer.actual = "6";
  integer.tolerances.reset();
  integer.input = "int64[5, 5]";
  cases.push_back(
      {"PB551",
       "sigmoid in int64 is wrong on cpu: 1 of 25 elements differ from NumPy; element [3, 1] is 6, and the reference "
       "gives 5; inputs: int64[5, 5]",
       make_report(integer), make_report(not_run)});
  OperatorResult miscompiled = wrong;
  miscompiled.way = "compiled";
  miscompiled.reason = "1 of 25 elements differ from double precision; eager is right";
  const auto compile = [](Report report) {
    report.operators->front().compiled = true;
    return report;
  };
  cases.push_back(
      {"PB553",
       "sigmoid in float32 is wrong on cpu (compiled): 1 of 25 elements differ from double precision; eager is right",
       compile(make_report(miscompiled)), compile(make_report(not_run))});
  OperatorResult crashed = not_run;
  crashed.state = OperatorState::crashed;
  crashed.reason = "the process ended by signal 11";
  cases.push_back({"PB552", "sigmoid in float32 crashed on cpu: the process ended by signal 11", make_report(crashed),
                   make_report(not_run)});
  add_compiler_cases(cases);
}

}  // namespace pbprobe::test
