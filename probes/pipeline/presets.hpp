// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a report measures. The shapes are those of docs/performance.md's classes, fewest first.
#pragma once

#include <vector>

#include "probes/process/request.hpp"

namespace pbprobe {

// Seconds: one large and one small square in FP32 and BF16, beside libtorch where there is one.
[[nodiscard]] std::vector<BenchRequest> quick_benches(bool against_libtorch);

// Minutes: squares, ragged sizes and a transformer layer's shapes, with all threads and with one.
[[nodiscard]] std::vector<BenchRequest> full_benches(bool against_libtorch);

}  // namespace pbprobe
