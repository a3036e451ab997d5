// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch/areas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "probes/measure/child/words.hpp"
#include "probes/measure/libtorch/array.hpp"
#include "probes/measure/libtorch/scaled.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {
namespace {

using namespace area;

constexpr int64_t kLong = 1003;  // no multiple of any vector
constexpr double kFp32 = 4e-6;   // some units in the last place

Result<void> elementwise(const Place& place) {
  struct Function {
    const char* name;
    double (*exact)(double);
    double absolute;
  };
  // Vectorized, erf is a formula whose error is absolute: 2e-7 near zero on aarch64.
  const std::array<Function, 4> functions{{
      {"aten::exp", [](double x) { return std::exp(x); }, 1e-7},
      {"aten::erf", [](double x) { return std::erf(x); }, 5e-7},
      {"aten::tanh", [](double x) { return std::tanh(x); }, 1e-7},
      {"aten::sin", [](double x) { return std::sin(x); }, 1e-7},
  }};
  const Values values = pattern(kLong, 1);
  PBPROBE_TRY(const Array in, Array::make(place, Element::fp32, {kLong}, values));
  for (const auto& [name, exact, absolute] : functions) {
    PBPROBE_TRY(Array out, Array::make(place, Element::fp32, {kLong}));
    PBPROBE_CHECK(call(place, name, "out", {&in.tensor(), &out.tensor()}));
    PBPROBE_TRY(const Values seen, out.read());
    Values wanted = values;
    for (auto& value : wanted) value = exact(value);
    PBPROBE_CHECK(compare(name, seen, wanted, kFp32, absolute));
  }
  return {};
}

Result<void> reduction(const Place& place) {
  const Values values = pattern(kLong, 2);
  PBPROBE_TRY(const Array in, Array::make(place, Element::fp64, {kLong}, values));
  PBPROBE_TRY(Array sums, Array::make(place, Element::fp64, {kLong}));
  PBPROBE_CHECK(call(place, "aten::cumsum", "out", {&in.tensor(), int64_t{0}, kNone, &sums.tensor()}));
  PBPROBE_TRY(const Values seen, sums.read());
  Values wanted = values;
  std::partial_sum(values.begin(), values.end(), wanted.begin());
  PBPROBE_CHECK(compare("aten::cumsum", seen, wanted, 1e-12, 1e-12));

  PBPROBE_TRY(Array product, Array::make(place, Element::fp64, {}));
  PBPROBE_CHECK(call(place, "aten::dot", "out", {&in.tensor(), &in.tensor(), &product.tensor()}));
  PBPROBE_TRY(const Values dot, product.read());
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  PBPROBE_CHECK(compare("aten::dot", dot, {squares}, 1e-12, 0));

  PBPROBE_TRY(Array largest, Array::make(place, Element::int64, {}));
  PBPROBE_CHECK(call(place, "aten::argmax", "out", {&in.tensor(), kNone, false, &largest.tensor()}));
  PBPROBE_TRY(const Values index, largest.read());
  const auto most = std::ranges::max_element(values) - values.begin();
  return compare("aten::argmax", index, {static_cast<double>(most)}, 0, 0);
}

Result<void> softmax(const Place& place) {
  constexpr int64_t kRows = 7;
  constexpr int64_t kColumns = 129;
  const Values values = pattern(kRows * kColumns, 3);
  PBPROBE_TRY(const Array in, Array::make(place, Element::fp32, {kRows, kColumns}, values));
  PBPROBE_TRY(Array out, Array::make(place, Element::fp32, {kRows, kColumns}));
  PBPROBE_CHECK(call(place, "aten::_softmax", "out", {&in.tensor(), int64_t{1}, false, &out.tensor()}));
  PBPROBE_TRY(const Values seen, out.read());
  Values wanted = values;
  for (int64_t row = 0; row < kRows; ++row) {
    const auto begin = wanted.begin() + row * kColumns;
    double sum = 0;
    for (auto at = begin; at != begin + kColumns; ++at) sum += * at = std::exp(*at);
    for (auto at = begin; at != begin + kColumns; ++at) *at /= sum;
  }
  return compare("aten::_softmax", seen, wanted, 2 * kFp32, 0);
}

Result<void> sort(const Place& place) {
  const Values values = pattern(kLong, 4);
  PBPROBE_TRY(const Array in, Array::make(place, Element::fp32, {kLong}, values));
  PBPROBE_TRY(Array sorted, Array::make(place, Element::fp32, {kLong}));
  PBPROBE_TRY(Array indices, Array::make(place, Element::int64, {kLong}));
  PBPROBE_CHECK(
      call(place, "aten::sort", "values", {&in.tensor(), int64_t{0}, true, &sorted.tensor(), &indices.tensor()}, 2));
  PBPROBE_TRY(const Values seen, sorted.read());
  PBPROBE_TRY(const Values where, indices.read());
  Values wanted = values;
  std::ranges::sort(wanted, std::greater<>());
  PBPROBE_CHECK(compare("aten::sort", seen, wanted, 0, 0));
  Values found(where.size());
  for (size_t i = 0; i < where.size(); ++i) {
    if (where[i] < 0 || where[i] >= kLong)
      return make_error(ErrorCode::malformed, "index {} of aten::sort is {}, outside the array", i, where[i]);
    found[i] = values[static_cast<size_t>(where[i])];
  }
  return compare("what aten::sort's indices name", found, wanted, 0, 0);
}

Result<void> convolution(const Place& place) {
  constexpr int64_t kImages = 2, kChannels = 5, kOutputs = 6, kHigh = 11, kWide = 13, kKernel = 3;
  constexpr int64_t kOutHigh = kHigh, kOutWide = kWide;  // padding 1, stride 1
  const Values pixels = pattern(kImages * kChannels * kHigh * kWide, 5);
  const Values weights = pattern(kOutputs * kChannels * kKernel * kKernel, 6);
  PBPROBE_TRY(const Array image, Array::make(place, Element::fp32, {kImages, kChannels, kHigh, kWide}, pixels));
  PBPROBE_TRY(const Array weight, Array::make(place, Element::fp32, {kOutputs, kChannels, kKernel, kKernel}, weights));
  PBPROBE_TRY(Array out, Array::make(place, Element::fp32, {kImages, kOutputs, kOutHigh, kOutWide}));
  constexpr std::array<int64_t, 2> kOnes{1, 1};
  PBPROBE_TRY(const Tensor result, place.library.convolve(image.tensor(), weight.tensor(), kOnes, kOnes, place.gpu));
  PBPROBE_CHECK(call(place, "aten::copy_", "", {&out.tensor(), &result, false}));
  PBPROBE_TRY(const Values seen, out.read());
  Values wanted;
  for (int64_t n = 0; n < kImages; ++n)
    for (int64_t o = 0; o < kOutputs; ++o)
      for (int64_t y = 0; y < kOutHigh; ++y)
        for (int64_t x = 0; x < kOutWide; ++x) {
          double sum = 0;
          for (int64_t c = 0; c < kChannels; ++c)
            for (int64_t i = 0; i < kKernel; ++i)
              for (int64_t j = 0; j < kKernel; ++j) {
                const int64_t row = y + i - 1;
                const int64_t column = x + j - 1;
                if (row < 0 || row >= kHigh || column < 0 || column >= kWide) continue;
                sum += pixels[((n * kChannels + c) * kHigh + row) * kWide + column] *
                       weights[((o * kChannels + c) * kKernel + i) * kKernel + j];
              }
          wanted.push_back(sum);
        }
  // A GPU may take TF32 here: cuDNN's default.
  return compare("the convolution", seen, wanted, 0, place.gpu != nullptr ? 2e-2 : 2e-5);
}

Result<void> gru_cell(const Place& place) {
  constexpr int64_t kBatch = 3, kIn = 17, kHidden = 9;
  const Values x = pattern(kBatch * kIn, 7), h = pattern(kBatch * kHidden, 8);
  const Values w = pattern(3 * kHidden * kIn, 9), u = pattern(3 * kHidden * kHidden, 10);
  PBPROBE_TRY(const Array input, Array::make(place, Element::fp32, {kBatch, kIn}, x));
  PBPROBE_TRY(const Array hidden, Array::make(place, Element::fp32, {kBatch, kHidden}, h));
  PBPROBE_TRY(const Array input_weight, Array::make(place, Element::fp32, {3 * kHidden, kIn}, w));
  PBPROBE_TRY(const Array hidden_weight, Array::make(place, Element::fp32, {3 * kHidden, kHidden}, u));
  PBPROBE_TRY(Array out, Array::make(place, Element::fp32, {kBatch, kHidden}));
  const std::array<Argument, 6> arguments{
      &input.tensor(), &hidden.tensor(), &input_weight.tensor(), &hidden_weight.tensor(), kNone, kNone};
  PBPROBE_TRY(const auto result, place.library.call("aten::gru_cell", "", arguments, 1));
  PBPROBE_CHECK(call(place, "aten::copy_", "", {&out.tensor(), result.data(), false}));
  PBPROBE_TRY(const Values seen, out.read());
  const auto sum = [](const Values& a, int64_t i, const Values& b, int64_t j, int64_t depth) {
    return std::inner_product(a.begin() + i * depth, a.begin() + (i + 1) * depth, b.begin() + j * depth, 0.0);
  };
  const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
  Values wanted;
  for (int64_t i = 0; i < kBatch; ++i)
    for (int64_t j = 0; j < kHidden; ++j) {
      const double reset = sigmoid(sum(x, i, w, j, kIn) + sum(h, i, u, j, kHidden));
      const double update = sigmoid(sum(x, i, w, kHidden + j, kIn) + sum(h, i, u, kHidden + j, kHidden));
      const double fresh =
          std::tanh(sum(x, i, w, 2 * kHidden + j, kIn) + reset * sum(h, i, u, 2 * kHidden + j, kHidden));
      wanted.push_back((1 - update) * fresh + update * h[i * kHidden + j]);
    }
  return compare("aten::gru_cell", seen, wanted, 0, place.gpu != nullptr ? 5e-3 : 1e-5);
}

Result<void> fourier(const Place& place) {
  constexpr int64_t kCount = 120;  // 2³·3·5
  const Values values = pattern(kCount, 11);
  PBPROBE_TRY(const Array in, Array::make(place, Element::fp32, {kCount}, values));
  PBPROBE_TRY(Array out, Array::make(place, Element::complex64, {kCount}));
  PBPROBE_CHECK(call(place, "aten::fft_fft", "out", {&in.tensor(), kNone, int64_t{-1}, kNone, &out.tensor()}));
  PBPROBE_TRY(const Values seen, out.read());
  Values wanted;
  for (int64_t k = 0; k < kCount; ++k) {
    double real = 0, imaginary = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(i * k % kCount) / kCount;
      real += values[i] * std::cos(angle);
      imaginary += values[i] * std::sin(angle);
    }
    wanted.push_back(real);
    wanted.push_back(imaginary);
  }
  return compare("aten::fft_fft", seen, wanted, 0, 2e-5);
}

// A⁻¹ of a matrix whose diagonal outweighs its rows, by Gauss and Jordan.
Values inverse(Values a, int64_t size) {
  Values result(a.size(), 0.0);
  for (int64_t i = 0; i < size; ++i) result[i * size + i] = 1;
  for (int64_t pivot = 0; pivot < size; ++pivot) {
    const double scale = 1 / a[pivot * size + pivot];
    for (int64_t j = 0; j < size; ++j) {
      a[pivot * size + j] *= scale;
      result[pivot * size + j] *= scale;
    }
    for (int64_t i = 0; i < size; ++i) {
      const double factor = a[i * size + pivot];
      if (i == pivot) continue;
      for (int64_t j = 0; j < size; ++j) {
        a[i * size + j] -= factor * a[pivot * size + j];
        result[i * size + j] -= factor * result[pivot * size + j];
      }
    }
  }
  return result;
}

Result<void> invert(const Place& place, Element type, double absolute) {
  constexpr int64_t kSize = 33;
  Values values = pattern(kSize * kSize, 12);
  for (int64_t i = 0; i < kSize; ++i) values[i * kSize + i] += kSize;
  if (type == Element::fp32)
    for (auto& value : values) value = static_cast<float>(value);
  PBPROBE_TRY(const Array in, Array::make(place, type, {kSize, kSize}, values));
  PBPROBE_TRY(Array out, Array::make(place, type, {kSize, kSize}));
  PBPROBE_CHECK(call(place, "aten::linalg_inv", "out", {&in.tensor(), &out.tensor()}));
  PBPROBE_TRY(const Values seen, out.read());
  return compare("aten::linalg_inv", seen, inverse(values, kSize), 0, absolute);
}

Result<void> linear_algebra_fp32(const Place& place) {
  return invert(place, Element::fp32, 1e-6);
}

Result<void> linear_algebra_fp64(const Place& place) {
  return invert(place, Element::fp64, 1e-15);
}

// Thrown in one shared object and caught in another; what comes after must be right.
Result<void> exceptions(const Place& place) {
  PBPROBE_TRY(const Array a, Array::make(place, Element::fp32, {2, 3}, pattern(6, 13)));
  PBPROBE_TRY(Array out, Array::make(place, Element::fp32, {2, 3}));
  if (!throws([&] { return call(place, "aten::mm", "out", {&a.tensor(), &a.tensor(), &out.tensor()}).ok(); }))
    return make_error(ErrorCode::malformed, "libtorch multiplied [2, 3] by [2, 3] without an error");
  PBPROBE_CHECK(call(place, "aten::neg", "out", {&a.tensor(), &out.tensor()}), "after an exception");
  PBPROBE_TRY(const Values seen, out.read());
  Values wanted = pattern(6, 13);
  for (auto& value : wanted) value = -value;
  return compare("aten::neg after an exception", seen, wanted, 0, 0);
}

constexpr std::array kAreas{
    Program{"elementwise", &elementwise},
    Program{"reduction", &reduction},
    Program{"softmax", &softmax},
    Program{"sort", &sort},
    Program{"convolution", &convolution},
    Program{"recurrent cell", &gru_cell},
    Program{"FFT", &fourier},
    Program{"linear algebra in FP32", &linear_algebra_fp32},
    Program{"linear algebra in FP64", &linear_algebra_fp64},
    Program{"exceptions", &exceptions},
};

}  // namespace

void record_area_error(LibtorchArea& area, const Error& error) {
  const bool skipped = error.code == ErrorCode::unsupported || error.obstacle == Obstacle::unsupported;
  (skipped ? area.skipped : area.problem) = error.message;
  if (!skipped) area.obstacle = error.obstacle;
}

void check_areas(const Libtorch& library, const GpuDevice* gpu, std::vector<LibtorchArea>& areas,
                 const std::function<void()>& tell) {
  const std::string device = gpu == nullptr ? "cpu" : fmt::format("cuda:{}", gpu->index());
  for (const auto& programs : {std::span<const Program>(kAreas), more_programs(), scaled_programs()}) {
    for (const Program& program : programs) {
      areas.push_back({std::string(program.name), device, std::string(kNothingCameBack), {}, {}});
      tell();
      const StderrCapture words;
      const auto right = program.check({library, gpu});
      areas.back().problem.reset();
      if (!right.ok()) record_area_error(areas.back(), words.explained(right.error()));
    }
  }
}

}  // namespace pbprobe
