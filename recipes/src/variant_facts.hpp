// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Facts about one variant, from the matrix and the target table. `recipes show` prints them, recipes state them,
// documents list them, and verification compares them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/claim.hpp"
#include "core/json.hpp"
#include "recipes/src/variant.hpp"

namespace pbprobe {

struct VariantFacts {
  SCHEMA("pbprobe.variant/1");
  FIELD(std::string, name);
  FIELD(std::string, pname);
  FIELD(std::string, description);
  FIELD(Claim, claim);
  FIELD(std::vector<std::string>, platforms, "Nix systems");
  FIELD(std::optional<std::string>, gpu, "SM; null for a CPU-only variant");
  FIELD(std::string, cpu);
  FIELD(std::optional<std::string>, gpu_arch_sm, "entry of TORCH_CUDA_ARCH_LIST");  // "12.1"
  FIELD(std::optional<std::string>, gpu_arch_num);                                  // "121"
  FIELD(std::vector<std::string>, cpu_flags);
  FIELD(std::vector<std::string>, cpu_requires, "required CPU features, named as in /proc/cpuinfo");
  FIELD(std::vector<std::string>, gpu_products);
  FIELD(std::vector<std::string>, cpu_products);
  FIELD(std::optional<int64_t>, min_driver, "first driver branch");
  FIELD(ByName<std::string>, environment, "variables of the build");
  FIELD(std::vector<std::string>, notes);
};

[[nodiscard]] VariantFacts collect_variant_facts(const Variant& variant, const Matrix& m = matrix());

// Returns the first driver branch for this SM on this line; nullopt if the table has none.
[[nodiscard]] std::optional<int64_t> min_driver(const MatrixLine& line, const Target& gpu, const Matrix& m = matrix());

// Returns the last driver branch for a GPU that NVIDIA has dropped; nullopt if current drivers support the GPU.
[[nodiscard]] std::optional<int64_t> max_driver(std::string_view capability);

// Returns "driver 525 or later", or "driver 525 to 580".
[[nodiscard]] std::string describe_drivers(int64_t first, std::optional<int64_t> last);

// Renders `pbprobe recipes show NAME`.
[[nodiscard]] std::string render_variant(const VariantFacts& facts);

// Renders `recipes list`: one name on each line.
[[nodiscard]] std::string list_text(const std::vector<Variant>& variants);
[[nodiscard]] Json list_json(const std::vector<Variant>& variants, const Matrix& m = matrix());

// Returns {"include": [{"name", "line", "sm", "isa", "python", "system", "runner"}]} for strategy.matrix of GitHub.
[[nodiscard]] Json github_matrix(const std::vector<Variant>& variants);

}  // namespace pbprobe
