// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The embedded cubins on a device: loading is a step of its own, so that run() only launches.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "kernels/cuda/call.hpp"
#include "kernels/gemm/context.hpp"
#include "kernels/gemm/plan.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

struct DriverApi;  // core/driver/driver_api.hpp

// Properties of a loaded kernel, as the driver reports them.
struct LoadedKernel {
  void* handle = nullptr;      // CUkernel
  int64_t binary_version = 0;  // 90: machine code for 9.0
  int64_t ptx_version = 0;     // 80: compiled from PTX for 8.0, or machine code that came from it
  int64_t registers = 0;
  int64_t local_bytes = 0;  // spills, and arrays that did not fit registers
  int64_t shared_bytes = 0;
};

// One target's cubins, loaded in the current context. It must outlive the runs; the driver library must outlive it.
class GpuKernels {
 public:
  // Loads the target's embedded cubins. Errors: unsupported (not built; the device cannot run it: error 209); device.
  [[nodiscard]] static Result<GpuKernels> load(const DriverApi& driver, std::string_view target);
  [[nodiscard]] std::string_view target() const { return target_; }
  // The GPU that was current when they were loaded.
  [[nodiscard]] int device() const { return device_; }
  // Returns the kernel of a symbol ("gemm_fp32_128x128_nt"), or nullptr if the cubins lack it.
  [[nodiscard]] const LoadedKernel* find(std::string_view symbol) const;
  [[nodiscard]] const std::map<std::string, LoadedKernel, std::less<>>& kernels() const { return kernels_; }
  [[nodiscard]] const DriverApi& driver() const { return *driver_; }

 private:
  GpuKernels() = default;
  [[nodiscard]] Result<void> load_all(const TargetBuild& build);
  const DriverApi* driver_ = nullptr;
  std::vector<std::shared_ptr<void>> libraries_;  // CUlibrary, unloaded with the last copy
  std::string target_;
  int device_ = 0;
  std::map<std::string, LoadedKernel, std::less<>> kernels_;
};

// Launches `blocks` blocks of a peak loop; `samples` is device memory for one GpuPeakSample a block.
// Errors: usage (not a GPU's loop, no or another target's GpuKernels); device.
[[nodiscard]] Result<void> run_peak(const Peak& peak, int64_t iterations, int64_t blocks, GpuPeakSample* samples,
                                    const Context& context);

}  // namespace pbprobe
