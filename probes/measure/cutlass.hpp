// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CUTLASS's kernels as peers: libpbprobe_cutlass.so, which `make cutlass` builds (tools/cutlass).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "kernels/gemm/problem.hpp"
#include "probes/measure/gpu_device.hpp"

namespace pbprobe {

// Where the library may lie: $PBPROBE_CUTLASS_PEER only if it is set, else the build's library folder and by name.
[[nodiscard]] std::vector<std::string> cutlass_places();

class Cutlass {
 public:
  // The first of these that loads. Errors: not_found (none does, with what was tried); unsupported (no such library).
  [[nodiscard]] static Result<Cutlass> load(const std::vector<std::string>& places);
  Cutlass(Cutlass&&) noexcept;
  Cutlass& operator=(Cutlass&&) = delete;
  ~Cutlass();

  // One problem and the kernel for it.
  class Gemm {
   public:
    Gemm(Gemm&&) noexcept;
    Gemm& operator=(Gemm&&) = delete;
    ~Gemm();
    // In the stream. Error: device, with the kernel's name and its status.
    [[nodiscard]] Result<void> run(const Operands& operands, CuStream stream) const;
    [[nodiscard]] const std::string& name() const;

   private:
    friend class Cutlass;
    Gemm() = default;
    struct State;
    std::unique_ptr<State> state_;
  };
  // The kernel of a family ("sm80", "sm90") that is fastest on these operands, each timed `repeats` times after a first
  // run: whoever compares with it times it again. The GEMM must not outlive this library.
  // Error unsupported: none computes the problem, with what the last of them answered.
  [[nodiscard]] Result<Gemm> plan(const Problem& problem, std::string_view family, const Operands& operands,
                                  GpuDevice& device) const;
  // The families that the library has kernels of, in its order.
  [[nodiscard]] std::vector<std::string> families() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Cutlass() = default;
  struct Functions;
  std::unique_ptr<Functions> functions_;
  std::string path_;
};

}  // namespace pbprobe
