// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Rates of this CPU's instruction paths. choose() prefers the fastest path if it gets rates; otherwise it uses the
// order of the kernel table.
#pragma once

#include "core/facts/host.hpp"
#include "kernels/dispatch/choose.hpp"

namespace pbprobe::ops {

// Gop/s of one core for every peak loop that this host can run, each the fastest of five slices of 2 ms; some 20 ms a
// loop. By the loops' public names.
[[nodiscard]] Rates measure_rates(const Host& host);

}  // namespace pbprobe::ops
