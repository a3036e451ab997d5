// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Conversion of the driver observations into a state and one sentence with the fix. Does no I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/host/detect.hpp"

namespace pbprobe::host {

// Observations from which judge_driver() decides.
struct DriverSight {
  std::optional<std::string> load_error;  // reason why libcuda could not be loaded; null if it was
  std::optional<std::string> library;
  int cuda_version = 0;  // 13000; 0 if not reported
  CuResult init = kCudaSuccess;
  std::string init_error;  // name and text of `init`
  std::optional<std::string> nvml_version;
  std::optional<std::string> module_version;  // /proc/driver/nvidia/version
  std::optional<int64_t> nvml_gpus;
  bool mig_without_instance = false;
  bool on_pci = false;
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES; null if not set
};

// Returns the state of the driver, with a sentence that has the fix.
[[nodiscard]] Driver judge_driver(const DriverSight& sight, const std::vector<Gpu>& gpus);

}  // namespace pbprobe::host
