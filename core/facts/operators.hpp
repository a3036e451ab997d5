// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// OperatorRun: operators of a torch and of packages on one device, compared with higher precision on the CPU.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/obstacle.hpp"

namespace pbprobe {

enum class OperatorState {
  right,
  random,   // depends on a seed, or is not initialized: only the shape was compared
  wrong,    // an element is outside of its limits
  crashed,  // the process ended
  not_run,
};

// One operator in one data type.
struct OperatorResult {
  std::string name;  // "nn.functional.gelu", with the variant of the database
  std::string type;  // "float16"
  OperatorState state = OperatorState::not_run;
  std::optional<std::string>
      way;  // "call", "non-contiguous", "in place", "out=", "backward", "compiled"; null if no result differed
  std::optional<std::string> reason;          // the difference, or the obstacle
  std::optional<std::vector<int64_t>> index;  // index of the element that differs most
  std::optional<std::string> expected;        // element in double precision, as text, because it may be infinite
  std::optional<std::string> actual;
  std::optional<std::string> tolerances;            // distance from the range of the references, in tolerances
  std::optional<std::string> input;                 // shapes and types of the sample
  std::optional<std::vector<std::string>> kernels;  // names, if torch.profiler saw any
};

struct OperatorRun {
  std::string device;                 // "cpu", "cuda"
  bool compiled = false;              // functions of torch.compile instead of the operators themselves
  std::string torch;                  // version
  std::vector<std::string> packages;  // other packages with operators in the run: "torchvision 0.26.0"
  int64_t seed = 1;                   // decides the samples and the order
  std::vector<std::string> only;      // names of a limited run; all if empty
  int64_t operators = 0;
  int64_t right = 0;  // operators, each by its worst type
  int64_t wrong = 0;
  int64_t crashed = 0;
  int64_t not_run = 0;
  int64_t calls = 0;                      // calls whose results were compared
  std::vector<OperatorResult> results;    // wrong, crashed and omitted results
  std::vector<std::string> random;        // operators of which only the shape was compared
  std::vector<std::string> not_repeated;  // operators that gave other bits for the same input and seed
  std::vector<std::string> omitted;       // operators that the time did not suffice for
  std::vector<std::string>
      refused;  // "float_power in float16, in place: RuntimeError: …": forms that raise, unlike the call
  std::map<std::string, double> times_us;  // time of the calls of all types and samples, by operator
  double seconds = 0;
  std::optional<std::string> problem;  // cause of an incomplete run
  std::optional<Obstacle> obstacle;
};

void fields(auto& visit, SameAs<OperatorResult> auto& result) {
  visit("name", result.name, "name in torch's database of operators, with its variant");
  visit("type", result.type, "data type of the inputs");
  visit("state", result.state, "result of the comparison");
  visit("way", result.way, "call, non-contiguous, in place, out=, backward or compiled; null if no result differed");
  visit("reason", result.reason, "the difference, or the obstacle");
  visit("index", result.index, "index of the element that differs most");
  visit("expected", result.expected, "element in double precision on the CPU, as text");
  visit("actual", result.actual, "element on the device, as text");
  visit("tolerances", result.tolerances, "distance from the range of the references, in tolerances, as text");
  visit("input", result.input, "shapes and types of the inputs");
  visit("kernels", result.kernels, "GPU kernels of the call, from torch.profiler; null if it saw none");
}

void fields(auto& visit, SameAs<OperatorRun> auto& run) {
  visit("device", run.device, "cpu or cuda");
  visit("compiled", run.compiled, "functions of torch.compile were compared instead of the operators themselves");
  visit("torch", run.torch, "version of torch");
  visit("packages", run.packages, "other packages whose operators were compared, with versions");
  visit("seed", run.seed, "seed of the samples and of the order");
  visit("only", run.only, "names of a limited run; all if empty");
  visit("operators", run.operators, "operators of the database and of the packages");
  visit("right", run.right, "operators that are right in every type");
  visit("wrong", run.wrong, "operators that are wrong in a type");
  visit("crashed", run.crashed, "operators that ended their process");
  visit("not_run", run.not_run, "operators that did not run in any type");
  visit("calls", run.calls, "calls whose results were compared");
  visit("results", run.results, "wrong, crashed and omitted results");
  visit("random", run.random, "operators with random or uninitialized results: only the shape was compared");
  visit("not_repeated", run.not_repeated, "operators that gave other bits for the same inputs and seed");
  visit("omitted", run.omitted, "operators that the time did not suffice for");
  visit("refused", run.refused,
        "operators whose plain call works, and that raise for non-contiguous inputs, in place or with out=");
  visit("times_us", run.times_us, "microseconds of the plain calls, of all types and samples, by operator");
  visit("seconds", run.seconds, "duration");
  visit("problem", run.problem, "cause of an incomplete run; null if it is complete");
  visit("obstacle", run.obstacle, "reason why it could not run; null if it ran");
}

}  // namespace pbprobe
