// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inside the room: the launch of a GPU plan whose operands run() has checked, and of a kernel by its symbol.
#pragma once

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/cuda/host/warpgroups.hpp"
#include "kernels/gemm/context.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {

// The GEMM only, of operands as `call` has them; `blocks` is for kernels of FP32 scales of blocks. Its tensor maps are
// encoded for each launch; nothing is cached.
// Errors: limit (what a map cannot hold), device.
[[nodiscard]] Result<void> launch_warpgroups(const Plan& plan, const GpuCall& call, GpuFp32Blocks blocks,
                                             const std::string& symbol, const Context& context);

// A map of 128-byte swizzle, with zeros outside the tensor.
[[nodiscard]] Result<void> write_map(const DriverApi& driver, const TensorMapShape& shape, GpuTensorMap& map);

[[nodiscard]] Result<void> launch_gpu(const Plan& plan, const Operands& operands, const Context& context);

// One kernel of a target's cubin, by its symbol. Errors: usage (the context names no cubin of this target, or the cubin
// has no such kernel); device.
struct Launch {
  std::string_view target;
  std::string_view symbol;
  Grid grid;
  int64_t threads = 1;
  int64_t shared_bytes = 0;
  int64_t cluster = 1;    // blocks of a cluster
  bool overlaps = false;  // may begin before the kernels ahead have ended: it awaits them itself (pdl.cuh)
};
[[nodiscard]] Result<void> launch(const Launch& what, const Context& context, void** parameters);
[[nodiscard]] Result<const LoadedKernel*> loaded_in(const Context& context, std::string_view target,
                                                    std::string_view symbol);

}  // namespace pbprobe
