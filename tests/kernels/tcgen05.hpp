// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/facts/host.hpp"
#include "core/targets.hpp"
#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe::test {

// Makes a host with one GPU of this target; by default with the SMs of a B200.
inline Host make_tcgen05_host(std::string_view target, int64_t sms = 148) {
  Host host;
  host.cpu.architecture = "x86_64";
  Gpu gpu;
  gpu.name = "Test GPU";
  gpu.capability = find_target(target)->capability.value_or("");
  gpu.sm_count = sms;
  host.gpus.push_back(gpu);
  return host;
}

inline std::vector<const Kernel*> built_kernels() {
  std::vector<const Kernel*> kernels;
  for (const auto& kernel : kernel_table()) {
    if (is_tcgen05(kernel) && kernel.built) kernels.push_back(&kernel);
  }
  return kernels;
}

}  // namespace pbprobe::test
