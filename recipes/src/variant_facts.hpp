// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Facts about one variant, from the matrix and the target table. `recipes show` prints them, recipes state them,
// documents list them, and verification compares them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/claim.hpp"
#include "recipes/src/variant.hpp"

namespace pbprobe {

struct VariantFacts {
  std::string name;
  std::string pname;
  std::string description;
  Claim claim;
  std::vector<std::string> platforms;
  std::optional<std::string> gpu;
  std::string cpu;
  std::optional<std::string> gpu_arch_sm;   // "12.1"
  std::optional<std::string> gpu_arch_num;  // "121"
  std::vector<std::string> cpu_flags;
  std::vector<std::string> cpu_requires;  // feature names of /proc/cpuinfo
  std::vector<std::string> gpu_products;
  std::vector<std::string> cpu_products;
  std::optional<int64_t> min_driver;
  std::map<std::string, std::string> environment;
  std::vector<std::string> notes;
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

void fields(auto& visit, SameAs<VariantFacts> auto& facts) {
  visit.constant("schema", "pbprobe.variant/1");
  visit("name", facts.name);
  visit("pname", facts.pname);
  visit("description", facts.description);
  visit("claim", facts.claim);
  visit("platforms", facts.platforms, "Nix systems");
  visit("gpu", facts.gpu, "SM; null for a CPU-only variant");
  visit("cpu", facts.cpu);
  visit("gpu_arch_sm", facts.gpu_arch_sm, "entry of TORCH_CUDA_ARCH_LIST");
  visit("gpu_arch_num", facts.gpu_arch_num);
  visit("cpu_flags", facts.cpu_flags);
  visit("cpu_requires", facts.cpu_requires, "required CPU features, named as in /proc/cpuinfo");
  visit("gpu_products", facts.gpu_products);
  visit("cpu_products", facts.cpu_products);
  visit("min_driver", facts.min_driver, "first driver branch");
  visit("environment", facts.environment, "variables of the build");
  visit("notes", facts.notes);
}

}  // namespace pbprobe
