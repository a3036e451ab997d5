// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where a case runs: its operands on one device, and what can be timed over them.
#pragma once

#include <memory>
#include <vector>

#include "core/facts/host.hpp"
#include "core/result.hpp"
#include "kernels/dispatch/choose.hpp"
#include "probes/measure/bench.hpp"
#include "probes/measure/cublaslt.hpp"
#include "probes/measure/libtorch.hpp"
#include "probes/measure/timing.hpp"

namespace pbprobe {

// One slice of a peak loop with the clock read beside it.
struct PeakSlice {
  double gflops = 0;
  double clock_ghz = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Compares the kernel's results on this problem with the reference. Error malformed: a wrong element, named.
  [[nodiscard]] virtual Result<void> verify(const Plan& plan) = 0;
  // Launches the plan up to `launches` times for up to `seconds`. Errors: malformed (other bits than the first time);
  // device (a launch failed).
  [[nodiscard]] virtual Result<void> repeat([[maybe_unused]] const Plan& plan, [[maybe_unused]] int64_t launches,
                                            [[maybe_unused]] double seconds) {
    return make_error(ErrorCode::unsupported, "only kernels of GPUs are repeated");
  }
  // A sample runs the plan over operands that rotate through more than the last-level cache.
  [[nodiscard]] virtual Result<Candidate> kernel(const Plan& plan) = 0;
  // A sample appends a slice and returns its time.
  [[nodiscard]] virtual Result<Candidate> peak(const Kernel& kernel, std::vector<PeakSlice>& slices) = 0;
  [[nodiscard]] virtual Result<Candidate> libtorch(const Libtorch& library) = 0;
  // By its first heuristic, or by the best of 32.
  [[nodiscard]] virtual Result<Candidate> cublaslt(const CublasLt& library, [[maybe_unused]] bool best) {
    return make_error(ErrorCode::unsupported, "{} computes only on GPUs", library.path());
  }
  // Our own GEMM of BF16 with the same sizes and layout, by what dispatch chooses for it.
  [[nodiscard]] virtual Result<Candidate> bf16() {
    return make_error(ErrorCode::unsupported, "it takes part only on GPUs");
  }
  // A sample reads B once and does nothing else, with as many threads: what a GEMM of small M cannot beat.
  [[nodiscard]] virtual Result<Candidate> reading() {
    return make_error(ErrorCode::unsupported, "no read-only loop for this device");
  }
  // Cores or SMs that a peak slice uses.
  [[nodiscard]] virtual int64_t peak_units() const = 0;
};

[[nodiscard]] Result<std::unique_ptr<Backend>> make_cpu_backend(const BenchCase& one, const Host& host);
[[nodiscard]] Result<std::unique_ptr<Backend>> make_gpu_backend(const BenchCase& one, const Host& host);

}  // namespace pbprobe
