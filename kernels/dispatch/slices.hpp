// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A GEMM of any size as launches that the kernels take: C is cut into rectangles where one launch cannot address the
// operands, or would need more workspace than they take themselves.
#pragma once

#include <vector>

#include "kernels/dispatch/choose.hpp"

namespace pbprobe {

// A rectangle of C, computed by a plan of its own; leading dimensions are those of the whole.
struct Slice {
  int64_t row = 0;
  int64_t column = 0;
  Plan plan;
};

// One slice, as choose() gives it, for all but extreme sizes. Workspace, of a GPU: at most what A, B and C take
// together, or 256 MiB; slices that run one after another can share it. Errors: those of choose(); k is never cut, so
// `limit` stays where its rows are too long for a GPU.
[[nodiscard]] Result<std::vector<Slice>> choose_slices(const Problem& problem, const Host& host,
                                                       const Rates& rates = {}, const ChooseOptions& options = {});

// What the slice reads and writes of the whole problem's operands.
[[nodiscard]] Operands operands_of(const Slice& slice, const Operands& whole);

}  // namespace pbprobe
