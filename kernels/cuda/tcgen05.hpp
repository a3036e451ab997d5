// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Host side of the tcgen05 kernels: the launch of each by its symbol. CUTLASS makes the arguments
// (kernels/cuda/host/tcgen05_cutlass.cpp). This header has only plain data and function pointers, so that no other file
// includes CUTLASS's headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/call.hpp"

namespace pbprobe {

// cuTensorMapEncodeTiled of cuda.h, with integers for its enumerations.
using EncodeTiled = int (*)(void* map, int type, unsigned rank, void* address, const uint64_t* sizes,
                            const uint64_t* strides, const uint32_t* box, const uint32_t* steps, int interleave,
                            int swizzle, int promotion, int fill);

// Arguments and grid of one launch. Tcgen05Kernel::prepare() fills them in on the host.
struct Tcgen05Launch {
  static constexpr size_t kMostBytes = 4096;
  alignas(64) std::array<std::byte, kMostBytes> parameters = {};  // the kernel's arguments
  std::array<unsigned, 3> grid = {1, 1, 1};
};

// Layout of the kernel's parameters as the host's compiler makes it; the cubin must show the same layout.
struct Tcgen05Layout {
  int parameter_bytes;
  int problem, map_a, map_b, map_scales_a, map_scales_b, call, scheduler;  // offsets; 0: it has none
  int shared_bytes, threads, stages, acc;                                  // accumulators: tiles in tensor memory
  int scale_columns;                                                       // columns of tensor memory for scales
  friend bool operator==(const Tcgen05Layout&, const Tcgen05Layout&) = default;
};

struct Tcgen05Kernel {
  std::string_view symbol;
  std::array<int, 3> tile;  // rows, columns, k; if sms is 2, of both SMs together
  std::array<int, 2> cluster;
  int sms;
  int tensor_columns;  // columns of tensor memory for accumulators and scales
  Tcgen05Layout layout;
  // Fills `launch` for operands at multiples of 16 bytes with such rows; `raster_group`: tiles in one direction before
  // the next ones. Returns the first error of `encode`, or 0.
  int (*prepare)(const GpuCall& call, const GpuBlockScales& scales, int raster_group, EncodeTiled encode,
                 Tcgen05Launch& launch);
  // Row and column in a block's half of the tile of the sum that a thread writes as number `i` of its part.
  std::array<int, 2> (*where)(int thread, int part, int i);
  // Bytes of workspace that CUTLASS asks for.
  int64_t (*workspace)(int m, int n, int k);
};

// Arguments of tcgen05_trim_scales (kernels/cuda/tcgen05_scales.cuh): tiles of 128 rows by four scales, `across` of
// them side by side. In the words of the last tile the bits of `mask` are kept.
struct GpuTrimScales {
  struct {
    const unsigned* from;
    unsigned* to;
    long long tiles;
  } a, b;
  int across;
  unsigned mask;
};

// Descriptors of tcgen05.mma, with bits as in the PTX ISA; a test compares them with CUTLASS's descriptors. The
// instruction: codes of the types of C (1: FP32, 2: INT32) and of A and B, rows and columns; both operands along k.
struct Tcgen05Codes {
  unsigned sum, element;
};
constexpr Tcgen05Codes kTcgen05Fp16{1, 0};
constexpr Tcgen05Codes kTcgen05Bf16{1, 1};
constexpr Tcgen05Codes kTcgen05Tf32{1, 2};
constexpr Tcgen05Codes kTcgen05Int8{2, 1};
constexpr Tcgen05Codes kTcgen05E4m3{1, 0};
constexpr Tcgen05Codes kTcgen05E5m2{1, 1};
constexpr unsigned tcgen05_instruction(Tcgen05Codes codes, int rows, int columns) {
  return codes.sum << 4 | codes.element << 7 | codes.element << 10 | static_cast<unsigned>(columns / 8) << 17 |
         static_cast<unsigned>(rows / 16) << 24;
}
// Codes of the block-scaled kinds: rows in units of 128, and the type of the scales, of which byte 0 is used.
struct Tcgen05BlockCodes {
  unsigned element, scale;
};
constexpr Tcgen05BlockCodes kTcgen05MxE4m3{0, 1};
constexpr Tcgen05BlockCodes kTcgen05MxE5m2{1, 1};
constexpr Tcgen05BlockCodes kTcgen05MxE2m1{1, 1};
constexpr Tcgen05BlockCodes kTcgen05NvE2m1{1, 0};
constexpr unsigned tcgen05_instruction(Tcgen05BlockCodes codes, int rows, int columns) {
  return codes.element << 7 | codes.element << 10 | static_cast<unsigned>(columns / 8) << 17 | codes.scale << 23 |
         static_cast<unsigned>(rows / 128) << 27;
}
// Lines along k in shared memory, in patterns of eight lines of 128 bytes, permuted: units of 16 bytes, version 1,
// swizzle 2.
constexpr unsigned long long tcgen05_lines(unsigned address) {
  return static_cast<unsigned long long>(address >> 4 & 0x3fff) | 1ULL << 16 | 64ULL << 32 | 1ULL << 46 | 2ULL << 61;
}
// Return the descriptors that CUTLASS makes, or 0 if CUTLASS is not in the build. `type`: "bf16".
[[nodiscard]] unsigned instruction_by_cutlass(std::string_view type, bool wide);  // 128 × 256, or 128 × 16
[[nodiscard]] unsigned long long lines_by_cutlass(unsigned address);

// Returns every kernel that a target of this build can have; empty if CUTLASS's headers were missing.
[[nodiscard]] std::span<const Tcgen05Kernel> tcgen05_kernels();
// Returns the kernel of a symbol, or nullptr.
[[nodiscard]] const Tcgen05Kernel* find_tcgen05(std::string_view symbol);

}  // namespace pbprobe
