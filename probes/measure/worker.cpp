// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/worker.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include "core/host/host.hpp"
#include "probes/measure/bench.hpp"
#include "probes/measure/cores.hpp"
#include "probes/measure/gpu_probes.hpp"
#include "probes/measure/landlock.hpp"
#include "probes/measure/libtorch_probe.hpp"
#include "probes/measure/libtorch_starts.hpp"

namespace pbprobe {
namespace {

// OpenMP and MKL read these when they are loaded. How their threads wait is left as a user has it: our kernels run on
// the same threads.
void prepare_environment(const MeasureRequest& request) {
  int64_t threads = request.timings ? bench_threads({}, request.host) : 1;
  for (const BenchRequest& bench : request.benches) threads = std::max(threads, bench_threads(bench, request.host));
  const std::string text = std::to_string(threads);
  setenv("OMP_NUM_THREADS", text.c_str(), 1);
  setenv("MKL_NUM_THREADS", text.c_str(), 1);
}

// The permission that the host's detection asked for was its process's; kernels ask for nothing.
void ask_for_tiles(const Host& host) {
  const auto& features = host.cpu.features;
  if (std::find(features.begin(), features.end(), "amx_tile") == features.end()) return;
  const HostSources sources = system_sources();
  if (sources.amx_permission) sources.amx_permission();
}

// What foreign code changes outside its scratch folder is refused from here on, where the kernel can.
Confinement confine_writes(const std::string& scratch) {
  for (const char* name : {"TMPDIR", "XDG_CACHE_HOME"}) setenv(name, scratch.c_str(), 1);
  std::vector<std::string> folders = writable_besides();
  folders.push_back(scratch);
  Confinement confinement;
  const auto version = write_only_below(folders);
  if (version.ok()) {
    confinement.landlock = *version;
  } else {
    confinement.why_not = version.error().message;
  }
  return confinement;
}

// What takes processes of its own: before this one loads a libtorch, whose threads no fork survives.
LibtorchRun begin_libtorch(const MeasureRequest& request, std::optional<Confinement> confinement, EventWriter& events) {
  constexpr double kTimeForStarts = 60;
  LibtorchRun run{.path = *request.libtorch_dir, .confinement = std::move(confinement)};
  events.libtorch(run);
  if (request.budget_seconds < kTimeForStarts) return run;
  const double seconds_each = request.budget_seconds / 8;
  events.stage(Step::libtorch, fmt::format("starting {} in several ways", run.path));
  try_starts(run.path, request.host, seconds_each, [&](LibtorchStart start) {
    run.starts.push_back(std::move(start));
    events.libtorch(run);
  });
  std::error_code error;
  const int32_t gpu = first_usable_gpu(request.host);
  if (gpu >= 0 && std::filesystem::exists(run.path + "/libtorch_cuda.so", error))
    run.areas.push_back(try_device_assertion(run.path, gpu, seconds_each));
  return run;
}

}  // namespace

bool run_request(const MeasureRequest& request, EventWriter& events) {
  for (const BenchRequest& bench : request.benches) {
    if (auto right = check_bench(bench, request); !right.ok()) {
      events.refused(right.error().message);
      return false;
    }
  }
  prepare_environment(request);
  ask_for_tiles(request.host);
  LibtorchProbe libtorch;
  std::optional<Confinement> confinement;
  if (request.scratch) confinement = confine_writes(*request.scratch);
  if (request.libtorch_dir) {
    const pid_t self = getpid();
    constexpr double kTimeForGpuAreas = 10;
    libtorch = probe_libtorch(begin_libtorch(request, confinement, events), request.host,
                              request.budget_seconds >= kTimeForGpuAreas, events);
    if (request.timings) time_libtorch(libtorch, request.host, events);
    if (getpid() != self) _exit(0);  // a library that forks while it is loaded made a second worker of us
  }
  if (request.every_core) check_every_core(request.host, events);
  std::set<int64_t> lost;
  if (request.probes) lost = probe_gpus(request.host, events);
  run_benches(request, libtorch, events, std::move(lost));
  events.finished();
  return true;
}

}  // namespace pbprobe
