// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The GEMMs of a libtorch whose operands have scales: FP8 with one of the tensor, of each row or of blocks of 128, and
// what is scaled by short blocks along k (MX, NVFP4). By torch's own aten::_scaled_mm.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/major_minor.hpp"
#include "core/targets.hpp"
#include "probes/measure/libtorch_array.hpp"

namespace pbprobe::area {

enum class Scaling : uint8_t { tensor, rows, blocks_of_128, mx, nvfp4 };

struct ScaledKind {
  std::string_view name;         // of its area
  std::string_view scales = {};  // in the name of its figure, before the type
  DType type = DType::e4m3;
  Scaling scaling = Scaling::tensor;
  std::string_view instruction = {};  // torch computes it by this path only; empty: by any of the type
  bool offered = true;                // by any torch for CUDA
  // Every release from these on computes it, on compute capabilities below that one: where it refuses there, something
  // is missing. Elsewhere releases differ.
  MajorMinor torch = {};
  MajorMinor cuda = {};  // that torch was compiled with
  int64_t below_major = std::numeric_limits<int64_t>::max();
};
[[nodiscard]] std::span<const ScaledKind> scaled_kinds();

// Where it computes, and by which torch: target null and gpu true is a GPU that the table does not know; a version that
// the libtorch does not say is null.
struct ScaledDevice {
  bool gpu = false;
  const Target* target = nullptr;
  std::optional<MajorMinor> torch = {};
  std::optional<MajorMinor> cuda = {};
};
[[nodiscard]] ScaledDevice scaled_device(const Place& place);

// Whether the target's instructions multiply this, as torch takes them.
[[nodiscard]] bool multiplies(const Target& target, const ScaledKind& kind);

// Small problems whose sums are exact in every order, in every element. Errors: malformed (a wrong element),
// unsupported (not on this device or by this release, and what it needs), failed_child with an obstacle (refused,
// though device and release have it).
[[nodiscard]] Result<void> check_scaled(const Place& place, const ScaledKind& kind, const ScaledDevice& device);

// A large one to be timed: A, B, their scales and C as arguments of run_scaled().
struct ScaledGemm {
  std::vector<DeviceBuffer> memory;
  std::vector<std::vector<std::byte>> host;
  std::vector<Tensor> tensors;
};
[[nodiscard]] Result<ScaledGemm> large_scaled(const Place& place, const ScaledKind& kind, int64_t size);
[[nodiscard]] Result<void> run_scaled(const Place& place, std::span<const Tensor> tensors);

// Each kind as an area.
[[nodiscard]] std::span<const Program> scaled_programs();

}  // namespace pbprobe::area
