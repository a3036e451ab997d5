// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

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

// Returns the work of a call in units of choose_thread_count(). Instructions are as wide for every type, so bytes of
// packed elements measure their number. With few rows or columns, packing or reading the operands takes most of the
// time; with short k, writing C.
double count_shares(const Kernel& kernel, const Problem& p) {
  constexpr double kWritten = 1 << 16;  // elements of C
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  const auto bytes = static_cast<double>(kernel.packed_bytes);
  return m * n * k * bytes / static_cast<double>(kernel.least_work) + m * n / kWritten +
         (m + n) * k * bytes / kReadBytes;
}

// Returns how many packed rows a core's cache holds while the kernel reads the other operand in place.
int64_t count_cached_rows(const Kernel& kernel, int64_t k) {
  if (kernel.cache_bytes == 0) return INT64_MAX;
  return std::max(kernel.cache_bytes / (kernel.packed_bytes * (k + 1)), kernel.tile.m);
}

// Cuts a pass between threads into at least two tasks each. Chooses the cut that reads and writes least while all
// threads are busy. A thread reads rows of A and columns of B again for each task that is cut across them. A piece of a
// row of C costs as much as another kilobyte.
void cut_tasks(CpuBlocks& cpu, const Tile& tile, int64_t line, int64_t threads) {
  constexpr int64_t kTasksPerThread = 4;
  constexpr int64_t kPiece = 1024;
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

}  // namespace

bool swaps_operands(const Kernel& kernel, const Problem& problem) {
  if (!kernel.in_place) return false;
  if (problem.m > kernel.max_m) return true;
  // Tiles hold C transposed, and either operand may be the packed one.
  const bool either = kernel.k_major && problem.a == problem.b && !a_is_km(problem.layout);
  return either && problem.n < problem.m;
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
    const int64_t least_k = swaps ? rows / 2 : (problem.c == problem.accumulator ? 8 : 3) * rows;
    return along_k && problem.k >= least_k;
  }
  constexpr int64_t kLong = 256;  // more rows than a tile's read B again
  return rows <= kernel.tile.m || (along_k && problem.k >= kLong);
}

// Cuts a small-M problem over all of k: only A is packed, and the threads share the columns.
void cut_in_place(Plan& plan, int64_t threads) {
  const Problem& p = plan.problem;
  const bool swaps = swaps_operands(*plan.kernel, p);
  const int64_t rows = swaps ? p.n : p.m;
  const int64_t columns = swaps ? p.m : p.n;
  const double bytes = static_cast<double>(columns) * static_cast<double>(p.k) * static_cast<double>(size_of(p.b));
  const double work = bytes * static_cast<double>(rows) / static_cast<double>(plan.kernel->least_work);
  threads = choose_thread_count(bytes / kReadBytes + work, threads);
  const Tile& tile = plan.tile;
  constexpr int64_t kTasksPerThread = 8;
  CpuBlocks& cpu = plan.cpu;
  cpu.k_block = even_part(plan.problem.k, INT64_MAX, tile.k);
  cpu.rows = cpu.task_rows = even_part(rows, count_cached_rows(*plan.kernel, p.k), tile.m);
  cpu.columns = cpu.task_columns = even_part(columns, INT64_MAX, tile.n);
  if (threads > 1) cpu.task_columns = even_part(cpu.columns, cpu.columns / (threads * kTasksPerThread), tile.n);
  cpu.threads = std::clamp<int64_t>(threads, 1, divide_up(cpu.columns, cpu.task_columns));
  constexpr int64_t kAlign = 64;
  cpu.packed_b_offset = cpu.partials_offset = round_up(cpu.rows * cpu.k_block * plan.kernel->packed_bytes, kAlign);
  plan.workspace_bytes = cpu.packed_b_offset + kAlign;
}

void cut_cpu(Plan& plan, int64_t threads) {
  const Kernel& kernel = *plan.kernel;
  const Problem& p = plan.problem;
  const Tile& tile = kernel.tile;
  constexpr int64_t kMaxBlock = 4096;     // rows or columns of a pass: bounds the workspace
  constexpr int64_t kMaxBytes = 1 << 20;  // short rows or columns may be more, up to these bytes
  CpuBlocks& cpu = plan.cpu;
  threads = choose_thread_count(count_shares(kernel, p), threads);
  cpu.k_block = even_part(p.k, kernel.k_block, tile.k);
  const int64_t line = cpu.k_block * kernel.packed_bytes + kernel.line_bytes;
  const int64_t most = std::max(kMaxBlock, kMaxBytes / line);
  cpu.rows = even_part(p.m, most, tile.m);
  cpu.columns = even_part(p.n, most, tile.n);
  cpu.task_rows = even_part(cpu.rows, kernel.cache_bytes / line, tile.m);
  cpu.task_columns = cpu.columns;
  if (threads > 1) cut_tasks(cpu, tile, line, threads);
  const int64_t tasks = divide_up(cpu.rows, cpu.task_rows) * divide_up(cpu.columns, cpu.task_columns);
  cpu.threads = std::clamp<int64_t>(threads, 1, tasks);
  cpu.partials = p.k > cpu.k_block && size_of(p.c) < size_of(p.accumulator);
  cpu.packed_b_offset = round_up(cpu.rows * line, kPackedAlign);
  const int64_t packed_b = round_up(cpu.columns * line, kPackedAlign);
  // If one task has all rows, no other one reads its columns of B: a thread packs some of them into its cache at a
  // time.
  if (cpu.threads > 1 && cpu.task_rows >= p.m && !p.prepacked_b) {
    const int64_t fitting = std::max<int64_t>(kernel.cache_bytes / line / tile.n, 1) * tile.n;
    cpu.own_columns = std::min(fitting, cpu.task_columns);
    cpu.own_bytes = round_up(cpu.own_columns * line, kPackedAlign);
  }
  const int64_t shared_b = cpu.own_columns > 0 ? cpu.threads * cpu.own_bytes : packed_b;
  cpu.partials_offset = cpu.packed_b_offset + (p.prepacked_b ? 0 : shared_b);
  const int64_t partials = cpu.partials ? cpu.rows * cpu.columns * size_of(p.accumulator) : 0;
  plan.workspace_bytes = cpu.partials_offset + partials + kPackedAlign;
  if (!p.prepacked_b) return;
  cpu.prepacked_block = packed_b;
  plan.prepacked_bytes = packed_b * divide_up(p.n, cpu.columns) * divide_up(p.k, cpu.k_block);
}

}  // namespace pbprobe
