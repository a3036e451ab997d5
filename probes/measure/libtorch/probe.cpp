// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch/probe.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <thread>

#include "probes/measure/child/words.hpp"
#include "probes/measure/kernels/gpu_probes.hpp"
#include "probes/measure/kernels/timing.hpp"
#include "probes/measure/libtorch/areas.hpp"
#include "probes/measure/libtorch/speeds.hpp"
#include "probes/process/gemm.hpp"

namespace pbprobe {
namespace {

Result<void> multiply(const Libtorch& library, DType type, const std::array<void*, 3>& data, int32_t device) {
  PBPROBE_TRY(const auto a, library.wrap({data[0], type, kGemmM, kGemmK, kGemmK, 1, device}));
  PBPROBE_TRY(const auto b, library.wrap({data[1], type, kGemmK, kGemmN, kGemmN, 1, device}));
  PBPROBE_TRY(const auto c, library.wrap({data[2], type, kGemmM, kGemmN, kGemmN, 1, device}));
  return library.matmul(a, b, c, type);
}

Result<void> multiply_on_gpu(const Libtorch& library, DType type, GemmMatrices& matrices, const GpuDevice& gpu) {
  std::array<std::vector<unsigned char>*, 3> host{&matrices.a, &matrices.b, &matrices.c};
  std::array<DeviceBuffer, 3> buffers;
  for (size_t i = 0; i < host.size(); ++i) {
    PBPROBE_TRY(buffers[i], gpu.allocate(host[i]->size()));
    PBPROBE_CHECK(gpu.upload(buffers[i], 0, host[i]->data(), host[i]->size()));
  }
  PBPROBE_TRY(const auto guard, library.use_stream(gpu.stream(), gpu.index()));
  PBPROBE_CHECK(multiply(library, type, {buffers[0].data(), buffers[1].data(), buffers[2].data()}, gpu.index()));
  return gpu.download(matrices.c.data(), buffers[2], 0, matrices.c.size());
}

Result<void> check_both_types(const Libtorch& library, const GpuDevice* gpu, uint64_t seed,
                              const std::function<void(const ReturnedGemm&)>& tell) {
  const std::string device = gpu == nullptr ? "cpu" : fmt::format("cuda:{}", gpu->index());
  for (const DType type : {DType::fp32, DType::bf16})
    PBPROBE_CHECK(check_gemm(library, type, gpu, seed,
                             [&](const std::vector<unsigned char>& c) { tell(returned_gemm(device, type, c)); }));
  return {};
}

// The supervisor gets what came back, and decides.
Result<void> check_both_types(const Libtorch& library, const GpuDevice* gpu, EventWriter& events) {
  return check_both_types(library, gpu, events.seed(), [&](const ReturnedGemm& gemm) { events.gemm(gemm); });
}

void try_areas(const Libtorch& library, const GpuDevice* gpu, LibtorchRun& run, EventWriter& events) {
  check_areas(library, gpu, run.areas, [&] {
    events.stage(Step::libtorch, fmt::format("computing {} with {}", run.areas.back().area, run.path));
    events.libtorch(run);
  });
}

// Adds the result of a library beside libtorch as an area; skips it if the error has the code `no_fault`.
void add_area(LibtorchRun& run, std::string name, const std::string& device, const Result<void>& right,
              ErrorCode no_fault) {
  LibtorchArea area{std::move(name), device, {}, {}, {}};
  if (!right.ok()) {
    const bool no_obstacle = !right.error().obstacle || right.error().obstacle == Obstacle::unsupported;
    if (right.error().code == no_fault && no_obstacle) {
      area.skipped = right.error().message;
    } else {
      record_area_error(area, right.error());
    }
  }
  run.areas.push_back(std::move(area));
}

void try_libraries(const Libtorch& library, const GpuDevice& gpu, const Host& host, LibtorchRun& run,
                   EventWriter& events) {
  const std::string device = fmt::format("cuda:{}", gpu.index());
  events.stage(Step::libtorch, fmt::format("asking the cuDNN of {}", run.path));
  // A missing cuDNN engine for a type on this GPU is not a fault of the build.
  add_area(run, "cuDNN convolution", device, probe_cudnn(library, gpu, run.speeds), ErrorCode::device);
  events.stage(Step::libtorch, fmt::format("reducing over the GPUs with the NCCL of {}", run.path));
  std::vector<int32_t> gpus;
  for (const Gpu& each : host.gpus)
    if (!each.problem) gpus.push_back(static_cast<int32_t>(each.index));
  auto figure = probe_nccl(library, gpus);
  if (figure.ok()) run.speeds.push_back(*figure);
  add_area(run, "NCCL all-reduce", device, figure.ok() ? Result<void>() : figure.error(), ErrorCode::unsupported);
  static_cast<void>(gpu.make_current());
  events.libtorch(run);
}

Result<GpuDevice> start_gpu(Libtorch& library, int32_t index, LibtorchRun& run, EventWriter& events) {
  const std::string device = fmt::format("cuda:{}", index);
  const double begin = steady_seconds()();
  events.stage(Step::libtorch, fmt::format("loading {}/libtorch_cuda.so", run.path));
  events.loading(run.path + "/libtorch_cuda.so");
  const auto loaded = library.load_cuda(index);
  events.loaded();
  if (!loaded.ok()) return loaded.error();
  run.starts.push_back({.how = "as it stands", .device = device, .first_tensor_seconds = steady_seconds()() - begin});
  events.stage(Step::libtorch, fmt::format("computing with {} on {}", run.path, device));
  PBPROBE_TRY(GpuDevice gpu, GpuDevice::open(index));
  PBPROBE_CHECK(check_both_types(library, &gpu, events));
  run.timings.push_back({"start", device, {(steady_seconds()() - begin) * 1e6}});
  return gpu;
}

// Trial of one of the other GPUs.
struct Tried {
  int32_t gpu = 0;
  Result<void> right;
  std::vector<ReturnedGemm> returned;
  std::thread thread;
};

void try_gpu(const Libtorch& library, uint64_t seed, Tried& tried) noexcept try {
  tried.right = [&]() -> Result<void> {
    PBPROBE_CHECK(library.first_tensor(tried.gpu));
    PBPROBE_TRY(const GpuDevice gpu, GpuDevice::open(tried.gpu));
    return check_both_types(library, &gpu, seed, [&](const ReturnedGemm& gemm) { tried.returned.push_back(gemm); });
  }();
} catch (const std::bad_alloc&) {
  tried.right = Error{ErrorCode::limit, "too little memory", Obstacle::out_of_memory};
}

// Beside the first one, whether each computes: in threads, since most of the time goes into the driver's contexts.
void try_other_gpus(const Libtorch& library, const Host& host, int32_t first, LibtorchRun& run, EventWriter& events) {
  std::vector<Tried> others;
  for (const Gpu& gpu : host.gpus)
    if (!gpu.problem && gpu.index != first) others.push_back({.gpu = static_cast<int32_t>(gpu.index)});
  if (others.empty()) return;
  events.stage(Step::libtorch, fmt::format("computing with {} on {} more GPUs", run.path, others.size()));
  for (Tried& one : others) one.thread = std::thread([&] { try_gpu(library, events.seed(), one); });
  for (Tried& one : others) one.thread.join();
  for (const Tried& one : others) {
    for (const ReturnedGemm& gemm : one.returned) events.gemm(gemm);
    add_area(run, std::string(kOfEachGpu), fmt::format("cuda:{}", one.gpu), one.right, ErrorCode::unsupported);
  }
  events.libtorch(run);
}

Result<void> use_gpu(const Libtorch& library, const GpuDevice& gpu, const Host& host, LibtorchRun& run,
                     EventWriter& events) {
  PBPROBE_TRY(const auto guard, library.use_stream(gpu.stream(), gpu.index()));
  try_areas(library, &gpu, run, events);
  const auto found = std::ranges::find(host.gpus, gpu.index(), &Gpu::index);
  measure_speeds(library, gpu, *found, run, events);
  try_libraries(library, gpu, host, run, events);
  return {};
}

std::string sentence(const Error& error, const std::string& folder) {
  if (error.code == ErrorCode::malformed)
    return fmt::format("computing with {}: {}: this build computes wrong results on this machine; use another build",
                       folder, error.message);
  return fmt::format("computing with {}: {}", folder, error.message);
}

void record_area_error(LibtorchRun& run, const Error& error) {
  run.problem = sentence(error, run.path);
  run.obstacle = error.obstacle;
}

// The GPU comes before the areas: libtorch finds out once whether there is CUDA, and some of what areas ask makes it
// look.
void probe_further(Libtorch& library, const Host& host, bool gpu_areas, LibtorchProbe& probe, EventWriter& events) {
  LibtorchRun& run = probe.run;
  const int32_t index = first_usable_gpu(host);
  std::error_code error;
  std::optional<GpuDevice> gpu;
  if (index >= 0 && std::filesystem::exists(run.path + "/libtorch_cuda.so", error)) {
    const StderrCapture words;
    auto started = start_gpu(library, index, run, events);
    probe.on_gpu = started.ok();
    if (started.ok()) {
      run.executed_on_gpu = true;
      gpu.emplace(std::move(*started));
    } else {
      const Error why = words.explained(started.error());
      if (!why.obstacle) run.executed_on_gpu = false;
      record_area_error(run, why);
    }
  }
  ask_libraries(library, run);
  events.libtorch(run);
  try_areas(library, nullptr, run, events);
  if (!gpu) return;
  try_other_gpus(library, host, index, run, events);
  static_cast<void>(gpu->make_current());
  if (!gpu_areas) return;
  if (auto used = use_gpu(library, *gpu, host, run, events); !used.ok()) record_area_error(run, used.error());
}

}  // namespace

Result<void> check_gemm(const Libtorch& library, DType type, const GpuDevice* gpu, uint64_t seed,
                        const std::function<void(const std::vector<unsigned char>&)>& tell) {
  GemmMatrices matrices = gemm_operands(type, seed);
  if (gpu != nullptr) {
    PBPROBE_CHECK(multiply_on_gpu(library, type, matrices, *gpu));
  } else {
    PBPROBE_CHECK(multiply(library, type, {matrices.a.data(), matrices.b.data(), matrices.c.data()}, -1));
  }
  if (tell) tell(matrices.c);
  return compare_gemm(matrices.c, type, seed);
}

int32_t first_usable_gpu(const Host& host) {
  for (const Gpu& gpu : host.gpus)
    if (!gpu.problem) return static_cast<int32_t>(gpu.index);
  return -1;
}

LibtorchProbe probe_libtorch(LibtorchRun begun, const Host& host, bool gpu_areas, EventWriter& events) {
  LibtorchProbe probe{.run = std::move(begun), .library = std::nullopt};
  LibtorchRun& run = probe.run;
  const double begin = steady_seconds()();
  events.stage(Step::libtorch, fmt::format("loading {}/libtorch_cpu.so", run.path));
  events.loading(run.path + "/libtorch_cpu.so");
  auto library = Libtorch::load(run.path);
  events.loaded();
  run.loaded = library.ok();
  if (!library.ok()) {
    run.problem = library.error().message;
    run.obstacle = library.error().obstacle;
    events.libtorch(run);
    return probe;
  }
  run.version = library->version();
  run.cpu_capability = library->cpu_capability();
  events.libtorch(run);
  events.stage(Step::libtorch, fmt::format("computing with {}", run.path));
  std::optional<StderrCapture> words(std::in_place);
  auto right = check_both_types(*library, nullptr, events);
  if (!right.ok()) right = words->explained(right.error());
  words.reset();
  run.executed = right.ok();
  if (right.ok()) {
    run.timings.push_back({"start", "cpu", {(steady_seconds()() - begin) * 1e6}});
    probe_further(*library, host, gpu_areas, probe, events);
    probe.library = *library;
  } else {
    record_area_error(run, right.error());
  }
  events.libtorch(run);
  return probe;
}

void time_libtorch(LibtorchProbe& probe, const Host& host, EventWriter& events) {
  if (!probe.library) return;
  LibtorchRun& run = probe.run;
  const auto tell = [&](std::string_view area) {
    events.stage(Step::libtorch, fmt::format("timing {} with {}", area, run.path));
  };
  time_areas(*probe.library, nullptr, run.timings, tell);
  if (probe.on_gpu) {
    auto gpu = GpuDevice::open(first_usable_gpu(host));
    auto guard = gpu ? probe.library->use_stream(gpu->stream(), gpu->index()) : gpu.error();
    if (guard) time_areas(*probe.library, &*gpu, run.timings, tell);
  }
  events.libtorch(run);
}

}  // namespace pbprobe
