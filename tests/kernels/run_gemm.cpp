// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Runs one GEMM several times on one thread by the kernel that dispatch chooses, so that an emulator can count the
// instructions of a call (tools/count-instructions). Operands are zeros: no kernel depends on values.
//
//   kernels_run_gemm TARGET DTYPE M N K CALLS
//
// Prints the kernel, and the multiply-adds of one instruction of 128 bits or more on the target's fastest path of the
// type. The layout is nt; C is BF16 for BF16, else the accumulator's type.
#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/host/host.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/run.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kPeakInstructions = 96;  // multiplications of one iteration of a peak loop (kernels.inc)

// Returns the multiply-adds of one instruction. Counts SVE vectors as 128 bits.
int64_t count_multiply_adds(std::string_view target, DType type) {
  int64_t most = 0;
  for (const Kernel& kernel : kernel_table()) {
    const Peak* peak = kernel.target == target && kernel.dtype == type ? peak_of(kernel) : nullptr;
    if (peak != nullptr) most = std::max(most, peak->operations / kPeakInstructions / 2);
  }
  return most;
}

int64_t parse_number(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Result<void> run_gemm(char** words) {
  const std::string target = words[0];
  const std::string_view name = words[1];
  const DType type = name == "bf16" ? DType::bf16 : name == "int8" ? DType::int8 : DType::fp32;
  const DType c = type == DType::int8 ? DType::int32 : type;
  const Problem p = make_problem(parse_number(words[2]), parse_number(words[3]), parse_number(words[4]), type, c);
  PBPROBE_TRY(const Host host, detect_host(system_sources()));
  PBPROBE_TRY(const Plan plan, choose(p, host, {}, {.target = target}));
  fmt::print("{} {}\n", plan.kernel->name, count_multiply_adds(target, type));
  const auto bytes = [](int64_t elements, DType of) { return static_cast<size_t>(elements * size_of(of)); };
  const std::vector<char> a(bytes(p.m * p.k, type));
  const std::vector<char> b(bytes(p.n * p.k, type));
  std::vector<char> result(bytes(p.m * p.n, c));
  std::vector<char> workspace(static_cast<size_t>(plan.workspace_bytes));
  for (int64_t call = parse_number(words[5]); call > 0; --call) {
    PBPROBE_CHECK(run(plan, {.a = a.data(), .b = b.data(), .c = result.data()},
                      {.workspace = workspace.data(), .workspace_bytes = plan.workspace_bytes}));
  }
  return {};
}

}  // namespace
}  // namespace pbprobe

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "usage: kernels_run_gemm TARGET DTYPE M N K CALLS\n");
    return 2;
  }
  const auto done = pbprobe::run_gemm(argv + 1);
  if (!done.ok()) fmt::print(stderr, "kernels_run_gemm: {}\n", done.error().message);
  return done.ok() ? 0 : 1;
}
