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
// A pass that copies the scales of blocks without what lies behind k, which these kernels multiply too; none where k
// has whole words of four scales.
inline constexpr std::string_view kTrimScales = "tcgen05_trim_scales";
[[nodiscard]] bool trims_scales(const Plan& plan);
// Where the copies end in the plan's workspace; 0: there are none.
[[nodiscard]] int64_t trimmed_scales_end(const Plan& plan);
// Launches it, after that pass, on what `call` says after the others, in this workspace.
[[nodiscard]] Result<void> launch_tcgen05(const Plan& plan, const GpuCall& call, GpuBlockScales scales,
                                          std::byte* workspace, const Context& context);

}  // namespace pbprobe
