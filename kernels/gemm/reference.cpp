// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/gemm/reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace pbprobe {
namespace {

template <class T>
T read(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void write(void* data, int64_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// A format of a sign, an exponent and a fraction, with subnormals. The greatest exponent stands for infinity and NaN;
// or (`finite`) for numbers too, but for the NaN of all ones, and there is no infinity.
struct Format {
  int exponent_bits, fraction_bits;
  bool finite = false;
  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] int least() const { return 1 - bias(); }  // exponent of a normal number
  [[nodiscard]] int ones() const { return (1 << exponent_bits) - 1; }
  [[nodiscard]] int nan() const { return (1 << (exponent_bits + fraction_bits)) - 1; }
  [[nodiscard]] double greatest() const {
    const int below = finite ? 2 : 1;  // units below the next power of two
    return std::ldexp((2 << fraction_bits) - below, (finite ? ones() : ones() - 1) - bias() - fraction_bits);
  }
};
constexpr Format kHalf{5, 10};
constexpr Format kE5m2{5, 2};
constexpr Format kE4m3{4, 3, true};
constexpr double kE2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};  // and as many below zero

double decode(int bits, const Format& format) {
  const int exponent = bits >> format.fraction_bits & format.ones();
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int magnitude = bits & format.nan();
  double value = 0;
  if (format.finite ? magnitude == format.nan() : exponent == format.ones()) {
    const bool infinite = !format.finite && fraction == 0;
    value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, format.least() - format.fraction_bits);
  } else {
    value = std::ldexp((1 << format.fraction_bits) + fraction, exponent - format.bias() - format.fraction_bits);
  }
  return bits != magnitude ? -value : value;
}

// To a format of `fraction_bits` whose least normal exponent is `least` and whose greatest value is `greatest`.
double round_to(double value, int fraction_bits, int least, double greatest) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), least);
  const double unit = std::ldexp(1.0, exponent - fraction_bits);
  const double result = std::nearbyint(value / unit) * unit;  // the default mode: ties to even
  return std::fabs(result) > greatest ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}

// To 10 bits as cvt.rna.tf32 does: ties away from zero. (Since 9.0 kernels round ties to even: no test has one.)
double round_to_tf32(double value) {
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isfinite(value)) bits = (bits + 0x1000U) & ~0x1fffU;
  return static_cast<double>(std::bit_cast<float>(bits));
}

// Rounds to nearest, ties to even. Too great a value becomes infinity, or NaN if the format has no infinity.
double round_to(double value, const Format& format) {
  value = round_to(value, format.fraction_bits, format.least(), format.greatest());
  return format.finite && std::isinf(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

int encode(double value, const Format& format) {
  const int sign = std::signbit(value) ? format.nan() + 1 : 0;
  value = std::fabs(round_to(value, format));
  const int one = 1 << format.fraction_bits;
  if (std::isnan(value)) return sign | (format.finite ? format.nan() : format.ones() * one + one / 2);
  if (std::isinf(value)) return sign | format.ones() * one;
  const int exponent = value == 0 ? format.least() : std::max(std::ilogb(value), format.least());
  const int units = static_cast<int>(std::ldexp(value, format.fraction_bits - exponent));
  return sign | (units < one ? units : (exponent + format.bias()) * one + units - one);
}

// Ties to even; what is too great becomes the greatest, since there is nothing else.
int encode_e2m1(double value) {
  const double magnitude = std::fabs(value);
  int code = 0;
  while (code < 7 && magnitude > (kE2m1[code] + kE2m1[code + 1]) / 2) ++code;
  if (code < 7 && code % 2 == 1 && magnitude == (kE2m1[code] + kE2m1[code + 1]) / 2) ++code;
  return code | (std::signbit(value) ? 8 : 0);
}

double decode_e2m1(int code) {
  return code & 8 ? -kE2m1[code & 7] : kE2m1[code];
}

}  // namespace

double element(const void* data, DType type, int64_t index) {
  switch (type) {
    case DType::fp32:
    case DType::tf32: return static_cast<double>(read<float>(data, index));
    case DType::fp16: return decode(read<uint16_t>(data, index), kHalf);
    case DType::e4m3: return decode(read<uint8_t>(data, index), kE4m3);
    case DType::e5m2: return decode(read<uint8_t>(data, index), kE5m2);
    case DType::e2m1x2: return decode_e2m1(read<uint8_t>(data, index / 2) >> index % 2 * 4 & 15);
    case DType::bf16:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(read<uint16_t>(data, index)) << 16));
    case DType::int8: return read<int8_t>(data, index);
    case DType::uint8: return read<uint8_t>(data, index);
    case DType::int32: return read<int32_t>(data, index);
  }
  return 0;
}

double rounded(double value, DType type) {
  switch (type) {
    case DType::fp32: return static_cast<double>(static_cast<float>(value));
    case DType::tf32: return round_to_tf32(value);
    case DType::fp16: return round_to(value, kHalf);
    case DType::e4m3: return round_to(value, kE4m3);
    case DType::e5m2: return round_to(value, kE5m2);
    case DType::e2m1x2: return decode_e2m1(encode_e2m1(value));
    case DType::bf16: return round_to(value, 7, -126, std::ldexp(255.0, 120));
    default: return std::nearbyint(value);
  }
}

void set_element(void* data, DType type, int64_t index, double value) {
  switch (type) {
    case DType::fp32:
    case DType::tf32: return write(data, index, static_cast<float>(value));
    case DType::fp16: return write(data, index, static_cast<uint16_t>(encode(value, kHalf)));
    case DType::e4m3: return write(data, index, static_cast<uint8_t>(encode(value, kE4m3)));
    case DType::e5m2: return write(data, index, static_cast<uint8_t>(encode(value, kE5m2)));
    case DType::e2m1x2: {
      const int other = read<uint8_t>(data, index / 2) & (index % 2 == 0 ? 0xf0 : 0x0f);
      return write(data, index / 2, static_cast<uint8_t>(other | encode_e2m1(value) << index % 2 * 4));
    }
    case DType::bf16: {
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(rounded(value, DType::bf16)));
      return write(data, index, static_cast<uint16_t>(bits >> 16));
    }
    case DType::int8: return write(data, index, static_cast<int8_t>(value));
    case DType::uint8: return write(data, index, static_cast<uint8_t>(value));
    case DType::int32: return write(data, index, static_cast<int32_t>(value));
  }
}

double block_scale(BlockScale blocks, uint8_t code) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (blocks == BlockScale::none) return 1;
  if (blocks == BlockScale::mx) return code == 255 ? kNan : std::ldexp(1.0, code - 127);
  return code < 128 ? decode(code, kE4m3) : kNan;
}

int64_t place_of_scale(const Problem& p, int64_t line, int64_t block) {
  constexpr int64_t kTile = 128 * 4;
  const int64_t tiles = (blocks_along_k(p) + 3) / 4;  // side by side
  return (line / 128 * tiles + block / 4) * kTile + line % 32 * 16 + line % 128 / 32 * 4 + block % 4;
}

void NarrowSum::add(double product) {
  constexpr int64_t kSum = 128;
  if (count_ % step_ == 0) {
    loss_ += of_step();
    if (!fast_ && count_ % kSum == 0) sum_ = 0;
    greatest_ = std::fabs(sum_);
  }
  greatest_ = std::max(greatest_, std::fabs(product));
  sum_ += product;
  ++count_;
}

double NarrowSum::of_step() const {
  return static_cast<double>(step_ + 1) * 0x1p-13 * greatest_;
}

Reference::Reference(const Problem& p, const Operands& o) : problem_(p) {
  const int64_t numbers = numbers_in(p.a);
  const int64_t length = block_length(p.blocks, p.a) * numbers;
  k_ = p.k * numbers;
  // Row or column `line`: elements are `stride` apart along k, and lines `leading`.
  const auto read_lines = [&](const void* data, DType type, int64_t lines, int64_t leading, int64_t stride,
                              const void* scales, const BlockRows& rows) {
    std::vector<double> all;
    all.reserve(static_cast<size_t>(lines * k_));
    for (int64_t line = 0; line < lines; ++line) {
      for (int64_t l = 0; l < k_; ++l) {
        const int64_t at = line * leading + l / numbers * stride;
        double value = element(data, type, at * numbers + l % numbers);
        if (type == DType::tf32) value = rounded(value, type);
        if (are_fp32(p.blocks)) {
          value *= static_cast<double>(read<float>(scales, place_in(rows, line, l / length)));
        } else if (p.blocks != BlockScale::none) {
          value *= block_scale(p.blocks, read<uint8_t>(scales, place_of_scale(p, line, l / length)));
        }
        all.push_back(value);
      }
    }
    return all;
  };
  const bool a_km = a_is_km(p.layout);
  const bool b_nk = b_is_nk(p.layout);
  a_ = read_lines(o.a, p.a, p.m, a_km ? 1 : p.lda, a_km ? p.lda : 1, o.blocks_a, block_rows_a(p));
  b_ = read_lines(o.b, p.b, p.n, b_nk ? p.ldb : 1, b_nk ? 1 : p.ldb, o.blocks_b, block_rows_b(p));
  const auto copy = [](bool there, const float* from, int64_t count, double otherwise) {
    std::vector<double> to(static_cast<size_t>(count), otherwise);
    for (int64_t i = 0; there && i < count; ++i) to[static_cast<size_t>(i)] = static_cast<double>(from[i]);
    return to;
  };
  bias_ = copy(p.bias, o.bias, biases(p), 0.0);
  scale_a_ = copy(p.scale_a, o.scale_a, scales_a(p), 1.0);
  scale_b_ = copy(p.scale_b, o.scale_b, scales_b(p), 1.0);
  scale_a_.resize(static_cast<size_t>(p.m), scale_a_.empty() ? 1.0 : scale_a_.front());
  scale_b_.resize(static_cast<size_t>(p.n), scale_b_.empty() ? 1.0 : scale_b_.front());
}

std::span<const double> Reference::a(int64_t i) const {
  return {a_.data() + i * k_, static_cast<size_t>(k_)};
}

std::span<const double> Reference::b(int64_t j) const {
  return {b_.data() + j * k_, static_cast<size_t>(k_)};
}

void Reference::add(int64_t i, int64_t j, ReferenceRow& to) const {
  const auto x = a(i);
  const auto y = b(j);
  double sum = 0;
  double magnitude = 0;
  NarrowSum narrow(problem_);
  const bool is_narrow = is_fp8(problem_.a) || problem_.a == DType::e2m1x2;
  for (size_t l = 0; l < x.size(); ++l) {
    const double product = x[l] * y[l];
    sum += product;
    magnitude += std::fabs(product);
    if (is_narrow) narrow.add(product);
  }
  const double scale = scale_a_[static_cast<size_t>(i)] * scale_b_[static_cast<size_t>(j)];
  const double bias = bias_[static_cast<size_t>(problem_.c_is_nm ? i : j)];
  to.value.push_back(sum * scale + bias);
  to.magnitude.push_back(magnitude * std::fabs(scale) + std::fabs(bias));
  to.loss.push_back(narrow.loss() * std::fabs(scale));
}

ReferenceRow Reference::row(int64_t i) const {
  ReferenceRow result;
  for (int64_t j = 0; j < problem_.n; ++j) add(i, j, result);
  return result;
}

ReferenceRow Reference::column(int64_t j) const {
  ReferenceRow result;
  for (int64_t i = 0; i < problem_.m; ++i) add(i, j, result);
  return result;
}

}  // namespace pbprobe
