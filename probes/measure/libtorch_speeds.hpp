// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// How fast a libtorch is on a GPU where it matters most, against the peaks that our own probes find there, and by which
// kernels: their names, and the machine code that the driver took for them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/host.hpp"
#include "core/facts/measurement.hpp"
#include "probes/measure/gpu_device.hpp"
#include "probes/measure/libtorch.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {

// Elementwise, mm, convolution and attention, in the GPU's stream, which libtorch must be working in. Fills run.speeds
// and run.kernels; what could not be run is a note.
void measure_speeds(const Libtorch& library, const GpuDevice& device, const Gpu& gpu, LibtorchRun& run,
                    EventWriter& events);

// On the CPU, or on `gpu`, in its stream. An area that libtorch refuses has no timing. `tell` is called before each.
void time_areas(const Libtorch& library, const GpuDevice* gpu, std::vector<AreaTiming>& timings,
                const std::function<void(std::string_view area)>& tell);

struct Configuration {
  std::vector<std::string> built_for;  // "sm_90", "compute_120"
  std::vector<LibtorchLibrary> libraries;
};

// From the text that `torch.__config__.show()` prints. Pure.
[[nodiscard]] Configuration read_configuration(std::string_view text);

// "9.19.0" of cuDNN's 91900, "2.28.9" of NCCL's 22809, "13.1.0" of cuBLAS's 130100; the numbers as they were before
// each changed its rule too (cuDNN 8: 8907, NCCL before 2.9: 2804). Pure.
[[nodiscard]] std::string cudnn_version(size_t number);
[[nodiscard]] std::string nccl_version(int number);
[[nodiscard]] std::string cublas_version(size_t number);

// Fills run.built_for and run.libraries; the GPU's libraries answer once libtorch_cuda.so is loaded.
void ask_libraries(const Libtorch& library, LibtorchRun& run);

}  // namespace pbprobe
