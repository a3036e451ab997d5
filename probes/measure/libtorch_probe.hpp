// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Does this libtorch load, and does it compute correctly? To be called in a child process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/facts/host.hpp"
#include "core/facts/measurement.hpp"
#include "core/result.hpp"
#include "probes/measure/gpu_device.hpp"
#include "probes/measure/libtorch.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {

struct LibtorchProbe {
  LibtorchRun run;
  std::optional<Libtorch> library;  // null where it did not load or computed wrong
  bool on_gpu = false;              // libtorch_cuda.so is loaded and computed correctly on the first usable GPU
};

// Loads it, multiplies small integers in FP32 and BF16, whose product is exact in both, and compares every bit; on the
// host's first usable GPU as well where it is a CUDA build. Then its areas (libtorch_areas.hpp); those on the GPU,
// which load cuDNN, cuFFT and cuSOLVER, its speeds, its cuDNN and its NCCL only with `gpu_areas`. Each step is
// announced and each fact written at once. `begun` names the folder of libtorch_cpu.so, and holds what is known of it
// already.
[[nodiscard]] LibtorchProbe probe_libtorch(LibtorchRun begun, const Host& host, bool gpu_areas, EventWriter& events);

// How long it takes for each area on the CPU, and on the first usable GPU where it computes correctly there: into its
// run.
void time_libtorch(LibtorchProbe& probe, const Host& host, EventWriter& events);

// The exact GEMM of gemm.hpp on the CPU, or on `gpu`; `tell` gets C as it came back. Errors: failed_child (it
// threw), malformed (a wrong element, named).
[[nodiscard]] Result<void> check_gemm(const Libtorch& library, DType type, const GpuDevice* gpu, uint64_t seed,
                                      const std::function<void(const std::vector<unsigned char>&)>& tell = {});

// Index of the first GPU without a problem; -1: none.
[[nodiscard]] int32_t first_usable_gpu(const Host& host);

}  // namespace pbprobe
