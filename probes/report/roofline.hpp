// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Rooflines: the highest instruction and memory rates of each device in this run, and the share that its GEMMs reached.
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
  std::string who;  // pbprobe kernel, "libtorch", or another operation: "libtorch attention"
  std::string dtype;
  std::string ceiling;   // ceiling of its instruction; empty for any ceiling of its type
  std::string shape;     // "4096×4096×4096 nt"; empty for an operation of fixed size
  double intensity = 0;  // operations per byte of A, B and C, each moved once
  double gflops = 0;     // median
  double low = 0;        // lower end of the middle four fifths of the samples
  double high = 0;
  std::optional<double> roof;  // maximum possible rate; null if no ceiling of its type was measured
  bool by_memory = false;      // the roof is the memory
  bool above = false;          // measurement error of the point or the roof
  bool disturbed = false;      // other processes were active
  bool of_libtorch = false;
};

struct Roof {
  std::string device;  // "GPU 0 NVIDIA H200", "CPU, 2 threads"
  std::optional<double> gb_per_s;
  std::vector<Ceiling> ceilings;  // highest first
  std::vector<RoofPoint> points;
};

// Returns the size of one number in bytes.
[[nodiscard]] double get_type_bytes(std::string_view dtype);

// Reports whether `gflops` exceeds `roof` by over 3 %, more than the variation between runs: one of them is a
// measurement error.
[[nodiscard]] bool is_above(double gflops, double roof);

// Computes the roofs. A device without points has no roof. `host` provides the device names.
[[nodiscard]] std::vector<Roof> compute_roofs(const Measurements& measurements, const Host* host);

}  // namespace pbprobe
