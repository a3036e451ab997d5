// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch_areas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <utility>

namespace pbprobe {
namespace {

using Tensor = Libtorch::Tensor;
using Argument = Libtorch::Argument;
using Values = std::vector<double>;
constexpr std::monostate kNone;

// Where areas compute.
struct Place {
  const Libtorch& library;
  const GpuDevice* gpu;
};

int64_t bytes_of(Element type) {
  return type == Element::fp32 ? 4 : 8;
}

// An array of libtorch's, in our memory; values travel as double, complex ones as pairs.
class Array {
 public:
  static Result<Array> make(const Place& place, Element type, std::vector<int64_t> sizes, const Values& values = {}) {
    Array array(place, type);
    const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    array.host_.assign(static_cast<size_t>(count * bytes_of(type)), std::byte{0xff});  // NaN, or −1
    for (size_t i = 0; i < values.size(); ++i) array.store(i, values[i]);
    void* data = array.host_.data();
    if (place.gpu != nullptr) {
      PBPROBE_TRY(array.device_, place.gpu->allocate(array.host_.size()));
      PBPROBE_CHECK(place.gpu->upload(array.device_, 0, data, array.host_.size()));
      data = array.device_.data();
    }
    PBPROBE_TRY(array.tensor_,
                place.library.wrap(ArrayView{data, type, std::move(sizes), place.gpu ? place.gpu->index() : -1}));
    return array;
  }

  [[nodiscard]] const Tensor& tensor() const { return tensor_; }

  Result<Values> read() {
    if (place_.gpu != nullptr) PBPROBE_CHECK(place_.gpu->download(host_.data(), device_, 0, host_.size()));
    const auto unit = static_cast<size_t>(type_ == Element::complex64 ? 4 : bytes_of(type_));
    Values values(host_.size() / unit);
    for (size_t i = 0; i < values.size(); ++i) values[i] = load(i);
    return values;
  }

 private:
  Array(const Place& place, Element type) : place_(place), type_(type) {}

  void store(size_t index, double value) {
    if (type_ == Element::fp64) return put(index, value);
    if (type_ == Element::int64) return put(index, static_cast<int64_t>(value));
    put(index, static_cast<float>(value));
  }
  [[nodiscard]] double load(size_t index) const {
    if (type_ == Element::fp64) return get<double>(index);
    if (type_ == Element::int64) return static_cast<double>(get<int64_t>(index));
    return get<float>(index);
  }
  template <class T>
  void put(size_t index, T value) {
    std::memcpy(host_.data() + index * sizeof value, &value, sizeof value);
  }
  template <class T>
  [[nodiscard]] T get(size_t index) const {
    T value{};
    std::memcpy(&value, host_.data() + index * sizeof value, sizeof value);
    return value;
  }

  Place place_;
  Element type_;
  std::vector<std::byte> host_;
  DeviceBuffer device_;
  Tensor tensor_;
};

// Between −1 and 1, rounded to FP32, and always the same.
Values pattern(int64_t count, uint32_t seed) {
  Values values(static_cast<size_t>(count));
  for (auto& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<double>(seed >> 8) / (1 << 23) - 1.0);
  }
  return values;
}

Result<void> compare(std::string_view what, const Values& seen, const Values& wanted, double relative,
                     double absolute) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    // A NaN is not near anything.
    if (std::abs(seen[i] - wanted[i]) <= relative * std::abs(wanted[i]) + absolute) continue;
    return make_error(ErrorCode::malformed, "element {} of {} is {}, and must be {}", i, what, seen[i], wanted[i]);
  }
  return {};
}

Result<void> call(const Place& place, const char* name, const char* overload, std::initializer_list<Argument> arguments,
                  size_t results = 1) {
  const auto done = place.library.call(name, overload, std::span(arguments.begin(), arguments.size()), results);
  return done.ok() ? Result<void>() : done.error();
}

constexpr int64_t kLong = 1003;  // no multiple of any vector
constexpr double kFp32 = 4e-6;   // some units in the last place

Result<void> elementwise(const Place& place) {
  const std::array<std::pair<const char*, double (*)(double)>, 4> functions{{
      {"aten::exp", [](double x) { return std::exp(x); }},
      {"aten::erf", [](double x) { return std::erf(x); }},
      {"aten::tanh", [](double x) { return std::tanh(x); }},
      {"aten::sin", [](double x) { return std::sin(x); }},
  }};
  const Values values = pattern(kLong, 1);
  PBPROBE_TRY(const Array in, Array::make(place, Element::fp32, {kLong}, values));
  for (const auto& [name, function] : functions) {
    PBPROBE_TRY(Array out, Array::make(place, Element::fp32, {kLong}));
    PBPROBE_CHECK(call(place, name, "out", {&in.tensor(), &out.tensor()}));
    PBPROBE_TRY(const Values seen, out.read());
    Values wanted = values;
    for (auto& value : wanted) value = function(value);
    PBPROBE_CHECK(compare(name, seen, wanted, kFp32, 1e-7));
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
  const auto most = std::max_element(values.begin(), values.end()) - values.begin();
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
  std::sort(wanted.begin(), wanted.end(), std::greater<>());
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
  if (call(place, "aten::mm", "out", {&a.tensor(), &a.tensor(), &out.tensor()}).ok())
    return make_error(ErrorCode::malformed, "a product of [2, 3] and [2, 3] was no error");
  PBPROBE_CHECK(call(place, "aten::neg", "out", {&a.tensor(), &out.tensor()}), "after an exception");
  PBPROBE_TRY(const Values seen, out.read());
  Values wanted = pattern(6, 13);
  for (auto& value : wanted) value = -value;
  return compare("aten::neg after an exception", seen, wanted, 0, 0);
}

struct Area {
  std::string_view name;
  Result<void> (*check)(const Place&);
};

constexpr std::array kAreas{
    Area{"elementwise", &elementwise},
    Area{"reduction", &reduction},
    Area{"softmax", &softmax},
    Area{"sort", &sort},
    Area{"convolution", &convolution},
    Area{"recurrent cell", &gru_cell},
    Area{"FFT", &fourier},
    Area{"linear algebra in FP32", &linear_algebra_fp32},
    Area{"linear algebra in FP64", &linear_algebra_fp64},
    Area{"exceptions", &exceptions},
};

}  // namespace

void check_areas(const Libtorch& library, const GpuDevice* gpu, std::vector<LibtorchArea>& areas,
                 const std::function<void()>& tell) {
  const std::string device = gpu == nullptr ? "cpu" : fmt::format("cuda:{}", gpu->index());
  for (const Area& area : kAreas) {
    areas.push_back({std::string(area.name), device, "nothing came back from it"});
    tell();
    const auto right = area.check({library, gpu});
    areas.back().problem = right.ok() ? std::nullopt : std::optional(right.error().message);
  }
}

}  // namespace pbprobe
