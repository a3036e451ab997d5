// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Cases of a kernel that only a device can run, besides the cases of cases.hpp.
#pragma once

#include "tests/kernels/backend.hpp"

namespace pbprobe::test {

// 10,000 launches without waiting between them; parts of k; launches on several streams, and in a graph. One test of
// four: each that is skipped costs a process.
void launches(const Kernel& kernel, Backend& backend);
// More tiles than SMs, with every combination of bias and scales.
void several_tiles(const Kernel& kernel, Backend& backend);
// Matrices of more than 2^31 elements, and so over 4 GiB for most types.
void far_apart(const Kernel& kernel, Backend& backend);

}  // namespace pbprobe::test
