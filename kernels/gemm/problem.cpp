// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/gemm/problem.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace pbprobe {
namespace {

// Reports whether the bytes from the first to one past the last element are computed without overflow.
bool bytes_fit(int64_t rows, int64_t columns, int64_t leading, DType type) {
  if (rows == 0 || columns == 0) return true;
  int64_t elements = 0;
  int64_t bytes = 0;
  return !__builtin_mul_overflow(rows - 1, leading, &elements) &&
         !__builtin_add_overflow(elements, columns, &elements) &&
         !__builtin_mul_overflow(elements, size_of(type), &bytes);
}

Result<void> check_matrix(const Problem& problem, std::string_view name, int64_t rows, int64_t columns, int64_t leading,
                          DType type) {
  if (rows > 1 && leading < columns) {
    return make_error(ErrorCode::usage, "ld{} is {}, but a stored row of {} has {} elements ({}): give at least {}",
                      name == "A"   ? "a"
                      : name == "B" ? "b"
                                    : "c",
                      leading, name, columns, describe(problem), columns);
  }
  if (leading < 0) {
    return make_error(ErrorCode::usage, "the leading dimension of {} is {} ({}): give 0 or more", name, leading,
                      describe(problem));
  }
  if (!bytes_fit(rows, columns, leading, type)) {
    return make_error(ErrorCode::usage, "{} of {} rows, {} elements apart, exceeds 2^63 bytes ({})", name, rows,
                      leading, describe(problem));
  }
  return {};
}

Result<void> check_types(const Problem& p) {
  const auto is = [](DType type, std::initializer_list<DType> types) {
    return std::ranges::find(types, type) != types.end();
  };
  bool known = false;
  if (is(p.a, {DType::int8, DType::uint8})) {
    known = p.b == DType::int8 && p.accumulator == DType::int32 &&
            is(p.c, {DType::int32, DType::fp32, DType::bf16, DType::fp16});
  } else if (is(p.a, {DType::fp32, DType::tf32, DType::fp16, DType::bf16, DType::e4m3, DType::e5m2, DType::e2m1x2})) {
    known = p.b == p.a && p.accumulator == DType::fp32 && is(p.c, {DType::fp32, DType::bf16, DType::fp16});
  }
  if (!known) {
    return make_error(
        ErrorCode::usage,
        "no GEMM of these types ({}): fp32, tf32, fp16, bf16, e4m3, e5m2 and e2m1x2 go with themselves, "
        "accumulate in fp32 and give fp32, bf16 or fp16; int8 or uint8 times int8 accumulates in int32 and gives "
        "int32, fp32, bf16 or fp16",
        describe(p));
  }
  const bool scalable = are_fp32(p.blocks)             ? is_fp8(p.a)
                        : p.blocks == BlockScale::none ? p.a != DType::e2m1x2
                        : p.blocks == BlockScale::mx   ? is_fp8(p.a) || p.a == DType::e2m1x2
                                                       : p.a == DType::e2m1x2;
  if (!scalable) {
    return make_error(ErrorCode::usage,
                      "{} does not go with block scales \"{}\" ({}): e4m3 and e5m2 take mx, 1x128_128x128, "
                      "128x128_1x128, 1x128_1x128 or none, e2m1x2 takes mx or nvfp4, and other types none",
                      name_of(p.a), name_of(p.blocks), describe(p));
  }
  if (p.c == DType::int32 && (p.bias || p.scale_a || p.scale_b)) {
    return make_error(ErrorCode::usage, "an int32 result takes no scale and no bias ({}): ask for fp32, bf16 or fp16",
                      describe(p));
  }
  return {};
}

Result<void> check_block_rows(const Problem& p, std::string_view name, const BlockRows& scales) {
  if (!are_fp32(p.blocks)) return {};
  if (scales.rows > 1 && scales.leading < scales.columns) {
    return make_error(
        ErrorCode::usage,
        "a stored row of {}'s block scales has {} scales, but rows are {} scales apart ({}): give at least {}", name,
        scales.columns, scales.leading, describe(p), scales.columns);
  }
  if (!bytes_fit(scales.rows, scales.columns, scales.leading, DType::fp32)) {
    return make_error(ErrorCode::usage, "{}'s block scales, {} rows {} apart, exceed 2^63 bytes ({})", name,
                      scales.rows, scales.leading, describe(p));
  }
  return {};
}

struct Range {
  std::string_view name;
  const void* begin;
  int64_t bytes;
  int64_t alignment;
};

Result<void> check_range(const Range& range, const Problem& problem) {
  if (range.bytes == 0) return {};
  if (range.begin == nullptr) {
    return make_error(ErrorCode::usage, "{} is a null pointer, and {} bytes are needed ({})", range.name, range.bytes,
                      describe(problem));
  }
  const auto address = reinterpret_cast<uintptr_t>(range.begin);
  if (address % static_cast<uintptr_t>(range.alignment) != 0) {
    return make_error(ErrorCode::usage, "{} at {:#x} is not aligned to its elements of {} bytes ({})", range.name,
                      address, range.alignment, describe(problem));
  }
  if (address > std::numeric_limits<uintptr_t>::max() - static_cast<uintptr_t>(range.bytes)) {
    return make_error(ErrorCode::usage, "{} at {:#x} with {} bytes passes the end of memory ({})", range.name, address,
                      range.bytes, describe(problem));
  }
  return {};
}

bool overlap(const Range& one, const Range& other) {
  const auto first = reinterpret_cast<uintptr_t>(one.begin);
  const auto second = reinterpret_cast<uintptr_t>(other.begin);
  return one.bytes > 0 && other.bytes > 0 && first < second + static_cast<uintptr_t>(other.bytes) &&
         second < first + static_cast<uintptr_t>(one.bytes);
}

}  // namespace

Problem make_problem(int64_t m, int64_t n, int64_t k, DType type, DType c, Layout layout) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.layout = layout;
  problem.lda = stored_columns_a(problem);
  problem.ldb = stored_columns_b(problem);
  problem.ldc = n;
  problem.a = type;
  const bool integer = type == DType::int8 || type == DType::uint8;
  problem.b = integer ? DType::int8 : type;
  problem.accumulator = integer ? DType::int32 : DType::fp32;
  problem.c = c;
  return problem;
}

Problem make_problem(int64_t m, int64_t n, int64_t k, DType type, Layout layout) {
  const bool integer = type == DType::int8 || type == DType::uint8;
  return make_problem(m, n, k, type, integer ? DType::int32 : DType::fp32, layout);
}

std::string describe(const Problem& p) {
  const std::string blocks = p.blocks == BlockScale::none ? "" : fmt::format(", {} blocks", name_of(p.blocks));
  return fmt::format("m {}, n {}, k {}, {}, {}·{}→{}→{}{}{}", p.m, p.n, p.k * numbers_in(p.a), name_of(p.layout),
                     name_of(p.a), name_of(p.b), name_of(p.accumulator), name_of(p.c), p.c_is_nm ? " [n,m]" : "",
                     blocks);
}

Result<void> validate(const Problem& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0) {
    return make_error(ErrorCode::usage, "a size is negative ({}): give 0 or more", describe(p));
  }
  PBPROBE_CHECK(check_types(p));
  PBPROBE_CHECK(check_matrix(p, "A", stored_rows_a(p), stored_columns_a(p), p.lda, p.a));
  PBPROBE_CHECK(check_matrix(p, "B", stored_rows_b(p), stored_columns_b(p), p.ldb, p.b));
  PBPROBE_CHECK(check_matrix(p, "C", stored_rows_c(p), stored_columns_c(p), p.ldc, p.c));
  // The count of operations and the size of a packed operand must fit as well.
  for (const auto& [rows, columns] : {std::pair{p.m, p.n}, std::pair{p.m, p.k}, std::pair{p.n, p.k}}) {
    int64_t product = 0;
    if (__builtin_mul_overflow(rows, columns, &product) || product > std::numeric_limits<int64_t>::max() / 64) {
      return make_error(ErrorCode::usage, "{}: {} × {} elements are more than 64-bit addresses allow", describe(p),
                        rows, columns);
    }
  }
  PBPROBE_CHECK(check_block_rows(p, "A", block_rows_a(p)));
  return check_block_rows(p, "B", block_rows_b(p));
}

Result<void> validate(const Problem& p, const Operands& o) {
  const auto bytes = [](int64_t rows, int64_t columns, int64_t leading, DType type) {
    return extent(rows, columns, leading) * size_of(type);
  };
  // If C is empty, nothing is read; if k is 0, only the vectors are.
  const bool reads = p.m > 0 && p.n > 0;
  const Range c{"C", o.c, extent_c(p) * size_of(p.c), size_of(p.c)};
  const std::array<Range, 7> inputs{{
      {"A", o.a, reads ? bytes(stored_rows_a(p), stored_columns_a(p), p.lda, p.a) : 0, size_of(p.a)},
      {"B", o.b, reads && !p.prepacked_b ? bytes(stored_rows_b(p), stored_columns_b(p), p.ldb, p.b) : 0, size_of(p.b)},
      {"bias", o.bias, reads && p.bias ? biases(p) * 4 : 0, 4},
      {"scale_a", o.scale_a, reads && p.scale_a ? scales_a(p) * 4 : 0, 4},
      {"scale_b", o.scale_b, reads && p.scale_b ? scales_b(p) * 4 : 0, 4},
      {"blocks_a", o.blocks_a, reads ? block_bytes_a(p) : 0, are_fp32(p.blocks) ? 4 : 16},
      {"blocks_b", o.blocks_b, reads ? block_bytes_b(p) : 0, are_fp32(p.blocks) ? 4 : 16},
  }};
  PBPROBE_CHECK(check_range(c, p));
  for (const auto& input : inputs) {
    PBPROBE_CHECK(check_range(input, p));
    if (overlap(c, input)) {
      return make_error(ErrorCode::usage, "C overlaps {} ({}): give the result memory of its own", input.name,
                        describe(p));
    }
  }
  return {};
}

}  // namespace pbprobe
