// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Choice of the kernel and its cut. Pure host code: it reads the problem and the recorded host, and touches no device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/facts/host.hpp"
#include "core/result.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {

// Measured rates of instruction paths in Gop/s of one core or GPU, by the loop's public name ("peak_fp32_avx512").
// Where every candidate has one, the fastest path wins; else the table's order, so that results repeat.
using Rates = std::map<std::string, double, std::less<>>;

struct ChooseOptions {
  std::optional<std::string> kernel;  // this one by public name, and no other
  std::optional<std::string> target;  // kernels of this target only
  std::optional<int64_t> gpu;         // index of the GPU that holds the operands; unset for CPU memory
  std::optional<int64_t> parts;       // GPU: parts of split-K, at most what the kernel can; unset: the model decides
  ClusterShape cluster;               // GPU, where `parts` are given: shape of a cluster, if the kernel can have it
  int64_t threads = 1;                // CPU: threads to use at most
  bool unbuilt = false;               // also kernels that are not built: such a plan can be shown, but not run
};

// Reports whether this build's cubin of a GPU target runs on the device. Machine code runs on its own capability, a
// plain cubin on later ones of the same major number too, PTX wherever the driver can compile it.
[[nodiscard]] bool runs_on(const Target& target, const Gpu& gpu);

// Chooses the kernel and its cut. Errors: usage (invalid problem, unknown kernel or target, missing GPU); unsupported
// (no kernel for these types, a forced kernel whose target was not built or whose ISA the host lacks: the message names
// it); limit (more tiles than a grid holds).
[[nodiscard]] Result<Plan> choose(const Problem& problem, const Host& host, const Rates& rates = {},
                                  const ChooseOptions& options = {});

}  // namespace pbprobe
