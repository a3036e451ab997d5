// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A GEMM of any size as launches that the kernels take. C is cut into rectangles if one launch cannot address the
// operands, or needs more workspace than the operands take themselves.
#pragma once

#include <vector>

#include "kernels/dispatch/choose.hpp"

namespace pbprobe {

// Rectangle of C, computed by its own plan; leading dimensions belong to the whole matrices.
struct Slice {
  int64_t row = 0;
  int64_t column = 0;
  Plan plan;
};

// Returns one slice, as choose() gives it, for all but extreme sizes. GPU workspace: at most the bytes of A, B and C
// together, or 256 MiB; consecutive slices can share it. Errors: errors of choose(). k is never cut, so `limit` remains
// if rows along k are too long for a GPU.
[[nodiscard]] Result<std::vector<Slice>> choose_slices(const Problem& problem, const Host& host,
                                                       const Rates& rates = {}, const ChooseOptions& options = {});

// Returns the slice's part of the whole problem's operands.
[[nodiscard]] Operands slice_operands(const Slice& slice, const Operands& whole);

}  // namespace pbprobe
