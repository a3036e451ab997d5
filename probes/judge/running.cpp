// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "probes/judge/questions.hpp"

namespace pbprobe::ask {
namespace {

// Ours against libtorch's: from here on a user would notice. A property of the build, never a fault.
constexpr double kNoticeable = 1.5;

// libtorch has the interface that pbprobe runs it by from here on.
constexpr MajorMinor kFirstRunnable{2, 8};

bool too_old_to_run(const Inventory& inventory) {
  const auto version = parse_major_minor(inventory.torch_version.value_or(""));
  return version && *version < kFirstRunnable;
}

}  // namespace

Answer libtorch_loads(const Facts& facts) {
  if (facts.wrong_platform || facts.run->loaded) return {};
  if (too_old_to_run(*facts.inventory))
    return {.seen = {},
            .unknown = Seen{.what = facts.torch + " is older than 2.8, and pbprobe can only read it",
                            .remedy = "try `python -c \"import torch\"` yourself, or use torch 2.8 or newer"}};
  return {.seen = {{.what = facts.run->problem.value_or("libtorch could not be loaded"), .where = facts.run->path}}};
}

// No fault of the build: the same files find it where they are started as they are meant to be.
Answer libcuda_is_in_reach(const Facts& facts) {
  const auto& loader = facts.run->loader;
  if (!loader || loader->finds_libcuda || !facts.inventory->cuda_version || facts.host->gpus.empty()) return {};
  Seen seen{
      say("libcuda is not reachable for this torch: {} (glibc {}) does not look where this machine's driver lies{}",
          loader->path, loader->glibc, loader->driver ? "; for this run pbprobe gave it the driver's files" : "")};
  return {.seen = {seen}, .unknown = seen};
}

Answer libtorch_computes(const Facts& facts) {
  if (facts.wrong_platform || !facts.run->loaded || facts.run->executed) return {};
  return {.seen = {{.what = facts.run->problem.value_or("libtorch was loaded, and computed nothing"),
                    .where = facts.run->path}}};
}

// Where another check has said already why no GPU can work, a run that failed there says nothing new.
Answer libtorch_computes_on_gpu(const Facts& facts) {
  const bool expected = std::any_of(facts.gpus.begin(), facts.gpus.end(), [](const GpuOutcome& gpu) {
    return gpu.image != GpuImage::none && gpu.image != GpuImage::unknown;
  });
  if (!expected || !facts.run->executed) return {};
  if (!gpu_is_usable(facts).seen.empty() || !driver_knows_cuda_major(facts).seen.empty()) return {};
  if (!facts.run->executed_on_gpu)
    return {.seen = {}, .unknown = Seen{facts.run->problem.value_or("libtorch was not run on a GPU")}};
  if (*facts.run->executed_on_gpu) return {};
  return {.seen = {{.what = facts.run->problem.value_or("libtorch's matrix product on the GPU was not right"),
                    .where = facts.run->path}}};
}

Answer areas_are_right(const Facts& facts) {
  Answer answer;
  for (const auto& area : facts.run->areas) {
    if (!area.problem) continue;
    answer.seen.push_back(
        {.what = say("{} on {}: {}", area.area, area.device, *area.problem), .where = facts.run->path});
  }
  return answer;
}

Answer libraries_are_those_it_was_compiled_with(const Facts& facts) {
  Answer answer;
  const auto& shipped = facts.inventory->component_versions;
  for (const auto& library : facts.run->libraries) {
    if (!library.running || library.name == "CUDA") continue;  // the toolkit's parts have checks of their own
    const std::string where = library.path.value_or(facts.run->path);
    if (library.compiled && *library.compiled != *library.running)
      answer.seen.push_back({.what = say("{} {} is running, and libtorch was compiled with {}", library.name,
                                         *library.running, *library.compiled),
                             .where = where});
    if (!shipped) continue;
    const auto package = shipped->find(library.name);
    if (package == shipped->end() || (library.name != "cuDNN" && library.name != "NCCL")) continue;
    // A package counts its builds too: 9.19.0.56.
    const std::string& version = package->second;
    const bool same = version == *library.running || version.starts_with(*library.running + ".");
    if (!same && library.compiled == library.running)
      answer.seen.push_back(
          {.what = say("{} {} is running, and its package is {}", library.name, *library.running, version),
           .where = where});
  }
  return answer;
}

Answer cuda_starts_in_time(const Facts& facts) {
  constexpr double kMostSeconds = 20;  // PyTorch's own release gate allows as much
  Answer answer;
  for (const auto& start : facts.run->starts) {
    if (start.first_tensor_seconds.value_or(0) <= kMostSeconds) continue;
    answer.seen.push_back(
        {.what = say("the first tensor on {} took {:.0f} s ({})", start.device, *start.first_tensor_seconds, start.how),
         .where = facts.run->path});
  }
  return answer;
}

// What starts as it stands, and no more where the driver compiles nothing, was PTX.
Answer what_ran_was_machine_code(const Facts& facts) {
  Answer answer;
  if (facts.run->executed_on_gpu != true) return answer;
  for (const auto& start : facts.run->starts) {
    if (start.how != "CUDA_DISABLE_PTX_JIT=1" || !start.problem) continue;
    answer.seen.push_back(
        {.what = say("with {} libtorch does not compute on {}: {}", start.how, start.device, *start.problem),
         .where = facts.run->path});
  }
  return answer;
}

Answer kernels_are_right(const Facts& facts) {
  Answer answer;
  if (facts.measurements == nullptr) return answer;
  for (const auto& problem : facts.measurements->problems) answer.seen.push_back({problem});
  return answer;
}

Answer steps_ran(const Facts& facts) {
  Answer answer;
  for (const auto& problem : facts.report.problems) answer.seen.push_back({problem});
  return answer;
}

Answer version_agrees(const Facts& facts) {
  if (!facts.run->version || !facts.inventory->torch_version) return {};
  if (release_of(*facts.run->version) == release_of(*facts.inventory->torch_version)) return {};
  return {.seen = {{.what = say("its files say torch {}, the loaded library says {}", *facts.inventory->torch_version,
                                *facts.run->version),
                    .where = facts.run->path}}};
}

Answer libtorch_keeps_up(const Facts& facts) {
  Answer answer;
  if (facts.measurements == nullptr) return answer;
  std::map<std::string, const BenchRow*> slowest;  // by dtype: one line each is enough
  for (const auto& row : facts.measurements->rows) {
    const auto peer = row.peers.find(std::string(kLibtorch));
    if (!row.best || peer == row.peers.end() || peer->second.ratio < kNoticeable) continue;
    const BenchRow*& kept = slowest[row.dtype];
    if (kept == nullptr || peer->second.ratio > kept->peers.at(std::string(kLibtorch)).ratio) kept = &row;
  }
  for (const auto& [dtype, row] : slowest) {
    const PeerFigure& peer = row->peers.at(std::string(kLibtorch));
    answer.seen.push_back({say("{} {}x{}x{}: libtorch {:.0f} GFLOP/s, {} {:.0f} ({:.1f} times as fast)", dtype, row->m,
                               row->n, row->k, peer.gflops, row->kernel, row->gflops, peer.ratio)});
  }
  return answer;
}

}  // namespace pbprobe::ask
