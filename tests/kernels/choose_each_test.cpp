// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Choice of every GPU kernel. A kernel that no problem needs only costs time to compile.
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/model.hpp"
#include "paths.hpp"
#include "tests/kernels/hosts.hpp"

namespace pbprobe {
namespace {

// Returns n and k of layers of models.
std::vector<std::pair<int64_t, int64_t>> read_layers() {
  std::ifstream file(std::string(PBPROBE_SOURCE_DIR) + "/bindings/pbprobe/model_layers.json");
  const auto document = parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
  std::vector<std::pair<int64_t, int64_t>> layers;
  if (document.ok())
    for (const auto& layer : document->at("layers")) layers.emplace_back(layer.at(1), layer.at(2));
  return layers;
}

DType find_type(const DTypes& types, DType fallback) {
  for (const auto& [type, name] : enum_names(DType{}))
    if (types.has(type)) return type;
  return fallback;
}

// Draws a layer of a model or any size, of the types that a kernel computes.
Problem draw_problem(const Kernel& kernel, const std::vector<std::pair<int64_t, int64_t>>& layers,
                     std::mt19937& random) {
  const auto below = [&](int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random); };
  const auto size = [&](double least, double most) {
    return static_cast<int64_t>(std::exp2(std::uniform_real_distribution(least, most)(random)));
  };
  const auto [n, k] = below(2) == 0 ? layers[below(std::ssize(layers))] : std::pair(size(3, 14), size(3, 14));
  const Layout layout = below(2) == 0 ? Layout::nt : static_cast<Layout>(below(4));
  Problem p = make_problem(size(0, 14), n, k + (below(4) == 0 ? below(8) : 0), kernel.dtype, layout);
  p.a = find_type(kernel.a, kernel.dtype);
  p.b = find_type(kernel.b, kernel.dtype);
  p.blocks = kernel.block_scale;
  p.fast_sums = below(2) == 0;
  if (kernel.c.has(DType::bf16) && (below(2) == 0 || !kernel.c.has(p.c))) p.c = DType::bf16;
  p.scale_a = p.scale_b = p.c != DType::int32 && below(3) == 0;
  return p;
}

void add(const Plan& plan, std::set<std::string_view>& chosen) {
  chosen.insert(plan.kernel->name);
  if (plan.swapped) add(*plan.swapped, chosen);
  if (plan.otherwise) add(*plan.otherwise, chosen);
}

TEST(Choose, TakesEachGpuKernelForSomeProblem) {
  constexpr int kDraws = 3000;
  const auto layers = read_layers();
  ASSERT_FALSE(layers.empty());
  std::mt19937 random(1);
  std::map<std::string_view, std::map<std::tuple<DType, DType, DType, BlockScale>, std::vector<const Kernel*>>> targets;
  for (const auto& kernel : kernel_table()) {
    if (find_target(kernel.target)->kind != TargetKind::gpu) continue;
    const DType a = find_type(kernel.a, kernel.dtype);
    const DType b = find_type(kernel.b, kernel.dtype);
    targets[kernel.target][{kernel.dtype, a, b, kernel.block_scale}].push_back(&kernel);
  }
  ASSERT_FALSE(targets.empty());
  for (auto& [id, of_types] : targets) {
    Host host = gpu_host(*find_target(id)->capability);
    host.gpus[0].sm_count = 132;
    host.gpus[0].max_sm_clock_mhz = 1980;
    std::set<std::string_view> chosen;
    for (auto& [types, kernels] : of_types) {
      const Kernel& one = *kernels.front();
      for (int i = 0; i < kDraws && !kernels.empty(); ++i) {
        const auto plan = choose(draw_problem(one, layers, random), host, {}, {.gpu = 0, .unbuilt = true});
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        add(*plan, chosen);
        std::erase_if(kernels, [&](const Kernel* kernel) { return chosen.contains(kernel->name); });
      }
      for (const Kernel* kernel : kernels) ADD_FAILURE() << kernel->name << ": no plan of " << kDraws << " chose it";
    }
  }
}

TEST(Choose, HasCostsOfTensorCoresForTensorCores) {
  int kernels = 0;
  for (const Kernel& kernel : kernel_table()) {
    if (find_target(kernel.target)->kind != TargetKind::gpu) continue;
    if (kernel.instruction.starts_with("fma") || kernel.instruction == "dp4a") continue;
    EXPECT_LT(find_family(kernel), FamilyId::gemv) << kernel.name;  // then the families of FMAs follow
    ++kernels;
  }
  EXPECT_GT(kernels, 100);
}

}  // namespace
}  // namespace pbprobe
