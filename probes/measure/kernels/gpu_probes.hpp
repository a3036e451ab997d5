// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Probes of each kind of GPU: memories, launches, rates and results of instructions, cuDNN and NCCL. The rates are the
// ceilings of GEMMs.
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
#include "probes/measure/kernels/gpu_device.hpp"
#include "probes/measure/libtorch/libtorch.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {

// Writes one event per figure. A probe that fails or gives wrong bits is a kernel fault. Returns the GPUs whose CUDA
// context ended with a failed launch.
std::set<int64_t> probe_gpus(const Host& host, EventWriter& events);

// Ceilings for what a libtorch reaches on one GPU.
struct GpuPeaks {
  double copy_gbytes = 0;              // bytes read and written
  std::map<DType, double> gops;        // the fastest instruction of each type
  std::map<DType, std::string> names;  // "wgmma bf16"
};

// Measures the peaks. Errors: unsupported (this build has no kernels for the GPU), device.
[[nodiscard]] Result<GpuPeaks> measure_peaks(const Gpu& gpu);

// Looks up the functions of a library that libtorch loads. `name`: "cuDNN". Error: unsupported (one is missing).
template <class Functions>
[[nodiscard]] Result<Functions> find_functions(const Libtorch& library, std::string_view name) {
  Functions functions;
  Symbols symbols = library.cuda_symbols();
  symbols.find(functions);
  if (symbols.missing.empty()) return functions;
  return make_error(ErrorCode::unsupported, "pbprobe cannot call the {} of this libtorch: it has no {}", name,
                    symbols.missing);
}

// Adds one figure per type (BF16, INT8): the number of usable engines of cuDNN. `proved`: one engine ran, and every
// element was right. Errors: unsupported (no cuDNN in this build), device, malformed (a wrong element). An error of one
// type does not remove the figure of the other.
[[nodiscard]] Result<void> probe_cudnn(const Libtorch& library, const GpuDevice& device,
                                       std::vector<ProbeFigure>& figures);

// Sums FP32 over these GPUs and checks every element. Returns the bus bandwidth by NVIDIA's formula,
// bytes / time · 2(n−1)/n, or bytes / time for one GPU. Errors: unsupported (no NCCL in this build),
// device, malformed (a wrong sum).
[[nodiscard]] Result<ProbeFigure> probe_nccl(const Libtorch& library, std::span<const int32_t> gpus);

}  // namespace pbprobe
