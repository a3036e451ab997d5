// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What each device gave at most in this run, by instruction and by memory, and what its GEMMs reached of that.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/host.hpp"
#include "core/facts/measurement.hpp"

namespace pbprobe {

struct Ceiling {
  std::string name;  // "wgmma bf16"
  std::string dtype;
  double gflops = 0;
};

struct RoofPoint {
  std::string who;  // a kernel of ours, or "libtorch"; of another operation "libtorch attention"
  std::string dtype;
  std::string ceiling;   // of its instruction; empty: any of its type
  std::string shape;     // "4096×4096×4096 nt"; empty: of an operation of its own size
  double intensity = 0;  // operations for each byte of A, B and C, each moved once
  double gflops = 0;     // median
  double low = 0;        // of the samples' middle four fifths
  double high = 0;
  std::optional<double> roof;  // what it could reach; null: no ceiling of its type was measured
  bool by_memory = false;      // the memory is that roof
  bool above = false;          // the point or the roof was measured wrong
  bool disturbed = false;      // others used the GPU
  bool of_libtorch = false;
};

struct Roof {
  std::string device;  // "GPU 0 NVIDIA H200", "CPU, 2 threads"
  std::optional<double> gb_per_s;
  std::vector<Ceiling> ceilings;  // highest first
  std::vector<RoofPoint> points;
};

// Of an element.
[[nodiscard]] double bytes_of_type(std::string_view dtype);

// Above a roof by more than figures differ from run to run: the one or the other was measured wrong.
[[nodiscard]] bool is_above(double gflops, double roof);

// Devices without a point have no roof. `host` names them.
[[nodiscard]] std::vector<Roof> roofs_of(const Measurements& measurements, const Host* host);

}  // namespace pbprobe
