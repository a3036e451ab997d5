// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Hosts to choose kernels for, none of which need be this one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/host/host.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

inline Host cpu_host(std::vector<std::string> targets) {
  Host host;
  host.cpu.architecture = "x86_64";
  host.cpu.name = "Test CPU";
  host.cpu.targets = std::move(targets);
  return host;
}

inline Host gpu_host(const std::string& capability) {
  Host host = cpu_host({});
  Gpu gpu;
  gpu.name = "Test GPU";
  gpu.capability = capability;
  host.gpus.push_back(gpu);
  return host;
}

inline bool is_built(std::string_view target) {
  return find_build(target) != nullptr && find_build(target)->built;
}

}  // namespace pbprobe
