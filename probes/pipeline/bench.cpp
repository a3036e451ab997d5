// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/pipeline.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <gnu/libc-version.h>

#include "core/host/host.hpp"
#include "probes/pipeline/foreign.hpp"
#include "probes/pipeline/gpu_monitor.hpp"
#include "probes/pipeline/python.hpp"
#include "probes/process/spawn.hpp"

namespace pbprobe {

namespace fs = std::filesystem;

Result<Measurements> run_bench(const BenchOptions& options) {
  PBPROBE_TRY(Host host, detect_host(system_sources()));
  MeasureRequest request{.host = std::move(host),
                         .benches = {options.bench},
                         .probes = options.probes,
                         .budget_seconds = options.budget_seconds,
                         .limit_seconds = 2 * options.budget_seconds};
  std::optional<ForeignClosure> foreign;
  const auto& peers = options.bench.against;
  if (std::ranges::find(peers, "libtorch") != peers.end()) {
    fs::path artifact = options.artifact.value_or(fs::path());
    if (artifact.empty()) {
      PBPROBE_TRY(artifact, find_default_artifact(torch_search_roots(system_env())), "bench --against");
    }
    PBPROBE_TRY(const Inventory inventory, load_inventory(artifact, {.links_only = true}));
    if (!inventory.libtorch_dir)
      return make_error(
          ErrorCode::unsupported,
          "{} contains no libtorch that can be loaded in place: give a site-packages folder or a libtorch folder",
          artifact.string());
    request.libtorch_dir = inventory.libtorch_dir;
    PBPROBE_TRY(foreign, find_foreign_closure(inventory, gnu_get_libc_version(), system_driver_places()));
  }
  // cuBLASLt and OpenMP's runtime are looked for beside a torch first; they may be elsewhere too.
  request.torch_libraries = request.libtorch_dir;
  if (!request.libtorch_dir) {
    const auto artifact = options.artifact ? Result<fs::path>(*options.artifact)
                                           : find_default_artifact(torch_search_roots(system_env()));
    std::error_code error;
    for (const char* folder : {"torch/lib", "lib", "."}) {
      if (artifact && fs::exists(*artifact / folder / "libtorch_cpu.so", error))
        request.torch_libraries = (*artifact / folder).string();
    }
  }
  if (options.progress) options.progress("measuring");
  auto limits = make_child_limits(options.program, foreign);
  limits.progress = options.progress;
  PBPROBE_TRY(Measurements measurements, measure_with_gpu_monitor(request, limits));
  record_foreign_loader(foreign, measurements);
  return measurements;
}

}  // namespace pbprobe
