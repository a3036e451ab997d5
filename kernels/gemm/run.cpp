// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/gemm/run.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "kernels/gemm/launch.hpp"

namespace pbprobe {
namespace {

CpuType cpu_type(DType type) {
  switch (type) {
    case DType::bf16: return CpuType::bf16;
    case DType::int8: return CpuType::int8;
    case DType::uint8: return CpuType::uint8;
    case DType::int32: return CpuType::int32;
    default: return CpuType::fp32;
  }
}

CpuCall make_call(const Plan& plan, const Operands& o, std::byte* workspace) {
  const Problem& p = plan.problem;
  CpuCall call{};
  call.m = p.m;
  call.n = p.n;
  call.k = p.k;
  call.a = o.a;
  call.b = o.b;
  call.c = o.c;
  call.a_row = a_is_km(p.layout) ? 1 : p.lda;
  call.a_depth = a_is_km(p.layout) ? p.lda : 1;
  call.b_column = b_is_nk(p.layout) ? p.ldb : 1;
  call.b_depth = b_is_nk(p.layout) ? 1 : p.ldb;
  call.ldc = p.ldc;
  call.bias = p.bias ? o.bias : nullptr;
  call.scale_a = p.scale_a ? o.scale_a : nullptr;
  call.scale_b = p.scale_b ? o.scale_b : nullptr;
  call.a_type = cpu_type(p.a);
  call.b_type = cpu_type(p.b);
  call.c_type = cpu_type(p.c);
  call.packed_a = workspace;
  call.packed_b = workspace + plan.cpu.packed_b_offset;
  call.sums = plan.cpu.sums ? workspace + plan.cpu.sums_offset : nullptr;
  call.sums_leading = plan.cpu.columns;
  return call;
}

// One pass of one step: the threads take its tasks in turn, so that fast cores take more of them.
struct Pass {
  const CpuCall& call;
  CpuFunction function;
  CpuStep steps[2];       // one kind of task after the other
  int64_t tasks[2];       // how many of each
  int64_t down;           // compute: tasks along the rows
  int64_t rows, columns;  // of one task
  std::atomic<int64_t> next{0};

  void take() {
    const int64_t all = tasks[0] + tasks[1];
    for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < all;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      const CpuStep step = steps[i < tasks[0] ? 0 : 1];
      const int64_t index = i < tasks[0] ? i : i - tasks[0];
      CpuTask task{step, 0, call.rows, 0, call.columns};
      if (step != CpuStep::pack_b) {
        task.first_row = index % down * rows;
        task.rows = rows;
      }
      if (step != CpuStep::pack_a) {
        task.first_column = (step == CpuStep::compute ? index / down : index) * columns;
        task.columns = columns;
      }
      function(call, task);
    }
  }

  void run(const ParallelFor& parallel_for, int64_t threads) {
    const int64_t workers = std::min(threads, tasks[0] + tasks[1]);
    if (workers <= 1) return take();
    parallel_for(
        workers, [](void* pass, int64_t) { static_cast<Pass*>(pass)->take(); }, this);
  }
};

int64_t divide_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

void run_pass(const Plan& plan, const CpuCall& call, bool pack_b, const ParallelFor& parallel_for) {
  const CpuBlocks& cpu = plan.cpu;
  constexpr int64_t kPanels = 4;  // panels of one packing task
  const int64_t a_rows = plan.tile.m * kPanels;
  const int64_t b_columns = plan.tile.n * kPanels;
  if (call.depths > 0) {
    const int64_t a_tasks = divide_up(call.rows, a_rows);
    const int64_t b_tasks = pack_b ? divide_up(call.columns, b_columns) : 0;
    Pass pack{call,     plan.kernel->function, {CpuStep::pack_a, CpuStep::pack_b}, {a_tasks, b_tasks}, a_tasks, a_rows,
              b_columns};
    pack.run(parallel_for, cpu.threads);
  }
  const int64_t down = divide_up(call.rows, cpu.task_rows);
  const int64_t tasks = down * divide_up(call.columns, cpu.task_columns);
  Pass compute{call,          plan.kernel->function, {CpuStep::compute, CpuStep::compute}, {tasks, 0}, down,
               cpu.task_rows, cpu.task_columns};
  compute.run(parallel_for, cpu.threads);
}

void run_cpu(const Plan& plan, const Operands& operands, const Context& context) {
  const Problem& p = plan.problem;
  const CpuBlocks& cpu = plan.cpu;
  constexpr uintptr_t kAlign = 64;
  const auto address = (reinterpret_cast<uintptr_t>(context.workspace) + kAlign - 1) / kAlign * kAlign;
  CpuCall call = make_call(plan, operands, reinterpret_cast<std::byte*>(address));
  const int64_t passes = std::max<int64_t>(1, divide_up(p.k, cpu.depths));
  for (int64_t column = 0; column < p.n; column += cpu.columns) {
    call.column = column;
    call.columns = std::min(cpu.columns, p.n - column);
    for (int64_t row = 0; row < p.m; row += cpu.rows) {
      call.row = row;
      call.rows = std::min(cpu.rows, p.m - row);
      for (int64_t pass = 0; pass < passes; ++pass) {
        call.depth = pass * cpu.depths;
        call.depths = std::min(cpu.depths, p.k - call.depth);
        call.first = pass == 0;
        call.last = pass + 1 == passes;
        // With k in one pass, the columns' panels serve all blocks of rows.
        run_pass(plan, call, !plan.kernel->in_place && (row == 0 || passes > 1), context.parallel_for);
      }
    }
  }
}

}  // namespace

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
  if (plan.workspace_bytes > 0 && (context.workspace == nullptr || context.workspace_bytes < plan.workspace_bytes)) {
    return make_error(ErrorCode::usage, "{} needs a workspace of {} bytes and was given {}", plan.kernel->name,
                      plan.workspace_bytes, context.workspace ? context.workspace_bytes : 0);
  }
  if (plan.problem.m == 0 || plan.problem.n == 0) return {};
  if (plan.kernel->function == nullptr) return launch_gpu(plan, operands, context);
  run_cpu(plan, operands, context);
  return {};
}

}  // namespace pbprobe
