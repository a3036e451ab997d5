// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// From a request to the cases that are run. Pure: no device, no clock.
#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "core/targets.hpp"
#include "probes/measure/kernels/bench.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kBf16 = "bf16";  // the one peer that needs no result of the same types
constexpr std::array<std::string_view, 4> kPeers{"libtorch", "cublaslt", "cublaslt_best", kBf16};

std::optional<Layout> parse_layout(std::string_view name) {
  for (const auto& [layout, text] : enum_names(Layout{}))
    if (text == name) return layout;
  return std::nullopt;
}

Problem make_bench_problem(const BenchRequest& bench, const Shape& shape) {
  const Layout layout = parse_layout(bench.layout).value_or(Layout::nt);
  std::optional<DType> out = bench.out;
  if (!out && bench.scaled && bench.dtype == DType::int8) out = DType::bf16;  // INT32 is never scaled
  const int64_t k = shape.k / numbers_in(bench.dtype);
  Problem problem = out ? make_problem(shape.m, shape.n, k, bench.dtype, *out, layout)
                        : make_problem(shape.m, shape.n, k, bench.dtype, layout);
  problem.blocks = bench.blocks;
  if (are_fp32(bench.blocks)) {  // cuBLASLt requires rows of 128 × 128 scales at multiples of 16 bytes
    const auto apart = [](const BlockRows& scales) {
      return scales.squares ? round_up(scales.leading, 4) : scales.leading;
    };
    problem.blocks_lda = apart(block_rows_a(problem));
    problem.blocks_ldb = apart(block_rows_b(problem));
  }
  problem.prepacked_b = bench.prepacked;
  problem.scale_a = problem.scale_b = bench.scaled;
  return problem;
}

std::vector<Shape> list_shapes(const BenchRequest& bench, bool gpu) {
  if (gpu && !bench.gpu_shapes.empty()) return bench.gpu_shapes;
  if (!bench.shapes.empty()) return bench.shapes;
  if (gpu) return {{4096, 4096, 4096}};
  return {{1024, 1024, 1024}};
}

Result<void> check_target(const std::string& id, bool prepacked, const Host& host) {
  PBPROBE_TRY(const Target* const target, require_target(id));
  PBPROBE_CHECK(check_prepacked(*target, prepacked));
  const auto& cpu = host.cpu.targets;
  const auto gpus = distinct_gpus(host);
  const bool here = target->kind == TargetKind::cpu
                        ? std::ranges::find(cpu, id) != cpu.end()
                        : std::ranges::any_of(gpus, [&](const Gpu* gpu) { return gpu->target == id; });
  if (!here)
    return make_error(
        ErrorCode::unsupported, "{} cannot run on this machine, as `pbprobe host` shows: {}", id,
        target->kind == TargetKind::cpu
            ? fmt::format("its CPU runs {}", cpu.empty() ? "no target" : fmt::format("{}", fmt::join(cpu, ", ")))
            : host.driver.sentence);
  const TargetBuild* const build = find_build(id);
  if (build != nullptr && !build->built)
    return make_error(ErrorCode::unsupported, "{} was not built: {}", id, build->why_not);
  return {};
}

// Estimates the bytes of a case: the operands, one packed copy, and the reference.
double estimate_bytes(const BenchRequest& bench, const Shape& shape) {
  const Problem problem = make_bench_problem(bench, shape);
  const auto elements = [](int64_t rows, int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  const double bytes = elements(shape.m, shape.k) * static_cast<double>(size_of(problem.a)) +
                       elements(shape.k, shape.n) * static_cast<double>(size_of(problem.b)) +
                       elements(shape.m, shape.n) * static_cast<double>(size_of(problem.c));
  return 4 * bytes;
}

double memory_there(const Host& host) {
  return static_cast<double>(host.memory_bytes.value_or(int64_t{8} << 30));
}

// Returns the shapes; omits randomly drawn shapes that exceed the memory.
std::vector<Shape> shapes_that_fit(const BenchRequest& bench, bool gpu, const Host& host) {
  std::vector<Shape> shapes = list_shapes(bench, gpu);
  if (bench.drawn)
    std::erase_if(shapes, [&](const Shape& shape) { return estimate_bytes(bench, shape) > memory_there(host); });
  return shapes;
}

Result<void> check_shape(const BenchRequest& bench, const Shape& shape, const Host& host) {
  if (shape.m < 1 || shape.n < 1 || shape.k < 1)
    return make_error(ErrorCode::usage, "shape {}x{}x{}: every size must be 1 or more", shape.m, shape.n, shape.k);
  PBPROBE_CHECK(validate(make_bench_problem(bench, shape)));
  const double memory = estimate_bytes(bench, shape);
  if (memory > memory_there(host))
    return make_error(
        ErrorCode::usage,
        "shape {}x{}x{}: measuring it takes {:.1f} GiB, too much for {:.1f} GiB of memory: give a smaller "
        "shape",
        shape.m, shape.n, shape.k, memory / (1 << 30), memory_there(host) / (1 << 30));
  return {};
}

}  // namespace

size_t shapes_left_out(const BenchRequest& bench, const Host& host) {
  return bench.drawn ? bench.shapes.size() - shapes_that_fit(bench, false, host).size() : 0;
}

Result<void> check_blocks(const BenchRequest& bench) {
  const int64_t numbers = numbers_in(bench.dtype);
  for (const bool gpu : {false, true})
    for (const Shape& shape : list_shapes(bench, gpu))
      if (shape.k % numbers != 0)
        return make_error(ErrorCode::usage, "shape {}x{}x{}: {} has {} numbers in a byte: give a multiple of {} as K",
                          shape.m, shape.n, shape.k, name_of(bench.dtype), numbers, numbers);
  if (bench.blocks == BlockScale::none) return {};
  for (const std::string& peer : bench.against)
    if (peer != kBf16 && !(are_fp32(bench.blocks) && peer.starts_with("cublaslt")))
      return make_error(ErrorCode::usage, "against {}: pbprobe does not measure this peer with block scales: choose {}",
                        peer, are_fp32(bench.blocks) ? "cublaslt, cublaslt_best or bf16" : kBf16);
  return {};
}

Result<void> check_prepacked(const Target& target, bool prepacked) {
  if (!prepacked || target.kind != TargetKind::gpu) return {};
  return make_error(ErrorCode::usage, "{} is a GPU's target, and GPU kernels read unpacked B: leave out --prepacked",
                    target.id);
}

std::vector<const Gpu*> distinct_gpus(const Host& host) {
  std::vector<const Gpu*> gpus;
  for (const Gpu& gpu : host.gpus) {
    const bool known = std::ranges::any_of(gpus, [&](const Gpu* other) { return other->capability == gpu.capability; });
    if (!gpu.problem && !known) gpus.push_back(&gpu);
  }
  return gpus;
}

int64_t bench_threads(const BenchRequest& bench, const Host& host) {
  return bench.threads > 0 ? bench.threads : std::max<int64_t>(host.cpu.usable_cpus, 1);
}

Result<void> check_bench(const BenchRequest& bench, const MeasureRequest& request) {
  if (!parse_layout(bench.layout))
    return make_error(ErrorCode::usage, "unknown layout \"{}\": choose nt, nn, tn or tt", bench.layout);
  PBPROBE_CHECK(check_blocks(bench));
  for (const std::string& peer : bench.against) {
    if (std::ranges::find(kPeers, peer) == kPeers.end())
      return make_error(ErrorCode::usage, "unknown peer \"{}\": choose {}", peer, fmt::join(kPeers, ", "));
    if (bench.scaled && peer != kBf16)
      return make_error(ErrorCode::usage, "against {}: pbprobe does not measure this peer with --scaled: choose {}",
                        peer, kBf16);
    if (peer == "libtorch" && !request.libtorch_dir)
      return make_error(ErrorCode::usage,
                        "against {}: no libtorch was found: activate an environment with a torch, or "
                        "name the artifact",
                        peer);
  }
  if (bench.threads < 0 || bench.threads > std::max<int64_t>(request.host.cpu.usable_cpus, 1))
    return make_error(ErrorCode::usage, "{} threads: this process may use 1 to {}", bench.threads,
                      request.host.cpu.usable_cpus);
  if (bench.target) PBPROBE_CHECK(check_target(*bench.target, bench.prepacked, request.host));
  for (const bool gpu : {false, true})
    for (const Shape& shape : shapes_that_fit(bench, gpu, request.host))
      PBPROBE_CHECK(check_shape(bench, shape, request.host));
  if (bench.drawn && shapes_left_out(bench, request.host) == bench.shapes.size())
    return make_error(ErrorCode::usage, "none of the {} shapes fits into memory: draw more of them",
                      bench.shapes.size());
  return {};
}

std::vector<BenchCase> plan_cases(const BenchRequest& bench, const Host& host) {
  const auto against = [&](std::string_view peer) {
    return std::ranges::find(bench.against, peer) != bench.against.end();
  };
  BenchCase one{.threads = bench_threads(bench, host),
                .slice_seconds = std::max(bench.sustained_seconds, kSliceSeconds),
                .against_libtorch = against("libtorch"),
                .against_cublaslt = against("cublaslt"),
                .against_cublaslt_best = against("cublaslt_best"),
                .against_bf16 = against(kBf16),
                .chosen_only = bench.chosen,
                .timed = bench.timed,
                .asked_for_target = bench.target.has_value()};
  std::vector<BenchCase> cases;
  const auto add = [&](std::optional<int64_t> gpu, std::vector<std::string> targets) {
    one.gpu = gpu;
    one.kernel = bench.kernel;
    one.launches = bench.launches;
    one.targets = std::move(targets);
    for (const Shape& shape : shapes_that_fit(bench, gpu.has_value(), host)) {
      one.problem = make_bench_problem(bench, shape);
      cases.push_back(one);
    }
  };
  const Target* const wanted = bench.target ? find_target(*bench.target) : nullptr;
  if (wanted == nullptr) add(std::nullopt, host.cpu.targets);
  if (wanted != nullptr && wanted->kind == TargetKind::cpu) add(std::nullopt, {wanted->id});
  for (const Gpu* gpu : distinct_gpus(host)) {
    if (bench.prepacked) break;
    if (wanted == nullptr) add(gpu->index, gpu->target ? std::vector{*gpu->target} : std::vector<std::string>{});
    if (wanted != nullptr && gpu->target == wanted->id) add(gpu->index, {wanted->id});
  }
  return cases;
}

CasePlans plan_case(const BenchCase& one, const Host& host) {
  CasePlans result;
  ChooseOptions options{.kernel = one.kernel, .gpu = one.gpu, .threads = one.threads, .unbuilt = one.unbuilt};
  if (one.asked_for_target && !one.kernel) options.target = one.targets.front();
  auto best = choose(one.problem, host, {}, options);
  if (best.ok()) {
    result.best = best->kernel->name;
    result.why = best->why;
  } else {
    result.why_not = best.error().message;
  }
  for (const Kernel& kernel : kernel_table()) {
    if (std::ranges::find(one.targets, kernel.target) == one.targets.end()) continue;
    if (best.ok() && kernel.name == result.best) {
      result.plans.push_back(std::move(*best));
      continue;
    }
    if (one.chosen_only || one.kernel) continue;
    options.kernel = std::string(kernel.name);
    if (auto plan = choose(one.problem, host, {}, options); plan.ok()) result.plans.push_back(std::move(*plan));
  }
  return result;
}

std::string shape_class(int64_t m, int64_t n, int64_t k) {
  const auto [least, most] = std::minmax({m, n});
  if (std::max(most, k) <= 256) return "small";
  if (least <= 32 || most / least >= 16) return "skinny";
  if (m % 16 != 0 || n % 16 != 0 || k % 16 != 0) return "ragged";
  return "square";
}

}  // namespace pbprobe
