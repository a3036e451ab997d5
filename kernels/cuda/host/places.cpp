// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/cuda/host/places.hpp"

#include <array>

#include "core/driver/driver_api.hpp"

namespace pbprobe {
namespace {

struct Array {
  std::string_view name;
  const void* at;
};

// Rejects memory of the host or of another GPU, although some GPUs can read it (shared page tables, peer access): a
// GEMM over a bus is usually a mistake.
Result<void> check_place(const DriverApi& driver, int device, const Plan& plan, const Array& array) {
  unsigned type = 0;  // stays where the driver does not know the address: memory of malloc()
  int managed = 0;
  int ordinal = device;
  std::array<int, 3> attributes{kCuPointerMemoryType, kCuPointerIsManaged, kCuPointerDeviceOrdinal};
  std::array<void*, 3> values{&type, &managed, &ordinal};
  PBPROBE_CU(driver, fmt::format("asking where {} at {} lies", array.name, array.at),
             cuPointerGetAttributes(static_cast<unsigned>(attributes.size()), attributes.data(), values.data(),
                                    reinterpret_cast<CuDevicePtr>(array.at)));
  if (managed != 0) return {};
  if (type != kCuMemoryDevice) {
    return make_error(
        ErrorCode::usage,
        "{} at {} is in host memory, and {} computes on GPU {}: copy it to that GPU's memory (cudaMemcpy; "
        "tensor.to(\"cuda:{}\"))",
        array.name, array.at, plan.kernel->name, device, device);
  }
  if (ordinal != device) {
    return make_error(ErrorCode::usage,
                      "{} at {} is in memory of GPU {}, and {} was loaded on GPU {}: copy it there, or load the "
                      "kernels on GPU {}",
                      array.name, array.at, ordinal, plan.kernel->name, device, ordinal);
  }
  return {};
}

}  // namespace

Result<void> check_places(const DriverApi& driver, int device, const Plan& plan, const Operands& o,
                          const Context& context) {
  CuDevice current = -1;
  PBPROBE_CU(driver, "asking for the current device", cuCtxGetDevice(&current));
  if (current != device) {
    return make_error(ErrorCode::usage,
                      "the current context is GPU {}'s, and {} was loaded on GPU {}: make that GPU's context current",
                      current, plan.kernel->name, device);
  }
  const Problem& p = plan.problem;
  const bool reads = p.k > 0;
  const bool blocks = reads && p.blocks != BlockScale::none;
  const std::array<Array, 9> arrays{{{"A", reads ? o.a : nullptr},
                                     {"B", reads ? o.b : nullptr},
                                     {"C", o.c},
                                     {"bias", p.bias ? o.bias : nullptr},
                                     {"scale_a", p.scale_a ? o.scale_a : nullptr},
                                     {"scale_b", p.scale_b ? o.scale_b : nullptr},
                                     {"blocks_a", blocks ? o.blocks_a : nullptr},
                                     {"blocks_b", blocks ? o.blocks_b : nullptr},
                                     {"the workspace", plan.workspace_bytes > 0 ? context.workspace : nullptr}}};
  for (const auto& array : arrays) {
    if (array.at != nullptr) PBPROBE_CHECK(check_place(driver, device, plan, array));
  }
  return {};
}

}  // namespace pbprobe
