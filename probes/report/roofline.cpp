// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/roofline.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

namespace pbprobe {
namespace {

constexpr std::string_view kLibtorch = "libtorch";

double product(int64_t a, int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

template <class T>
double operations(const T& row) {
  return 2 * product(row.m, row.n) * static_cast<double>(row.k);
}

// Requires sorted samples.
double quantile(const std::vector<double>& samples, double at) {
  const double place = at * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t next = std::min(below + 1, samples.size() - 1);
  return samples[below] + (place - static_cast<double>(below)) * (samples[next] - samples[below]);
}

template <class T>
RoofPoint make_point(const T& row, const std::string& who, std::string_view out) {
  RoofPoint point{.who = who,
                  .dtype = row.dtype,
                  .shape = fmt::format("{}×{}×{} {}", row.m, row.n, row.k, row.layout),
                  .gflops = row.gflops,
                  .low = row.gflops,
                  .high = row.gflops,
                  .disturbed = row.disturbed.has_value(),
                  .of_libtorch = who == kLibtorch};
  const double bytes = (product(row.m, row.k) + product(row.k, row.n)) * get_type_bytes(row.dtype) +
                       product(row.m, row.n) * get_type_bytes(out);
  point.intensity = bytes > 0 ? operations(row) / bytes : 0;
  std::vector<double> samples = row.samples_us;
  std::erase_if(samples, [](double us) { return us <= 0; });
  if (samples.empty()) return point;
  std::ranges::sort(samples);
  point.low = operations(row) / quantile(samples, 0.9) * 1e-3;
  point.high = operations(row) / quantile(samples, 0.1) * 1e-3;
  return point;
}

// Returns the rate of the read-only loop in GB/s, measured if C is thin: the loop reads B once.
std::optional<double> read_rate(const BenchRow& row) {
  const auto reading = row.peers.find("reading");
  if (reading == row.peers.end() || reading->second.samples_us.empty()) return std::nullopt;
  std::vector<double> samples = reading->second.samples_us;
  std::ranges::sort(samples);
  const double us = quantile(samples, 0.5);
  return us > 0 ? std::optional(product(row.k, row.n) * get_type_bytes(row.dtype) / us * 1e-3) : std::nullopt;
}

// Makes a point for another libtorch operation with a stated intensity: "attention bf16". Its figure is in operations
// or bytes.
RoofPoint make_point(const ProbeFigure& figure) {
  const size_t space = figure.name.rfind(' ');
  const double each = figure.unit == "GB/s" ? *figure.intensity : 1;
  RoofPoint point{.who = fmt::format("{} {}", kLibtorch, figure.name.substr(0, space)),
                  .dtype = figure.name.substr(space + 1),
                  .intensity = *figure.intensity,
                  .gflops = figure.value * each,
                  .low = figure.value * each,
                  .high = figure.value * each,
                  .disturbed = figure.disturbed.has_value(),
                  .of_libtorch = true};
  std::vector<double> samples = figure.samples;
  if (samples.empty()) return point;
  std::ranges::sort(samples);
  point.low = quantile(samples, 0.1) * each;
  point.high = quantile(samples, 0.9) * each;
  return point;
}

class Roofs {
 public:
  Roofs(const Measurements& measurements, const Host* host) : host_(host) {
    for (const auto& row : measurements.rows) add(row);
    for (const auto& figure : measurements.probes) add(figure);
    if (!measurements.libtorch) return;
    for (const auto& figure : measurements.libtorch->figures)
      roof(format_device(figure.device, figure.threads))
          .points.push_back(make_point(figure, std::string(kLibtorch), figure.dtype));
    for (const auto& figure : measurements.libtorch->speeds) {
      if (figure.intensity && figure.name.find(' ') != figure.name.npos)
        roof(format_device(figure.device, 0)).points.push_back(make_point(figure));
    }
  }

  std::vector<Roof> take() {
    std::vector<Roof> all;
    for (auto& [device, one] : roofs_) {
      if (one.points.empty()) continue;
      one.device = device;
      std::ranges::stable_sort(one.ceilings, std::greater(), &Ceiling::gflops);
      for (auto& point : one.points) place(point, one);
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  Roof& roof(const std::string& device) { return roofs_[device]; }

  std::string format_device(const std::string& device, int64_t threads) const {
    if (device == "cpu") return fmt::format("CPU, {} thread{}", threads, threads == 1 ? "" : "s");
    const std::string number = device.substr(device.find(':') + 1);
    if (host_ == nullptr) return "GPU " + number;
    for (const auto& gpu : host_->gpus) {
      if (std::to_string(gpu.index) == number) return fmt::format("GPU {} {}", number, gpu.name);
    }
    return "GPU " + number;
  }

  // Returns the first GPU of a kernel's target, on which the kernel was measured.
  std::string find_device(const std::string& target) const {
    if (host_ != nullptr) {
      for (const auto& gpu : host_->gpus) {
        if (!gpu.problem && gpu.target == target) return fmt::format("GPU {} {}", gpu.index, gpu.name);
      }
    }
    return "GPU 0";
  }

  void raise(Roof& roof, const std::string& name, const std::string& dtype, double gflops) {
    const auto same = [&](const Ceiling& one) { return one.name == name; };
    const auto found = std::ranges::find_if(roof.ceilings, same);
    if (found == roof.ceilings.end())
      roof.ceilings.push_back({name, dtype, gflops});
    else
      found->gflops = std::max(found->gflops, gflops);
  }

  void add(const BenchRow& row) {
    Roof& here = roof(row.threads == 0 ? find_device(row.target) : format_device("cpu", row.threads));
    if (const auto rate = read_rate(row)) here.gb_per_s = std::max(here.gb_per_s.value_or(0), *rate);
    const std::string ceiling = fmt::format("{} {}", row.instruction, row.dtype);
    if (row.peak_gflops) raise(here, ceiling, row.dtype, *row.peak_gflops);
    if (!row.best) return;
    here.points.push_back(make_point(row, row.kernel, row.out));
    here.points.back().ceiling = ceiling;
  }

  void add(const ProbeFigure& figure) {
    Roof& here = roof(format_device(figure.device, 0));
    if (figure.name == "copy" || figure.name == "read")
      here.gb_per_s = std::max(here.gb_per_s.value_or(0), figure.value);
    if (figure.unit == "Gop/s") raise(here, figure.name, figure.name.substr(figure.name.rfind(' ') + 1), figure.value);
  }

  static void place(RoofPoint& point, const Roof& roof) {
    const auto is_its = [&](const Ceiling& one) {
      return point.ceiling.empty() ? one.dtype == point.dtype : one.name == point.ceiling;
    };
    const auto ceiling = std::ranges::find_if(roof.ceilings, is_its);
    if (ceiling == roof.ceilings.end()) return;
    const double memory = roof.gb_per_s ? point.intensity * *roof.gb_per_s : ceiling->gflops;
    point.roof = std::min(ceiling->gflops, memory);
    point.by_memory = memory < ceiling->gflops;
    point.above = !point.disturbed && is_above(point.gflops, *point.roof);
  }

  const Host* host_;
  std::map<std::string, Roof> roofs_;
};

}  // namespace

double get_type_bytes(std::string_view dtype) {
  if (dtype == "e2m1x2") return 0.5;  // bytes per number
  if (dtype == "int8" || dtype == "uint8" || dtype == "e4m3" || dtype == "e5m2") return 1;
  return dtype == "bf16" || dtype == "fp16" ? 2 : 4;
}

bool is_above(double gflops, double roof) {
  constexpr double kTolerance = 1.03;
  return gflops > roof * kTolerance;
}

std::vector<Roof> compute_roofs(const Measurements& measurements, const Host* host) {
  return Roofs(measurements, host).take();
}

}  // namespace pbprobe
