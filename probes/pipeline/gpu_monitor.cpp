// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/gpu_monitor.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include <unistd.h>

#include <fmt/ranges.h>

#include "core/host/sensors.hpp"
#include "core/strings.hpp"

namespace pbprobe {
namespace {

// use of an idle GPU by the compositor of a display
constexpr int64_t kIdlePercent = 5;

// "0,1" of "cuda:0,1".
bool names(const std::string& devices, const std::string& device) {
  constexpr std::string_view kCuda = "cuda:";
  if (!devices.starts_with(kCuda)) return false;
  const auto numbers = split(std::string_view(devices).substr(kCuda.size()), ',');
  return std::ranges::any_of(numbers,
                             [&](std::string_view number) { return fmt::format("{}{}", kCuda, number) == device; });
}

// Ignores an MPS server: it computes nothing itself, and pbprobe is one of its clients.
bool counts(const GpuProcess& process) {
  return process.pid != getpid() && process.name.value_or("") != "nvidia-cuda-mps-server";
}

template <class Figures>
void mark(Figures& figures, const std::vector<GpuUse>& uses) {
  for (auto& figure : figures)
    if (auto who = describe_other_users(uses, figure.device)) figure.disturbed = std::move(who);
}

// Looks at the devices while it lives.
class Watch {
 public:
  Watch(const HostSources& sources, bool gpus) : sensors_(sources, gpus) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // no further thread is available: continue without a trace
    }
  }
  ~Watch() { stop(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  std::vector<DeviceTrace> take() {
    stop();
    std::erase_if(traces_, [](const DeviceTrace& trace) { return trace.points.empty(); });
    return std::move(traces_);
  }

 private:
  // Too little memory or too few file descriptors: ends the trace.
  void run() noexcept try {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    std::chrono::milliseconds between(250);
    do {
      add_points(traces_,
                 sensors_.read(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()),
                 between);
    } while (!stopped_.wait_for(lock, between, [this] { return stop_; }));
  } catch (const std::exception&) {
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    stopped_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  Sensors sensors_;
  std::vector<DeviceTrace> traces_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

void add_points(std::vector<DeviceTrace>& traces, std::vector<std::pair<std::string, TracePoint>> points,
                std::chrono::milliseconds& between) {
  constexpr size_t kMaxPoints = 400;  // per device, enough for a chart
  bool is_full = false;
  for (auto& [device, point] : points) {
    if (!point.clock_mhz && !point.power_watts && !point.celsius) continue;
    const auto is_its = [name = std::string_view(device)](const auto& one) { return one.device == name; };
    auto trace = std::ranges::find_if(traces, is_its);
    if (trace == traces.end()) trace = traces.insert(traces.end(), {.device = device, .points = {}});
    trace->points.push_back(point);
    is_full |= trace->points.size() >= kMaxPoints;
  }
  if (!is_full) return;
  between *= 2;
  for (auto& trace : traces) {
    for (size_t i = 0; 2 * i < trace.points.size(); ++i) trace.points[i] = trace.points[2 * i];
    trace.points.resize((trace.points.size() + 1) / 2);
  }
}

std::optional<std::string> describe_other_users(const std::vector<GpuUse>& uses, const std::string& device) {
  std::set<std::string> who;
  for (const GpuUse& use : uses) {
    if (!names(device, use.device)) continue;
    for (const GpuProcess& process : use.processes) {
      if (!counts(process)) continue;
      who.insert(fmt::format("{} (process {}) on {}", process.name.value_or("unnamed"), process.pid, use.device));
    }
  }
  for (const GpuUse& use : uses) {
    if (!who.empty() || !names(device, use.device) || use.when != "before") continue;
    if (use.utilization_percent.value_or(0) > kIdlePercent)
      who.insert(fmt::format("{} % utilization of {} before the measurement", *use.utilization_percent, use.device));
  }
  if (who.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(who, ", "));
}

void mark_disturbed(Measurements& measurements, std::vector<GpuUse> uses) {
  std::set<std::string> numbers;
  for (const GpuUse& use : uses) numbers.insert(use.device.substr(use.device.find(':') + 1));
  // A row does not say on which GPU.
  const std::string any = fmt::format("cuda:{}", fmt::join(numbers, ","));
  for (BenchRow& row : measurements.rows)
    if (row.threads == 0) row.disturbed = describe_other_users(uses, any);
  mark(measurements.probes, uses);
  if (measurements.libtorch) {
    mark(measurements.libtorch->figures, uses);
    mark(measurements.libtorch->timings, uses);
    mark(measurements.libtorch->speeds, uses);
  }
  measurements.gpu_use = std::move(uses);
}

Result<Measurements> measure_with_gpu_monitor(const MeasureRequest& request, const ChildLimits& limits,
                                              const HostSources& sources) {
  const auto before = request.host.gpus.empty() ? std::nullopt : read_gpu_use(sources, "before");
  Watch watch(sources, !request.host.gpus.empty());
  PBPROBE_TRY(Measurements measurements, measure_in_child(request, limits));
  measurements.traces = watch.take();
  if (!before) return measurements;
  std::vector<GpuUse> uses = *before;
  if (const auto after = read_gpu_use(sources, "after")) uses.insert(uses.end(), after->begin(), after->end());
  mark_disturbed(measurements, std::move(uses));
  return measurements;
}

}  // namespace pbprobe
