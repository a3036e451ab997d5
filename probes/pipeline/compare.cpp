// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/compare.hpp"

#include <gnu/libc-version.h>

#include "probes/judge/evidence/baseline.hpp"
#include "probes/pipeline/foreign.hpp"
#include "probes/pipeline/gpu_monitor.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "probes/pipeline/python.hpp"
#include "probes/process/spawn.hpp"
#include "probes/process/statistics.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// time limit of one process; most take two seconds
constexpr double kProcessSeconds = 90;

// One of the two libtorches, ready to be started again and again.
struct Side {
  MeasureRequest request;
  std::optional<ForeignClosure> foreign;
  ChildLimits limits;
};

Result<Side> make_side(const Inventory& inventory, const Host& host, const fs::path& program) {
  if (!inventory.libtorch_dir)
    return make_error(ErrorCode::unsupported, "{} contains no libtorch that can be started in place",
                      inventory.artifact);
  Side side;
  side.request.host = host;
  side.request.libtorch_dir = inventory.libtorch_dir;
  side.request.timings = true;
  side.request.limit_seconds = kProcessSeconds;
  PBPROBE_TRY(side.foreign, find_foreign_closure(inventory, gnu_get_libc_version(), system_driver_places()));
  side.limits = make_child_limits(program, side.foreign);
  return side;
}

Result<std::vector<AreaGain>> speeds(const Report& report, const Inventory& generic, const CompareRequest& request) {
  if (!report.host) return make_error(ErrorCode::unsupported, "pbprobe did not inspect this machine");
  PBPROBE_TRY(const Side build, make_side(*report.inventory, *report.host, request.program));
  PBPROBE_TRY(const Side baseline, make_side(generic, *report.host, request.program));
  int64_t runs = 0;
  const auto runner = [&](const Side& side) {
    return [&]() -> Result<Measurements> {
      const std::string step = fmt::format("comparing with {}: round {}", request.baseline.string(), runs++ / 2 + 1);
      if (request.progress) request.progress(step);
      return measure_with_gpu_monitor(side.request, side.limits);
    };
  };
  return measure_gains(
      {.build = runner(build), .baseline = runner(baseline), .budget_seconds = request.budget_seconds});
}

}  // namespace

Result<void> compare_with_baseline(Report& report, const CompareRequest& request) {
  if (!report.inventory)
    return make_error(ErrorCode::usage,
                      "--baseline: this report has no inventory to compare: judge the artifact itself");
  PBPROBE_TRY(const Inventory generic, load_inventory(request.baseline, {.kernel_names = true}), "--baseline");
  BaselineComparison comparison = compare_builds(*report.inventory, generic);
  if (report.claim) comparison.missing_kernels = compare_kernels(*report.inventory, generic, *report.claim);
  if (report.reference && report.reference->code.empty()) {
    auto reference = make_reference(*report.inventory, generic);
    if (reference) report.reference = std::move(*reference);
  }
  if (request.speeds && comparison.differences.empty()) {
    auto gains = speeds(report, generic, request);
    if (gains) {
      comparison.gains = std::move(*gains);
    } else {
      comparison.problem = gains.error().message;
    }
  }
  report.baseline = std::move(comparison);
  return {};
}

Result<fs::path> find_default_baseline(const Report& report) {
  PBPROBE_TRY(fs::path found, find_default_artifact(torch_search_roots(system_env())), "--baseline");
  std::error_code error;
  if (report.inventory && fs::equivalent(found, report.inventory->artifact, error))
    return make_error(ErrorCode::not_found, "--baseline: no torch except the judged one was found: name a generic one");
  return found;
}

}  // namespace pbprobe
