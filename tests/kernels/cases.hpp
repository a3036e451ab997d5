// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Cases for every row of the table: one kernel forced on one problem, and its results compared.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm/checker.hpp"
#include "tests/kernels/backend.hpp"

namespace pbprobe::test {

constexpr Layout kLayouts[] = {Layout::nt, Layout::nn, Layout::tn, Layout::tt};

// For this very kernel, and no other, on one thread of a CPU.
Result<Plan> make_plan(const Kernel& kernel, const Backend& backend, const Problem& problem, int64_t threads = 1);

// A number of threads that pack operands of their own.
constexpr int64_t kAlone = 5;

// Runs this very kernel, and no other. Several threads take a tile each, since small problems are not worth them.
Execute make_execute(const Kernel& kernel, Backend& backend, int64_t threads = 1);

// Both tiers of the checker.
void expect_right(const Kernel& kernel, Backend& backend, const Problem& problem, const CheckOptions& options = {},
                  int64_t threads = 1);

// The types of A that a kernel reads.
std::vector<DType> list_types(const Kernel& kernel);
// Larger leading dimensions, each by another number.
Problem spaced(Problem problem, int64_t by);
// C stored [n,m], for kernels that write it so.
Problem transpose_c(Problem problem, int64_t by);
// make_problem() with the scales of blocks that the kernel takes.
template <class... More>
Problem make_kernel_problem(const Kernel& kernel, int64_t m, int64_t n, int64_t k, DType type, More... more) {
  Problem problem = make_problem(m, n, k, type, more...);
  problem.blocks = kernel.block_scale;
  return problem;
}
// Returns `rows`, or the most that the kernel takes.
int64_t limit_rows(const Kernel& kernel, int64_t rows);

// Checks a kernel that reads B in place on few columns, which it computes as rows. It must reject an A whose type
// differs from B's type.
void few_columns(const Kernel& kernel, Backend& backend);
// A CPU kernel of a plan that splits k between threads.
void long_k(const Kernel& kernel, Backend& backend);

// Checks that a prepacked B gives the results of an unpacked B. Kernels that read B in place, or run on a GPU, reject
// it.
void prepacked(const Kernel& kernel, Backend& backend);
// Checks that a B that was packed for one plan serves every other number of rows and threads, and type of A.
void packed_once(const Kernel& kernel, Backend& backend);

}  // namespace pbprobe::test
