// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/dispatch/run_cpu.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

#include "core/spin.hpp"
#include "kernels/dispatch/cut.hpp"
#include "kernels/dispatch/sum_parts.hpp"

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
  call.a_k = a_is_km(p.layout) ? p.lda : 1;
  call.b_column = b_is_nk(p.layout) ? p.ldb : 1;
  call.b_k = b_is_nk(p.layout) ? 1 : p.ldb;
  call.ldc = p.ldc;
  call.bias = p.bias ? o.bias : nullptr;
  call.scale_a = p.scale_a ? o.scale_a : nullptr;
  call.scale_b = p.scale_b ? o.scale_b : nullptr;
  call.a_type = cpu_type(p.a);
  call.b_type = cpu_type(p.b);
  call.c_type = cpu_type(p.c);
  call.packed_a = workspace;
  call.packed_b = workspace ? workspace + plan.cpu.packed_b_offset : nullptr;
  call.partials = plan.cpu.partials ? workspace + plan.cpu.partials_offset : nullptr;
  call.partials_leading = plan.cpu.columns;
  if (swaps_operands(*plan.kernel, p)) {
    call.transposed = true;
    std::swap(call.m, call.n);
    std::swap(call.a, call.b);
    std::swap(call.a_type, call.b_type);
    std::swap(call.a_row, call.b_column);
    std::swap(call.a_k, call.b_k);
  }
  if (p.k == 0) {  // B may be empty, and small M reads whole words of its columns
    alignas(64) static constexpr std::array<std::byte, 64> kZeros{};
    call.b = kZeros.data();
    call.b_column = call.b_k = 0;
  }
  return call;
}

// Tasks of one step of a call, or of two that need nothing from each other.
struct CpuPhase {
  CpuStep steps[2];       // one kind of task after the other
  int64_t tasks[2];       // number of tasks of each kind
  int64_t down;           // compute: tasks along the rows
  int64_t rows, columns;  // size of one task
  // compute: what a task packs first, of rows or columns that no other one reads; compute itself: nothing
  CpuStep packs = CpuStep::compute;

  [[nodiscard]] int64_t count() const { return tasks[0] + tasks[1]; }

  void run_task(const CpuCall& call, CpuFunction function, int64_t i) const {
    const CpuStep step = steps[i < tasks[0] ? 0 : 1];
    const int64_t index = i < tasks[0] ? i : i - tasks[0];
    CpuTask task{step, 0, call.rows, 0, call.columns, {}};
    if (step != CpuStep::pack_b) {
      task.first_row = index % down * rows;
      task.rows = rows;
    }
    if (step != CpuStep::pack_a) {
      task.first_column = (step == CpuStep::compute ? index / down : index) * columns;
      task.columns = columns;
    }
    if (packs != CpuStep::compute) {
      CpuTask pack = task;
      pack.step = packs;
      function(call, pack);
    }
    function(call, task);
  }
};

// Hands the tasks of all phases of a call to its threads in one parallel region. A thread takes its own share of each
// phase first, which is the same in every call, so that its core's cache still has these lines of the operands; then
// tasks of the other shares, because cores differ in speed. A task begins after every task of the earlier phases has
// ended. A thread waits only for tasks that other threads have taken: if the region has one thread after all (a nested
// region), this thread does every task.
class TaskQueue {
  static constexpr int64_t kMaxShares = 64;

 public:
  explicit TaskQueue(int64_t threads) : shares_(std::min(threads, kMaxShares)) {}

  // Takes part in the work: each thread makes one and passes the same phases to run_phase() in the same order.
  class Worker {
   public:
    Worker(TaskQueue& queue, int64_t thread) : queue_(queue), thread_(thread) {}

    // Calls run_task(i) for each i of `count` on one of the threads.
    template <class Task>
    void run_phase(int64_t count, const Task& run_task) {
      const int64_t shares = queue_.shares_;
      for (int64_t i = 0; i < shares; ++i) {
        const int64_t share = (thread_ + i) % shares;
        const int64_t first = count * share / shares;
        const int64_t end = taken_[static_cast<size_t>(share)] + count * (share + 1) / shares - first;
        for (;;) {
          const int64_t task = queue_.take(share, end);
          if (task >= end) break;
          queue_.await_tasks(ended_);
          run_task(first + task - taken_[static_cast<size_t>(share)]);
          queue_.ended_.fetch_add(1, std::memory_order_release);
        }
        taken_[static_cast<size_t>(share)] = end;
      }
      ended_ += count;
    }

   private:
    TaskQueue& queue_;
    int64_t thread_;
    int64_t ended_ = 0;                           // tasks in the earlier phases
    std::array<int64_t, kMaxShares> taken_ = {};  // tasks in the earlier phases, by share
  };

 private:
  struct alignas(64) Share {
    std::atomic<int64_t> taken{0};
  };

  // Takes the next task of a share and returns its number over all phases; at least `end` if none is left before it.
  int64_t take(int64_t share, int64_t end) {
    auto& taken = taken_[static_cast<size_t>(share)].taken;
    int64_t task = taken.load(std::memory_order_relaxed);
    while (task < end && !taken.compare_exchange_weak(task, task + 1, std::memory_order_relaxed)) {
    }
    return task;
  }

  void await_tasks(int64_t count) const {
    wait_until([&] { return ended_.load(std::memory_order_acquire) >= count; });
  }

  int64_t shares_;
  std::array<Share, kMaxShares> taken_;
  alignas(64) std::atomic<int64_t> ended_{0};
};

// Does every task, as TaskQueue::Worker does for the only thread of a call, without a queue.
struct OnlyWorker {
  template <class Task>
  static void run_phase(int64_t count, const Task& run_task) {
    for (int64_t i = 0; i < count; ++i) run_task(i);
  }
};

constexpr int64_t kPanels = 4;  // panels of one packing task, at most

// A thread that works by itself packs just before it computes, and fetches what it packs next meanwhile. Columns are
// taken in blocks whose panels of B stay in the second-level cache; each block is packed into the same place.
class SingleThreaded {
 public:
  SingleThreaded(const Plan& plan, const CpuCall& call)
      : plan_(plan),
        all_(call),
        down_(plan.tile.m * count_panels(call)),
        across_(count_block_columns(*plan.kernel, call.k_block)),
        wide_(call.k_block <= kShort && call.k_block < call.rows
                  ? across_
                  : std::min(plan.tile.n * count_panels(call), across_)) {}

  void run() const {
    for (int64_t column = 0; column < all_.columns; column += across_) {
      CpuCall call = all_;
      int64_t first = column;
      if (!plan_.problem.prepacked_b) {
        call.column += column;
        call.columns = std::min(across_, all_.columns - column);
        if (call.partials != nullptr) call.partials = static_cast<int32_t*>(call.partials) + column;
        first = 0;
      }
      first_rows(call, first, column);
      if (column == 0) {
        for (int64_t row = down_; row < call.rows; row += down_) {
          step(call, {CpuStep::pack_a, row, down_, 0, 0, {}});
          step(call, {CpuStep::compute,
                      row,
                      down_,
                      first,
                      across_,
                      {get_lines_a(row + down_), get_next_lines_b(column, row)}});
        }
      } else if (call.rows > down_) {
        step(call, {CpuStep::compute, down_, call.rows - down_, first, across_, {get_next_lines_b(column, 0), {}}});
      }
    }
  }

 private:
  // Panels that are packed at once: more of short ones, since each step costs as much as some of their words.
  static int64_t count_panels(const CpuCall& call) {
    return std::clamp<int64_t>(kShort / std::max<int64_t>(call.k_block, 1), 1, kShort);
  }

  // The first panels of rows, by some columns after the other while B is packed.
  void first_rows(const CpuCall& call, int64_t first, int64_t column) const {
    if (column == 0) step(call, {CpuStep::pack_a, 0, down_, 0, 0, {}});
    if (plan_.problem.prepacked_b) {
      step(call, {CpuStep::compute, 0, down_, first, across_, {get_lines_a(down_), {}}});
      return;
    }
    for (int64_t at = 0; at < call.columns; at += wide_) {
      step(call, {CpuStep::pack_b, 0, 0, at, wide_, {}});
      const bool more = at + wide_ < call.columns;
      step(call, {CpuStep::compute,
                  0,
                  down_,
                  at,
                  wide_,
                  {more ? get_lines_b(column + at + wide_, wide_) : get_lines_a(down_), {}}});
    }
  }

  void step(const CpuCall& call, const CpuTask& task) const {
    if (task.step == CpuStep::compute || call.k_block > 0) plan_.kernel->function(call, task);
  }

  // Returns some rows of A or columns of B with this pass's k, in their storage.
  [[nodiscard]] CpuLines lines(const void* matrix, DType type, int64_t line, int64_t k, int64_t first,
                               int64_t count) const {
    if (count <= 0 || all_.k_block == 0) return {};
    const int64_t size = size_of(type);
    const auto* at = static_cast<const char*>(matrix) + (first * line + all_.k_begin * k) * size;
    if (k == 1) return {at, count, line * size, all_.k_block * size};
    return {at, all_.k_block, k * size, count * size};
  }
  [[nodiscard]] CpuLines get_lines_a(int64_t row) const {
    return lines(all_.a, plan_.problem.a, all_.a_row, all_.a_k, all_.row + row, std::min(down_, all_.rows - row));
  }
  [[nodiscard]] CpuLines get_lines_b(int64_t column, int64_t count) const {
    return lines(all_.b, plan_.problem.b, all_.b_column, all_.b_k, all_.column + column,
                 std::min(count, all_.columns - column));
  }
  // Returns lines of the block of columns after this one: all of it, or the share of one panel of rows.
  [[nodiscard]] CpuLines get_next_lines_b(int64_t column, int64_t row) const {
    if (plan_.problem.prepacked_b) return {};
    CpuLines all = get_lines_b(column + across_, across_);
    if (row == 0 || all.count == 0) return all;
    const int64_t panels = divide_up(all_.rows, down_) - 1;
    const int64_t begin = all.count * (row / down_ - 1) / panels;
    const int64_t end = all.count * (row / down_) / panels;
    all.first += begin * all.stride;
    all.count = end - begin;
    return all;
  }

  const Plan& plan_;
  const CpuCall& all_;
  static constexpr int64_t kShort = 64;  // k
  const int64_t down_;
  const int64_t across_;
  const int64_t wide_;  // columns of B that are packed at once: all where more of C is written than of B read
};

template <class Worker>
void run_pass(const Plan& plan, const CpuCall& call, bool pack_b, Worker& worker) {
  const CpuBlocks& cpu = plan.cpu;
  const int64_t down = divide_up(call.rows, cpu.task_rows);
  const int64_t across = divide_up(call.columns, cpu.task_columns);
  // If one task has all rows, its columns of B stay in its core's cache between packing and computing. If one task has
  // all columns, its rows of A stay in the cache.
  CpuStep fused = CpuStep::compute;
  if (pack_b && down == 1 && call.k_block > 0) {
    fused = CpuStep::pack_b;
  } else if (across == 1 && !plan.kernel->in_place && call.k_block > 0) {
    fused = CpuStep::pack_a;
  }
  if (call.k_block > 0 && !cpu.packed_a) {
    const int64_t a_panels = fused == CpuStep::pack_a ? 0 : divide_up(call.rows, plan.tile.m);
    const int64_t b_panels = pack_b && fused != CpuStep::pack_b ? divide_up(call.columns, plan.tile.n) : 0;
    const int64_t panels = std::clamp<int64_t>((a_panels + b_panels) / (2 * cpu.threads), 1, kPanels);
    const int64_t a_tasks = divide_up(a_panels, panels);
    const CpuPhase pack{{CpuStep::pack_a, CpuStep::pack_b},
                        {a_tasks, divide_up(b_panels, panels)},
                        a_tasks,
                        plan.tile.m * panels,
                        plan.tile.n * panels};
    worker.run_phase(pack.count(), [&](int64_t i) { pack.run_task(call, plan.kernel->function, i); });
  }
  const CpuPhase compute{
      {CpuStep::compute, CpuStep::compute}, {down * across, 0}, down, cpu.task_rows, cpu.task_columns, fused};
  worker.run_phase(compute.count(), [&](int64_t i) { compute.run_task(call, plan.kernel->function, i); });
}

// Returns the address of the panels of one block of columns and k in a prepacked B.
void* locate_prepacked(const Plan& plan, void* packed_b, int64_t column, int64_t pass) {
  const int64_t passes = divide_up(plan.problem.k, plan.cpu.k_block);
  return static_cast<std::byte*>(packed_b) + (column / plan.cpu.columns * passes + pass) * plan.cpu.prepacked_block;
}

// Rows and columns of C that one call of visit_passes() computes.
struct CpuRange {
  int64_t first_row, end_row;
  int64_t first_column, end_column;
};

// Calls function(call, whether to pack B) for each block of columns, rows and k, in the order of computation.
template <class Function>
void visit_passes(const Plan& plan, const Operands& operands, CpuCall call, const CpuRange& range,
                  const Function& function) {
  const Problem& p = plan.problem;
  const CpuBlocks& cpu = plan.cpu;
  const int64_t passes = std::max<int64_t>(1, divide_up(p.k, cpu.k_block));
  for (int64_t column = range.first_column; column < range.end_column; column += cpu.columns) {
    call.column = column;
    call.columns = std::min(cpu.columns, range.end_column - column);
    for (int64_t row = range.first_row; row < range.end_row; row += cpu.rows) {
      call.row = row;
      call.rows = std::min(cpu.rows, range.end_row - row);
      for (int64_t pass = 0; pass < passes; ++pass) {
        call.k_begin = pass * cpu.k_block;
        call.k_block = std::min(cpu.k_block, p.k - call.k_begin);
        call.first = pass == 0;
        call.last = pass + 1 == passes;
        // Kernels read it only.
        if (p.prepacked_b) call.packed_b = locate_prepacked(plan, const_cast<void*>(operands.packed_b), column, pass);
        // With k in one pass, the columns' panels serve all blocks of rows.
        function(call, !plan.kernel->in_place && !p.prepacked_b && (row == range.first_row || passes > 1));
      }
    }
  }
}

// Computes one task of a plan whose tasks share nothing.
void run_alone(const Plan& plan, const Operands& operands, CpuCall call, int64_t task) {
  const CpuBlocks& cpu = plan.cpu;
  const int64_t down = divide_up(call.m, cpu.task_rows);
  const int64_t row = task % down * cpu.task_rows;
  const int64_t column = task / down * cpu.task_columns;
  for (void** const memory : {&call.packed_a, &call.packed_b, &call.partials}) {
    if (*memory != nullptr) *memory = static_cast<std::byte*>(*memory) + task * cpu.own_bytes;
  }
  const CpuRange range{row, std::min(row + cpu.task_rows, call.m), column, std::min(column + cpu.task_columns, call.n)};
  OnlyWorker worker;
  visit_passes(plan, operands, call, range, [&](const CpuCall& pass, bool) {
    if (plan.kernel->in_place) {
      CpuCall rows = pass;
      // Kernels read it only.
      if (cpu.packed_a) rows.packed_a = const_cast<float*>(static_cast<const float*>(pass.a) + pass.row * pass.a_row);
      return run_pass(plan, rows, false, worker);
    }
    SingleThreaded(plan, pass).run();
  });
}

// Calls function(worker) once on each of `threads` threads.
template <class Function>
void run_workers(int64_t threads, const ParallelFor& parallel_for, const Function& function) {
  if (threads <= 1) {
    OnlyWorker worker;
    return function(worker);
  }
  struct State {
    TaskQueue queue;
    const Function& function;
  } state{TaskQueue(threads), function};
  const auto work = [](void* pointer, int64_t thread) {
    auto& shared = *static_cast<State*>(pointer);
    TaskQueue::Worker worker(shared.queue, thread);
    shared.function(worker);
  };
  parallel_for(threads, work, &state);
}

// Computes the tasks of each part of k, and then adds up the sums of all parts.
void run_split(const Plan& plan, const Operands& operands, std::byte* workspace, const ParallelFor& parallel_for) {
  const Problem& p = plan.problem;
  const CpuBlocks& cpu = plan.cpu;
  std::byte* const sums = workspace + cpu.sums_offset;
  const int64_t tasks = cpu.threads / plan.split;
  const auto run_task = [&](int64_t i) {
    const int64_t part = i / tasks;
    const Plan own = make_part(plan, part);
    const int64_t first = part * cpu.part;
    const int64_t a = first * (a_is_km(p.layout) ? p.lda : 1) * size_of(p.a);
    const int64_t b = first * (b_is_nk(p.layout) ? 1 : p.ldb) * size_of(p.b);
    const Operands its{.a = static_cast<const std::byte*>(operands.a) + a,
                       .b = static_cast<const std::byte*>(operands.b) + b,
                       .c = sums + part * p.m * p.n * size_of(p.accumulator)};
    run_alone(own, its, make_call(own, its, workspace + part * cpu.part_bytes), i % tasks);
  };
  const int64_t rows = divide_up(p.m, 2 * cpu.threads);
  run_workers(cpu.threads, parallel_for, [&](auto& worker) {
    worker.run_phase(cpu.threads, run_task);
    worker.run_phase(divide_up(p.m, rows),
                     [&](int64_t i) { sum_parts(plan, operands, sums, i * rows, std::min((i + 1) * rows, p.m)); });
  });
}

}  // namespace

void run_cpu(const Plan& plan, const Operands& operands, const Context& context) {
  constexpr uintptr_t kAlign = 64;
  const auto address = (reinterpret_cast<uintptr_t>(context.workspace) + kAlign - 1) / kAlign * kAlign;
  auto* const workspace = reinterpret_cast<std::byte*>(address);
  if (plan.split > 1) return run_split(plan, operands, workspace, context.parallel_for);
  const CpuCall all = make_call(plan, operands, workspace);
  if (plan.cpu.alone) {
    if (plan.cpu.threads == 1) return run_alone(plan, operands, all, 0);
    struct State {
      const Plan& plan;
      const Operands& operands;
      const CpuCall& call;
    } state{plan, operands, all};
    const auto work = [](void* pointer, int64_t task) {
      const auto& shared = *static_cast<const State*>(pointer);
      run_alone(shared.plan, shared.operands, shared.call, task);
    };
    return context.parallel_for(plan.cpu.threads, work, &state);
  }
  const CpuRange range{0, all.m, 0, all.n};
  run_workers(plan.cpu.threads, context.parallel_for, [&](auto& worker) {
    visit_passes(plan, operands, all, range,
                 [&](const CpuCall& call, bool pack_b) { run_pass(plan, call, pack_b, worker); });
  });
}

void prepack_cpu(const Plan& plan, const void* b, void* packed_b, const ParallelFor& parallel_for) {
  const Problem& p = plan.problem;
  const CpuCall all = make_call(plan, {.b = b}, nullptr);
  run_workers(plan.cpu.threads, parallel_for, [&](auto& worker) {
    CpuCall call = all;
    for (call.column = 0; call.column < p.n; call.column += plan.cpu.columns) {
      call.columns = std::min(plan.cpu.columns, p.n - call.column);
      for (call.k_begin = 0; call.k_begin < p.k; call.k_begin += plan.cpu.k_block) {
        call.k_block = std::min(plan.cpu.k_block, p.k - call.k_begin);
        call.packed_b = locate_prepacked(plan, packed_b, call.column, call.k_begin / plan.cpu.k_block);
        const int64_t columns = plan.tile.n * kPanels;
        const CpuPhase pack{{CpuStep::pack_b, CpuStep::pack_b}, {divide_up(call.columns, columns), 0}, 1, 0, columns};
        worker.run_phase(pack.count(), [&](int64_t i) { pack.run_task(call, plan.kernel->function, i); });
      }
    }
  });
}

}  // namespace pbprobe
