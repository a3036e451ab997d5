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
#include "probes/measure/libtorch_probe.hpp"
#include "probes/process/events.hpp"
#include "probes/process/request.hpp"

namespace pbprobe {

// What a sample of a kernel or a peer lasts, where nothing longer is asked for.
inline constexpr double kSliceSeconds = 2e-4;

// Of a row of A. A shape's k counts them too, where the problem's counts elements.
[[nodiscard]] constexpr int64_t numbers_along_k(const Problem& problem) {
  return problem.k * numbers_in(problem.a);
}

// One GEMM on one device: what a single interleaved run compares.
struct BenchCase {
  Problem problem;
  int64_t threads = 1;               // CPU
  std::optional<int64_t> gpu;        // index; none: the CPU
  std::vector<std::string> targets;  // whose kernels
  double slice_seconds = kSliceSeconds;
  bool against_libtorch = false;
  bool against_cublaslt = false;
  bool against_cublaslt_best = false;  // the best of 32 heuristics, where the other takes the first one
  bool against_bf16 = false;          // our own GEMM of BF16
  std::optional<std::string> kernel;  // only this one
  int64_t launches = 0;               // of each GPU kernel, compared bit for bit before it is timed
  bool chosen_only = false;           // what dispatch chooses, and no other
  bool asked_for_target = false;      // then a missing kernel is a problem and not a note
  bool unbuilt = false;               // plans kernels that are not built too
};

// Threads that a request means on this host.
[[nodiscard]] int64_t bench_threads(const BenchRequest& bench, const Host& host);

// Errors: usage (an unknown target, layout or peer, a shape of 0 or below, operands that do not fit into memory, more
// threads than the host allows, libtorch asked for and none given), unsupported (a target that this host cannot run,
// or that was not built).
[[nodiscard]] Result<void> check_bench(const BenchRequest& bench, const MeasureRequest& request);

// How many drawn shapes the host's memory does not hold: they have no case.
[[nodiscard]] size_t shapes_left_out(const BenchRequest& bench, const Host& host);

// Of a target only. Error usage: B is packed beforehand, and it is a GPU's.
[[nodiscard]] Result<void> check_prepacked(const Target& target, bool prepacked);

// Error usage: shapes or peers that do not go with its scales of blocks.
[[nodiscard]] Result<void> check_blocks(const BenchRequest& bench);

// The cases of a checked request, in order. Pure.
[[nodiscard]] std::vector<BenchCase> plan_cases(const BenchRequest& bench, const Host& host);

// The plans of a case: every kernel of its targets that takes the problem, in the table's order; and what dispatch
// would choose among them. Pure.
struct CasePlans {
  std::vector<Plan> plans;
  std::string best;     // public name; empty where there is none
  std::string why;      // it was chosen
  std::string why_not;  // where there is none
};
[[nodiscard]] CasePlans plans_of(const BenchCase& one, const Host& host);

// Describes the plans of a request and runs nothing. Plans a requested target from the kernel table, whether it is
// built or not; supposes its device if the host lacks it, a GPU with `sms` SMs. Errors: usage (unknown target or
// layout, invalid shape).
[[nodiscard]] Result<PlanList> explain_bench(const BenchRequest& bench, const Host& host, int64_t sms);

// "square", "small", "skinny" or "ragged".
[[nodiscard]] std::string shape_class(int64_t m, int64_t n, int64_t k);

// Compares the plans on a backend: each is verified, then all alternate with their peak loops and with libtorch.
class Backend;
struct CaseLimits {
  double seconds = 1;           // for this case
  double budget_seconds = 1;    // of the whole request, as its messages say
  double deadline_seconds = 0;  // on the clock; 0: none
  std::function<double()> clock;
};
// Returns whether the device can run further cases: a failed launch ends the process's CUDA context.
bool run_case(const BenchCase& one, const CasePlans& plans, const Host& host, Backend& backend, LibtorchProbe& libtorch,
              EventWriter& events, const CaseLimits& limits);

// Runs all of it within the request's budget. Rows, libtorch's figures, problems and notes go to `events` at once.
// lost: GPUs whose CUDA context ended with a failed launch, on which nothing runs.
void run_benches(const MeasureRequest& request, LibtorchProbe& libtorch, EventWriter& events,
                 std::set<int64_t> lost = {});

// The first usable GPU of each capability: several of one kind are measured once.
[[nodiscard]] std::vector<const Gpu*> distinct_gpus(const Host& host);

}  // namespace pbprobe
