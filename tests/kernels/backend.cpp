// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/backend.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "core/driver/driver_api.hpp"
#include "core/host/host.hpp"
#include "kernels/dispatch/run.hpp"
#include "tests/kernels/device_call.hpp"

namespace pbprobe::test {
namespace {

class CpuBackend : public Backend {
 public:
  Result<void> run(const Plan& plan, CheckData& data) override {
    constexpr size_t kGuard = 256;
    const auto size = static_cast<size_t>(plan.workspace_bytes);
    std::vector<unsigned char> workspace(size + kGuard, kPoison);
    Context context;
    context.workspace = workspace.data();
    context.workspace_bytes = plan.workspace_bytes;
    context.parallel_for = plan.cpu.threads > 1 ? threads() : ParallelFor{};
    Operands operands = data.operands();
    std::vector<unsigned char> packed(static_cast<size_t>(plan.prepacked_bytes + kPackedAlign) + kGuard, kPoison);
    if (plan.problem.prepacked_b) {
      const auto at = reinterpret_cast<uintptr_t>(packed.data());
      const size_t first = (kPackedAlign - at % kPackedAlign) % kPackedAlign;
      PBPROBE_CHECK(prepack(plan, operands.b, packed.data() + first, context.parallel_for));
      PBPROBE_CHECK(untouched(packed, first + static_cast<size_t>(plan.prepacked_bytes), plan, "a packed B"));
      operands.packed_b = packed.data() + first;
      operands.b = nullptr;  // run() does not read B again
    }
    PBPROBE_CHECK(pbprobe::run(plan, operands, context));
    return untouched(workspace, size, plan, "its workspace");
  }

  Result<Rate> run_peak(const Peak& peak, int64_t iterations) override {
    const auto begin = std::chrono::steady_clock::now();
    Rate rate;
    rate.sink = peak.function(iterations);
    rate.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rate.operations = static_cast<double>(iterations * peak.operations);
    rate.clock_ghz = static_cast<double>(iterations * peak.cycles) / rate.seconds * 1e-9;
    return rate;
  }

  [[nodiscard]] ChooseOptions options() const override { return {}; }
  [[nodiscard]] std::string device() const override { return this_host().cpu.name; }

 private:
  static Result<void> untouched(const std::vector<unsigned char>& bytes, size_t size, const Plan& plan,
                                const char* what) {
    for (size_t i = size; i < bytes.size(); ++i) {
      if (bytes[i] != kPoison) {
        return make_error(ErrorCode::usage, "{} wrote {} bytes past {} of {}", plan.kernel->name, i - size + 1, what,
                          size);
      }
    }
    return {};
  }
};

class GpuBackend : public Backend {
 public:
  GpuBackend(const DriverApi& driver, GpuKernels kernels, const Gpu& gpu)
      : driver_(driver), kernels_(std::move(kernels)), gpu_(gpu) {}

  Result<void> run(const Plan& plan, CheckData& data) override {
    const DeviceCall call(kernels_, plan, data);
    PBPROBE_CHECK(call.launch());
    PBPROBE_CU(driver_, "waiting for the kernel", cuCtxSynchronize());
    return call.fetch_c(data);
  }

  Result<Rate> run_peak(const Peak& peak, int64_t iterations) override {
    constexpr int64_t kThreadsPerSm = 1024;  // resident at once on every SM since 6.1
    const int64_t blocks = gpu_.sm_count.value_or(1) * std::max<int64_t>(kThreadsPerSm / peak.threads, 1);
    Guarded space;
    space.bytes.resize(static_cast<size_t>(blocks) * sizeof(GpuPeakSample));
    DeviceArray samples(driver_, space);
    if (samples.result() != kCudaSuccess) return driver_error(driver_, samples.result(), "allocating samples");
    Context context;
    context.gpu = &kernels_;
    auto* first = static_cast<GpuPeakSample*>(samples.data());
    PBPROBE_CHECK(pbprobe::run_peak(peak, iterations, blocks, first, context));
    PBPROBE_CU(driver_, "waiting for the peak loop", cuCtxSynchronize());
    if (const auto result = samples.download(space); result != kCudaSuccess) {
      return driver_error(driver_, result, "copying samples back");
    }
    std::vector<GpuPeakSample> read(static_cast<size_t>(blocks));
    std::memcpy(read.data(), space.bytes.data(), space.bytes.size());
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    for (const auto& sample : read) {
      begin = std::min<uint64_t>(begin, sample.begin_ns);
      end = std::max<uint64_t>(end, sample.end_ns);
    }
    Rate rate;
    rate.seconds = static_cast<double>(end - begin) * 1e-9;
    rate.operations = static_cast<double>(iterations * peak.operations * peak.threads * blocks);
    const auto& one = read.front();
    rate.clock_ghz = static_cast<double>(one.end - one.begin) / static_cast<double>(one.end_ns - one.begin_ns);
    rate.sink = one.sink;
    return rate;
  }

  Result<std::vector<uint32_t>> run_proof(const Peak& peak, const Proof& proof) override {
    const auto guarded = [](const std::vector<uint32_t>& words) {
      Guarded array;
      array.bytes.resize(words.size() * sizeof(uint32_t));
      std::memcpy(array.bytes.data(), words.data(), array.bytes.size());
      return array;
    };
    Guarded left = guarded(proof.a);
    Guarded right = guarded(proof.b);
    Guarded sums = guarded(proof.c);
    DeviceArray a(driver_, left);
    DeviceArray b(driver_, right);
    DeviceArray c(driver_, sums);
    for (const auto* array : {&a, &b, &c}) {
      if (array->result() != kCudaSuccess) return driver_error(driver_, array->result(), "copying an operand there");
    }
    Context context;
    context.gpu = &kernels_;
    PBPROBE_CHECK(pbprobe::run_proof(peak, a.data(), b.data(), c.data(), context));
    PBPROBE_CU(driver_, "waiting for the proof", cuCtxSynchronize());
    if (const auto result = c.download(sums); result != kCudaSuccess) {
      return driver_error(driver_, result, "copying c back");
    }
    std::vector<uint32_t> seen(proof.c.size());
    std::memcpy(seen.data(), sums.bytes.data(), sums.bytes.size());
    return seen;
  }

  [[nodiscard]] ChooseOptions options() const override {
    ChooseOptions options;
    options.gpu = gpu_.index;
    return options;
  }
  [[nodiscard]] std::string device() const override { return fmt::format("{}, {}", gpu_.name, gpu_.capability); }
  [[nodiscard]] std::string capability() const override { return gpu_.capability; }
  [[nodiscard]] const GpuKernels* gpu_kernels() const override { return &kernels_; }

 private:
  const DriverApi& driver_;
  GpuKernels kernels_;
  Gpu gpu_;
};

const Gpu* find_gpu(const Target& target) {
  for (const auto& gpu : this_host().gpus) {
    if (gpu.problem) continue;
    // Machine code is tested on the very capability; PTX, in the preset ptx, on any GPU that can compile it.
    const auto* build = find_build(target.id);
    const bool ptx = build != nullptr && !build->ptx.empty();
    if (ptx ? runs_on(target, gpu) : gpu.capability == target.capability) return &gpu;
  }
  return nullptr;
}

}  // namespace

const Host& this_host() {
  static const Host host = [] {
    auto detected = detect_host(system_sources());
    return detected ? *detected : Host{};
  }();
  return host;
}

bool hardware_required() {
  const char* value = std::getenv("PBPROBE_REQUIRE_HARDWARE");
  return value != nullptr && std::string_view(value) == "1";
}

bool emulated() {
  return std::getenv("PBPROBE_EVIDENCE_VIA") != nullptr;
}

bool refusal_expected() {
  return std::getenv("PBPROBE_EXPECT_REFUSED") != nullptr;
}

std::string hardware_lacking(std::string_view id) {
  const Target* target = find_target(id);
  if (target == nullptr) return fmt::format("{} is not a target", id);
  const Host& host = this_host();
  if (target->kind == TargetKind::gpu) {
    if (find_gpu(*target) != nullptr) return {};
    std::string others;
    for (const auto& gpu : host.gpus) others += fmt::format(" {} ({})", gpu.name, gpu.capability);
    return fmt::format("no GPU of capability {}: {}", target->capability.value_or("?"),
                       host.gpus.empty() ? host.driver.sentence : "this machine has" + others);
  }
  const auto& targets = host.cpu.targets;
  if (std::find(targets.begin(), targets.end(), id) != targets.end()) return {};
  return fmt::format("this CPU ({}, {}) cannot run {}", host.cpu.architecture, host.cpu.name, id);
}

ParallelFor threads() {
  ParallelFor parallel;
  parallel.call = [](void*, int64_t count, ParallelFor::Task task, void* state) {
    std::vector<std::thread> all;
    for (int64_t i = 1; i < count; ++i) all.emplace_back([=] { task(state, i); });
    task(state, 0);
    for (auto& thread : all) thread.join();
  };
  return parallel;
}

Result<std::unique_ptr<Backend>> make_bed(std::string_view id) {
  PBPROBE_TRY(const Target* target, require_target(id));
  if (target->kind == TargetKind::cpu) return std::unique_ptr<Backend>(new CpuBackend);
  const Gpu* gpu = find_gpu(*target);
  if (gpu == nullptr) return make_error(ErrorCode::unsupported, "{}", hardware_lacking(id));
  const auto& driver = driver_api();
  if (!driver) return driver.error();
  PBPROBE_CHECK(require_launch(*driver));
  CuDevice device = 0;
  CuContext context = nullptr;
  PBPROBE_CU(*driver, "starting the driver", cuInit(0));
  PBPROBE_CU(*driver, "opening the GPU", cuDeviceGet(&device, static_cast<int>(gpu->index)));
  PBPROBE_CU(*driver, "making its context", cuDevicePrimaryCtxRetain(&context, device));
  PBPROBE_CU(*driver, "making it current", cuCtxSetCurrent(context));
  PBPROBE_TRY(GpuKernels kernels, GpuKernels::load(*driver, id));
  return std::unique_ptr<Backend>(new GpuBackend(*driver, std::move(kernels), *gpu));
}

}  // namespace pbprobe::test
