// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Device that runs a case: holds the operands, and makes the candidates that are timed over them.
#pragma once

#include <memory>
#include <vector>

#include "core/facts/host.hpp"
#include "core/result.hpp"
#include "kernels/dispatch/choose.hpp"
#include "probes/measure/kernels/bench.hpp"
#include "probes/measure/kernels/timing.hpp"
#include "probes/measure/libtorch/libtorch.hpp"
#include "probes/measure/peers/cublaslt.hpp"

namespace pbprobe {

// One slice of a peak loop with the clock read beside it.
struct PeakSlice {
  double gflops = 0;
  double clock_ghz = 0;
};

// Operands of one bench case on a CPU or GPU, and the kernels and peers that compute it.
class Backend {
 public:
  virtual ~Backend() = default;

  // Compares the kernel's results with the reference. Error malformed: a wrong element, named.
  [[nodiscard]] virtual Result<void> verify(const Plan& plan) = 0;
  // Launches the plan up to `launches` times for up to `seconds`. Errors: malformed (other bits than the first time);
  // device (a launch failed).
  [[nodiscard]] virtual Result<void> repeat([[maybe_unused]] const Plan& plan, [[maybe_unused]] int64_t launches,
                                            [[maybe_unused]] double seconds) {
    return make_error(ErrorCode::unsupported, "only GPU kernels can be repeated");
  }
  // A sample runs the plan over operands that rotate through more than the last-level cache.
  [[nodiscard]] virtual Result<Candidate> kernel(const Plan& plan) = 0;
  // A sample appends a slice and returns its time.
  [[nodiscard]] virtual Result<Candidate> peak(const Kernel& kernel, std::vector<PeakSlice>& slices) = 0;
  [[nodiscard]] virtual Result<Candidate> libtorch(const Libtorch& library) = 0;
  // Uses the first heuristic, or the fastest of 32.
  [[nodiscard]] virtual Result<Candidate> cublaslt(const CublasLt& library, [[maybe_unused]] bool best) {
    return make_error(ErrorCode::unsupported, "{} computes only on GPUs", library.path());
  }
  // Makes pbprobe's BF16 GEMM of the same sizes and layout, with the kernel that dispatch chooses.
  [[nodiscard]] virtual Result<Candidate> bf16() {
    return make_error(ErrorCode::unsupported, "pbprobe's BF16 GEMM takes part only on GPUs");
  }
  // Makes a candidate that only reads B, with the same threads: the time floor of a small-M GEMM.
  [[nodiscard]] virtual Result<Candidate> reading() {
    return make_error(ErrorCode::unsupported, "no read-only loop for this device");
  }
  // Cores or SMs that a peak slice uses.
  [[nodiscard]] virtual int64_t peak_units() const = 0;
};

[[nodiscard]] Result<std::unique_ptr<Backend>> make_cpu_backend(const BenchCase& one, const Host& host);
[[nodiscard]] Result<std::unique_ptr<Backend>> make_gpu_backend(const BenchCase& one, const Host& host);

}  // namespace pbprobe
