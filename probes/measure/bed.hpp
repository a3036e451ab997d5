// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where a case runs: its operands on one device, and what can be timed over them.
#pragma once

#include <memory>
#include <vector>

#include "core/facts/host.hpp"
#include "core/result.hpp"
#include "kernels/gemm/choose.hpp"
#include "probes/measure/bench.hpp"
#include "probes/measure/cublaslt.hpp"
#include "probes/measure/cutlass.hpp"
#include "probes/measure/libtorch.hpp"
#include "probes/measure/timing.hpp"

namespace pbprobe {

// One slice of a peak loop with the clock read beside it.
struct PeakSlice {
  double gflops = 0;
  double clock_ghz = 0;
};

class Bed {
 public:
  virtual ~Bed() = default;

  // Compares the kernel's results on this problem with the reference. Error malformed: a wrong element, named.
  [[nodiscard]] virtual Result<void> verify(const Plan& plan) = 0;
  // A sample runs the plan over operands that rotate through more than the last-level cache.
  [[nodiscard]] virtual Result<Contender> kernel(const Plan& plan) = 0;
  // A sample appends a slice and returns its time.
  [[nodiscard]] virtual Result<Contender> peak(const Kernel& kernel, std::vector<PeakSlice>& slices) = 0;
  [[nodiscard]] virtual Result<Contender> libtorch(const Libtorch& library) = 0;
  // By its first heuristic, or by the best of 32.
  [[nodiscard]] virtual Result<Contender> cublaslt(const CublasLt& library, [[maybe_unused]] bool best) {
    return make_error(ErrorCode::unsupported, "{} multiplies on GPUs alone", library.path());
  }
  // The fastest kernel of one of its families.
  [[nodiscard]] virtual Result<Contender> cutlass(const Cutlass& library, [[maybe_unused]] const std::string& family) {
    return make_error(ErrorCode::unsupported, "{} multiplies on GPUs alone", library.path());
  }
  // Our own product of BF16 with the same sizes and layout, by what dispatch chooses for it.
  [[nodiscard]] virtual Result<Contender> bf16() {
    return make_error(ErrorCode::unsupported, "it takes part on GPUs alone");
  }
  // A sample reads B once and does nothing else, with as many threads: what a product of few rows cannot beat.
  [[nodiscard]] virtual Result<Contender> reading() {
    return make_error(ErrorCode::unsupported, "no read-only loop for this device");
  }
  // Cores or SMs that a peak slice uses.
  [[nodiscard]] virtual int64_t peak_units() const = 0;
};

[[nodiscard]] Result<std::unique_ptr<Bed>> make_cpu_bed(const BenchCase& one, const Host& host);
[[nodiscard]] Result<std::unique_ptr<Bed>> make_gpu_bed(const BenchCase& one, const Host& host);

}  // namespace pbprobe
