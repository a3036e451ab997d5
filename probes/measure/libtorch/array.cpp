// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch/array.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/gemm/reference.hpp"

namespace pbprobe::area {
namespace {

template <class T>
T read_value(const std::vector<std::byte>& bytes, size_t index) {
  T value{};
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

template <class T>
void write_value(std::vector<std::byte>& bytes, size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof value, &value, sizeof value);
}

}  // namespace

Result<Array> Array::make(const Place& place, Element type, std::vector<int64_t> sizes, const Values& values) {
  Array array(place, type);
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  array.host_.assign(static_cast<size_t>(count * size_of(type)), std::byte{0xff});
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

Result<Values> Array::read() {
  if (place_.gpu != nullptr) PBPROBE_CHECK(place_.gpu->download(host_.data(), device_, 0, host_.size()));
  const auto unit = static_cast<size_t>(type_ == Element::complex64 ? 4 : size_of(type_));
  Values values(host_.size() / unit);
  for (size_t i = 0; i < values.size(); ++i) values[i] = load(i);
  return values;
}

void Array::store(size_t index, double value) {
  switch (type_) {
    case Element::fp64: return write_value(host_, index, value);
    case Element::int64: return write_value(host_, index, static_cast<int64_t>(value));
    case Element::fp16: return set_element(host_.data(), DType::fp16, static_cast<int64_t>(index), value);
    case Element::bf16: return set_element(host_.data(), DType::bf16, static_cast<int64_t>(index), value);
    case Element::fp32:
    case Element::complex64: return write_value(host_, index, static_cast<float>(value));
    case Element::e4m3: return set_element(host_.data(), DType::e4m3, static_cast<int64_t>(index), value);
    case Element::e8m0: return write_value(host_, index, static_cast<uint8_t>(std::ilogb(value) + 127));
  }
}

double Array::load(size_t index) const {
  switch (type_) {
    case Element::fp64: return read_value<double>(host_, index);
    case Element::int64: return static_cast<double>(read_value<int64_t>(host_, index));
    case Element::fp16: return element(host_.data(), DType::fp16, static_cast<int64_t>(index));
    case Element::bf16: return element(host_.data(), DType::bf16, static_cast<int64_t>(index));
    case Element::fp32:
    case Element::complex64: return read_value<float>(host_, index);
    case Element::e4m3: return element(host_.data(), DType::e4m3, static_cast<int64_t>(index));
    case Element::e8m0: return block_scale(BlockScale::mx, read_value<uint8_t>(host_, index));
  }
  return 0;
}

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
                  size_t results) {
  const auto done = place.library.call(name, overload, std::span(arguments.begin(), arguments.size()), results);
  return done.ok() ? Result<void>() : done.error();
}

bool throws(const std::function<bool()>& succeeds) {
  const int output = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (output >= 0 && nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  const bool threw = !succeeds();
  if (output >= 0 && nowhere >= 0) dup2(output, STDERR_FILENO);
  for (const int descriptor : {output, nowhere}) {
    if (descriptor >= 0) close(descriptor);
  }
  return threw;
}

}  // namespace pbprobe::area
