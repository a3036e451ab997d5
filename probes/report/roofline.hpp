// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What each device gave at most in this run, by instruction and by memory, and what its GEMMs reached of that.
#pragma once

#include <optional>
#include <string>
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
  std::string who;  // a kernel of ours, or "libtorch"
  std::string dtype;
  std::string ceiling;   // of its instruction; empty: any of its type
  std::string shape;     // "4096×4096×4096 nt"
  double intensity = 0;  // operations for each byte of A, B and C, each moved once
  double gflops = 0;     // median
  double low = 0;        // of the samples' middle four fifths
  double high = 0;
  std::optional<double> roof;  // what it could reach; null: no ceiling of its type was measured
  bool by_memory = false;      // the memory is that roof
  bool above = false;          // the point or the roof was measured wrong
  bool disturbed = false;      // others used the GPU
};

struct Roof {
  std::string device;  // "GPU 0 NVIDIA H200", "CPU, 2 threads"
  std::optional<double> gb_per_s;
  std::vector<Ceiling> ceilings;  // highest first
  std::vector<RoofPoint> points;
};

// Devices without a point have no roof. `host` names them.
[[nodiscard]] std::vector<Roof> roofs_of(const Measurements& measurements, const Host* host);

}  // namespace pbprobe
