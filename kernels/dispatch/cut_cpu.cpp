// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "kernels/dispatch/cut.hpp"

namespace pbprobe {
namespace {

// Cuts `size` into the fewest parts of at most `most`, of nearly equal size and multiples of `unit`.
int64_t even_part(int64_t size, int64_t most, int64_t unit) {
  if (size <= 0) return unit;
  const int64_t parts = divide_up(size, std::max(most, unit));
  return round_up(divide_up(size, parts), unit);
}

// Bytes of operands that one core reads or packs in about 20 µs, the least that makes another thread worth calling.
constexpr double kReadBytes = 256 << 10;

// Returns a thread count. `shares`: the call's work in units that make another thread worth calling, since calling one,
// and waiting for the last, takes some microseconds.
int64_t choose_thread_count(double shares, int64_t threads) {
  return static_cast<int64_t>(std::clamp(shares, 1.0, static_cast<double>(threads)));
}

// Tasks of a unit of work, once a second thread is worth calling, if threads do not wait for each other's panels.
constexpr int64_t kTasksPerShare = 4;
// The work in whose time threads wait for each other.
constexpr double kWait = 0.25;

// Returns the work of writing m × n of C, in units of choose_thread_count().
double count_written(int64_t m, int64_t n) {
  constexpr double kWritten = 1 << 16;  // elements
  return static_cast<double>(m) * static_cast<double>(n) / kWritten;
}

// Returns the work of a call that computes m × n of C, in units of choose_thread_count(). Instructions are as wide for
// every type, so bytes of packed elements measure their number. With few rows or columns, packing or reading the
// operands takes most of the time; with short k, writing C.
double count_shares(const Kernel& kernel, int64_t m, int64_t n, int64_t k) {
  const double bytes = static_cast<double>(k) * static_cast<double>(kernel.packed_bytes);
  const double multiplied = static_cast<double>(m) * static_cast<double>(n) * bytes;
  return multiplied / static_cast<double>(kernel.least_work) + count_written(m, n) +
         static_cast<double>(m + n) * bytes / kReadBytes;
}

// Returns the work of a kernel that reads `columns` in place, in units of choose_thread_count(), without packing.
double count_in_place(const Kernel& kernel, const Problem& p, int64_t rows, int64_t columns) {
  const double bytes = static_cast<double>(columns) * static_cast<double>(p.k) * static_cast<double>(size_of(p.b));
  return bytes / kReadBytes + count_written(rows, columns) +
         bytes * static_cast<double>(rows) / static_cast<double>(kernel.least_work);
}

// Returns how many packed rows a core's cache holds while the kernel reads the other operand in place.
int64_t count_cached_rows(const Kernel& kernel, int64_t k) {
  if (kernel.cache_bytes == 0) return INT64_MAX;
  return std::max(kernel.cache_bytes / (kernel.packed_bytes * (k + 1)), kernel.tile.m);
}

constexpr int64_t kPiece = 1024;  // writing a piece of a row of C takes as long as reading these bytes

// Cuts a pass between threads into at least two tasks each. Chooses the cut that reads and writes least while all
// threads are busy. A thread reads rows of A and columns of B again for each task that is cut across them.
void cut_tasks(CpuBlocks& cpu, const Tile& tile, int64_t line, int64_t threads) {
  constexpr int64_t kTasksPerThread = 4;
  const int64_t wanted = threads * kTasksPerThread;
  const CpuBlocks all = cpu;
  int64_t most = 0;
  double least = 0;
  for (int64_t parts = divide_up(all.rows, all.task_rows);; parts += std::max<int64_t>(parts / 8, 1)) {
    const int64_t rows = even_part(all.rows, all.rows / parts, tile.m);
    const int64_t down = divide_up(all.rows, rows);
    const int64_t columns = even_part(all.columns, all.columns / std::max<int64_t>(wanted / down, 1), tile.n);
    const int64_t across = divide_up(all.columns, columns);
    const int64_t bytes = line * (all.columns * std::min(down, threads) + all.rows * std::min(across, threads)) +
                          kPiece * all.rows * across;
    const double busy = static_cast<double>(down * across) / static_cast<double>(round_up(down * across, threads));
    const double cost = static_cast<double>(bytes) / busy;
    const int64_t tasks = std::min(down * across, 2 * threads);
    if (tasks > most || (tasks == most && cost < least)) {
      most = tasks;
      least = cost;
      cpu.task_rows = rows;
      cpu.task_columns = columns;
    }
    if (rows == tile.m || parts > wanted) return;
  }
}

// Rows and columns of C that one thread of a plan computes alone.
struct AloneTask {
  int64_t rows, columns;
  double shares;  // the work of the task, in units of choose_thread_count()
};

// Cuts C into at most `threads` tasks, each with its own packed operands, so that the largest one ends first.
AloneTask cut_alone(const Kernel& kernel, const Problem& p, int64_t threads) {
  const auto cut = [&](int64_t down, int64_t across) {
    const int64_t rows = even_part(p.m, divide_up(p.m, down), kernel.tile.m);
    const int64_t columns = even_part(p.n, divide_up(p.n, across), kernel.tile.n);
    const double pieces = columns < p.n ? static_cast<double>(rows * kPiece) / kReadBytes : 0;
    return AloneTask{rows, columns, count_shares(kernel, std::min(rows, p.m), std::min(columns, p.n), p.k) + pieces};
  };
  AloneTask best = cut(1, 1);
  for (int64_t down = 1; down <= threads; ++down) {
    const AloneTask task = cut(down, threads / down);
    if (task.shares < best.shares) best = task;
    if (task.rows == kernel.tile.m) break;
  }
  return best;
}

// Reports whether threads that pack all they read end before threads that share what they pack: if what they pack
// more is little, or little of their work. Many threads wait longer for each other's panels than few.
bool suits_alone(const Kernel& kernel, const Problem& p, const AloneTask& task, int64_t threads) {
  constexpr int64_t kManyThreads = 8;
  const bool many = threads >= kManyThreads;
  const int64_t lines = task.rows + task.columns - (p.m + p.n) / threads;
  const double more = static_cast<double>(lines * p.k * kernel.packed_bytes) / kReadBytes;
  return more <= (many ? 8 : 0.5) || more <= task.shares / (many ? 4 : 16);
}

// Returns the work of the slowest thread of a plan that is not split, in units of choose_thread_count().
// Packing long rows of little work waits for memory: it takes three times as long as count_shares() says.
double count_slowest(const Plan& plan) {
  const Problem& p = plan.problem;
  const Kernel& kernel = *plan.kernel;
  const CpuBlocks& cpu = plan.cpu;
  const auto threads = static_cast<double>(cpu.threads);
  const auto count_packed = [&](int64_t lines) {
    return static_cast<double>(lines * p.k * kernel.packed_bytes) / kReadBytes;
  };
  if (kernel.in_place) {
    const bool swaps = swaps_operands(kernel, p);
    const int64_t rows = swaps ? p.n : p.m;
    const auto packers = static_cast<double>(cpu.alone ? 1 : std::min(cpu.threads, divide_up(rows, kernel.tile.m)));
    const double packed = cpu.packed_a ? 0 : 3 * count_packed(rows) / packers;
    return count_in_place(kernel, p, rows, swaps ? p.m : p.n) / threads + packed + (cpu.alone ? 0 : kWait);
  }
  if (cpu.alone) {
    const int64_t rows = std::min(cpu.task_rows, p.m);
    const int64_t columns = std::min(cpu.task_columns, p.n);
    return count_shares(kernel, rows, columns, p.k) + 2 * count_packed(rows + columns);
  }
  const int64_t tasks = divide_up(p.m, cpu.task_rows) * divide_up(p.n, cpu.task_columns);
  const double busy = static_cast<double>(tasks) / static_cast<double>(round_up(tasks, cpu.threads));
  const auto waits = static_cast<double>(2 * divide_up(p.k, cpu.k_block));
  return (count_shares(kernel, p.m, p.n, p.k) / busy + 2 * count_packed(p.m + p.n)) / threads + waits * kWait;
}

}  // namespace

bool swaps_operands(const Kernel& kernel, const Problem& problem) {
  if (!kernel.in_place) return false;
  if (problem.m > kernel.max_m) return true;
  // Tiles hold C transposed, and either operand may be the packed one.
  const bool either = kernel.k_major && problem.a == problem.b && !a_is_km(problem.layout);
  return either && problem.n < problem.m;
}

int64_t count_block_columns(const Kernel& kernel, int64_t k_block) {
  const int64_t line = round_up(std::max<int64_t>(k_block, 1), kernel.tile.k) * kernel.packed_bytes + kernel.line_bytes;
  return std::max<int64_t>(kernel.cache_bytes / kernel.tile.n / line, 1) * kernel.tile.n;
}

bool suits_in_place(const Kernel& kernel, const Problem& problem) {
  const bool swaps = swaps_operands(kernel, problem);
  const int64_t rows = swaps ? problem.n : problem.m;
  const bool along_k = swaps ? !a_is_km(problem.layout) : b_is_nk(problem.layout);
  constexpr int64_t kPasses = 4;  // over the operand in place
  if (rows < kernel.least_m || divide_up(rows, count_cached_rows(kernel, problem.k)) > kPasses) return false;
  if (kernel.k_major) {
    // Other kernels write accumulators straight into C; this one transposes them first if nothing is swapped. With many
    // columns and short k, writing C takes most of the time either way.
    const int64_t least_k = swaps ? rows / 4 : (problem.c == problem.accumulator ? 8 : 3) * rows;
    return along_k && problem.k >= least_k;
  }
  constexpr int64_t kLong = 256;  // more rows than a tile's read B again
  return rows <= kernel.tile.m || (along_k && problem.k >= kLong);
}

namespace {

// Cuts a small-M problem over all of k: only A is packed, and the threads share the columns.
void cut_in_place(Plan& plan, int64_t threads) {
  const Problem& p = plan.problem;
  const Kernel& kernel = *plan.kernel;
  const bool swaps = swaps_operands(kernel, p);
  const int64_t rows = swaps ? p.n : p.m;
  const int64_t columns = swaps ? p.m : p.n;
  constexpr int64_t kAlign = 64;
  CpuBlocks& cpu = plan.cpu;
  cpu.k_block = even_part(p.k, INT64_MAX, kernel.tile.k);
  cpu.rows = cpu.task_rows = even_part(rows, count_cached_rows(kernel, p.k), kernel.tile.m);
  const int64_t packed_a = round_up(cpu.rows * cpu.k_block * kernel.packed_bytes, kAlign);
  cpu.packed_b_offset = cpu.partials_offset = packed_a;
  const double shares = count_in_place(kernel, p, rows, columns);
  // Packed rows of FP32 are rows of whole vectors.
  cpu.packed_a = p.a == DType::fp32 && p.b == DType::fp32 && (swaps ? b_is_nk(p.layout) : !a_is_km(p.layout)) &&
                 (swaps ? p.ldb : p.lda) == p.k && p.k % kernel.tile.k == 0;
  // The rows of a tile register take long to pack beside their multiplication.
  constexpr int64_t kAlonePerThread = 24 << 10;
  const bool is_quick = !kernel.k_major || packed_a <= threads * kAlonePerThread;
  const bool fits = cpu.packed_a || threads * packed_a + kAlign <= kKeptWorkspace;
  cpu.alone = threads == 1 || shares < 2 || (is_quick && fits);
  if (cpu.alone) {
    const int64_t tasks = shares < 1 ? 1 : choose_thread_count(kTasksPerShare * shares, threads);
    // Kernels read vectors along k of up to four columns at once, of three or four if there are more rows.
    const bool along_k = swaps ? !a_is_km(p.layout) : b_is_nk(p.layout);
    const int64_t at_once = rows <= 3 ? 4 : 12;
    cpu.task_columns =
        even_part(columns, divide_up(columns, tasks), along_k && !kernel.k_major ? at_once : kernel.tile.n);
    cpu.task_rows = round_up(rows, cpu.rows);
    cpu.columns = cpu.task_columns;
    cpu.threads = std::max<int64_t>(divide_up(columns, cpu.task_columns), 1);
    cpu.own_bytes = cpu.packed_a ? 0 : packed_a;
    plan.workspace_bytes = cpu.packed_a ? 0 : cpu.threads * packed_a + kAlign;
  } else {
    constexpr int64_t kTasksPerThread = 8;
    threads = choose_thread_count(shares, threads);
    cpu.columns = even_part(columns, INT64_MAX, kernel.tile.n);
    cpu.task_columns = even_part(cpu.columns, cpu.columns / (threads * kTasksPerThread), kernel.tile.n);
    cpu.threads = std::clamp<int64_t>(threads, 1, divide_up(cpu.columns, cpu.task_columns));
    plan.workspace_bytes = packed_a + kAlign;
  }
}

// Cuts a problem whose operands are packed.
void cut_packed(Plan& plan, int64_t threads) {
  const Kernel& kernel = *plan.kernel;
  const Problem& p = plan.problem;
  const Tile& tile = kernel.tile;
  constexpr int64_t kMaxBlock = 4096;     // rows or columns of a pass: bounds the workspace
  constexpr int64_t kMaxBytes = 1 << 20;  // short rows or columns may be more, up to these bytes
  CpuBlocks& cpu = plan.cpu;
  const double shares = count_shares(kernel, p.m, p.n, p.k);
  cpu.k_block = even_part(p.k, kernel.k_block, tile.k);
  const int64_t line = cpu.k_block * kernel.packed_bytes + kernel.line_bytes;
  const int64_t most = std::max(kMaxBlock, kMaxBytes / line);
  cpu.partials = p.k > cpu.k_block && size_of(p.c) < size_of(p.accumulator);
  const auto cut_blocks = [&](int64_t rows, int64_t columns) {
    cpu.rows = even_part(rows, most, tile.m);
    cpu.columns = even_part(columns, most, tile.n);
    cpu.packed_b_offset = round_up(cpu.rows * line, kPackedAlign);
    cpu.partials_offset = cpu.packed_b_offset;
    // The last pass may have a shorter k and pack more columns at a time.
    const int64_t at_once = cpu.alone ? std::max(kernel.cache_bytes, tile.n * line) : INT64_MAX;
    if (!p.prepacked_b) cpu.partials_offset += round_up(std::min(cpu.columns * line, at_once), kPackedAlign);
    const int64_t partials = cpu.partials ? cpu.rows * cpu.columns * size_of(p.accumulator) : 0;
    return round_up(cpu.partials_offset + partials, kPackedAlign);
  };
  const AloneTask task = cut_alone(kernel, p, p.prepacked_b || shares < 1 ? 1 : threads);
  threads = choose_thread_count(shares, threads);
  cpu.alone = threads == 1 || (!p.prepacked_b && suits_alone(kernel, p, task, threads));
  if (cpu.alone) {
    cpu.task_rows = task.rows;
    cpu.task_columns = task.columns;
    cpu.threads = std::max<int64_t>(divide_up(p.m, task.rows) * divide_up(p.n, task.columns), 1);
    cpu.own_bytes = cut_blocks(task.rows, task.columns);
    plan.workspace_bytes = cpu.threads * cpu.own_bytes + kPackedAlign;
    cpu.alone = cpu.threads == 1 || plan.workspace_bytes <= kKeptWorkspace;
  }
  if (!cpu.alone) {
    plan.workspace_bytes = cut_blocks(p.m, p.n) + kPackedAlign;
    cpu.task_rows = even_part(cpu.rows, kernel.cache_bytes / line, tile.m);
    cpu.task_columns = cpu.columns;
    cut_tasks(cpu, tile, line, threads);
    const int64_t tasks = divide_up(cpu.rows, cpu.task_rows) * divide_up(cpu.columns, cpu.task_columns);
    cpu.threads = std::clamp<int64_t>(threads, 1, tasks);
  }
  if (!p.prepacked_b) return;
  cpu.prepacked_block = round_up(cpu.columns * line, kPackedAlign);
  plan.prepacked_bytes = cpu.prepacked_block * divide_up(p.n, cpu.columns) * divide_up(p.k, cpu.k_block);
}

void cut_whole(Plan& plan, int64_t threads) {
  plan.kernel->in_place ? cut_in_place(plan, threads) : cut_packed(plan, threads);
}

// Splits k into `parts`, each cut for a thread or more. Returns nullopt if the sums take too much memory.
std::optional<Plan> split_k(const Plan& whole, int64_t parts, int64_t threads) {
  constexpr int64_t kUnit = 128;  // elements: whole vectors and cache lines of every type
  const Problem& p = whole.problem;
  Plan plan = whole;
  plan.cpu.part = round_up(divide_up(p.k, parts), kUnit);
  plan.split = divide_up(p.k, plan.cpu.part);
  Plan part = make_part(plan, 0);
  for (int64_t each = threads / plan.split;; each = 1) {  // one thread shares no panels
    part.cpu = {};
    cut_whole(part, each);
    if (part.cpu.alone) break;
  }
  part.cpu.part = plan.cpu.part;
  plan.cpu = part.cpu;
  plan.cpu.part_bytes = round_up(part.workspace_bytes, kPackedAlign);
  plan.cpu.sums_offset = plan.split * plan.cpu.part_bytes;
  plan.workspace_bytes = plan.cpu.sums_offset + plan.split * p.m * p.n * size_of(p.accumulator) + kPackedAlign;
  plan.cpu.threads *= plan.split;
  if (plan.workspace_bytes > kKeptWorkspace) return std::nullopt;
  return plan;
}

}  // namespace

Plan make_part(const Plan& plan, int64_t part) {
  Plan own;
  own.kernel = plan.kernel;
  own.tile = plan.tile;
  own.problem = plan.problem;
  own.cpu = plan.cpu;
  own.cpu.threads = plan.cpu.threads / plan.split;
  Problem& p = own.problem;
  p.k = std::min(plan.cpu.part, p.k - part * plan.cpu.part);
  p.c = p.accumulator;
  p.ldc = p.n;
  p.bias = p.scale_a = p.scale_b = false;
  return own;
}

void cut_cpu(Plan& plan, int64_t threads) {
  cut_whole(plan, threads);
  const Problem& p = plan.problem;
  constexpr int64_t kLeastPart = 512;  // bytes of a row
  constexpr double kGain = 0.8;        // part of the estimated time that pays for what the estimate leaves out
  threads = choose_thread_count(kTasksPerShare * count_shares(*plan.kernel, p.m, p.n, p.k), threads);
  double best = kGain * count_slowest(plan);
  if (p.prepacked_b || best < kWait) return;
  const Plan whole = plan;
  for (int64_t parts = 2; parts <= threads; parts = parts < threads ? std::min(2 * parts, threads) : threads + 1) {
    if (p.k * size_of(p.a) < parts * kLeastPart) return;
    const auto split = split_k(whole, parts, threads);
    if (!split) continue;
    // The sums come from other cores, which takes longer than to write them.
    const double sums = 2 * count_written(p.m, p.n) * static_cast<double>(parts) / static_cast<double>(threads);
    const double work = count_slowest(make_part(*split, 0)) + sums + kWait;
    if (work >= best) continue;
    best = work;
    plan = *split;
  }
}

}  // namespace pbprobe
