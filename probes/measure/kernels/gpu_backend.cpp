// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "kernels/cuda/host/gpu.hpp"
#include "kernels/cuda/host/probes.hpp"
#include "kernels/dispatch/run.hpp"
#include "kernels/gemm/checker.hpp"
#include "probes/measure/kernels/backend.hpp"
#include "probes/measure/kernels/gpu_device.hpp"
#include "probes/measure/kernels/operands.hpp"
#include "probes/measure/kernels/verify.hpp"

namespace pbprobe {
namespace {

constexpr size_t kMostDeviceBytes = size_t{2} << 30;
constexpr double kGpuSliceSeconds = 2e-3;
// 1024 threads of an SM: resident at once on every SM since 6.1, and enough to fill its FP32 units.
constexpr int64_t kPeakThreadsPerSm = 1024;

class GpuBackend : public Backend {
 public:
  GpuBackend(const BenchCase& one, const Host& host, GpuDevice device)
      : one_(one), host_(host), device_(std::move(device)), sms_(device_.attribute(kCuMultiprocessorCount)) {}

  Result<void> prepare() {
    PBPROBE_TRY(samples_, device_.allocate(sizeof(GpuPeakSample) * static_cast<size_t>(sms_ * kPeakThreadsPerSm / 32)));
    return fill(one_.problem, copies_);
  }

  Result<void> verify(const Plan& plan) override {
    PBPROBE_TRY(const GpuKernels* const cubins, load_cubin(plan.kernel->target));
    const ChooseOptions same{.kernel = std::string(plan.kernel->name), .gpu = one_.gpu};
    const Plan& runs = plan.swapped ? *plan.swapped : plan;
    PBPROBE_TRY(const CheckResult result, check(check_problem(runs), [&](const Problem& problem, CheckData& data) {
                  return execute(problem, data, same, cubins);
                }));
    if (!result.passed) return make_error(ErrorCode::malformed, "{}", result.what);
    return check_timed(plan, copies_);
  }

  Result<Candidate> kernel(const Plan& plan) override { return timed(plan, copies_); }

  Result<void> repeat(const Plan& plan, int64_t launches, double seconds) override {
    PBPROBE_TRY(const GpuKernels* const cubins, load_cubin(plan.kernel->target));
    PBPROBE_TRY(const DeviceBuffer workspace, device_.allocate(static_cast<size_t>(plan.workspace_bytes)));
    const Context context = make_context(plan, cubins, workspace);
    const Problem& p = plan.problem;
    const auto bytes = static_cast<size_t>(extent(p.m, p.n, p.ldc) * size_of(p.c));
    const size_t offset = copies_.rotation.c_offset;
    const std::vector<std::byte> poisoned(bytes, std::byte{0xff});
    const Launches all{.launch = [&]() -> Result<void> {
                         PBPROBE_CHECK(device_.upload(copies_.memory, offset, poisoned.data(), bytes));
                         PBPROBE_CHECK(pbprobe::run(plan, copies_.operands(0), context));
                         return device_.synchronize();
                       },
                       .read = [&](std::vector<std::byte>& result) -> Result<void> {
                         result.resize(bytes);
                         return device_.download(result.data(), copies_.memory, offset, bytes);
                       }};
    PBPROBE_TRY([[maybe_unused]] const int64_t done, repeat_launches(all, launches, seconds, steady_seconds()));
    return {};
  }

  Result<Candidate> peak(const Kernel& kernel, std::vector<PeakSlice>& slices) override {
    const Peak* const peak = peak_of(kernel);
    if (peak == nullptr || !peak->built) return make_error(ErrorCode::not_found, "{} has no peak loop", kernel.name);
    PBPROBE_TRY(const GpuKernels* const cubins, load_cubin(kernel.target));
    const Context context{.stream = device_.stream(), .gpu = cubins};
    int64_t iterations = 64;
    PBPROBE_TRY([[maybe_unused]] const double cold, peak_us(*peak, iterations, context));
    PBPROBE_TRY(const double once, peak_us(*peak, iterations, context));
    iterations = std::max<int64_t>(static_cast<int64_t>(kGpuSliceSeconds * 1e6 / std::max(once, 1.0) * 64), 64);
    return Candidate{.name = std::string(peak->name),
                     .sample = [this, peak, iterations, context, &slices](int64_t) -> Result<double> {
                       PBPROBE_TRY(const double us, peak_us(*peak, iterations, context));
                       PBPROBE_TRY(const PeakSlice slice, read_slice(*peak, iterations, us));
                       slices.push_back(slice);
                       return us;
                     },
                     .required = false};
  }

  Result<Candidate> libtorch(const Libtorch& library) override {
    tensors_.clear();
    const int32_t index = device_.index();
    for (size_t i = 0; i < copies_.rotation.copies; ++i) {
      PBPROBE_TRY(const PeerViews views, peer_views(one_.problem, copies_.operands(i), index));
      Tensors tensors;
      PBPROBE_TRY(tensors.a, library.wrap(views.a));
      PBPROBE_TRY(tensors.b, library.wrap(views.b));
      PBPROBE_TRY(tensors.c, library.wrap(views.c));
      tensors_.push_back(std::move(tensors));
    }
    PBPROBE_TRY(auto guard, library.use_stream(device_.stream(), index));
    stream_guard_.emplace(std::move(guard));
    return timed("libtorch", [this, &library] {
      const Tensors& t = tensors_[next_++ % tensors_.size()];
      return library.matmul(t.a, t.b, t.c, one_.problem.a);
    });
  }

  Result<Candidate> cublaslt(const CublasLt& library, bool best) override {
    auto planned =
        best ? library.plan_best(one_.problem, copies_.operands(0), device_) : library.plan(one_.problem, device_);
    if (!planned.ok()) return planned.error();
    const auto gemm = std::make_shared<CublasLt::Gemm>(std::move(*planned));
    return timed(best ? "cublaslt_best" : "cublaslt",
                 [this, gemm] { return gemm->run(copies_.operands(next_++), device_.stream()); });
  }

  Result<Candidate> bf16() override {
    const Problem& p = one_.problem;
    const Problem same = make_problem(p.m, p.n, p.k, DType::bf16, DType::bf16, p.layout);
    ChooseOptions options{.gpu = one_.gpu};
    if (one_.asked_for_target) options.target = one_.targets.front();
    PBPROBE_TRY(const Plan plan, choose(same, host_, {}, options));
    PBPROBE_CHECK(fill(same, of_bf16_));
    PBPROBE_CHECK(check_timed(plan, of_bf16_));
    return timed(plan, of_bf16_);
  }

  Result<Candidate> reading() override {
    const GpuKernels* const cubins = cubins_.empty() ? nullptr : cubins_.front().get();
    if (cubins == nullptr) return make_error(ErrorCode::unsupported, "no cubin of pbprobe is loaded that could read B");
    const Problem& p = one_.problem;
    constexpr int64_t kVector = 16;
    const int64_t bytes = extent(stored_rows_b(p), stored_columns_b(p), p.ldb) * size_of(p.b) / kVector * kVector;
    if (bytes == 0) return make_error(ErrorCode::unsupported, "B is too small to be read by vectors");
    const Context context{.stream = device_.stream(), .gpu = cubins};
    return timed("reading B", [this, cubins, bytes, context] {
      const Operands operands = copies_.operands(next_++);
      return run_read_probe(cubins->target(), operands.b, bytes, 1, 0, static_cast<uint32_t*>(samples_.data()),
                            context);
    });
  }

  [[nodiscard]] int64_t peak_units() const override { return sms_; }

 private:
  struct Tensors {
    Libtorch::Tensor a, b, c;
  };
  // A problem's operands in copies.
  struct Copies {
    Rotation rotation;
    DeviceBuffer memory;
    [[nodiscard]] Operands operands(size_t index) const { return rotation.operands(memory.data(), index); }
  };

  Result<void> fill(const Problem& problem, Copies& copies) {
    Rotation& rotation = copies.rotation;
    rotation = plan_rotation(problem, device_.attribute(kCuL2CacheBytes), kMostDeviceBytes);
    PBPROBE_TRY(copies.memory, device_.allocate(rotation.bytes()));
    // Random numbers take longer to make than to send.
    PBPROBE_TRY(const HostMemory copy, HostMemory::allocate(rotation.copy_bytes));
    PBPROBE_CHECK(fill_operands(problem, rotation, [&](size_t offset, const void* bytes, size_t count) {
      std::memcpy(copy.data() + offset, bytes, count);
      return Result<void>();
    }));
    for (size_t i = 0; i < rotation.copies; ++i)
      PBPROBE_CHECK(device_.upload(copies.memory, i * rotation.copy_bytes, copy.data(), rotation.copy_bytes));
    return {};
  }

  Result<Candidate> timed(const Plan& plan, const Copies& copies) {
    PBPROBE_TRY(const GpuKernels* const cubins, load_cubin(plan.kernel->target));
    PBPROBE_TRY(DeviceBuffer workspace, device_.allocate(static_cast<size_t>(plan.workspace_bytes)));
    workspaces_.push_back(std::move(workspace));
    const Context context = make_context(plan, cubins, workspaces_.back());
    return timed(std::string(plan.kernel->name),
                 [this, &copies, plan, context] { return pbprobe::run(plan, copies.operands(next_++), context); });
  }

  Candidate timed(std::string name, std::function<Result<void>()> enqueue) {
    return {
        .name = std::move(name),
        .sample = [this, enqueue = std::move(enqueue)](int64_t repeats) { return device_.time_us(enqueue, repeats); },
        .slice_seconds = one_.slice_seconds,
        .required = false};
  }

  // A target's cubin, loaded once.
  Result<const GpuKernels*> load_cubin(std::string_view target) {
    for (const auto& cubins : cubins_)
      if (cubins->target() == target) return cubins.get();
    PBPROBE_TRY(GpuKernels loaded, GpuKernels::load(device_.driver(), target));
    cubins_.push_back(std::make_unique<GpuKernels>(std::move(loaded)));
    return cubins_.back().get();
  }

  [[nodiscard]] Context make_context(const Plan& plan, const GpuKernels* cubins, const DeviceBuffer& workspace) const {
    return {.workspace = workspace.data(),
            .workspace_bytes = plan.workspace_bytes,
            .stream = device_.stream(),
            .gpu = cubins};
  }

  Result<double> peak_us(const Peak& peak, int64_t iterations, const Context& context) {
    const int64_t blocks = sms_ * kPeakThreadsPerSm / peak.threads;
    return device_.time_us(
        [&] { return run_peak(peak, iterations, blocks, static_cast<GpuPeakSample*>(samples_.data()), context); }, 1);
  }

  // The clock that the device counted over the time that its events saw.
  Result<PeakSlice> read_slice(const Peak& peak, int64_t iterations, double us) {
    const int64_t blocks = sms_ * kPeakThreadsPerSm / peak.threads;
    std::vector<GpuPeakSample> samples(static_cast<size_t>(blocks));
    PBPROBE_CHECK(device_.download(samples.data(), samples_, 0, samples.size() * sizeof(GpuPeakSample)));
    const auto operations = static_cast<double>(iterations * peak.operations * peak.threads * blocks);
    return PeakSlice{.gflops = operations / us * 1e-3, .clock_ghz = busiest_clocks(samples) / us * 1e-3};
  }

  // One run over the first copy of what is timed.
  Result<void> check_timed(const Plan& plan, const Copies& copies) {
    PBPROBE_TRY(const GpuKernels* const cubins, load_cubin(plan.kernel->target));
    PBPROBE_TRY(const DeviceBuffer workspace, device_.allocate(static_cast<size_t>(plan.workspace_bytes)));
    const Rotation& rotation = copies.rotation;
    PBPROBE_TRY(const HostMemory host, HostMemory::allocate(rotation.copy_bytes));
    const Operands mirror = rotation.operands(host.data(), 0);
    poison(plan.problem, mirror.c);
    const auto c_bytes =
        static_cast<size_t>(extent(plan.problem.m, plan.problem.n, plan.problem.ldc) * size_of(plan.problem.c));
    PBPROBE_CHECK(device_.upload(copies.memory, rotation.c_offset, mirror.c, c_bytes));
    PBPROBE_CHECK(pbprobe::run(plan, copies.operands(0), make_context(plan, cubins, workspace)));
    PBPROBE_CHECK(device_.download(host.data(), copies.memory, 0, rotation.copy_bytes));
    return spot_check(plan.problem, mirror);
  }

  // Copies whole allocations, so that the guard bands surround the operands on the device too.
  Result<void> execute(const Problem& problem, CheckData& data, const ChooseOptions& same, const GpuKernels* cubins) {
    PBPROBE_TRY(const Plan plan, choose(problem, host_, {}, same));
    PBPROBE_TRY(const DeviceBuffer workspace, device_.allocate(static_cast<size_t>(plan.workspace_bytes)));
    std::array<Guarded*, 8> host{&data.a,       &data.b,       &data.c,        &data.bias,
                                 &data.scale_a, &data.scale_b, &data.blocks_a, &data.blocks_b};
    std::array<DeviceBuffer, 8> buffers;
    std::array<void*, 8> pointers{};
    for (size_t i = 0; i < host.size(); ++i) {
      if (host[i]->bytes.empty()) continue;
      PBPROBE_TRY(buffers[i], device_.allocate(host[i]->bytes.size()));
      PBPROBE_CHECK(device_.upload(buffers[i], 0, host[i]->bytes.data(), host[i]->bytes.size()));
      pointers[i] = static_cast<std::byte*>(buffers[i].data()) + host[i]->offset;
    }
    const Operands operands{.a = pointers[0],
                            .b = pointers[1],
                            .c = pointers[2],
                            .bias = static_cast<const float*>(pointers[3]),
                            .scale_a = static_cast<const float*>(pointers[4]),
                            .scale_b = static_cast<const float*>(pointers[5]),
                            .blocks_a = pointers[6],
                            .blocks_b = pointers[7]};
    PBPROBE_CHECK(pbprobe::run(plan, operands, make_context(plan, cubins, workspace)));
    return device_.download(data.c.bytes.data(), buffers[2], 0, data.c.bytes.size());
  }

  const BenchCase& one_;
  const Host& host_;
  GpuDevice device_;  // first member, so that the device is destroyed last
  int64_t sms_;
  Copies copies_;
  Copies of_bf16_;
  DeviceBuffer samples_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<GpuKernels>> cubins_;
  std::vector<DeviceBuffer> workspaces_;
  std::vector<Tensors> tensors_;
  std::optional<Libtorch::StreamGuard> stream_guard_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_gpu_backend(const BenchCase& one, const Host& host) {
  PBPROBE_TRY(GpuDevice device, GpuDevice::open(static_cast<int32_t>(*one.gpu)));
  auto backend = std::make_unique<GpuBackend>(one, host, std::move(device));
  PBPROBE_CHECK(backend->prepare());
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace pbprobe
