// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/policy/obstacles.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pbprobe {
namespace {

std::string gibibytes(int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 30));
}

// Returns the record of this GPU's use. Prefers a record with processes.
const GpuUse* find_gpu_use(const Facts& facts, const std::string& device) {
  if (facts.measurements == nullptr || !facts.measurements->gpu_use) return nullptr;
  const GpuUse* found = nullptr;
  for (const GpuUse& use : *facts.measurements->gpu_use) {
    if (use.device != device) continue;
    if (found == nullptr || (found->processes.empty() && !use.processes.empty())) found = &use;
  }
  return found;
}

std::string describe_gpu_holders(const GpuUse& use) {
  std::vector<std::string> parts;
  if (use.free_bytes && use.total_bytes)
    parts.push_back(fmt::format("{} of {} GiB of the memory of {} are free", gibibytes(*use.free_bytes),
                                gibibytes(*use.total_bytes), use.device));
  for (const GpuProcess& process : use.processes)
    parts.push_back(fmt::format("{} (process {}) holds {}", process.name.value_or("an unnamed one"), process.pid,
                                process.memory_bytes ? gibibytes(*process.memory_bytes) + " GiB" : "memory of it"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Returns the index of another GPU that no process uses; "" if all are used.
std::string free_gpu(const Facts& facts, const std::string& device) {
  for (const GpuUse& use : *facts.measurements->gpu_use) {
    const GpuUse* seen = find_gpu_use(facts, use.device);
    if (use.device != device && seen != nullptr && seen->processes.empty())
      return use.device.substr(use.device.find(':') + 1);
  }
  return {};
}

std::string_view get_obstacle_remedy(Obstacle why) {
  switch (why) {
    case Obstacle::out_of_memory: return "free memory, and run pbprobe again";
    case Obstacle::busy:
      return "end the processes that hold the GPU or wait for their end, or choose another GPU by CUDA_VISIBLE_DEVICES";
    case Obstacle::device_failed:
      return "look for Xid messages in `dmesg`, reset the GPU or restart the machine, and run pbprobe again";
    case Obstacle::missing:
      return "install what is missing, or add its folder to LD_LIBRARY_PATH, and run pbprobe again";
    case Obstacle::time_limit: return "run pbprobe again on an idle machine, and allow more time with --budget";
    case Obstacle::driver:
      return "install the NVIDIA driver that the reason asks for; `pbprobe host` prints the installed one";
    case Obstacle::not_permitted:
      return "run pbprobe with the permission that it lacked: see `ulimit -a`, the devices' permissions, the container";
    case Obstacle::no_device:
      return "run pbprobe where the GPU is visible: CUDA_VISIBLE_DEVICES or the container may hide it";
    case Obstacle::unsupported: return "run pbprobe on a device and a driver that support the step";
    case Obstacle::killed:
      return "look in `dmesg` whether the system was out of memory; free some, and run pbprobe again";
    case Obstacle::unexplained:
      return "run pbprobe again on an idle machine; if the fault stays, look for Xid messages in `dmesg`";
  }
  return "run it again";
}

}  // namespace

bool was_only_read(const Facts& facts) {
  constexpr MajorMinor kFirstWithShims{2, 8};
  if (facts.inventory == nullptr || facts.run == nullptr || facts.run->loaded) return false;
  const auto version = parse_major_minor(facts.inventory->torch_version.value_or(""));
  return version && *version < kFirstWithShims;
}

Seen could_not_run(const Facts& facts, const std::string& what, Obstacle why, const std::string& device) {
  Seen seen{.what = what, .where = std::nullopt, .remedy = std::string(get_obstacle_remedy(why))};
  const GpuUse* use = device.empty() ? nullptr : find_gpu_use(facts, device);
  const bool held = why == Obstacle::out_of_memory || why == Obstacle::busy || why == Obstacle::unexplained;
  if (use == nullptr || !held) return seen;
  if (const std::string words = describe_gpu_holders(*use); !words.empty()) seen.what = say("{}; {}", what, words);
  if (use->processes.empty()) return seen;
  std::vector<std::string> pids;
  for (const GpuProcess& process : use->processes) pids.push_back(std::to_string(process.pid));
  const std::string other = free_gpu(facts, device);
  seen.remedy =
      fmt::format("free the GPU: end process {}, or wait for it, or choose another GPU with CUDA_VISIBLE_DEVICES{}{}",
                  fmt::join(pids, ", "), other.empty() ? "" : "=", other);
  return seen;
}

Seen describe_failed_run(const Facts& facts) {
  const LibtorchRun& run = *facts.run;
  // The run computes on the CPU first, then on one GPU.
  const auto gpu = gpu_of_run(facts);
  const std::string device = run.executed && gpu ? fmt::format("cuda:{}", facts.gpus[*gpu].gpu) : "";
  return could_not_run(facts, run.problem.value_or("libtorch could not run"),
                       run.obstacle.value_or(Obstacle::unexplained), device);
}

Seen report_other_users(const std::string& who) {
  return {.what = say("other processes used the GPU during the measurement, so its figures are not judged: {}", who),
          .where = std::nullopt,
          .remedy = "run pbprobe again when the GPU is free, or on another GPU with CUDA_VISIBLE_DEVICES"};
}

}  // namespace pbprobe
