// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Speeds of a libtorch on a GPU relative to the peaks of pbprobe's probes, the kernels that ran, times of areas, and
// the versions of its libraries. Call in a child process.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/host.hpp"
#include "core/facts/measurement.hpp"
#include "probes/measure/kernels/gpu_device.hpp"
#include "probes/measure/libtorch/libtorch.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {

// Measures elementwise operations, mm, convolution and attention. Requires that libtorch works in the GPU's stream.
// Fills run.speeds and run.kernels; notes operations that could not run.
void measure_speeds(const Libtorch& library, const GpuDevice& device, const Gpu& gpu, LibtorchRun& run,
                    EventWriter& events);

// Times the areas on the CPU, or on `gpu` in its stream. An area that libtorch refuses has no timing. Calls `tell`
// before each area.
void time_areas(const Libtorch& library, const GpuDevice* gpu, std::vector<AreaTiming>& timings,
                const std::function<void(std::string_view area)>& tell);

struct Configuration {
  std::vector<std::string> built_for;  // "sm_90", "compute_120"
  std::vector<LibtorchLibrary> libraries;
};

// Parses the text of `torch.__config__.show()`. Pure.
[[nodiscard]] Configuration read_configuration(std::string_view text);

// Format version numbers: cuDNN 91900 is "9.19.0", NCCL 22809 "2.28.9", cuBLAS 130100 "13.1.0". Older numbering rules
// are known too (cuDNN 8: 8907, NCCL before 2.9: 2804). Pure.
[[nodiscard]] std::string cudnn_version(size_t number);
[[nodiscard]] std::string nccl_version(int number);
[[nodiscard]] std::string cublas_version(size_t number);

// Fills run.built_for and run.libraries. The GPU's libraries answer after libtorch_cuda.so is loaded.
void ask_libraries(const Libtorch& library, LibtorchRun& run);

}  // namespace pbprobe
