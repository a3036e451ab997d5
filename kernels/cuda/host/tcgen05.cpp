// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/cuda/host/tcgen05.hpp"

#include <algorithm>

#include "core/driver/driver_api.hpp"
#include "kernels/built.hpp"  // PBPROBE_HAS_TCGEN05 (kernels/CMakeLists.txt)

namespace pbprobe {
namespace {

// A grid's second size, 65535, in whole clusters of up to eight; the tile order may exchange the first two sizes.
constexpr int64_t kMostDown = 65528;
constexpr int64_t kMostNumbers = INT32_MAX - 1024;  // numbers in a row; two E2M1 share a byte

bool rows_fit(int64_t leading, DType type) {
  return leading * size_of(type) % kMapBytes == 0;
}

// Reports whether the target has kernels of the type that read any address; FP8 has none.
bool has_stand_in(const Kernel& kernel) {
  const auto rows = kernel_table();
  return std::any_of(rows.begin(), rows.end(), [&](const Kernel& other) {
    return other.target == kernel.target && other.dtype == kernel.dtype && reads_any_address(other);
  });
}

// Copies of the scales of both operands: tiles of 128 rows × 4 scales, A before B.
struct Trimmed {
  int64_t offset = 0;  // in the workspace
  int64_t tiles_a = 0, tiles_b = 0;
};
Trimmed trimmed_of(const Plan& plan) {
  constexpr int64_t kAlign = 256;
  const Problem& p = plan.problem;
  const auto spread = [&](int64_t count) { return p.per_tensor ? round_up(count * size_of(DType::fp32), 16) : 0; };
  return {round_up(plan.gpu.scales_offset + spread(p.m) + spread(p.n), kAlign),
          block_scale_bytes(p, p.m) / kScaleTileBytes, block_scale_bytes(p, p.n) / kScaleTileBytes};
}

Result<GpuBlockScales> trim_scales(const Plan& plan, const GpuBlockScales& scales, std::byte* workspace,
                                   const Context& context) {
  const Trimmed copies = trimmed_of(plan);
  std::byte* const a = workspace + copies.offset;
  std::byte* const b = a + copies.tiles_a * kScaleTileBytes;
  const auto words = [](const void* at) { return static_cast<const unsigned*>(at); };
  GpuTrimScales call{{words(scales.a), reinterpret_cast<unsigned*>(a), copies.tiles_a},
                     {words(scales.b), reinterpret_cast<unsigned*>(b), copies.tiles_b},
                     scales.across,
                     (1U << 8 * (blocks_along_k(plan.problem) % 4)) - 1};
  void* parameters[] = {&call};
  constexpr int64_t kThreads = 256;
  constexpr int64_t kMostBlocks = 4096;
  const int64_t most = std::max(copies.tiles_a, copies.tiles_b) * kScaleTileBytes / 4;
  const Grid grid{std::min(divide_up(most, kThreads), kMostBlocks), 1, 1};
  PBPROBE_CHECK(launch({plan.kernel->target, std::string(kTrimScales), grid, kThreads}, context, parameters));
  return GpuBlockScales{a, b, scales.across};
}

// Blocks down and across: each SM of a pair has half of a tile's rows.
int64_t longest_side(const Kernel& kernel, const Problem& p) {
  return std::max(divide_up(p.m, kernel.tile.m) * kernel.sms, divide_up(p.n, kernel.tile.n));
}

}  // namespace

// kernels/cuda/host/tcgen05_cutlass.cpp
std::span<const Tcgen05Kernel> made_by_cutlass();
unsigned made_instruction(std::string_view type, bool wide);
unsigned long long made_lines(unsigned address);

std::span<const Tcgen05Kernel> tcgen05_kernels() {
#if PBPROBE_HAS_TCGEN05
  return made_by_cutlass();
#else
  return {};
#endif
}

unsigned instruction_by_cutlass([[maybe_unused]] std::string_view type, [[maybe_unused]] bool wide) {
#if PBPROBE_HAS_TCGEN05
  return made_instruction(type, wide);
#else
  return 0;
#endif
}

unsigned long long lines_by_cutlass([[maybe_unused]] unsigned address) {
#if PBPROBE_HAS_TCGEN05
  return made_lines(address);
#else
  return 0;
#endif
}

const Tcgen05Kernel* find_tcgen05(std::string_view symbol) {
  for (const auto& kernel : tcgen05_kernels()) {
    if (kernel.symbol == symbol) return &kernel;
  }
  return nullptr;
}

bool is_tcgen05(const Kernel& kernel) {
  return kernel.part == "tcgen05";
}

std::string better_elsewhere(const Kernel& kernel, const Problem& p) {
  if (!is_tcgen05(kernel)) return {};
  if (!has_stand_in(kernel)) return {};
  if (longest_side(kernel, p) > kMostDown) return "it has too many tiles";
  if (p.k == 0) return "it multiplies nothing for k = 0";
  if (p.m < kernel.least_m) return fmt::format("for fewer than {} rows most of its tile is empty", kernel.least_m);
  const bool transpose_a = a_is_km(p.layout) && !a_is_km(layout_read(kernel, p.layout));
  const bool transpose_b = b_is_nk(layout_read(kernel, p.layout)) && !b_is_nk(p.layout);
  // With small M, or as few columns, aligning the other operand first costs more than multiplying by mma.sync.
  constexpr int64_t kSmall = 64;
  if (std::min(p.m, p.n) > kSmall) return {};
  if (!transpose_a && !rows_fit(p.lda, p.a)) return "rows of A are no multiples of 16 bytes, which tensor maps want";
  if (!transpose_b && !rows_fit(p.ldb, p.b)) return "rows of B are no multiples of 16 bytes, which tensor maps want";
  return {};
}

Result<void> cut_tcgen05(Plan& plan) {
  const Problem& p = plan.problem;
  if (longest_side(*plan.kernel, p) > kMostDown) {
    return make_error(ErrorCode::limit, "{}: more than {} blocks of {} in one direction: split the GEMM", describe(p),
                      kMostDown, plan.kernel->name);
  }
  if (p.k > kMostNumbers / numbers_in(p.a)) {
    return make_error(ErrorCode::limit,
                      "{}: k is too large for kernel {}, which takes at most {} numbers along k: split the GEMM",
                      describe(p), plan.kernel->name, kMostNumbers);
  }
  plan.gpu.align_a = !plan.gpu.transpose_a && !rows_fit(p.lda, p.a);
  plan.gpu.align_b = !plan.gpu.transpose_b && !rows_fit(p.ldb, p.b);
  return {};
}

bool maps_read(const Plan& plan, const Operands& o) {
  const auto fits = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % kMapBytes == 0; };
  const bool copied_a = plan.gpu.transpose_a || plan.gpu.align_a;
  const bool copied_b = plan.gpu.transpose_b || plan.gpu.align_b;
  return plan.problem.k > 0 && (copied_a || fits(o.a)) && (copied_b || plan.gpu.unaligned_b || fits(o.b));
}

bool reads_any_address(const Kernel& kernel) {
  return !is_tcgen05(kernel) && kernel.work == GpuWork::blocks;
}

bool trims_scales(const Plan& plan) {
  return is_tcgen05(*plan.kernel) && blocks_along_k(plan.problem) % 4 != 0;
}

int64_t trimmed_scales_end(const Plan& plan) {
  if (!trims_scales(plan)) return 0;
  const Trimmed copies = trimmed_of(plan);
  return copies.offset + (copies.tiles_a + copies.tiles_b) * kScaleTileBytes;
}

Result<void> launch_tcgen05(const Plan& plan, const GpuCall& call, GpuBlockScales scales, std::byte* workspace,
                            const Context& context) {
  if (trims_scales(plan)) {
    PBPROBE_TRY(scales, trim_scales(plan, scales, workspace, context));
  }
  const std::string symbol = std::string(plan.kernel->function_name) + plan.variant;
  PBPROBE_TRY(const LoadedKernel* loaded, loaded_in(context, plan.kernel->target, symbol));
  const Tcgen05Kernel* kernel = find_tcgen05(symbol);
  if (kernel == nullptr)
    return make_error(
        ErrorCode::unsupported,
        "this build of pbprobe has kernel {}, and not the CUTLASS code that makes its arguments: build pbprobe "
        "again",
        symbol);
  const DriverApi& driver = context.gpu->driver();
  Tcgen05Launch launch;
  if (const int error = kernel->prepare(call, scales, static_cast<int>(plan.gpu.raster_group),
                                        driver.cuTensorMapEncodeTiled, launch)) {
    return driver_error(driver, error, fmt::format("describing the operands of {} to tensor copies", symbol));
  }
  CuLaunchAttribute cluster{.id = kCuLaunchClusterDimension};
  cluster.value.dims[0] = static_cast<unsigned>(kernel->cluster[0]);
  cluster.value.dims[1] = static_cast<unsigned>(kernel->cluster[1]);
  cluster.value.dims[2] = 1;
  CuLaunchConfig config{.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                        .block = {static_cast<unsigned>(kernel->layout.threads), 1, 1},
                        .shared_bytes = static_cast<unsigned>(plan.shared_bytes),
                        .stream = static_cast<CuStream>(context.stream),
                        .attributes = &cluster,
                        .attribute_count = 1};
  void* parameters[] = {launch.parameters.data()};
  PBPROBE_CU(driver, fmt::format("launching {}", symbol),
             cuLaunchKernelEx(&config, static_cast<CuFunction>(loaded->handle), parameters, nullptr));
  return {};
}

}  // namespace pbprobe
