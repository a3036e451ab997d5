// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// List of `pbprobe bench --explain`: for each GEMM the kernels that can compute it, their plans, and the chosen kernel.
// Listing runs nothing.
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

void fields(auto& visit, SameAs<PlannedKernel> auto& kernel) {
  visit("kernel", kernel.kernel);
  visit("chosen", kernel.chosen, "dispatch takes it");
  visit("tile", kernel.tile, "rows x columns of C per block; for a CPU kernel, per step of a task");
  visit("parts", kernel.parts, "split-K: number of slices of k, added in a fixed order");
  visit("blocks", kernel.blocks, "blocks of the grid; null for a CPU kernel");
  visit("cluster", kernel.cluster, "blocks of a cluster; null for a CPU kernel");
  visit("workspace_bytes", kernel.workspace_bytes);
  visit("model", kernel.model,
        "predicted time / predicted time of the chosen kernel, by the model that chooses between tiles; null if the "
        "model was not used");
  visit("model_us", kernel.model_us, "time predicted by that model, microseconds; null for a CPU kernel");
  visit("why", kernel.why, "reason for the choice, with the split and the passes before it");
}

void fields(auto& visit, SameAs<PlannedGemm> auto& gemm) {
  visit("device", gemm.device, "\"cuda:0\", \"cpu\"");
  visit("supposed", gemm.supposed,
        "assumed properties of a device that is missing here, or kernels that are not built; null if both exist");
  visit("dtype", gemm.dtype, "type of A and B");
  visit("blocks", gemm.blocks, "block scales, named as in --block-scales; null without block scales");
  visit("m", gemm.m);
  visit("n", gemm.n);
  visit("k", gemm.k, "numbers; e2m1x2 has two per byte");
  visit("layout", gemm.layout, "nt: B[n,k]; nn: B[k,n]; tn: A[k,m], B[k,n]; tt: A[k,m], B[n,k]");
  visit("out", gemm.out, "type of C");
  visit("kernels", gemm.kernels, "in the table's order");
  visit("why_not", gemm.why_not, "reason why no kernel computes it");
}

void fields(auto& visit, SameAs<PlanList> auto& list) {
  visit.constant("schema", "pbprobe.plan-list/1");
  visit("gemms", list.gemms);
}

}  // namespace pbprobe
