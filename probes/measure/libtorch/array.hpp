// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Building blocks of the area programs: libtorch arrays over pbprobe's memory, reproducible values, and comparisons
// that name the wrong element.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "probes/measure/kernels/gpu_device.hpp"
#include "probes/measure/libtorch/libtorch.hpp"

namespace pbprobe::area {

using Tensor = Libtorch::Tensor;
using Argument = Libtorch::Argument;
using Values = std::vector<double>;
inline constexpr std::monostate kNone;

// Device and library of a program.
struct Place {
  const Libtorch& library;
  const GpuDevice* gpu;  // GPU of the program; null for the CPU
};

// Libtorch array in pbprobe's memory. Values are copied as double, complex values as pairs.
class Array {
 public:
  // Fills an array without values with NaN, or −1.
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

// Returns reproducible values between −1 and 1, rounded to FP32.
[[nodiscard]] Values pattern(int64_t count, uint32_t seed);

// Compares `wanted` with `seen`, which must be as long. Error malformed: names the first element that is NaN or differs
// by over relative·|wanted| + absolute.
[[nodiscard]] Result<void> compare(std::string_view what, const Values& seen, const Values& wanted, double relative,
                                   double absolute);

// Calls an operator that stores its result in an argument.
[[nodiscard]] Result<void> call(const Place& place, const char* name, const char* overload,
                                std::initializer_list<Argument> arguments, size_t results = 1);

// Calls what must throw in libtorch, and discards what the shims print of the exception. Returns whether it threw.
[[nodiscard]] bool throws(const std::function<bool()>& succeeds);

// One area. `check` returns malformed (wrong), failed_child (libtorch threw) or unsupported (by libtorch or device).
struct Program {
  std::string_view name;
  Result<void> (*check)(const Place&);
};

// Returns the programs of PyTorch's release gate that areas.cpp lacks.
[[nodiscard]] std::span<const Program> more_programs();

}  // namespace pbprobe::area
