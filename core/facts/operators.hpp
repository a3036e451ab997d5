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
  FIELD(std::string, name, "name in torch's database of operators, with its variant");  // "nn.functional.gelu"
  FIELD(std::string, type, "data type of the inputs");                                  // "float16"
  FIELD(OperatorState, state, "result of the comparison") = OperatorState::not_run;
  FIELD(std::optional<std::string>, way,
        "call, non-contiguous, in place, out=, backward or compiled; null if no result differed");
  FIELD(std::optional<std::string>, reason, "the difference, or the obstacle");
  FIELD(std::optional<std::vector<int64_t>>, index, "index of the element that differs most");
  FIELD(std::optional<std::string>, expected, "element in double precision on the CPU, as text");
  FIELD(std::optional<std::string>, actual, "element on the device, as text");
  FIELD(std::optional<std::string>, tolerances, "distance from the range of the references, in tolerances, as text");
  FIELD(std::optional<std::string>, input, "shapes and types of the inputs");
  FIELD(std::optional<std::vector<std::string>>, kernels,
        "GPU kernels of the call, from torch.profiler; null if it saw none");
};

// Operators of torch on one device, compared with double precision on the CPU: counts, and results that are not right.
struct OperatorRun {
  FIELD(std::string, device, "cpu or cuda");
  FIELD(bool, compiled, "functions of torch.compile were compared instead of the operators themselves") = false;
  FIELD(std::string, torch, "version of torch");
  FIELD(std::vector<std::string>, packages, "other packages whose operators were compared, with versions");
  FIELD(int64_t, seed, "seed of the samples and of the order") = 1;
  FIELD(std::vector<std::string>, only, "names of a limited run; all if empty");
  FIELD(int64_t, operators, "operators of the database and of the packages") = 0;
  FIELD(int64_t, right, "operators that are right in every type") = 0;
  FIELD(int64_t, wrong, "operators that are wrong in a type") = 0;
  FIELD(int64_t, crashed, "operators that ended their process") = 0;
  FIELD(int64_t, not_run, "operators that did not run in any type") = 0;
  FIELD(int64_t, calls, "calls whose results were compared") = 0;
  FIELD(std::vector<OperatorResult>, results, "wrong, crashed and omitted results");
  FIELD(std::vector<std::string>, random,
        "operators with random or uninitialized results: only the shape was compared");
  FIELD(std::vector<std::string>, not_repeated, "operators that gave other bits for the same inputs and seed");
  FIELD(std::vector<std::string>, omitted, "operators that the time did not suffice for");
  FIELD(std::vector<std::string>, refused,
        "operators whose plain call works, and that raise for non-contiguous inputs, in place or with out=");
  FIELD(ByName<double>, times_us, "microseconds of the plain calls, of all types and samples, by operator");
  FIELD(double, seconds, "duration") = 0;
  FIELD(std::optional<std::string>, problem, "cause of an incomplete run; null if it is complete");
  FIELD(std::optional<Obstacle>, obstacle, "reason why it could not run; null if it ran");
};

}  // namespace pbprobe
