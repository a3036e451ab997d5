// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace pbprobe {

// Element types of operands, accumulators and results. TF32 is FP32 in memory, rounded by the tensor core.
// FP8 as OCP has it: e4m3 without infinities ("fn"), e5m2 with them. e2m1x2 is a byte with two neighbours along k, the
// first one in the lower half, as torch's float4_e2m1fn_x2: sizes and strides count bytes, so k is half as long.
enum class DType : uint8_t { fp32, tf32, fp16, bf16, int8, uint8, int32, e4m3, e5m2, e2m1x2 };

inline constexpr std::array<std::pair<DType, std::string_view>, 10> kDTypeNames{{
    {DType::fp32, "fp32"},
    {DType::tf32, "tf32"},
    {DType::fp16, "fp16"},
    {DType::bf16, "bf16"},
    {DType::int8, "int8"},
    {DType::uint8, "uint8"},
    {DType::int32, "int32"},
    {DType::e4m3, "e4m3"},
    {DType::e5m2, "e5m2"},
    {DType::e2m1x2, "e2m1x2"},
}};

[[nodiscard]] inline std::span<const std::pair<DType, std::string_view>> enum_names(DType) {
  return kDTypeNames;
}

// Bytes of one element in memory.
[[nodiscard]] constexpr int64_t size_of(DType type) {
  switch (type) {
    case DType::fp32:
    case DType::tf32:
    case DType::int32: return 4;
    case DType::fp16:
    case DType::bf16: return 2;
    case DType::int8:
    case DType::uint8:
    case DType::e4m3:
    case DType::e5m2:
    case DType::e2m1x2: return 1;
  }
  return 0;
}

// Reports whether the type is E4M3 or E5M2. Scales (UE8M0) are no DType.
[[nodiscard]] constexpr bool is_fp8(DType type) {
  return type == DType::e4m3 || type == DType::e5m2;
}

// Returns the count of numbers in one element.
[[nodiscard]] constexpr int64_t numbers_in(DType type) {
  return type == DType::e2m1x2 ? 2 : 1;
}

// Scales that neighbours along k share, in addition to row and column scales. OCP MX: one power of two (UE8M0) per 32
// numbers. NVFP4: one UE4M3 per 16 numbers. The others: one FP32 per 128 numbers of a row, or per 128 x 128 square,
// named for A and then B (DeepSeek uses rows_squares).
enum class BlockScale : uint8_t { none, mx, nvfp4, rows_squares, squares_rows, rows_rows };

inline constexpr std::array<std::pair<BlockScale, std::string_view>, 6> kBlockScaleNames{{
    {BlockScale::none, "none"},
    {BlockScale::mx, "mx"},
    {BlockScale::nvfp4, "nvfp4"},
    {BlockScale::rows_squares, "1x128_128x128"},
    {BlockScale::squares_rows, "128x128_1x128"},
    {BlockScale::rows_rows, "1x128_1x128"},
}};

[[nodiscard]] inline std::span<const std::pair<BlockScale, std::string_view>> enum_names(BlockScale) {
  return kBlockScaleNames;
}

// Reports whether the scales are FP32 with 128 numbers along k.
[[nodiscard]] constexpr bool are_fp32(BlockScale blocks) {
  return blocks == BlockScale::rows_squares || blocks == BlockScale::squares_rows || blocks == BlockScale::rows_rows;
}

// Returns the count of elements of a row that share a scale.
[[nodiscard]] constexpr int64_t block_length(BlockScale blocks, DType type) {
  return (are_fp32(blocks) ? 128 : blocks == BlockScale::nvfp4 ? 16 : 32) / numbers_in(type);
}

}  // namespace pbprobe
