// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One kernel on one problem, launched again and again: each result is compared with the first one, bit for bit, on the
// device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/gemm/plan.hpp"
#include "tests/stress/device_memory.hpp"

namespace pbprobe {

class GpuKernels;
}

namespace pbprobe::test {

// Counts 16-bit units that differ from a reference, by a kernel that the driver compiles from PTX.
class DifferenceCounter {
 public:
  // Compiles the kernel. Error device: the driver refused the PTX.
  [[nodiscard]] static Result<DifferenceCounter> load(const DriverApi& driver);
  // Adds to *differences the 16-bit units of `copies` arrays that differ from `reference`. An array has `halves` units;
  // the next one begins `apart` bytes behind its first. Asynchronous.
  [[nodiscard]] Result<void> count(CuDevicePtr arrays, CuDevicePtr reference, uint64_t halves, uint64_t apart,
                                   unsigned copies, CuDevicePtr differences, CuStream stream) const;

 private:
  DifferenceCounter(const DriverApi& driver, CuKernel kernel) : driver_(&driver), kernel_(kernel) {}
  const DriverApi* driver_;
  CuKernel kernel_;
};

struct StressTools {
  const GpuKernels& kernels;
  const StressApi& api;
  const DifferenceCounter& counter;
};

// Launch method of a case.
enum class LaunchMode {
  graph,  // a captured graph, replayed on two streams at once
  eager,  // one launch after the other, on two streams in turn
};

struct StressCount {
  int64_t launches = 0;     // launches of the whole plan
  int64_t differences = 0;  // 16-bit units of C that differ from the first launch
};

// One problem on the device: operands, and for each of two streams as many Cs as launches follow each other without a
// comparison. Reuse of a C: a sequence poisons all Cs, launches into one after the other, and compares all, in one
// stream.
class StressCase {
 public:
  StressCase(const StressTools& tools, const Plan& plan, BufferEnd end);
  ~StressCase();
  StressCase(const StressCase&) = delete;
  StressCase& operator=(const StressCase&) = delete;

  // Uploads operands, launches once and stores the result in data.c. Returns the errors of run(), or device (no memory,
  // a fault).
  [[nodiscard]] Result<void> begin(CheckData& data);
  // Repeats the launch of begin() for `seconds`, at least once, and waits. Returns the errors of run(), or device (a
  // fault; the context is lost then).
  [[nodiscard]] Result<StressCount> repeat(double seconds, LaunchMode mode);

 private:
  struct Lane;
  Result<void> upload(const Guarded& from, std::unique_ptr<StressBuffer>& to);
  Result<void> launch_into(const Lane& lane, int64_t copy) const;
  Result<void> enqueue(const Lane& lane) const;
  Result<void> capture(Lane& lane) const;

  const StressTools& tools_;
  const Plan& plan_;
  BufferEnd end_;
  int64_t copies_ = 0;     // Cs of a stream
  size_t c_bytes_ = 0;     // from one C to the next; a multiple of 256
  size_t c_elements_ = 0;  // bytes of C's elements, with the gaps between rows
  std::unique_ptr<StressBuffer> a_, b_, bias_, scale_a_, scale_b_, blocks_a_, blocks_b_;
  std::unique_ptr<StressBuffer> poison_, reference_, differences_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace pbprobe::test
