// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Areas that PyTorch's release gate computes in Python (smoke_test.py), by libtorch only.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/gemm/reference.hpp"
#include "probes/measure/libtorch/array.hpp"

namespace pbprobe::area {
namespace {

// Reads a copy of a result, which may have any strides.
Result<Values> read_copy(const Place& place, const Tensor& result, Element type, std::vector<int64_t> sizes) {
  PBPROBE_TRY(Array copy, Array::make(place, type, std::move(sizes)));
  PBPROBE_CHECK(call(place, "aten::copy_", "", {&copy.tensor(), &result, false}));
  return copy.read();
}

// Small integers: exact in every type, and so are their sums.
Values integers(int64_t count, uint32_t seed) {
  Values values = pattern(count, seed);
  for (auto& value : values) value = std::nearbyint(2 * value);
  return values;
}

// Images and weights of a convolution of 3×3 without padding, and its FP64 result.
struct Images {
  static constexpr int64_t kCount = 2, kChannels = 4, kOutputs = 8, kSide = 9, kOut = 7;
  Values pixels = integers(kCount * kChannels * kSide * kSide, 21);
  Values weights = integers(kOutputs * kChannels * 9, 22);

  [[nodiscard]] double output(int64_t n, int64_t o, int64_t y, int64_t x) const {
    double sum = 0;
    for (int64_t c = 0; c < kChannels; ++c)
      for (int64_t i = 0; i < 9; ++i)
        sum += pixels[((n * kChannels + c) * kSide + y + i / 3) * kSide + x + i % 3] *
               weights[(o * kChannels + c) * 9 + i];
    return sum;
  }
  [[nodiscard]] Values outputs() const {
    Values values;
    for (int64_t n = 0; n < kCount; ++n)
      for (int64_t o = 0; o < kOutputs; ++o)
        for (int64_t y = 0; y < kOut; ++y)
          for (int64_t x = 0; x < kOut; ++x) values.push_back(output(n, o, y, x));
    return values;
  }
};

constexpr std::array<int64_t, 2> kNoPadding{0, 0};
constexpr std::array<int64_t, 2> kStride{1, 1};

Result<Tensor> convolve(const Place& place, const Images& images, Element type) {
  PBPROBE_TRY(
      const Array image,
      Array::make(place, type, {Images::kCount, Images::kChannels, Images::kSide, Images::kSide}, images.pixels));
  PBPROBE_TRY(const Array weight,
              Array::make(place, type, {Images::kOutputs, Images::kChannels, 3, 3}, images.weights));
  return place.library.convolve(image.tensor(), weight.tensor(), kStride, kNoPadding, place.gpu != nullptr);
}

Result<void> check_convolution(const Place& place, Element type) {
  const Images images;
  PBPROBE_TRY(const Tensor result, convolve(place, images, type));
  PBPROBE_TRY(const Values seen,
              read_copy(place, result, type, {Images::kCount, Images::kOutputs, Images::kOut, Images::kOut}));
  return compare("the convolution", seen, images.outputs(), 0, 0);
}

Result<void> convolution_fp16(const Place& place) {
  if (place.gpu == nullptr) return make_error(ErrorCode::unsupported, "FP16 is tested only on GPUs");
  return check_convolution(place, Element::fp16);
}

Result<void> convolution_fp64(const Place& place) {
  return check_convolution(place, Element::fp64);
}

// One plus a quarter of what FP16's last place is: kept by FP32, and lost where the product is autocast.
Result<void> autocast(const Place& place) {
  const double fine = 1 + 1.0 / 4096;
  PBPROBE_TRY(const Array image, Array::make(place, Element::fp32, {1, 1, 4, 4}, Values(16, fine)));
  PBPROBE_TRY(const Array weight, Array::make(place, Element::fp32, {1, 1, 1, 1}, Values(1, 1.0)));
  const bool cuda = place.gpu != nullptr;
  const std::vector<int64_t> ones{1, 1};
  const std::vector<int64_t> zeros{0, 0};
  const std::array<Argument, 7> arguments{&image.tensor(), &weight.tensor(), kNone, ones, zeros, ones, int64_t{1}};
  if (!place.library.set_autocast(cuda, true))
    return make_error(ErrorCode::unsupported,
                      "this libtorch exports no at::autocast::set_autocast_enabled of torch 2.4 or later");
  auto result = place.library.call("aten::conv2d", "", arguments, 1);
  static_cast<void>(place.library.set_autocast(cuda, false));
  if (!result.ok()) return result.error();
  PBPROBE_TRY(const Values low, read_copy(place, result->front(), Element::fp32, {1, 1, 4, 4}));
  PBPROBE_CHECK(compare("the autocast convolution", low, Values(16, 1.0), 0, 0));
  PBPROBE_TRY(result, place.library.call("aten::conv2d", "", arguments, 1), "after autocast");
  PBPROBE_TRY(const Values high, read_copy(place, result->front(), Element::fp32, {1, 1, 4, 4}));
  // A GPU may take TF32 here, which loses as much as FP16.
  return compare("the convolution after autocast", high, Values(16, fine), 0, cuda ? 3e-4 : 0);
}

// Convolution, ReLU, one fully connected layer.
Result<void> small_network(const Place& place) {
  constexpr int64_t kClasses = 3;
  constexpr int64_t kFeatures = Images::kOutputs * Images::kOut * Images::kOut;
  const Images images;
  const Values layer = integers(kClasses * kFeatures, 23);
  PBPROBE_TRY(const Array weight, Array::make(place, Element::fp32, {kClasses, kFeatures}, layer));
  PBPROBE_TRY(const Tensor hidden, convolve(place, images, Element::fp32));
  const std::array<Argument, 1> only_hidden{&hidden};
  PBPROBE_TRY(const auto active, place.library.call("aten::relu", "", only_hidden, 1));
  const std::array<Argument, 3> flat_arguments{active.data(), int64_t{1}, int64_t{-1}};
  PBPROBE_TRY(const auto flat, place.library.call("aten::flatten", "using_ints", flat_arguments, 1));
  const std::array<Argument, 3> linear_arguments{flat.data(), &weight.tensor(), kNone};
  PBPROBE_TRY(const auto result, place.library.call("aten::linear", "", linear_arguments, 1));
  PBPROBE_TRY(const Values seen, read_copy(place, result.front(), Element::fp32, {Images::kCount, kClasses}));
  Values features = images.outputs();
  for (auto& value : features) value = std::max(value, 0.0);
  Values wanted;
  for (int64_t n = 0; n < Images::kCount; ++n)
    for (int64_t c = 0; c < kClasses; ++c)
      wanted.push_back(std::inner_product(features.begin() + n * kFeatures, features.begin() + (n + 1) * kFeatures,
                                          layer.begin() + c * kFeatures, 0.0));
  return compare("the network's output", seen, wanted, 0, 0);
}

// U · diag(S) · Vh, [batch, rows, columns].
Values rebuilt(const Values& u, const Values& s, const Values& vh, const std::array<int64_t, 3>& sizes) {
  const auto [batch, rows, columns] = sizes;
  Values values;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < columns; ++k)
          sum += u[(b * rows + i) * columns + k] * s[b * columns + k] * vh[(b * columns + k) * columns + j];
        values.push_back(sum);
      }
  return values;
}

// A batch of matrices: LAPACK on the CPU; cuSOLVER or MAGMA on a GPU.
Result<void> singular_values(const Place& place, Element type, double absolute) {
  constexpr std::array<int64_t, 3> kSizes{3, 21, 14};
  constexpr auto kBatch = kSizes[0], kRows = kSizes[1], kColumns = kSizes[2];
  const Values values = pattern(kBatch * kRows * kColumns, 24);
  PBPROBE_TRY(const Array in, Array::make(place, type, {kBatch, kRows, kColumns}, values));
  const std::array<Argument, 3> arguments{&in.tensor(), false, kNone};
  PBPROBE_TRY(const auto results, place.library.call("aten::linalg_svd", "", arguments, 3));
  PBPROBE_TRY(const Values u, read_copy(place, results[0], type, {kBatch, kRows, kColumns}));
  PBPROBE_TRY(const Values s, read_copy(place, results[1], type, {kBatch, kColumns}));
  PBPROBE_TRY(const Values vh, read_copy(place, results[2], type, {kBatch, kColumns, kColumns}));
  for (int64_t i = 0; i + 1 < kBatch * kColumns; ++i)
    if ((i + 1) % kColumns != 0 && !(s[i] >= s[i + 1] && s[i + 1] >= 0))
      return make_error(ErrorCode::malformed,
                        "singular value {} is {}, and the next one is {}: they must not grow or be negative", i, s[i],
                        s[i + 1]);
  // Columns of U of unit length and at right angles: with the product, that makes it the decomposition.
  const Values ones(static_cast<size_t>(kBatch * kColumns), 1.0);
  Values lengths;
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t k = 0; k < kColumns; ++k) {
      double sum = 0;
      for (int64_t i = 0; i < kRows; ++i)
        sum += u[(b * kRows + i) * kColumns + k] *
               (u[(b * kRows + i) * kColumns + k] + (k > 0 ? u[(b * kRows + i) * kColumns + k - 1] : 0.0));
      lengths.push_back(sum);
    }
  PBPROBE_CHECK(compare("the lengths of U's columns", lengths, ones, 0, absolute));
  return compare("U·S·Vh", rebuilt(u, s, vh, kSizes), values, 0, absolute);
}

Result<void> singular_values_fp32(const Place& place) {
  return singular_values(place, Element::fp32, 2e-5);
}

Result<void> singular_values_fp64(const Place& place) {
  return singular_values(place, Element::fp64, 1e-12);
}

// One head's row i: softmax(q·kᵀ/√d)·v.
void attend(const Values& q, const Values& k, const Values& v, int64_t head, int64_t i, int64_t length, int64_t depth,
            Values& to) {
  const auto at = [&](const Values& values, int64_t row) { return values.begin() + (head * length + row) * depth; };
  Values weights;
  for (int64_t j = 0; j < length; ++j)
    weights.push_back(std::exp(std::inner_product(at(q, i), at(q, i) + depth, at(k, j), 0.0) /
                               std::sqrt(static_cast<double>(depth))));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (int64_t d = 0; d < depth; ++d) {
    double value = 0;
    for (int64_t j = 0; j < length; ++j) value += weights[j] / sum * at(v, j)[d];
    to.push_back(value);
  }
}

Result<void> attention(const Place& place, Element type, double absolute) {
  constexpr int64_t kHeads = 2, kLength = 65, kDepth = 32;
  if (place.library.version().value_or("") < "2") return make_error(ErrorCode::unsupported, "torch 1 has none");
  std::array<Values, 3> values;
  std::vector<Array> arrays;
  for (uint32_t i = 0; i < 3; ++i) {
    values[i] = pattern(kHeads * kLength * kDepth, 25 + i);
    for (auto& value : values[i]) value = rounded(value, DType::bf16);
    PBPROBE_TRY(Array array, Array::make(place, type, {1, kHeads, kLength, kDepth}, values[i]));
    arrays.push_back(std::move(array));
  }
  const std::array<Argument, 8> arguments{
      &arrays[0].tensor(), &arrays[1].tensor(), &arrays[2].tensor(), kNone, 0.0, false, kNone, false};
  PBPROBE_TRY(const auto result, place.library.call("aten::scaled_dot_product_attention", "", arguments, 1));
  PBPROBE_TRY(const Values seen, read_copy(place, result.front(), type, {1, kHeads, kLength, kDepth}));
  Values wanted;
  for (int64_t head = 0; head < kHeads; ++head)
    for (int64_t i = 0; i < kLength; ++i) attend(values[0], values[1], values[2], head, i, kLength, kDepth, wanted);
  return compare("the attention", seen, wanted, 0, absolute);
}

Result<void> attention_fp32(const Place& place) {
  return attention(place, Element::fp32, place.gpu != nullptr ? 1e-3 : 2e-6);
}

Result<void> attention_bf16(const Place& place) {
  return attention(place, Element::bf16, 1e-2);
}

// Expects an exception of libc10_cuda to pass through libtorch_cuda and libtorch_cpu (pytorch 57744).
Result<void> wrong_device(const Place& place) {
  if (place.gpu == nullptr) return make_error(ErrorCode::unsupported, "this area is tested only on GPUs");
  constexpr int32_t kNoDevice = 99;
  if (!throws([&] { return place.library.first_tensor(kNoDevice).ok(); }))
    return make_error(ErrorCode::malformed,
                      "libtorch made a tensor on cuda:{}, a GPU that does not exist, without an error", kNoDevice);
  PBPROBE_CHECK(place.library.first_tensor(place.gpu->index()), "after the error");
  PBPROBE_TRY(const Array a, Array::make(place, Element::fp32, {3}, {1, 2, 3}));
  PBPROBE_TRY(Array out, Array::make(place, Element::fp32, {3}));
  PBPROBE_CHECK(call(place, "aten::neg", "out", {&a.tensor(), &out.tensor()}), "after the error");
  PBPROBE_TRY(const Values seen, out.read());
  return compare("aten::neg after the error", seen, {-1, -2, -3}, 0, 0);
}

constexpr std::array kPrograms{
    Program{"convolution in FP16", &convolution_fp16},
    Program{"convolution in FP64", &convolution_fp64},
    Program{"convolution under autocast", &autocast},
    Program{"small network", &small_network},
    Program{"singular values in FP32", &singular_values_fp32},
    Program{"singular values in FP64", &singular_values_fp64},
    Program{"attention in FP32", &attention_fp32},
    Program{"attention in BF16", &attention_bf16},
    Program{"wrong device index", &wrong_device},
};

}  // namespace

std::span<const Program> more_programs() {
  return kPrograms;
}

}  // namespace pbprobe::area
