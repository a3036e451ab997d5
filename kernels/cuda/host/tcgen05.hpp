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
// Returns why the choice avoids this kernel for the problem, although a caller can force it; "" if it does not.
[[nodiscard]] std::string better_elsewhere(const Kernel& kernel, const Problem& problem);
// Fills in the passes that its operands need, of a plan whose variant is known. Error limit: more tiles than a grid
// has.
[[nodiscard]] Result<void> cut_tcgen05(Plan& plan);
// Reports whether tensor maps can describe the operands, as given or after a copy. If not, the plan's `otherwise` runs.
[[nodiscard]] bool maps_read(const Plan& plan, const Operands& operands);
// Reports whether the kernel reads its operands without tensor maps.
[[nodiscard]] bool reads_any_address(const Kernel& kernel);
// Pass that copies the scales of blocks without the padding behind k, which these kernels would multiply too. Not
// needed if k has whole words of four scales.
inline constexpr std::string_view kTrimScales = "tcgen05_trim_scales";
[[nodiscard]] bool trims_scales(const Plan& plan);
// Returns the offset of the end of the copies in the plan's workspace; 0 if the plan makes no copies.
[[nodiscard]] int64_t trimmed_scales_end(const Plan& plan);
// Launches the kernel, after that pass, with `call` as the other passes have left it.
[[nodiscard]] Result<void> launch_tcgen05(const Plan& plan, const GpuCall& call, GpuBlockScales scales,
                                          std::byte* workspace, const Context& context);

}  // namespace pbprobe
