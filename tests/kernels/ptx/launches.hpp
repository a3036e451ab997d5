// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A driver whose launches run the kernel's PTX in the interpreter: run() and the checker see a GPU of that capability.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/driver/driver_api.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/gemm/checker.hpp"
#include "tests/kernels/ptx/machine.hpp"

namespace pbprobe::ptx {

// State of the driver's launches; global, because they are plain functions.
struct Machine {
  std::string text;
  std::map<std::string, Program> programs;
  std::vector<Range> memory;
  std::string fault;
  std::vector<std::string> launched;
};
extern Machine machine;

[[nodiscard]] DriverApi interpreting_driver(int major, int minor);
// Returns the memory that a check's launches may touch.
[[nodiscard]] std::vector<Range> list_ranges(CheckData& data, std::vector<std::byte>& workspace);

// A target's kernels of one part, by their PTX.
class InterpretedKernels : public testing::Test {
 protected:
  // Skips where the PTX was not built.
  void load(const std::string& target, const std::string& part, int major, int minor);
  [[nodiscard]] std::vector<const Kernel*> kernels() const;
  static Problem make_launch_problem(const Kernel& kernel, int64_t m, int64_t n, int64_t k, DType c = DType::fp32);
  // Runs both tiers of the checker with this kernel and `parts` parts.
  Result<CheckResult> checked(const Kernel& kernel, const Problem& problem, int64_t parts = 1, int64_t misalign = 0);
  void expect_right(const Kernel& kernel, const Problem& problem, int64_t parts = 1, int64_t misalign = 0);
  // Checks each of kernels() at the edges of its tile, in `stages` stages.
  void expect_right_at_edges(int64_t stages);
  // Another PTX than the one that was built: in the kernel of this symbol what matches is something else.
  bool passes_after_edit(const std::string& what, const std::string& instead, const std::string& symbol,
                         const Kernel& kernel, const Problem& problem);
  // The proof of each loop's instruction, as a GPU runs it; how many there are.
  int expect_proofs();

  std::string target_, part_;
  DriverApi driver_;
  std::optional<GpuKernels> kernels_;
};

}  // namespace pbprobe::ptx
