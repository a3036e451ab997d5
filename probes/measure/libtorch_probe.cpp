// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch_probe.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "probes/measure/cudnn.hpp"
#include "probes/measure/libtorch_areas.hpp"
#include "probes/measure/libtorch_libraries.hpp"
#include "probes/measure/libtorch_speeds.hpp"
#include "probes/measure/libtorch_timings.hpp"
#include "probes/measure/nccl.hpp"
#include "probes/measure/timing.hpp"

namespace pbprobe {
namespace {

// Ragged, and small enough that |C| ≤ 4·kK < 256: every integer up to there is a BF16 number.
constexpr int64_t kM = 37;
constexpr int64_t kN = 41;
constexpr int64_t kK = 61;

int64_t left(int64_t i, int64_t k) {
  return (i * 7 + k * 3) % 5 - 2;
}
int64_t right(int64_t k, int64_t j) {
  return (k * 11 + j * 5) % 5 - 2;
}

// Bits of a small integer in FP32, of which BF16 is the upper half.
uint32_t bits_of(int64_t integer) {
  const auto value = static_cast<float>(integer);
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

void store(std::vector<unsigned char>& to, int64_t index, DType type, uint32_t fp32_bits) {
  const auto upper = static_cast<uint16_t>(fp32_bits >> 16);
  if (type == DType::bf16) {
    std::memcpy(to.data() + index * 2, &upper, sizeof upper);
  } else {
    std::memcpy(to.data() + index * 4, &fp32_bits, sizeof fp32_bits);
  }
}

uint32_t load(const std::vector<unsigned char>& from, int64_t index, DType type) {
  uint16_t upper = 0;
  uint32_t bits = 0;
  if (type == DType::bf16) {
    std::memcpy(&upper, from.data() + index * 2, sizeof upper);
    return static_cast<uint32_t>(upper) << 16;
  }
  std::memcpy(&bits, from.data() + index * 4, sizeof bits);
  return bits;
}

struct Matrices {
  std::vector<unsigned char> a, b, c;  // row by row; C is filled with NaN
};

Matrices integers(DType type) {
  const auto size = static_cast<size_t>(size_of(type));
  Matrices matrices{std::vector<unsigned char>(kM * kK * size), std::vector<unsigned char>(kK * kN * size),
                    std::vector<unsigned char>(kM * kN * size, 0xff)};
  for (int64_t i = 0; i < kM; ++i)
    for (int64_t k = 0; k < kK; ++k) store(matrices.a, i * kK + k, type, bits_of(left(i, k)));
  for (int64_t k = 0; k < kK; ++k)
    for (int64_t j = 0; j < kN; ++j) store(matrices.b, k * kN + j, type, bits_of(right(k, j)));
  return matrices;
}

Result<void> compare(const std::vector<unsigned char>& c, DType type) {
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      int64_t sum = 0;
      for (int64_t k = 0; k < kK; ++k) sum += left(i, k) * right(k, j);
      const uint32_t seen = load(c, i * kN + j, type);
      // −0 where a sum of products cancels is right too.
      if (seen == bits_of(sum) || (sum == 0 && seen == 0x80000000U)) continue;
      float value = 0;
      std::memcpy(&value, &seen, sizeof value);
      return make_error(ErrorCode::malformed, "C[{},{}] of a {}x{}x{} product in {} is {}, and must be {}", i, j, kM,
                        kN, kK, name_of(type), value, sum);
    }
  }
  return {};
}

Result<void> multiply(const Libtorch& library, DType type, const std::array<void*, 3>& data, int32_t device) {
  PBPROBE_TRY(const auto a, library.wrap({data[0], type, kM, kK, kK, 1, device}));
  PBPROBE_TRY(const auto b, library.wrap({data[1], type, kK, kN, kN, 1, device}));
  PBPROBE_TRY(const auto c, library.wrap({data[2], type, kM, kN, kN, 1, device}));
  return library.matmul(a, b, c, type);
}

Result<void> multiply_on_gpu(const Libtorch& library, DType type, Matrices& matrices, const GpuDevice& gpu) {
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

Result<void> check_both_types(const Libtorch& library, const GpuDevice* gpu) {
  for (const DType type : {DType::fp32, DType::bf16}) PBPROBE_CHECK(check_product(library, type, gpu));
  return {};
}

void try_areas(const Libtorch& library, const GpuDevice* gpu, LibtorchRun& run, EventWriter& events) {
  check_areas(library, gpu, run.areas, [&] {
    events.stage(Step::libtorch, fmt::format("computing {} with {}", run.areas.back().area, run.path));
    events.libtorch(run);
  });
}

// What a library beside libtorch was asked: wrong, or not to be asked here, with its reason.
void add_area(LibtorchRun& run, std::string name, const std::string& device, const Result<void>& right,
              ErrorCode no_fault) {
  LibtorchArea area{std::move(name), device, {}, {}};
  if (!right.ok()) {
    const bool skipped = right.error().code == ErrorCode::unsupported || right.error().code == no_fault;
    (skipped ? area.skipped : area.problem) = right.error().message;
  }
  run.areas.push_back(std::move(area));
}

void try_libraries(const Libtorch& library, const GpuDevice& gpu, const Host& host, LibtorchRun& run,
                   EventWriter& events) {
  const std::string device = fmt::format("cuda:{}", gpu.index());
  events.stage(Step::libtorch, fmt::format("asking the cuDNN of {}", run.path));
  // That cuDNN has no engine for a type on this GPU is no fault of the build.
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
  PBPROBE_CHECK(library.load_cuda(index));
  run.starts.push_back({.how = "as it stands",
                        .device = device,
                        .first_tensor_seconds = steady_seconds()() - begin,
                        .first_kernel_seconds = {},
                        .cpu_capability = {},
                        .problem = {}});
  events.stage(Step::libtorch, fmt::format("computing with {} on {}", run.path, device));
  PBPROBE_TRY(GpuDevice gpu, GpuDevice::open(index));
  PBPROBE_CHECK(check_both_types(library, &gpu));
  run.timings.push_back({"start", device, {(steady_seconds()() - begin) * 1e6}});
  return gpu;
}

Result<void> use_gpu(const Libtorch& library, const GpuDevice& gpu, const Host& host, LibtorchRun& run,
                     EventWriter& events) {
  PBPROBE_TRY(const auto guard, library.use_stream(gpu.stream(), gpu.index()));
  try_areas(library, &gpu, run, events);
  const auto found =
      std::find_if(host.gpus.begin(), host.gpus.end(), [&](const Gpu& each) { return each.index == gpu.index(); });
  measure_speeds(library, gpu, *found, run, events);
  try_libraries(library, gpu, host, run, events);
  return {};
}

std::string sentence(const Error& error, const std::string& folder) {
  if (error.code == ErrorCode::malformed)
    return fmt::format("computing with {}: {}: this build computes wrong on this machine; take another one", folder,
                       error.message);
  return fmt::format("computing with {}: {}", folder, error.message);
}

// The GPU comes before the areas: libtorch finds out once whether there is CUDA, and some of what areas ask makes it
// look.
void probe_further(Libtorch& library, const Host& host, bool gpu_areas, LibtorchProbe& probe, EventWriter& events) {
  LibtorchRun& run = probe.run;
  const int32_t index = first_usable_gpu(host);
  std::error_code error;
  std::optional<GpuDevice> gpu;
  if (index >= 0 && std::filesystem::exists(run.path + "/libtorch_cuda.so", error)) {
    auto started = start_gpu(library, index, run, events);
    run.executed_on_gpu = probe.on_gpu = started.ok();
    if (started.ok()) gpu.emplace(std::move(*started));
    if (!started.ok()) run.problem = sentence(started.error(), run.path);
  }
  ask_libraries(library, run);
  events.libtorch(run);
  try_areas(library, nullptr, run, events);
  if (!gpu || !gpu_areas) return;
  if (auto used = use_gpu(library, *gpu, host, run, events); !used.ok()) run.problem = sentence(used.error(), run.path);
}

}  // namespace

Result<void> check_product(const Libtorch& library, DType type, const GpuDevice* gpu) {
  Matrices matrices = integers(type);
  if (gpu != nullptr) {
    PBPROBE_CHECK(multiply_on_gpu(library, type, matrices, *gpu));
  } else {
    PBPROBE_CHECK(multiply(library, type, {matrices.a.data(), matrices.b.data(), matrices.c.data()}, -1));
  }
  return compare(matrices.c, type);
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
  auto library = Libtorch::load(run.path);
  run.loaded = library.ok();
  if (!library.ok()) {
    run.problem = library.error().message;
    events.libtorch(run);
    return probe;
  }
  run.version = library->version();
  run.cpu_capability = library->cpu_capability();
  events.libtorch(run);
  events.stage(Step::libtorch, fmt::format("computing with {}", run.path));
  auto right = check_both_types(*library, nullptr);
  run.executed = right.ok();
  if (right.ok()) {
    run.timings.push_back({"start", "cpu", {(steady_seconds()() - begin) * 1e6}});
    probe_further(*library, host, gpu_areas, probe, events);
    probe.library = *library;
  } else {
    run.problem = sentence(right.error(), run.path);
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
