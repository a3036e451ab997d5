// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Loads a libtorch and checks that it computes correctly. Call in a child process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/facts/host.hpp"
#include "core/facts/measurement.hpp"
#include "core/result.hpp"
#include "probes/measure/kernels/gpu_device.hpp"
#include "probes/measure/libtorch/libtorch.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {

struct LibtorchProbe {
  LibtorchRun run;
  std::optional<Libtorch> library;  // loaded libtorch; null if it did not load or computed wrong
  bool on_gpu = false;              // libtorch_cuda.so is loaded and computed correctly on the first usable GPU
};

// Loads libtorch, multiplies small integers exactly in FP32 and BF16, and compares every bit; for a CUDA build also on
// the first usable GPU. Then runs the areas (areas.hpp). `gpu_areas` adds GPU areas, which load cuDNN, cuFFT
// and cuSOLVER, speeds, cuDNN and NCCL. Announces each step and writes each fact at once. `begun` has the folder of
// libtorch_cpu.so and the known facts.
[[nodiscard]] LibtorchProbe probe_libtorch(LibtorchRun begun, const Host& host, bool gpu_areas, EventWriter& events);

// Times each area on the CPU, and on the first usable GPU if libtorch computes correctly there. Stores the times in the
// run.
void time_libtorch(LibtorchProbe& probe, const Host& host, EventWriter& events);

// Computes the exact GEMM of gemm.hpp on the CPU, or on `gpu`; passes C to `tell`. Errors: failed_child (libtorch
// threw), malformed (a wrong element, named).
[[nodiscard]] Result<void> check_gemm(const Libtorch& library, DType type, const GpuDevice* gpu, uint64_t seed,
                                      const std::function<void(const std::vector<unsigned char>&)>& tell = {});

// Returns the index of the first GPU without a problem, or -1.
[[nodiscard]] int32_t first_usable_gpu(const Host& host);

}  // namespace pbprobe
