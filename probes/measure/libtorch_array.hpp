// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What the programs of a libtorch's areas are written in: arrays of its own over our memory, values that are always the
// same, and comparisons that name the element.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "probes/measure/gpu_device.hpp"
#include "probes/measure/libtorch.hpp"

namespace pbprobe::area {

using Tensor = Libtorch::Tensor;
using Argument = Libtorch::Argument;
using Values = std::vector<double>;
inline constexpr std::monostate kNone;

// Where programs compute.
struct Place {
  const Libtorch& library;
  const GpuDevice* gpu;  // null: the CPU
};

// An array of libtorch's, in our memory; values travel as double, complex ones as pairs.
class Array {
 public:
  // Without values it holds NaN, or −1.
  static Result<Array> make(const Place& place, Element type, std::vector<int64_t> sizes, const Values& values = {});
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  Result<Values> read();

 private:
  Array(const Place& place, Element type) : place_(place), type_(type) {}
  void store(size_t index, double value);
  [[nodiscard]] double load(size_t index) const;

  Place place_;
  Element type_;
  std::vector<std::byte> host_;
  DeviceBuffer device_;
  Tensor tensor_;
};

// Between −1 and 1, rounded to FP32, and always the same.
[[nodiscard]] Values pattern(int64_t count, uint32_t seed);

// Error malformed, which names the first element that is not within relative·|wanted| + absolute.
[[nodiscard]] Result<void> compare(std::string_view what, const Values& seen, const Values& wanted, double relative,
                                   double absolute);

// An operator whose result lies in one of its arguments.
[[nodiscard]] Result<void> call(const Place& place, const char* name, const char* overload,
                                std::initializer_list<Argument> arguments, size_t results = 1);

// Errors: malformed (wrong), failed_child (it threw), unsupported (this libtorch or this device cannot be asked).
struct Program {
  std::string_view name;
  Result<void> (*check)(const Place&);
};

// What PyTorch's own release gate computes beside the areas of libtorch_areas.cpp.
[[nodiscard]] std::span<const Program> more_programs();

}  // namespace pbprobe::area
