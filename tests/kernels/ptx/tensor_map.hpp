// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A tensor map as the interpreter reads it: what cuTensorMapEncodeTiled was asked for, in the map's 128 bytes. Source:
// CUDA driver API, tensor maps.
#pragma once

#include <array>
#include <cstdint>

namespace pbprobe::ptx {

struct TensorMap {
  uint64_t address = 0;
  std::array<uint32_t, 5> sizes{};
  std::array<uint32_t, 5> box{};
  std::array<uint64_t, 4> strides{};  // bytes
  uint8_t bits = 0;                   // bits of an element
  uint8_t rank = 0;
  uint8_t swizzle = 0;  // CUtensorMapSwizzle: 0 none, 3 128 bytes
};
static_assert(sizeof(TensorMap) <= 128);

// Replaces the driver's function. Returns 0, or an error that the driver would return.
int encode_tensor_map(void* map, int type, unsigned rank, void* address, const uint64_t* sizes, const uint64_t* strides,
                      const uint32_t* box, const uint32_t* steps, int interleave, int swizzle, int promotion, int fill);

}  // namespace pbprobe::ptx
