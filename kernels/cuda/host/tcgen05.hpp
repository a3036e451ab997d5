// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inside the room: kernels that read both operands by tensor maps into tcgen05 (kernels/cuda/tcgen05_types.cuh).
#pragma once

#include "kernels/cuda/host/launch.hpp"
#include "kernels/cuda/tcgen05.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {

// Tensor maps want addresses and rows at multiples of it.
constexpr int64_t kMapBytes = 16;

[[nodiscard]] bool is_tcgen05(const Kernel& kernel);
// Why such a kernel is not chosen for this problem, though it could be forced to compute it; empty: it is.
[[nodiscard]] std::string better_elsewhere(const Kernel& kernel, const Problem& problem);
// Fills in the passes that its operands need, of a plan whose variant is known. Error limit: more tiles than a grid
// has.
[[nodiscard]] Result<void> cut_tcgen05(Plan& plan);
// Whether the operands lie as tensor maps want them, or are copied first; if not, the plan's `otherwise` is run.
[[nodiscard]] bool maps_read(const Plan& plan, const Operands& operands);
// No tensor map names its operands.
[[nodiscard]] bool reads_any_address(const Kernel& kernel);
// Launches it on what `call` says after the passes.
[[nodiscard]] Result<void> launch_tcgen05(const Plan& plan, const GpuCall& call, const Context& context);

}  // namespace pbprobe
