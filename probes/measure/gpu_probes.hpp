// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What each kind of GPU here gives by itself: its memories, its launches, and the rate and truth of its instructions.
// They are the ceilings that GEMMs are held against.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/facts/host.hpp"
#include "core/facts/measurement.hpp"
#include "core/result.hpp"
#include "probes/measure/gpu_device.hpp"
#include "probes/measure/libtorch.hpp"
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

// A figure a type (BF16, INT8): engines that take it, of all that cuDNN knows for it; `proved`: one was run, and every
// element was right. Errors: unsupported (no cuDNN in this build), device, malformed (a wrong element); the other
// type's figure is there even so.
[[nodiscard]] Result<void> probe_cudnn(const Libtorch& library, const GpuDevice& device,
                                       std::vector<ProbeFigure>& figures);

// Sums FP32 over these GPUs, which must be right in every element, and says how fast: with several, the bus bandwidth
// by NVIDIA's formula, bytes / time · 2(n−1)/n; with one, bytes / time. Errors: unsupported (no NCCL in this build),
// device, malformed (a wrong sum).
[[nodiscard]] Result<ProbeFigure> probe_nccl(const Libtorch& library, std::span<const int32_t> gpus);

}  // namespace pbprobe
