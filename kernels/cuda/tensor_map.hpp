// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Arguments that the host passes to a kernel that uses TMA. Included by host and device code: plain data only.
#pragma once

#include "kernels/cuda/call.hpp"

namespace pbprobe {

// CUtensorMap: the driver writes it, the copy unit reads it.
struct alignas(64) GpuTensorMap {
  unsigned long long opaque[16];
};

struct GpuTileCall {
  GpuCall call;
  int by_map;        // 1: TMA stores C by its map; 0: the warps write C
  int raster_group;  // rows of tiles, of a whole cluster, in one raster group
};

}  // namespace pbprobe
