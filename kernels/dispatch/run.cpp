// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/dispatch/run.hpp"

#include <cstddef>
#include <utility>

#include "kernels/cuda/host/gpu.hpp"
#include "kernels/cuda/host/launch.hpp"
#include "kernels/cuda/host/places.hpp"
#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/dispatch/run_cpu.hpp"

namespace pbprobe {
namespace {

// Checks the address of a packed B, and that it does not overlap another matrix.
Result<void> check_packed(const Plan& plan, const void* packed_b, const void* other, int64_t bytes, const char* name) {
  if (plan.prepacked_bytes == 0) return {};
  const auto at = reinterpret_cast<uintptr_t>(packed_b);
  if (packed_b == nullptr || at % kPackedAlign != 0) {
    return make_error(ErrorCode::usage, "the packed B ({}) is at {:#x}: it takes {} bytes at a multiple of {}",
                      describe(plan.problem), at, plan.prepacked_bytes, kPackedAlign);
  }
  const auto begin = reinterpret_cast<uintptr_t>(other);
  if (at < begin + static_cast<uintptr_t>(bytes) && begin < at + static_cast<uintptr_t>(plan.prepacked_bytes)) {
    return make_error(ErrorCode::usage, "{} overlaps the packed B ({}): give it memory of its own", name,
                      describe(plan.problem));
  }
  return {};
}

}  // namespace

Result<void> prepack(const Plan& plan, const void* b, void* packed_b, const ParallelFor& parallel_for) {
  const Problem& p = plan.problem;
  if (plan.kernel == nullptr || plan.kernel->function == nullptr || !p.prepacked_b) {
    return make_error(ErrorCode::usage, "the plan reads an unpacked B: choose() a plan for a problem with prepacked_b");
  }
  PBPROBE_CHECK(validate(p));
  if (plan.prepacked_bytes == 0) return {};
  const int64_t bytes = extent(stored_rows_b(p), stored_columns_b(p), p.ldb) * size_of(p.b);
  if (b == nullptr) return make_error(ErrorCode::usage, "B is a null pointer ({})", describe(p));
  PBPROBE_CHECK(check_packed(plan, packed_b, b, bytes, "B"));
  prepack_cpu(plan, b, packed_b, parallel_for);
  return {};
}

void ParallelFor::operator()(int64_t count, Task task, void* state) const {
  if (call != nullptr) {
    call(pool, count, task, state);
    return;
  }
  for (int64_t i = 0; i < count; ++i) task(state, i);
}

Result<void> run(const Plan& plan, const Operands& operands, const Context& context) {
  if (plan.kernel == nullptr || !plan.kernel->built) {
    return make_error(ErrorCode::usage, "the plan names no kernel that is built: make it with choose()");
  }
  PBPROBE_CHECK(validate(plan.problem));
  PBPROBE_CHECK(validate(plan.problem, operands));
  if (plan.problem.m > 0 && plan.problem.n > 0) {
    const int64_t bytes = extent_c(plan.problem) * size_of(plan.problem.c);
    PBPROBE_CHECK(check_packed(plan, operands.packed_b, operands.c, bytes, "C"));
  }
  if (plan.workspace_bytes > 0 && (context.workspace == nullptr || context.workspace_bytes < plan.workspace_bytes)) {
    return make_error(ErrorCode::usage, "{} needs a workspace of {} bytes and was given {}", plan.kernel->name,
                      plan.workspace_bytes, context.workspace ? context.workspace_bytes : 0);
  }
  if (plan.problem.m == 0 || plan.problem.n == 0) return {};
  if (plan.swapped) {
    Operands swapped = operands;
    std::swap(swapped.a, swapped.b);
    std::swap(swapped.scale_a, swapped.scale_b);
    if (reads_any_address(*plan.swapped->kernel) || maps_read(*plan.swapped, swapped)) {
      return run(*plan.swapped, swapped, context);
    }
    return run(*plan.otherwise, operands, context);
  }
  if (plan.kernel->function == nullptr) {
    if (context.gpu != nullptr) {
      PBPROBE_CHECK(check_places(context.gpu->driver(), context.gpu->device(), plan, operands, context));
    }
    return launch_gpu(plan, operands, context);
  }
  run_cpu(plan, operands, context);
  return {};
}

}  // namespace pbprobe
