// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/cuda/host/gpu.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/driver/driver_api.hpp"
#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/host/launch.hpp"
#include "kernels/cuda/host/overlap.hpp"
#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/cuda/host/warpgroups.hpp"

namespace pbprobe {
namespace {

// A driver that loads lazily finds out with the first kernel that no cubin fits.
Error load_error(const DriverApi& driver, CuResult result, std::string_view target, const std::string& what) {
  if (result != kCudaErrorNoBinaryForGpu) return driver_error(driver, result, what);
  return make_error(ErrorCode::unsupported, "{}, so this device cannot run {}'s machine code: choose its own target",
                    driver_error_name(driver, result), target);
}

Result<LoadedKernel> load_kernel(const DriverApi& driver, CuLibrary library, const std::string& symbol,
                                 int64_t dynamic_shared, std::string_view target) {
  const auto check = [&](CuResult result, const std::string& what) -> Result<void> {
    if (result != kCudaSuccess) return load_error(driver, result, target, what);
    return {};
  };
  CuKernel handle = nullptr;
  PBPROBE_CHECK(check(driver.cuLibraryGetKernel(&handle, library, symbol.c_str()),
                      fmt::format("finding {} in the {} cubin", symbol, target)));
  CuDevice device = 0;
  PBPROBE_CU(driver, "asking for the current device", cuCtxGetDevice(&device));
  if (dynamic_shared > 0) {
    PBPROBE_CHECK(check(
        driver.cuKernelSetAttribute(kCuFuncMaxDynamicSharedBytes, static_cast<int>(dynamic_shared), handle, device),
        fmt::format("granting {} {} bytes of shared memory", symbol, dynamic_shared)));
  }
  LoadedKernel loaded;
  loaded.handle = handle;
  const std::pair<int, int64_t*> attributes[] = {
      {kCuFuncBinaryVersion, &loaded.binary_version},
      {kCuFuncPtxVersion, &loaded.ptx_version},
      {kCuFuncRegisters, &loaded.registers},
      {kCuFuncLocalBytes, &loaded.local_bytes},
      {kCuFuncStaticSharedBytes, &loaded.shared_bytes},
  };
  for (const auto& [attribute, value] : attributes) {
    int number = 0;
    PBPROBE_CHECK(check(driver.cuKernelGetAttribute(&number, attribute, handle, device),
                        fmt::format("reading attribute {} of {}", attribute, symbol)));
    *value = number;
  }
  return loaded;
}

// A target's own limit, also where its PTX runs on a GPU that has more.
Result<void> check_shared(std::string_view what, std::string_view target, int64_t bytes) {
  PBPROBE_TRY(const Target* row, require_target(target));
  const int64_t most = row->limits.shared_per_block_bytes.value_or(0);
  if (bytes <= most) return {};
  return make_error(ErrorCode::limit, "{} takes {} bytes of shared memory, and a block of {} has at most {}", what,
                    bytes, target, most);
}

int is_aligned(const void* pointer, int64_t rows, int64_t leading, int64_t element) {
  constexpr int64_t kVector = 16;
  const bool next = rows <= 1 || leading * element % kVector == 0;
  return reinterpret_cast<uintptr_t>(pointer) % kVector == 0 && next ? 1 : 0;
}

}  // namespace

Result<const LoadedKernel*> loaded_in(const Context& context, std::string_view target, std::string_view symbol) {
  if (context.gpu == nullptr) {
    return make_error(ErrorCode::usage,
                      "{} is a kernel of {} and the context names no loaded cubin: call "
                      "GpuKernels::load(driver, \"{}\") first",
                      symbol, target, target);
  }
  if (context.gpu->target() != target) {
    return make_error(ErrorCode::usage, "{} is a kernel of {}, and the cubin that was loaded is {}'s", symbol, target,
                      context.gpu->target());
  }
  const LoadedKernel* loaded = context.gpu->find(symbol);
  if (loaded == nullptr) {
    return make_error(ErrorCode::usage, "the {} cubin has no kernel {}", target, symbol);
  }
  return loaded;
}

Result<void> launch(const Launch& what, const Context& context, void** parameters) {
  PBPROBE_TRY(const LoadedKernel* kernel, loaded_in(context, what.target, what.symbol));
  const auto size = [](int64_t number) { return static_cast<unsigned>(number); };
  // A CUkernel stands for its function in the current context.
  const auto& driver = context.gpu->driver();
  const auto text = [&] { return fmt::format("launching {}", what.symbol); };
  if (what.cluster > 1 || what.overlaps) {
    std::array<CuLaunchAttribute, 2> attributes;
    unsigned count = 0;
    if (what.cluster > 1)
      attributes.at(count++) = {.id = kCuLaunchClusterDimension, .value = {.dims = {size(what.cluster), 1, 1}}};
    if (what.overlaps) attributes.at(count++) = {.id = kCuLaunchProgrammaticSerialization, .value = {.flag = 1}};
    CuLaunchConfig config{.grid = {size(what.grid.x), size(what.grid.y), size(what.grid.z)},
                          .block = {size(what.threads), 1, 1},
                          .shared_bytes = size(what.shared_bytes),
                          .stream = static_cast<CuStream>(context.stream),
                          .attributes = attributes.data(),
                          .attribute_count = count};
    PBPROBE_CU(driver, text(), cuLaunchKernelEx(&config, static_cast<CuFunction>(kernel->handle), parameters, nullptr));
    return {};
  }
  PBPROBE_CU(driver, text(),
             cuLaunchKernel(static_cast<CuFunction>(kernel->handle), size(what.grid.x), size(what.grid.y),
                            size(what.grid.z), size(what.threads), 1, 1, size(what.shared_bytes),
                            static_cast<CuStream>(context.stream), parameters, nullptr));
  return {};
}

Result<CuLibrary> load_cubin(const DriverApi& driver, const TargetBuild& build) {
  PBPROBE_TRY(const auto cubin, cubin_of(build));
  CuLibrary library = nullptr;
  const CuResult result = driver.cuLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result != kCudaSuccess)
    return load_error(driver, result, build.target, fmt::format("loading the {} cubin", build.target));
  return library;
}

namespace {

// Further cubins are "a" ones, which another capability does not load; where the first one is too, it was refused.
Result<bool> loads_parts(const DriverApi& driver, CuDevice device, const Target& target) {
  if (target.architecture.ends_with('a')) return true;
  int major = 0;
  int minor = 0;
  PBPROBE_CU(driver, "asking for the device's capability", cuDeviceGetAttribute(&major, kCuCapabilityMajor, device));
  PBPROBE_CU(driver, "asking for the device's capability", cuDeviceGetAttribute(&minor, kCuCapabilityMinor, device));
  return target.capability == fmt::format("{}.{}", major, minor);
}

}  // namespace

Result<GpuKernels> GpuKernels::load(const DriverApi& driver, std::string_view target) {
  PBPROBE_CHECK(require_launch(driver));
  PBPROBE_TRY(const Target* row, require_target(target));
  const TargetBuild* build = find_build(target);
  if (build == nullptr || !build->built || build->frame.empty()) {
    return make_error(ErrorCode::unsupported, "no GPU kernels of {} to load: {}", target,
                      build && !build->built ? build->why_not : "it is a CPU's");
  }
  GpuKernels kernels;
  kernels.driver_ = &driver;
  kernels.target_ = target;
  PBPROBE_CU(driver, "asking for the current device", cuCtxGetDevice(&kernels.device_));
  PBPROBE_CHECK(kernels.load_all(*build));
  for (const auto& part : part_builds()) {
    if (part.target != target || !part.built) continue;
    PBPROBE_TRY(const bool loads, loads_parts(driver, kernels.device_, *row));
    if (loads) PBPROBE_CHECK(kernels.load_all(part));
  }
  return kernels;
}

Result<void> GpuKernels::load_all(const TargetBuild& build) {
  PBPROBE_TRY(CuLibrary library, load_cubin(*driver_, build));
  libraries_.emplace_back(
      library, [driver = driver_](void* loaded) { driver->cuLibraryUnload(static_cast<CuLibrary>(loaded)); });
  const auto add = [&](const std::string& symbol, int64_t shared) -> Result<void> {
    PBPROBE_TRY(auto loaded, load_kernel(*driver_, library, symbol, shared, build.target));
    kernels_.emplace(symbol, loaded);
    return {};
  };
  for (const auto& kernel : kernel_table()) {
    if (kernel.target != build.target || kernel.part != build.part) continue;
    const int64_t shared = std::max(kernel.shared_bytes, shared_of_one_block(kernel));
    for (const auto& symbol : symbols_of(kernel)) PBPROBE_CHECK(add(symbol, shared));
  }
  if (build.part.empty()) {
    for (const auto pass : pass_symbols()) PBPROBE_CHECK(add(std::string(pass), 0));
    for (const auto probe : tensor_probe_symbols(build.target)) PBPROBE_CHECK(add(std::string(probe), 0));
  }
  if (build.part == "tcgen05") PBPROBE_CHECK(add(std::string(kTrimScales), 0));
  for (const auto& peak : peak_table()) {
    if (peak.target != build.target || peak.part != build.part) continue;
    PBPROBE_CHECK(add(std::string(peak.function_name), peak.shared_bytes));
    PBPROBE_CHECK(add(proof_symbol(peak), peak.shared_bytes));
  }
  return {};
}

const LoadedKernel* GpuKernels::find(std::string_view symbol) const {
  const auto found = kernels_.find(symbol);
  return found == kernels_.end() ? nullptr : &found->second;
}

namespace {

GpuType gpu_type(DType type) {
  switch (type) {
    case DType::bf16: return kGpuBf16;
    case DType::fp16: return kGpuFp16;
    case DType::int32: return kGpuInt32;
    default: return kGpuFp32;
  }
}

// An operand that a pass writes into the workspace before the GEMM reads it there: `rows` × `columns` as written.
struct Repacked {
  const void* from;
  int64_t leading;
  std::byte* to;
  int64_t to_leading;
  int64_t rows, columns;
  bool turn;
};

GpuRepack pass_of(const Repacked& r, int64_t element) {
  constexpr int64_t kPieceBytes = kGpuPassVectors * 32 * 16;  // bytes that one warp copies
  constexpr int64_t kWarps = 8;
  const int64_t side = kGpuSquareBytes / element;
  const int64_t blocks = r.turn ? divide_up(r.rows, side) * divide_up(r.columns, side)
                                : divide_up(r.rows * divide_up(r.columns * element, kPieceBytes), kWarps);
  return {r.from,
          r.to,
          r.leading,
          r.to_leading,
          static_cast<int>(r.rows),
          static_cast<int>(r.columns),
          r.turn ? 1 : 0,
          static_cast<int>(blocks)};
}

Result<void> launch_repacks(const Plan& plan, GpuRepacks passes, int64_t element, const Context& context) {
  const std::string symbol = fmt::format("repack_{}", element);
  constexpr int64_t kThreads = 256;
  const Grid grid{int64_t{passes.first.blocks} + passes.second.blocks, 1, 1};
  if (grid.x == 0) return {};
  void* parameters[] = {&passes};
  return launch({plan.kernel->target, symbol, grid, kThreads, 0, 1, plan.gpu.overlaps}, context, parameters);
}

Result<void> launch_reduce(const Plan& plan, GpuCall call, const Context& context) {
  const std::string symbol = plan.problem.accumulator == DType::int32 ? "reduce_int32" : "reduce_fp32";
  constexpr int64_t kThreads = 256;
  constexpr int64_t kMostBlocks = 4096;
  const int64_t blocks = std::min(divide_up(plan.problem.m * plan.problem.n, kThreads), kMostBlocks);
  void* parameters[] = {&call};
  return launch({plan.kernel->target, symbol, Grid{blocks, 1, 1}, kThreads, 0, 1, plan.gpu.overlaps}, context,
                parameters);
}

GpuCall make_call(const Plan& plan, const Operands& o) {
  const Problem& p = plan.problem;
  GpuCall call{};
  call.a = o.a;
  call.b = o.b;
  call.c = o.c;
  call.bias = p.bias ? o.bias : nullptr;
  call.scale_a = p.scale_a ? o.scale_a : nullptr;
  call.scale_b = p.scale_b ? o.scale_b : nullptr;
  call.lda = p.lda;
  call.ldb = p.ldb;
  call.ldc = p.ldc;
  call.m = static_cast<int>(p.m);
  call.n = static_cast<int>(p.n);
  call.k = static_cast<int>(p.k);
  call.split = static_cast<int>(plan.split);
  call.part = static_cast<int>(std::min<int64_t>(plan.gpu.part, p.k));
  call.c_type = gpu_type(p.c);
  call.c_is_nm = p.c_is_nm ? 1 : 0;
  return call;
}

// Repeats the one scale of all of A, and of all of B, for each row and column: a pass "transposes" as many rows, whose
// stride is 0.
Result<void> launch_spread(const Plan& plan, GpuCall& call, std::byte* workspace, const Context& context) {
  const Problem& p = plan.problem;
  std::byte* to = workspace + plan.gpu.scales_offset;
  const auto spread = [&](const float*& scale, int64_t count) {
    if (scale == nullptr) return GpuRepack{};
    const GpuRepack pass = pass_of({scale, 0, to, count, 1, count, true}, size_of(DType::fp32));
    scale = reinterpret_cast<const float*>(to);
    to += (count * size_of(DType::fp32) + 15) / 16 * 16;
    return pass;
  };
  GpuRepacks passes{};
  passes.first = spread(call.scale_a, p.m);
  passes.second = spread(call.scale_b, p.n);
  return launch_repacks(plan, passes, size_of(DType::fp32), context);
}

// Lays out the operands that the plan says, by one launch, and points the call at them.
Result<void> launch_passes(const Plan& plan, GpuCall& call, std::byte* workspace, const Context& context) {
  const Problem& p = plan.problem;
  const GpuBlocks& gpu = plan.gpu;
  GpuRepacks passes{};
  if (gpu.transpose_a || gpu.align_a) {
    passes.first = pass_of({call.a, p.lda, workspace, gpu.a_leading, gpu.transpose_a ? p.m : stored_rows_a(p),
                            gpu.transpose_a ? p.k : stored_columns_a(p), gpu.transpose_a},
                           size_of(p.a));
    call.a = workspace;
    call.lda = gpu.a_leading;
  }
  if (gpu.transpose_b || gpu.align_b) {
    std::byte* to = workspace + gpu.b_offset;
    passes.second = pass_of({call.b, p.ldb, to, gpu.b_leading, gpu.transpose_b ? p.n : stored_rows_b(p),
                             gpu.transpose_b ? p.k : stored_columns_b(p), gpu.transpose_b},
                            size_of(p.b));
    call.b = to;
    call.ldb = gpu.b_leading;
  }
  return launch_repacks(plan, passes, size_of(p.a), context);
}

}  // namespace

Result<void> launch_gpu(const Plan& plan, const Operands& o, const Context& context) {
  const Problem& p = plan.problem;
  if (plan.otherwise && !maps_read(plan, o)) return launch_gpu(*plan.otherwise, o, context);
  const std::string symbol = std::string(plan.kernel->function_name) + plan.variant;
  PBPROBE_TRY(const LoadedKernel* kernel, loaded_in(context, plan.kernel->target, symbol));
  constexpr uintptr_t kAlign = 256;
  const auto address = (reinterpret_cast<uintptr_t>(context.workspace) + kAlign - 1) / kAlign * kAlign;
  auto* workspace = reinterpret_cast<std::byte*>(address);
  GpuCall call = make_call(plan, o);
  if (repeats_scales(plan)) PBPROBE_CHECK(launch_spread(plan, call, workspace, context));
  PBPROBE_CHECK(launch_passes(plan, call, workspace, context));
  call.partials = workspace + plan.gpu.partials_offset;
  call.a_aligned = is_aligned(call.a, plan.gpu.transpose_a ? p.m : stored_rows_a(p), call.lda, size_of(p.a));
  call.b_aligned = is_aligned(call.b, plan.gpu.transpose_b ? p.n : stored_rows_b(p), call.ldb, size_of(p.b));
  call.c_aligned = p.c_is_nm ? 0 : is_aligned(call.c, p.m, call.ldc, size_of(p.c));
  GpuBlockScales blocks{o.blocks_a, o.blocks_b, static_cast<int>(divide_up(blocks_along_k(p), 4))};
  GpuFp32Blocks fp32_blocks{static_cast<const float*>(o.blocks_a), static_cast<const float*>(o.blocks_b),
                            block_rows_a(p).leading, block_rows_b(p).leading};
  // A kernel without blocks takes the first.
  void* parameters[] = {&call, are_fp32(p.blocks) ? static_cast<void*>(&fp32_blocks) : &blocks};
  PBPROBE_CHECK(check_shared(plan.kernel->name, plan.kernel->target, kernel->shared_bytes + plan.shared_bytes));
  if (is_tcgen05(*plan.kernel)) {
    if (p.k > 0) return launch_tcgen05(plan, call, blocks, workspace, context);
    call.split = 0;  // k = 0: the pass writes C from no parts
    return launch_reduce(plan, call, context);
  }
  if (plan.kernel->work == GpuWork::blocks) {
    PBPROBE_CHECK(
        launch({plan.kernel->target, symbol, plan.grid, plan.kernel->threads, plan.shared_bytes, 1, plan.gpu.overlaps},
               context, parameters));
  } else {
    PBPROBE_CHECK(launch_warpgroups(plan, call, fp32_blocks, symbol, context));
  }
  return plan.split > 1 ? launch_reduce(plan, call, context) : Result<void>{};
}

Result<void> run_peak(const Peak& peak, int64_t iterations, int64_t blocks, GpuPeakSample* samples,
                      const Context& context) {
  if (peak.threads == 0) return make_error(ErrorCode::usage, "{} is a CPU's loop: call its function", peak.name);
  if (iterations < 1 || blocks < 1 || blocks > INT32_MAX) {
    return make_error(ErrorCode::usage, "{}: {} iterations in {} blocks: give 1 or more of each", peak.name, iterations,
                      blocks);
  }
  long long count = iterations;
  void* parameters[] = {&samples, &count};
  return launch({peak.target, peak.function_name, Grid{blocks, 1, 1}, peak.threads, peak.shared_bytes}, context,
                parameters);
}

}  // namespace pbprobe
