// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Scaled GEMMs of a libtorch (aten::_scaled_mm): FP8 with scales for tensors, rows or blocks of 128, and MX and NVFP4
// with short blocks along k.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/major_minor.hpp"
#include "core/targets.hpp"
#include "probes/measure/libtorch/array.hpp"

namespace pbprobe::area {

enum class Scaling : uint8_t { tensor, rows, blocks_of_128, mx, nvfp4 };

// Kind of scaled product: type, scaling, and the torch releases that must support it.
struct ScaledKind {
  std::string_view name;         // name of its area
  std::string_view scales = {};  // part of the figure's name before the type
  DType type = DType::e4m3;
  Scaling scaling = Scaling::tensor;
  std::string_view instruction = {};  // the only path that torch uses; empty for any path of the type
  bool offered = true;                // every torch for CUDA offers it
  // Later releases compute it on compute capabilities below the limit, so that a refusal is a fault. Other releases
  // differ.
  MajorMinor torch = {};
  MajorMinor cuda = {};  // CUDA that torch was compiled with
  int64_t below_major = std::numeric_limits<int64_t>::max();
};
[[nodiscard]] std::span<const ScaledKind> scaled_kinds();

// Device and torch of a run. A GPU that the target table lacks has a null target. Unknown versions are null.
struct ScaledDevice {
  bool gpu = false;
  const Target* target = nullptr;
  std::optional<MajorMinor> torch = {};
  std::optional<MajorMinor> cuda = {};
};
[[nodiscard]] ScaledDevice scaled_device(const Place& place);

// Reports whether the target has instructions for this kind, as torch uses them.
[[nodiscard]] bool multiplies(const Target& target, const ScaledKind& kind);

// Checks every element of small problems with exact sums. Errors: malformed (a wrong element), unsupported (by this
// device or release; the message has the requirement), failed_child with an obstacle (unexpectedly refused).
[[nodiscard]] Result<void> check_scaled(const Place& place, const ScaledKind& kind, const ScaledDevice& device);

// Large problem to time: A, B, their scales and C as arguments of run_scaled().
struct ScaledGemm {
  std::vector<DeviceBuffer> memory;
  std::vector<std::vector<std::byte>> host;
  std::vector<Tensor> tensors;
};
// Allocates and fills a product with m = n = k = `size`.
[[nodiscard]] Result<ScaledGemm> large_scaled(const Place& place, const ScaledKind& kind, int64_t size);
[[nodiscard]] Result<void> run_scaled(const Place& place, std::span<const Tensor> tensors);

// Returns each kind as an area.
[[nodiscard]] std::span<const Program> scaled_programs();

}  // namespace pbprobe::area
