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
  FIELD(std::string, kernel);
  FIELD(bool, chosen, "dispatch takes it") = false;
  FIELD(std::string, tile, "rows x columns of C per block; for a CPU kernel, per step of a task");  // "128x256"
  FIELD(int64_t, parts, "split-K: number of slices of k, added in a fixed order") = 1;
  FIELD(std::optional<int64_t>, blocks, "blocks of the grid; null for a CPU kernel");
  FIELD(std::optional<int64_t>, cluster, "blocks of a cluster; null for a CPU kernel");
  FIELD(int64_t, workspace_bytes) = 0;
  FIELD(std::optional<double>, model,
        "predicted time / predicted time of the chosen kernel, by the model that chooses between tiles; null if the "
        "model was not used");
  FIELD(std::optional<double>, model_us, "time predicted by that model, microseconds; null for a CPU kernel");
  FIELD(std::string, why, "reason for the choice, with the split and the passes before it");
};

// GEMM with each kernel that can compute it, as `pbprobe bench --explain` prints them.
struct PlannedGemm {
  FIELD(std::string, device, "\"cuda:0\", \"cpu\"");
  FIELD(std::optional<std::string>, supposed,
        "assumed properties of a device that is missing here, or kernels that are not built; null if both exist");
  FIELD(std::string, dtype, "type of A and B");
  FIELD(std::optional<std::string>, blocks, "block scales, named as in --block-scales; null without block scales");
  FIELD(int64_t, m) = 0;
  FIELD(int64_t, n) = 0;
  FIELD(int64_t, k, "numbers; e2m1x2 has two per byte") = 0;
  FIELD(std::string, layout, "nt: B[n,k]; nn: B[k,n]; tn: A[k,m], B[k,n]; tt: A[k,m], B[n,k]");
  FIELD(std::string, out, "type of C");
  FIELD(std::vector<PlannedKernel>, kernels, "in the table's order");
  FIELD(std::optional<std::string>, why_not, "reason why no kernel computes it");
};

struct PlanList {
  SCHEMA("pbprobe.plan-list/1");
  FIELD(std::vector<PlannedGemm>, gemms);
};

}  // namespace pbprobe
