// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/dispatch/choose.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "core/sm.hpp"
#include "kernels/cuda/host/overlap.hpp"
#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/cuda/host/warpgroups.hpp"
#include "kernels/dispatch/cut.hpp"
#include "kernels/dispatch/model.hpp"

namespace pbprobe {
namespace {

// --- what a host can run ---

constexpr int kOwnTarget = 1000;

// Returns how well a target's cubin fits the device: 0 not at all; kOwnTarget exactly; else a plain cubin of the same
// major capability, the nearest first, or PTX that the driver can compile.
int rank_fit(const Target& target, const Gpu& gpu) {
  if (!target.capability) return 0;
  if (*target.capability == gpu.capability) return kOwnTarget;
  const auto theirs = parse_sm(gpu.capability);
  if (const auto* build = find_build(target.id); build != nullptr && !build->ptx.empty()) {
    const auto ptx = parse_sm(build->ptx);
    return ptx && theirs && ptx->suffix == '\0' && ptx_runs_on(*ptx, *theirs) ? 1 : 0;
  }
  const auto ours = parse_sm(target.architecture);
  if (!ours || !theirs || ours->suffix != '\0') return 0;  // an "a" cubin runs on its own capability only
  return cubin_runs_on(*ours, *theirs) ? 1 + static_cast<int>(ours->minor) : 0;
}

Result<const Gpu*> find_gpu(const Host& host, int64_t index) {
  for (const auto& gpu : host.gpus) {
    if (gpu.index == index) return &gpu;
  }
  return make_error(ErrorCode::usage, "GPU {} was requested, and this host has {} GPUs: {}", index, host.gpus.size(),
                    host.driver.sentence.empty() ? "choose an existing GPU" : host.driver.sentence);
}

// Reports whether a kernel of `target` can run. Called for each kernel of the table and each GEMM, so host_lacks()
// makes the sentences only if they are reported. A further cubin (`part`) is an "a" one.
bool runs_here(const Target& target, std::string_view part, const Host& host, const Gpu* gpu) {
  if ((target.kind == TargetKind::gpu) != (gpu != nullptr)) return false;
  if (gpu != nullptr) return !gpu->problem && rank_fit(target, *gpu) >= (part.empty() ? 1 : kOwnTarget);
  return std::find(host.cpu.targets.begin(), host.cpu.targets.end(), target.id) != host.cpu.targets.end();
}

// Returns why a kernel cannot run on this host; "" if it can.
std::string host_lacks(const Target& target, std::string_view part, const Host& host, const Gpu* gpu) {
  if (runs_here(target, part, host, gpu)) return {};
  if (target.kind == TargetKind::gpu) {
    if (gpu == nullptr) return "the kernel is for GPUs, and the operands are in CPU memory";
    if (gpu->problem) return fmt::format("GPU {} cannot be used: {}", gpu->index, *gpu->problem);
    return fmt::format("the kernel's machine code is for compute capability {}, and GPU {} ({}) has {}",
                       target.capability.value_or("?"), gpu->index, gpu->name, gpu->capability);
  }
  if (gpu != nullptr) return "the kernel is for CPUs, and the operands are on a GPU";
  if (target.architecture != host.cpu.architecture) {
    return fmt::format("the kernel is for {} processors, and this CPU is {}", target.architecture,
                       host.cpu.architecture);
  }
  std::vector<std::string> missing;
  for (const auto& feature : target.requires_features) {
    const auto& has = host.cpu.features;
    if (std::find(has.begin(), has.end(), feature) == has.end()) missing.push_back(feature);
  }
  return fmt::format("{} needs {}, and this CPU ({}) lacks {}", target.id, fmt::join(target.requires_features, ", "),
                     host.cpu.name, fmt::join(missing, ", "));
}

// Reports whether this CPU's vendor prefers the target to the order of the table: Zen 4 and 5 execute VDPBF16PS at the
// full rate of VFMADD, Intel's CPUs at half of it.
bool is_preferred(const Target& target, const Host& host) {
  const auto& vendors = target.preferred_by;
  return std::find(vendors.begin(), vendors.end(), host.cpu.vendor) != vendors.end();
}

bool computes_types(const Kernel& kernel, const Problem& p) {
  const bool a = kernel.a == DTypes{} ? p.a == kernel.dtype : kernel.a.has(p.a);
  const bool b = kernel.b == DTypes{} ? p.b == kernel.dtype : kernel.b.has(p.b);
  return a && b && p.blocks == kernel.block_scale && p.accumulator == kernel.accumulator && kernel.c.has(p.c);
}

// Reports whether M fits `max_m`, or N if a CPU kernel can swap A and B.
bool fits_small_m(const Kernel& kernel, const Problem& p) {
  return p.m <= kernel.max_m || (kernel.in_place && p.n <= kernel.max_m && p.a == p.b);
}

bool computes(const Kernel& kernel, const Problem& p) {
  return computes_types(kernel, p) && !(p.prepacked_b && kernel.in_place) && fits_small_m(kernel, p) &&
         (!p.c_is_nm || writes_c_nm(kernel));
}

// Returns why a kernel does not compute this problem; "" if it does.
std::string problem_differs(const Kernel& kernel, const Problem& p) {
  if (computes(kernel, p)) return {};
  if (!computes_types(kernel, p)) return fmt::format("the kernel does not compute these types ({})", describe(p));
  if (!fits_small_m(kernel, p))
    return fmt::format("the kernel is for at most {} rows of A ({})", kernel.max_m, describe(p));
  if (p.c_is_nm && !writes_c_nm(kernel)) return fmt::format("it writes C [m,n] only ({})", describe(p));
  return "the kernel reads an unpacked B, and this B is packed";
}

// --- which kernel ---

// Reports whether the caller accepts the kernel in a plan.
bool is_offered(const Kernel& kernel, const ChooseOptions& options) {
  return kernel.built || options.unbuilt;
}

struct Candidate {
  const Kernel* kernel;
  int fit = 0;
  double rate = 0;     // Gop/s of its path, if a rate was given
  size_t path = 0;     // number of the first candidate of the same path; on a CPU, its own, or 0 if preferred
  double seconds = 0;  // GPU: time that the model predicts
};

Result<const Kernel*> find_forced_kernel(const Problem& problem, const Host& host, const Gpu* gpu,
                                         const ChooseOptions& options) {
  PBPROBE_TRY(const Kernel* kernel, require_kernel(*options.kernel));
  PBPROBE_TRY(const Target* target, require_target(kernel->target));
  if (options.target && *options.target != kernel->target) {
    return make_error(ErrorCode::usage, "kernel {} belongs to target {}, and target {} was requested", kernel->name,
                      kernel->target, *options.target);
  }
  if (auto why = problem_differs(*kernel, problem); !why.empty()) {
    return make_error(ErrorCode::usage, "kernel {}: {}", kernel->name, why);
  }
  if (auto why = host_lacks(*target, kernel->part, host, gpu); !why.empty()) {
    return make_error(ErrorCode::unsupported, "kernel {} cannot run here: {}", kernel->name, why);
  }
  if (!is_offered(*kernel, options)) {
    return make_error(ErrorCode::unsupported, "kernel {}: {}", kernel->name, build_of(*kernel).why_not);
  }
  return kernel;
}

// Lists, for each target that has a kernel for the problem, why it was not chosen; joins neighbours with one reason.
Error make_no_kernel_error(const Problem& problem, const Host& host, const Gpu* gpu, const ChooseOptions& options) {
  struct Reason {
    std::string_view kernel;
    int more;
    std::string why;
  };
  std::vector<Reason> found;
  for (const auto& kernel : kernel_table()) {
    if (options.target && *options.target != kernel.target) continue;
    if (!problem_differs(kernel, problem).empty()) continue;
    const Target* target = find_target(kernel.target);
    if (target == nullptr || (target->kind == TargetKind::gpu) != (gpu != nullptr)) continue;
    const auto lacks = host_lacks(*target, kernel.part, host, gpu);
    const auto elsewhere = better_elsewhere(kernel, problem);
    std::string why = !lacks.empty() ? lacks : !elsewhere.empty() ? elsewhere : std::string(build_of(kernel).why_not);
    if (!found.empty() && found.back().why == why) {
      ++found.back().more;
    } else {
      found.push_back({kernel.name, 0, std::move(why)});
    }
  }
  std::vector<std::string> reasons;
  for (const auto& [kernel, more, why] : found)
    reasons.push_back(more > 0 ? fmt::format("{} and {} more: {}", kernel, more, why)
                               : fmt::format("{}: {}", kernel, why));
  const auto where = gpu ? fmt::format("GPU {} ({}, {})", gpu->index, gpu->name, gpu->capability)
                         : fmt::format("this CPU ({})", host.cpu.name);
  return make_error(ErrorCode::unsupported, "no kernel for {} on {}{}: {}", describe(problem), where,
                    options.target ? " of target " + *options.target : "",
                    reasons.empty() ? "no kernel of pbprobe computes it" : fmt::format("{}", fmt::join(reasons, "; ")));
}

Result<Candidate> find_best_kernel(const Problem& problem, const Host& host, const Rates& rates, const Gpu* gpu,
                                   const ChooseOptions& options) {
  if (options.target) PBPROBE_CHECK(require_target(*options.target));
  std::vector<Candidate> candidates;
  bool all_rated = true;
  for (const auto& kernel : kernel_table()) {
    if (!is_offered(kernel, options) || (options.target && *options.target != kernel.target)) continue;
    if (!computes(kernel, problem)) continue;
    const Target* target = find_target(kernel.target);
    if (target == nullptr || !runs_here(*target, kernel.part, host, gpu) || !better_elsewhere(kernel, problem).empty())
      continue;
    const Peak* peak = peak_of(kernel);
    const auto rate = peak ? rates.find(peak->name) : rates.end();
    all_rated = all_rated && rate != rates.end();
    Candidate one{&kernel, gpu ? rank_fit(*target, *gpu) : 0, rate != rates.end() ? rate->second : 0,
                  !gpu && is_preferred(*target, host) ? 0 : 1 + candidates.size()};
    if (gpu) {
      for (const auto& other : candidates) {
        if (peak_of(*other.kernel) == peak) one.path = std::min(one.path, other.path);
      }
      one.seconds = has_costs(kernel, problem) ? best_split(kernel, problem, *gpu).seconds
                                               : std::numeric_limits<double>::infinity();
    }
    candidates.push_back(one);
  }
  // A kernel that reads unaligned rows without a pass gets the path of the others: the pass costs more than the
  // instruction gains.
  for (auto& one : candidates) {
    if (!one.kernel->reads_any_rows) continue;
    for (const auto& other : candidates) {
      if (other.fit != one.fit || other.kernel->dtype != one.kernel->dtype) continue;
      one.path = std::min(one.path, other.path);
      one.rate = std::max(one.rate, other.rate);
    }
  }
  if (candidates.empty()) return make_no_kernel_error(problem, host, gpu, options);
  // CPU kernels for small M exist because the others read memory more slowly: they precede any rate. With short k,
  // writing C by rows takes most of the time. Small-M kernels write more than a few columns one by one, and come last.
  const auto order = [&](const Candidate& c) {
    if (c.kernel->max_m == INT64_MAX) return 1;
    if (!suits_in_place(*c.kernel, problem)) return 2;
    return swaps_operands(*c.kernel, problem) && problem.n > 4 && problem.k <= 16 ? 2 : 0;
  };
  // tcgen05: none was measured, so that the larger tile, which reads less, stays first.
  const auto area_of = [](const Candidate& c) {
    return is_tcgen05(*c.kernel) ? 0 : c.kernel->tile.m * c.kernel->tile.n;
  };
  const auto better = [&](const Candidate& a, const Candidate& b) {
    if (a.fit != b.fit) return a.fit > b.fit;
    if (gpu == nullptr && order(a) != order(b)) return order(a) < order(b);
    if (all_rated && a.rate != b.rate) return a.rate > b.rate;
    // If only memory decides, more and smaller tiles keep more of it in flight.
    return std::tuple(a.path, a.seconds, area_of(a)) < std::tuple(b.path, b.seconds, area_of(b));
  };
  std::stable_sort(candidates.begin(), candidates.end(), better);
  if (!all_rated) candidates.front().rate = 0;
  return candidates.front();
}

// --- how it is cut ---

// Returns the bytes of a vector that repeats one scale for each row or column, in whole units of 16 bytes.
int64_t spread_bytes(int64_t count) {
  return round_up(count * size_of(DType::fp32), 16);
}

// Plans the first passes and the offsets of their results. `copied`: copies each operand, whatever its address.
Result<void> plan_passes(Plan& plan, bool copied = false) {
  constexpr int64_t kAlign = 256;
  const Problem& p = plan.problem;
  GpuBlocks& gpu = plan.gpu;
  const Reading reading = plan_reading(*plan.kernel, p);
  gpu.transpose_a = reading.a == Pass::transpose;
  gpu.transpose_b = reading.b == Pass::transpose;
  gpu.align_a = reading.a == Pass::align;
  gpu.align_b = reading.b == Pass::align;
  gpu.unaligned_b = reads_unaligned_b(*plan.kernel, p);
  if (gpu.unaligned_b) plan.variant = kUnalignedVariant;
  gpu.overlaps = awaits_kernels_ahead(*plan.kernel);
  if (is_tcgen05(*plan.kernel)) PBPROBE_CHECK(cut_tcgen05(plan));
  gpu.align_a = gpu.align_a || (copied && !gpu.transpose_a);
  gpu.align_b = gpu.align_b || (copied && !gpu.transpose_b);
  const int64_t line = kAlign / size_of(p.a);
  gpu.a_leading = round_up(gpu.transpose_a ? p.k : stored_columns_a(p), line);
  gpu.b_leading = round_up(gpu.transpose_b ? p.k : stored_columns_b(p), line);
  const bool any_a = gpu.transpose_a || gpu.align_a;
  const bool any_b = gpu.transpose_b || gpu.align_b;
  gpu.b_offset = any_a ? (gpu.transpose_a ? p.m : stored_rows_a(p)) * gpu.a_leading * size_of(p.a) : 0;
  gpu.partials_offset =
      gpu.b_offset + (any_b ? (gpu.transpose_b ? p.n : stored_rows_b(p)) * gpu.b_leading * size_of(p.b) : 0);
  const int64_t partials = plan.split > 1 ? plan.split * p.m * p.n * size_of(p.accumulator) : 0;
  gpu.scales_offset = round_up(gpu.partials_offset + partials, kAlign);
  plan.workspace_bytes =
      repeats_scales(plan) ? gpu.scales_offset + spread_bytes(p.m) + spread_bytes(p.n) : gpu.partials_offset + partials;
  plan.workspace_bytes = std::max(plan.workspace_bytes, trimmed_scales_end(plan));
  if (plan.workspace_bytes > 0) plan.workspace_bytes += kAlign;
  std::vector<std::string> passes;
  if (gpu.transpose_a) passes.emplace_back("A is transposed first");
  if (gpu.transpose_b) passes.emplace_back("B is transposed first");
  if (gpu.align_a) passes.emplace_back("A is aligned first");
  if (gpu.align_b) passes.emplace_back("B is aligned first");
  if (trims_scales(plan)) passes.emplace_back("block scales beyond k are zeroed first");
  if (!passes.empty()) plan.transposing = fmt::format("{}", fmt::join(passes, ", "));
  return {};
}

Result<void> cut_gpu(Plan& plan, const Gpu& gpu, std::optional<int64_t> parts, const ClusterShape& shape = {}) {
  const Problem& p = plan.problem;
  const auto& tile = plan.kernel->tile;
  constexpr int64_t kMaxSize = INT32_MAX - 1024;  // sizes are 32-bit on the device; offsets 64-bit
  if (std::max({p.m, p.n, p.k}) > kMaxSize) {
    return make_error(ErrorCode::limit, "{}: GPU kernels take sizes up to {}: split the GEMM", describe(p), kMaxSize);
  }
  // So are the bytes of a stored row, also of an operand that is transposed first.
  const int64_t longest = std::max({stored_columns_a(p), stored_columns_b(p), p.k});
  if (longest > kMaxSize / size_of(p.a)) {
    return make_error(ErrorCode::limit,
                      "{}: GPU kernels take rows of up to {} bytes, and one has {} elements of {}: "
                      "split the GEMM",
                      describe(p), kMaxSize, longest, name_of(p.a));
  }
  const int64_t blocks = divide_up(p.m, tile.m) * divide_up(p.n, tile.n);
  if (blocks > INT32_MAX) {
    return make_error(ErrorCode::limit, "{}: {} tiles exceed a grid's {}: split the GEMM", describe(p), blocks,
                      INT32_MAX);
  }
  const Split split = parts ? make_split(*plan.kernel, p, gpu, *parts, shape) : best_split(*plan.kernel, p, gpu);
  if (plan.kernel->work == GpuWork::blocks) {
    // No part is empty.
    plan.gpu.part = divide_up(stages_of(*plan.kernel, p), split.parts) * tile.k;
    plan.split = std::max<int64_t>(divide_up(p.k, plan.gpu.part), 1);
    plan.grid.x = blocks;
    plan.grid.z = plan.split;
    // Tiles that run together should share as many rows and columns as they can: about a square of them.
    const int64_t together = count_sms(gpu) / plan.kernel->sms;
    plan.gpu.raster_group = std::max<int64_t>(static_cast<int64_t>(std::sqrt(static_cast<double>(together))), 1);
  } else {
    plan.gpu.shape = split.shape;
    cut_warpgroups(plan, count_sms(gpu), split.parts);
  }
  plan.model_seconds = has_costs(*plan.kernel, p) ? split.seconds : 0;
  plan.shared_bytes = plan.kernel->shared_bytes;
  if (plan.grid.x * plan.grid.z <= count_sms(gpu)) {
    plan.shared_bytes = std::max(plan.shared_bytes, shared_of_one_block(*plan.kernel));
  }
  plan.variant = fmt::format("_{}", name_of(layout_read(*plan.kernel, p.layout)));
  return plan_passes(plan);
}

// Plans the same GEMM by a kernel of the target that reads any address, or on copies of the operands.
Result<void> plan_otherwise(Plan& plan, const Gpu& gpu, const ChooseOptions& options) {
  for (const auto& kernel : kernel_table()) {
    if (kernel.target != plan.kernel->target || !reads_any_address(kernel) || !is_offered(kernel, options)) continue;
    if (!computes(kernel, plan.problem)) continue;
    auto other = std::make_shared<Plan>();
    other->kernel = &kernel;
    other->problem = plan.problem;
    other->tile = kernel.tile;
    PBPROBE_CHECK(cut_gpu(*other, gpu, 1));
    other->why = fmt::format("in the place of {}", plan.kernel->name);
    plan.workspace_bytes = std::max(plan.workspace_bytes, other->workspace_bytes);
    plan.otherwise = std::move(other);
    return {};
  }
  auto other = std::make_shared<Plan>(plan);
  PBPROBE_CHECK(plan_passes(*other, true));
  other->why = "on copies of its operands";
  plan.workspace_bytes = std::max(plan.workspace_bytes, other->workspace_bytes);
  plan.otherwise = std::move(other);
  return {};
}

// Returns the problem with A and B swapped, if few columns allow a small-M kernel: C[m,n] = A · B is C'[n,m] = B' · A',
// the same memory read with rows and columns exchanged.
std::optional<Problem> make_swapped_problem(const Problem& p) {
  constexpr int64_t kMostColumns = 128;  // rows of the largest of those kernels
  if (p.n > kMostColumns || p.n >= p.m || p.k == 0 || p.a != p.b || p.c_is_nm || p.blocks != BlockScale::none)
    return std::nullopt;
  Problem other = p;
  std::swap(other.m, other.n);
  std::swap(other.lda, other.ldb);
  std::swap(other.scale_a, other.scale_b);
  // One contiguous column is also a row of k, and a contiguous column of C a row, whatever the layout's name.
  const bool row_of_k = b_is_nk(p.layout) || (p.n == 1 && p.ldb == 1);
  if (p.n == 1 && p.ldb == 1) other.lda = p.k;
  const bool column_of_k = !a_is_km(p.layout);
  other.layout = row_of_k ? (column_of_k ? Layout::nt : Layout::nn) : (column_of_k ? Layout::tt : Layout::tn);
  other.c_is_nm = p.n > 1 || p.ldc > 1 || p.bias;
  if (!other.c_is_nm) other.ldc = p.m;
  return other;
}

// Returns the plan of the swapped problem, if the model finds it faster.
Result<Plan> choose_faster_plan(Plan plan, Result<Plan> other) {
  if (!other.ok() || other->model_seconds >= plan.model_seconds) return plan;
  auto as_it_lies = std::make_shared<Plan>(std::move(plan));
  Plan both = *other;
  both.problem = as_it_lies->problem;
  both.workspace_bytes = std::max(other->workspace_bytes, as_it_lies->workspace_bytes);
  both.why = "A and B are swapped, since C has few columns: " + both.why;
  both.otherwise = as_it_lies->otherwise ? as_it_lies->otherwise : as_it_lies;
  both.swapped = std::make_shared<const Plan>(std::move(*other));
  return both;
}

std::string explain(const Candidate& chosen, const Plan& plan, const Gpu* gpu, bool was_forced) {
  std::string why = was_forced ? "forced by name"
                    : chosen.rate > 0
                        ? fmt::format("its instruction path has the highest measured rate, {:.0f} Gop/s", chosen.rate)
                    : chosen.fit == kOwnTarget ? "the device's own target"
                    : chosen.fit > 0 ? fmt::format("a cubin of the same major capability as {}", gpu->capability)
                    : gpu == nullptr && chosen.path == 0
                        ? fmt::format("target {} is faster than earlier rows of the kernel table on this vendor's CPUs",
                                      plan.kernel->target)
                        : "first row of the kernel table that this CPU can run";
  if (gpu == nullptr) {
    why +=
        fmt::format("; {} of {}×{} tasks, k in {} passes of {}", plan.cpu.threads == 1 ? "one thread" : "threads",
                    plan.cpu.task_rows, plan.cpu.task_columns,
                    divide_up(std::max<int64_t>(plan.split > 1 ? plan.cpu.part : plan.problem.k, 1), plan.cpu.k_block),
                    plan.cpu.k_block);
    if (plan.split > 1) why += fmt::format("; split-K: {} parts of {}", plan.split, plan.cpu.part);
    if (plan.problem.prepacked_b) why += "; B was packed beforehand";
    if (swaps_operands(*plan.kernel, plan.problem)) why += "; C's columns are computed as rows";
  } else {
    why += fmt::format("; {} blocks of {}×{}", plan.grid.x, plan.tile.m, plan.tile.n);
    if (plan.split > 1) why += fmt::format(", split-K: {} parts of {}", plan.split, plan.gpu.part);
    if (splits_in_cluster(*plan.kernel) && plan.gpu.cluster > 1) {
      const GpuBlocks& cut = plan.gpu;
      if (cut.shape.down > 1) why += fmt::format(", {} of a cluster share B", cut.shape.down);
      if (cut.shape.across > 1) why += fmt::format(", {} of a cluster share A", cut.shape.across);
      const int64_t parts = cut.cluster / cut.shape.blocks();
      if (parts > 1) why += fmt::format(", split-K among {} blocks of a cluster", parts);
    } else if (plan.gpu.cluster > 1) {
      why += fmt::format(", {} of a cluster share {}", plan.gpu.cluster, plan.kernel->across ? "A" : "B");
    }
    if (plan.kernel->pingpong) why += ", ping-pong";
    if (const Fit& fit = find_fit(*gpu); fit.device != gpu->name && plan.model_seconds > 0) {
      why += fmt::format("; times by the costs of an {} ({})", fit.device, fit.date);
    }
    if (plan.transposing) why += "; " + *plan.transposing;
    if (plan.gpu.unaligned_b) why += "; B's rows are unaligned and read by threads";
    if (plan.otherwise) {
      why += fmt::format("; where an operand is at no multiple of 16 bytes, {} {}", plan.otherwise->kernel->name,
                         plan.otherwise->kernel == plan.kernel ? "reads copies of them" : "runs");
    }
  }
  return why;
}

}  // namespace

bool runs_on(const Target& target, const Gpu& gpu) {
  return rank_fit(target, gpu) > 0;
}

Result<Plan> choose(const Problem& problem, const Host& host, const Rates& rates, const ChooseOptions& options) {
  PBPROBE_CHECK(validate(problem));
  if (options.threads < 1) {
    return make_error(ErrorCode::usage, "{} threads were asked for: give 1 or more", options.threads);
  }
  if (options.gpu && problem.prepacked_b) {
    return make_error(ErrorCode::unsupported, "{}: GPU kernels read an unpacked B: choose without prepacked_b",
                      describe(problem));
  }
  if (!options.gpu && problem.per_tensor) {
    return make_error(
        ErrorCode::unsupported,
        "{}: CPU kernels take a scale for each row of A and each column of B, not one for the whole matrix",
        describe(problem));
  }
  const Gpu* gpu = nullptr;
  if (options.gpu) {
    PBPROBE_TRY(const Gpu* found, find_gpu(host, *options.gpu));
    gpu = found;
  }
  Candidate chosen{nullptr, 0, 0};
  if (options.kernel) {
    PBPROBE_TRY(chosen.kernel, find_forced_kernel(problem, host, gpu, options));
  } else {
    PBPROBE_TRY(chosen, find_best_kernel(problem, host, rates, gpu, options));
  }
  Plan plan;
  plan.kernel = chosen.kernel;
  plan.problem = problem;
  plan.tile = chosen.kernel->tile;
  if (gpu) {
    PBPROBE_CHECK(cut_gpu(plan, *gpu, options.parts, options.cluster));
    if (!reads_any_address(*plan.kernel) && !problem.c_is_nm) PBPROBE_CHECK(plan_otherwise(plan, *gpu, options));
  } else {
    cut_cpu(plan, options.threads);
  }
  plan.why = explain(chosen, plan, gpu, options.kernel.has_value());
  const std::optional<Problem> other = gpu && !options.kernel ? make_swapped_problem(problem) : std::nullopt;
  if (!other) return plan;
  return choose_faster_plan(std::move(plan), choose(*other, host, rates, options));
}

}  // namespace pbprobe
