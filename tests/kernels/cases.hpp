// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What every row of the table is asked: one kernel forced on one problem, and its results compared.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm/checker.hpp"
#include "tests/kernels/backend.hpp"

namespace pbprobe::test {

constexpr Layout kLayouts[] = {Layout::nt, Layout::nn, Layout::tn, Layout::tt};

// For this very kernel, and no other, on one thread of a CPU.
Result<Plan> plan_for(const Kernel& kernel, const Backend& backend, const Problem& problem, int64_t threads = 1);

// Runs this very kernel, and no other. Several threads take a tile each, since small problems are not worth them.
Execute execute_on(const Kernel& kernel, Backend& backend, int64_t threads = 1);

// Both tiers of the checker.
void expect_right(const Kernel& kernel, Backend& backend, const Problem& problem, const CheckOptions& options = {},
                  int64_t threads = 1);

// The types of A that a kernel reads.
std::vector<DType> types_of(const Kernel& kernel);
// Larger leading dimensions, each by another number.
Problem spaced(Problem problem, int64_t by);
// C stored [n,m], for kernels that write it so.
Problem with_c_nm(Problem problem, int64_t by);
// make_problem() with the scales of blocks that the kernel takes.
template <class... More>
Problem problem_for(const Kernel& kernel, int64_t m, int64_t n, int64_t k, DType type, More... more) {
  Problem problem = make_problem(m, n, k, type, more...);
  problem.blocks = kernel.block_scale;
  return problem;
}
// As many rows as the kernel takes, at most.
int64_t rows_of(const Kernel& kernel, int64_t rows);

// Of a kernel that reads B in place: C's few columns, computed as rows; an A of another type than B's is refused.
void few_columns(const Kernel& kernel, Backend& backend);

// B packed beforehand gives what it gives as it lies. What reads B in place, or on a GPU, refuses.
void prepacked(const Kernel& kernel, Backend& backend);
// What was packed for one plan serves every other number of rows and threads.
void packed_once(const Kernel& kernel, Backend& backend);

}  // namespace pbprobe::test
