// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Shapes that a report measures. They are from the classes in docs/performance.md, smallest count first.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/process/request.hpp"

namespace pbprobe {

// Returns benchmarks that take seconds: a large and a small square in FP32 and BF16, with libtorch as peer if
// requested.
[[nodiscard]] std::vector<BenchRequest> quick_benches(bool against_libtorch);

// Minutes: squares, ragged sizes and a transformer layer's shapes, with all threads and with one.
[[nodiscard]] std::vector<BenchRequest> full_benches(bool against_libtorch);

// Sizes from 1 to 16384, each drawn log-uniformly; the same for the same seed everywhere.
[[nodiscard]] std::vector<Shape> random_shapes(int64_t count, uint64_t seed);

}  // namespace pbprobe
