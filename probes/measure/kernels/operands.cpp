// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/operands.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include <sys/mman.h>

#include "kernels/gemm/reference.hpp"

namespace pbprobe {
namespace {

constexpr size_t kAlignment = 256;
// Prime, so that the rows of no matrix repeat each other.
constexpr size_t kTileElements = 131071;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

size_t count_bytes(int64_t elements, int64_t element_bytes) {
  return static_cast<size_t>(elements * element_bytes);
}

std::vector<std::byte> normal_tile(DType type, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<std::byte> tile(kTileElements * static_cast<size_t>(size_of(type)));
  for (size_t i = 0; i < kTileElements * static_cast<size_t>(numbers_in(type)); ++i) {
    double value = normal(engine);
    if (type == DType::int8) value = std::clamp(std::nearbyint(value * 40), -128.0, 127.0);
    if (type == DType::uint8) value = std::clamp(std::nearbyint(value * 40 + 128), 0.0, 255.0);
    set_element(tile.data(), type, static_cast<int64_t>(i), value);
  }
  return tile;
}

// Scales, or their codes, from a quarter to four.
std::vector<std::byte> scale_tile(BlockScale blocks, unsigned seed) {
  std::mt19937 engine(seed);
  if (are_fp32(blocks)) {
    std::uniform_real_distribution<double> scale(0.25, 4);
    std::vector<std::byte> floats(kTileElements * sizeof(float));
    for (size_t i = 0; i < kTileElements; ++i)
      set_element(floats.data(), DType::fp32, static_cast<int64_t>(i), scale(engine));
    return floats;
  }
  const int one = blocks == BlockScale::mx ? 127 : 0x38;
  const int octave = blocks == BlockScale::mx ? 1 : 8;
  std::uniform_int_distribution<int> code(one - 2 * octave, one + 2 * octave);
  std::vector<std::byte> tile(kTileElements);
  for (auto& byte : tile) byte = std::byte(code(engine));
  return tile;
}

Result<void> fill(const WriteBytes& write, size_t offset, size_t bytes, const std::vector<std::byte>& tile) {
  for (size_t done = 0; done < bytes; done += tile.size())
    PBPROBE_CHECK(write(offset + done, tile.data(), std::min(tile.size(), bytes - done)));
  return {};
}

MatrixView view(void* data, DType type, int64_t rows, int64_t columns, int64_t leading, bool transposed,
                int32_t device) {
  return {data, type, rows, columns, transposed ? 1 : leading, transposed ? leading : 1, device};
}

}  // namespace

Operands Rotation::operands(void* base, size_t index) const {
  auto* const copy = static_cast<std::byte*>(base) + index % copies * copy_bytes;
  const auto scales = [&](size_t offset) {
    return offset == 0 ? nullptr : reinterpret_cast<const float*>(copy + offset);
  };
  return {.a = copy,
          .b = copy + b_offset,
          .c = copy + c_offset,
          .scale_a = scales(scale_a_offset),
          .scale_b = scales(scale_b_offset),
          .blocks_a = scales(blocks_a_offset),
          .blocks_b = scales(blocks_b_offset)};
}

Rotation plan_rotation(const Problem& p, int64_t cache_bytes, size_t most_bytes) {
  Rotation rotation;
  rotation.b_offset = aligned(count_bytes(extent(stored_rows_a(p), stored_columns_a(p), p.lda), size_of(p.a)));
  rotation.c_offset =
      rotation.b_offset + aligned(count_bytes(extent(stored_rows_b(p), stored_columns_b(p), p.ldb), size_of(p.b)));
  const int64_t c_element = std::max(size_of(p.c), size_of(p.a));
  rotation.copy_bytes =
      std::max(rotation.c_offset + aligned(count_bytes(extent(p.m, p.n, p.ldc), c_element)), kAlignment);
  const auto append = [&](int64_t bytes) {
    return std::exchange(rotation.copy_bytes, rotation.copy_bytes + aligned(static_cast<size_t>(bytes)));
  };
  if (p.scale_a) rotation.scale_a_offset = append(scales_a(p) * size_of(DType::fp32));
  if (p.scale_b) rotation.scale_b_offset = append(scales_b(p) * size_of(DType::fp32));
  if (p.blocks != BlockScale::none) {
    rotation.blocks_a_offset = append(block_bytes_a(p));
    rotation.blocks_b_offset = append(block_bytes_b(p));
  }
  const size_t wanted = 2 * static_cast<size_t>(std::max<int64_t>(cache_bytes, 0)) / rotation.copy_bytes + 1;
  rotation.copies = std::clamp<size_t>(wanted, 1, std::max<size_t>(most_bytes / rotation.copy_bytes, 1));
  return rotation;
}

Result<void> fill_operands(const Problem& p, const Rotation& rotation, const WriteBytes& write) {
  const size_t a_bytes = count_bytes(extent(stored_rows_a(p), stored_columns_a(p), p.lda), size_of(p.a));
  const size_t b_bytes = count_bytes(extent(stored_rows_b(p), stored_columns_b(p), p.ldb), size_of(p.b));
  const auto fill_scales = [&](size_t offset, int64_t elements, unsigned seed) {
    return fill(write, offset, count_bytes(elements, size_of(DType::fp32)), normal_tile(DType::fp32, seed));
  };
  PBPROBE_CHECK(fill(write, 0, a_bytes, normal_tile(p.a, 1)));
  PBPROBE_CHECK(fill(write, rotation.b_offset, b_bytes, normal_tile(p.b, 2)));
  if (p.scale_a) PBPROBE_CHECK(fill_scales(rotation.scale_a_offset, scales_a(p), 3));
  if (p.scale_b) PBPROBE_CHECK(fill_scales(rotation.scale_b_offset, scales_b(p), 4));
  if (p.blocks == BlockScale::none) return {};
  const auto fill_blocks = [&](size_t offset, int64_t bytes, unsigned seed) {
    return fill(write, offset, static_cast<size_t>(bytes), scale_tile(p.blocks, seed));
  };
  PBPROBE_CHECK(fill_blocks(rotation.blocks_a_offset, block_bytes_a(p), 5));
  return fill_blocks(rotation.blocks_b_offset, block_bytes_b(p), 6);
}

DType peer_result(const Problem& p) {
  return p.a == DType::int8 ? DType::int32 : p.a;
}

Result<PeerViews> peer_views(const Problem& p, const Operands& operands, int32_t device) {
  if (p.a == DType::tf32 || p.a == DType::uint8 || is_fp8(p.a) || p.a == DType::e2m1x2 || p.a != p.b)
    return make_error(ErrorCode::unsupported, "libtorch's C shims have no GEMM with A in {} and B in {}", name_of(p.a),
                      name_of(p.b));
  auto* const a = const_cast<void*>(operands.a);  // libtorch's views know no const
  auto* const b = const_cast<void*>(operands.b);
  return PeerViews{.a = view(a, p.a, p.m, p.k, p.lda, a_is_km(p.layout), device),
                   .b = view(b, p.b, p.k, p.n, p.ldb, b_is_nk(p.layout), device),
                   .c = view(operands.c, peer_result(p), p.m, p.n, p.ldc, false, device)};
}

Result<HostMemory> HostMemory::allocate(size_t bytes) {
  HostMemory memory;
  memory.bytes_ = std::max<size_t>(bytes, 1);
  void* const data = mmap(nullptr, memory.bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return make_error(Obstacle::out_of_memory, ErrorCode::limit,
                      "allocating {} bytes for the operands: {}: give smaller shapes", bytes, std::strerror(errno));
  memory.data_ = data;
  return memory;
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

HostMemory::~HostMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace pbprobe
