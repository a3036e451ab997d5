// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What `pbprobe bench --explain` lists: for each GEMM the kernels that compute it, how each would be cut, and which
// one is chosen. Nothing was run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

struct PlannedKernel {
  std::string kernel;
  bool chosen = false;
  std::string tile;  // "128x256"
  int64_t parts = 1;
  std::optional<int64_t> blocks;
  std::optional<int64_t> cluster;
  int64_t workspace_bytes = 0;
  std::optional<double> model;
  std::optional<double> model_us;
  std::string why;
};

struct PlannedGemm {
  std::string device;
  std::optional<std::string> supposed;
  std::string dtype;
  std::optional<std::string> blocks;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  std::string layout;
  std::string out;
  std::vector<PlannedKernel> kernels;
  std::optional<std::string> why_not;
};

struct PlanList {
  std::vector<PlannedGemm> gemms;
};

template <class Visitor, SameAs<PlannedKernel> T>
void fields(Visitor& visit, T& kernel) {
  visit("kernel", kernel.kernel);
  visit("chosen", kernel.chosen, "dispatch takes it");
  visit("tile", kernel.tile, "rows x columns of C that a block computes, of a CPU's kernel a task's step");
  visit("parts", kernel.parts, "of k, added in a fixed order");
  visit("blocks", kernel.blocks, "of the grid; null: a CPU's kernel");
  visit("cluster", kernel.cluster, "blocks of a cluster; null: a CPU's kernel");
  visit("workspace_bytes", kernel.workspace_bytes);
  visit("model", kernel.model,
        "its time over the chosen one's, by the model that chooses between tiles; null: it is not asked");
  visit("model_us", kernel.model_us, "what it takes by that model, in microseconds; null: a CPU's kernel");
  visit("why", kernel.why, "what is chosen, cut how, with which passes before");
}

template <class Visitor, SameAs<PlannedGemm> T>
void fields(Visitor& visit, T& gemm) {
  visit("device", gemm.device, "\"cuda:0\", \"cpu\"");
  visit("supposed", gemm.supposed, "device that is not here, kernels that are not built; null: both are here");
  visit("dtype", gemm.dtype, "type of A and B");
  visit("blocks", gemm.blocks, "scales of blocks, as --block-scales names them; null: there are none");
  visit("m", gemm.m);
  visit("n", gemm.n);
  visit("k", gemm.k, "numbers, of which e2m1x2 has two in a byte");
  visit("layout", gemm.layout, "nt: B[n,k]; nn: B[k,n]; tn: A[k,m], B[k,n]; tt: A[k,m], B[n,k]");
  visit("out", gemm.out, "type of C");
  visit("kernels", gemm.kernels, "in the table's order");
  visit("why_not", gemm.why_not, "why none computes it");
}

template <class Visitor, SameAs<PlanList> T>
void fields(Visitor& visit, T& list) {
  visit.constant("schema", "pbprobe.plan-list/1");
  visit("gemms", list.gemms);
}

}  // namespace pbprobe
