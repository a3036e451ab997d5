// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What each kind of GPU here gives by itself: its memories, its launches, and the rate and truth of its instructions.
// They are the ceilings that GEMMs are held against.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/dtype.hpp"
#include "core/facts/host.hpp"
#include "core/result.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {

// Writes one figure an event. A probe that fails, or gives wrong bits, is a kernel fault. Returns the GPUs whose CUDA
// context ended with a failed launch.
std::set<int64_t> probe_gpus(const Host& host, EventWriter& events);

// Ceilings for what a libtorch reaches on one GPU.
struct GpuPeaks {
  double copy_gbytes = 0;              // bytes read and written
  std::map<DType, double> gops;        // the fastest instruction of each type
  std::map<DType, std::string> names;  // "wgmma bf16"
};

// Errors: unsupported (no kernels of a target that it runs are built), device.
[[nodiscard]] Result<GpuPeaks> measure_peaks(const Gpu& gpu);

}  // namespace pbprobe
