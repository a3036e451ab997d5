// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "bindings/gemm.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/driver/driver_api.hpp"
#include "core/host/host.hpp"
#include "kernels/cuda/cluster_call.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe::ops {
namespace {

thread_local Forced forced;

// Rates of the CPU's instruction paths; null before calibrate(). Never freed, because plans name them.
std::atomic<const Rates*> cpu_rates = nullptr;

// Reports whether neighbours along `columns` are adjacent in memory and rows do not overlap.
bool has_separate_rows(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return (columns <= 1 || column_stride == 1) && (rows <= 1 || row_stride >= std::max<int64_t>(columns, 1));
}

bool is_row_major(const Matrix& m) {
  return has_separate_rows(m.rows, m.columns, m.row_stride, m.column_stride);
}

// Returns the distance between stored rows. The stride of a single row is arbitrary, so that the column count replaces
// it.
int64_t leading(const Matrix& m) {
  return m.rows <= 1 ? std::max<int64_t>(m.columns, 1) : m.row_stride;
}

const Result<Host>& cpu_host() {
  static const Result<Host> host = [] {
    HostSources sources = system_sources();
    sources.driver = []() -> Result<DriverApi> { return make_error(ErrorCode::unsupported, "not asked for"); };
    sources.nvml = []() -> Result<NvmlApi> { return make_error(ErrorCode::unsupported, "not asked for"); };
    return detect_host(sources);
  }();
  return host;
}

const Result<Host>& gpu_host() {
  static const Result<Host> host = detect_host(system_sources());
  return host;
}

// Lets this thread load code while one of its streams is captured, which the default mode refuses as unsafe. Loading
// adds nothing to the captured graph. CUDA driver API, "cuThreadExchangeStreamCaptureMode".
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& driver) : driver_(driver) { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() {
    if (driver_.cuThreadExchangeStreamCaptureMode != nullptr) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  const DriverApi& driver_;
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED; then the thread's own mode
};

// Loaded cubins, one per device and target. Never unloaded, because the driver may be unloaded first when the process
// ends.
class Cubins {
 public:
  Result<const GpuKernels*> get(const DriverApi& driver, int32_t gpu, std::string_view target) {
    const std::lock_guard lock(mutex_);
    const auto key = std::pair(gpu, std::string(target));
    if (const auto found = loaded_.find(key); found != loaded_.end()) return &found->second;
    const RelaxedCapture relaxed(driver);
    PBPROBE_TRY(auto kernels, GpuKernels::load(driver, target));
    return &loaded_.emplace(key, std::move(kernels)).first->second;
  }

  Result<CuContext> context(const DriverApi& driver, int32_t gpu) {
    const std::lock_guard lock(mutex_);
    if (const auto found = contexts_.find(gpu); found != contexts_.end()) return found->second;
    CuDevice device = 0;
    CuContext context = nullptr;
    PBPROBE_CU(driver, "cuDeviceGet", cuDeviceGet(&device, gpu));
    PBPROBE_CU(driver, "cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, device));
    contexts_.emplace(gpu, context);
    return context;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int32_t, std::string>, GpuKernels> loaded_;
  std::map<int32_t, CuContext> contexts_;
};

Cubins& cubins() {
  static Cubins& kept = *new Cubins;
  return kept;
}

// Makes the primary context of a GPU, which torch uses too, current; restores the previous context on destruction.
class CurrentContext {
 public:
  explicit CurrentContext(const DriverApi& driver) : driver_(driver) {
    driver_.cuCtxGetCurrent(&before_);
    now_ = before_;
  }
  ~CurrentContext() {
    if (now_ != before_) driver_.cuCtxSetCurrent(before_);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  Result<void> set(CuContext context) {
    if (context == now_) return {};
    PBPROBE_CU(driver_, "cuCtxSetCurrent", cuCtxSetCurrent(context));
    now_ = context;
    return {};
  }

 private:
  const DriverApi& driver_;
  CuContext before_ = nullptr;
  CuContext now_ = nullptr;
};

// All that a plan depends on, on this machine.
struct Asked {
  Problem problem;
  int32_t gpu = -1;  // -1: the CPU
  int64_t threads = 1;
  const Kernel* kernel = nullptr;  // forced kernel
  int64_t parts = 0;               // forced parts of split-K
  int64_t down = 1, across = 1;    // forced shape of a cluster
  const Rates* rates = nullptr;    // rates of the CPU

  bool operator==(const Asked&) const = default;
};

struct AskedHash {
  size_t operator()(const Asked& asked) const {
    const Problem& p = asked.problem;
    uint64_t hash = 0;
    for (const int64_t part : {p.m, p.n, p.k, p.lda, p.ldb, p.ldc, static_cast<int64_t>(p.layout),
                               static_cast<int64_t>(p.a), int64_t{asked.gpu}, asked.threads}) {
      hash = (hash ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

Result<const Slices*> planned(const Asked& asked, const Host& host) {
  constexpr size_t kMost = 4096;  // some 2 KB each
  thread_local std::unordered_map<Asked, Slices, AskedHash> kept;
  if (const auto found = kept.find(asked); found != kept.end()) return &found->second;
  ChooseOptions options{.threads = asked.threads};
  if (asked.gpu >= 0) options.gpu = asked.gpu;
  if (asked.kernel != nullptr) options.kernel.emplace(asked.kernel->name);
  if (asked.parts > 0) options.parts = asked.parts;
  options.cluster = {asked.down, asked.across};
  PBPROBE_TRY(auto slices, choose_slices(asked.problem, host, asked.rates ? *asked.rates : Rates(), options));
  if (kept.size() >= kMost) kept.clear();
  return &kept.emplace(asked, std::move(slices)).first->second;
}

Result<void> run_on_gpu(const Plan& plan, const Operands& operands, int32_t gpu, Context context) {
  const auto& driver = driver_api();
  if (!driver.ok()) return driver.error();
  PBPROBE_CHECK(require_launch(*driver));
  PBPROBE_TRY(const CuContext primary, cubins().context(*driver, gpu));
  CurrentContext current(*driver);
  PBPROBE_CHECK(current.set(primary));
  PBPROBE_TRY(context.gpu, cubins().get(*driver, gpu, plan.kernel->target));
  return run(plan, operands, context);
}

}  // namespace

bool is_readable(const Matrix& matrix) {
  return is_row_major(matrix) || is_row_major(matrix.transposed());
}

namespace {

// Reports whether the kernels that may compute on this GPU, the forced one or any, have one for TF32.
bool has_tf32(const Host& host, int32_t gpu) {
  if (!forced.name.empty()) return find_kernel(forced.name)->dtype == DType::tf32;
  thread_local std::map<int32_t, bool> known;
  if (const auto found = known.find(gpu); found != known.end()) return found->second;
  const auto device = std::ranges::find(host.gpus, gpu, &Gpu::index);
  const auto computes_tf32 = [&](const Kernel& kernel) {
    return kernel.built && kernel.dtype == DType::tf32 && runs_on(*find_target(kernel.target), *device);
  };
  const bool has = device != host.gpus.end() && std::ranges::any_of(kernel_table(), computes_tf32);
  return known.emplace(gpu, has).first->second;
}

}  // namespace

Result<const Slices*> plan_gemm(const Gemm& asked, const Place& place) {
  const auto& host = place.gpu ? gpu_host() : cpu_host();
  if (!host.ok()) return host.error();
  Gemm gemm = asked;
  if (gemm.tf32 && place.gpu && has_tf32(*host, *place.gpu)) gemm.a.type = gemm.b.type = DType::tf32;
  const bool a_rows = is_row_major(gemm.a);
  const bool b_rows = is_row_major(gemm.b);
  Problem problem = make_problem(gemm.a.rows, gemm.b.columns, gemm.a.columns, gemm.a.type, gemm.c,
                                 a_rows ? (b_rows ? Layout::nn : Layout::nt) : (b_rows ? Layout::tn : Layout::tt));
  problem.b = gemm.b.type;
  problem.lda = leading(a_rows ? gemm.a : gemm.a.transposed());
  problem.ldb = leading(b_rows ? gemm.b : gemm.b.transposed());
  problem.bias = gemm.bias;
  problem.scale_a = gemm.scale_a;
  problem.scale_b = gemm.scale_b;
  problem.per_tensor = gemm.per_tensor;
  problem.blocks = gemm.blocks;
  problem.fast_sums = gemm.fast_sums && place.gpu;
  problem.blocks_lda = gemm.blocks_lda;
  problem.blocks_ldb = gemm.blocks_ldb;
  return planned({.problem = problem,
                  .gpu = place.gpu.value_or(-1),
                  .threads = place.threads,
                  .kernel = forced.name.empty() ? nullptr : find_kernel(forced.name),
                  .parts = forced.parts,
                  .down = forced.cluster.down,
                  .across = forced.cluster.across,
                  .rates = place.gpu ? nullptr : cpu_rates.load()},
                 *host);
}

int64_t workspace_bytes(const Slices& slices) {
  int64_t most = 0;
  for (const auto& slice : slices) most = std::max(most, slice.plan.workspace_bytes);
  return most;
}

Result<void> run_gemm(const Slices& slices, const Operands& operands, const Place& place, void* workspace, void* stream,
                      const ParallelFor& parallel_for) {
  for (const auto& slice : slices) {
    const Operands part = slice_operands(slice, operands);
    const Context context{.workspace = workspace,
                          .workspace_bytes = slice.plan.workspace_bytes,
                          .stream = stream,
                          .parallel_for = parallel_for};
    PBPROBE_CHECK(place.gpu ? run_on_gpu(slice.plan, part, *place.gpu, context) : run(slice.plan, part, context));
  }
  return {};
}

Result<Rates> calibrate() {
  const auto& host = cpu_host();
  if (!host.ok()) return host.error();
  const auto* const rates = new Rates(measure_rates(*host));
  cpu_rates.store(rates);
  return *rates;
}

const Forced& forced_kernel() {
  return forced;
}

Result<void> force_kernel(Forced kernel) {
  if (!kernel.name.empty()) PBPROBE_CHECK(require_kernel(kernel.name));
  const auto& [down, across] = kernel.cluster;
  if (kernel.parts < 0 || std::min(down, across) < 1 || std::max(down, across) > kGpuMostCluster) {
    return make_error(
        ErrorCode::usage,
        "pbprobe.ops.use: parts={} and cluster=({}, {}): give 1 part or more, and 1 to {} tiles in each direction",
        kernel.parts, down, across, kGpuMostCluster);
  }
  forced = std::move(kernel);
  return {};
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSliceSeconds = 2e-3;
constexpr int kSlices = 5;

double time_loop(CpuLoop loop, int64_t iterations) {
  const auto begin = Clock::now();
  [[maybe_unused]] volatile uint64_t sink = loop(iterations);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Rates measure_rates(const Host& host) {
  Rates rates;
  for (const Peak& peak : peak_table()) {
    const auto& targets = host.cpu.targets;
    if (peak.function == nullptr || peak.operations == 0 || std::ranges::find(targets, peak.target) == targets.end())
      continue;
    int64_t iterations = 64;
    while (time_loop(peak.function, iterations) < kSliceSeconds) iterations *= 2;
    double least = time_loop(peak.function, iterations);
    for (int i = 1; i < kSlices; ++i) least = std::min(least, time_loop(peak.function, iterations));
    rates[std::string(peak.name)] = static_cast<double>(iterations * peak.operations) / least * 1e-9;
  }
  return rates;
}

}  // namespace pbprobe::ops
