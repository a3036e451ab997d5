// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Kernels of the table, each verified and then timed beside its peak loop and its peers.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/facts/plan_list.hpp"
#include "kernels/dispatch/choose.hpp"
#include "probes/measure/libtorch/probe.hpp"
#include "probes/process/events.hpp"
#include "probes/process/request.hpp"

namespace pbprobe {

// Default duration of a sample.
inline constexpr double kSliceSeconds = 2e-4;

// Returns the numbers in a row of A. The k of a shape counts numbers; the k of a problem counts elements.
[[nodiscard]] constexpr int64_t numbers_along_k(const Problem& problem) {
  return problem.k * numbers_in(problem.a);
}

// One GEMM on one device, compared in one interleaved run.
struct BenchCase {
  Problem problem;
  int64_t threads = 1;               // CPU
  std::optional<int64_t> gpu;        // index of the GPU; null for the CPU
  std::vector<std::string> targets;  // targets of the kernels
  double slice_seconds = kSliceSeconds;
  bool against_libtorch = false;
  bool against_cublaslt = false;
  bool against_cublaslt_best = false;  // the fastest of 32 proposals; against_cublaslt takes the first one
  bool against_bf16 = false;           // pbprobe's BF16 GEMM
  std::optional<std::string> kernel;   // only this one
  int64_t launches = 0;                // launches of each GPU kernel, compared bit for bit before timing
  bool chosen_only = false;            // only the kernel that dispatch chooses
  bool timed = true;                   // false: only verifies the kernels
  bool asked_for_target = false;       // a missing kernel is a problem instead of a note
  bool unbuilt = false;                // plans kernels that are not built too
};

// Returns the number of CPU threads of a request on this host.
[[nodiscard]] int64_t bench_threads(const BenchRequest& bench, const Host& host);

// Checks a request. Errors: usage (an unknown target, layout or peer, a shape of 0 or below, operands that do not fit
// into memory, more threads than the host allows, libtorch asked for and none given), unsupported (a target that this
// host cannot run, or that was not built).
[[nodiscard]] Result<void> check_bench(const BenchRequest& bench, const MeasureRequest& request);

// Counts the drawn shapes that exceed the memory of the host. They get no case.
[[nodiscard]] size_t shapes_left_out(const BenchRequest& bench, const Host& host);

// Checks --prepacked for a target. Error usage: the target is a GPU.
[[nodiscard]] Result<void> check_prepacked(const Target& target, bool prepacked);

// Checks block scales. Error usage: shapes or peers that do not support them.
[[nodiscard]] Result<void> check_blocks(const BenchRequest& bench);

// Returns the cases of a checked request, in order. Pure.
[[nodiscard]] std::vector<BenchCase> plan_cases(const BenchRequest& bench, const Host& host);

// The plans of a case: every kernel of its targets that takes the problem, in the table's order; and what dispatch
// would choose among them. Pure.
struct CasePlans {
  std::vector<Plan> plans;
  std::string best;     // public name; empty if no kernel takes the problem
  std::string why;      // reason for the choice
  std::string why_not;  // reason if no kernel takes the problem
};
[[nodiscard]] CasePlans plan_case(const BenchCase& one, const Host& host);

// Describes the plans of a request and runs nothing. Plans a requested target from the kernel table, whether it is
// built or not; supposes its device if the host lacks it, a GPU with `sms` SMs. Errors: usage (unknown target or
// layout, invalid shape).
[[nodiscard]] Result<PlanList> explain_bench(const BenchRequest& bench, const Host& host, int64_t sms);

// Returns the first class that fits: "small" (no size over 256), "skinny" (m or n at most 32, or 16 times the other),
// "ragged" (a size is no multiple of 16), else "square".
[[nodiscard]] std::string shape_class(int64_t m, int64_t n, int64_t k);

// Compares the plans on a backend: each is verified, then all alternate with their peak loops and with libtorch.
class Backend;
struct CaseLimits {
  double seconds = 1;           // for this case
  double budget_seconds = 1;    // budget of the whole request, for messages
  double deadline_seconds = 0;  // on the clock; 0 means none
  std::function<double()> clock;
};
// Returns whether the device can run further cases: a failed launch ends the process's CUDA context.
bool run_case(const BenchCase& one, const CasePlans& plans, const Host& host, Backend& backend, LibtorchProbe& libtorch,
              EventWriter& events, const CaseLimits& limits);

// Runs all of it within the request's budget. Rows, libtorch's figures, problems and notes go to `events` at once.
// lost: GPUs whose CUDA context ended with a failed launch, on which nothing runs.
void run_benches(const MeasureRequest& request, LibtorchProbe& libtorch, EventWriter& events,
                 std::set<int64_t> lost = {});

// Returns the first usable GPU of each capability: equal GPUs are measured once.
[[nodiscard]] std::vector<const Gpu*> distinct_gpus(const Host& host);

}  // namespace pbprobe
