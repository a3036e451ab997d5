// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch_probe.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "probes/measure/libtorch_areas.hpp"
#include "probes/measure/libtorch_timings.hpp"
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

Result<void> try_gpu(Libtorch& library, int32_t index, LibtorchRun& run, bool areas, EventWriter& events) {
  const std::string& folder = run.path;
  const double begin = steady_seconds()();
  events.stage(Step::libtorch, fmt::format("loading {}/libtorch_cuda.so", folder));
  PBPROBE_CHECK(library.load_cuda(index));
  events.stage(Step::libtorch, fmt::format("computing with {} on cuda:{}", folder, index));
  PBPROBE_TRY(const GpuDevice gpu, GpuDevice::open(index));
  PBPROBE_CHECK(check_both_types(library, &gpu));
  run.executed_on_gpu = true;
  run.timings.push_back({"start", fmt::format("cuda:{}", index), {(steady_seconds()() - begin) * 1e6}});
  if (!areas) return {};
  PBPROBE_TRY(const auto guard, library.use_stream(gpu.stream(), index));
  try_areas(library, &gpu, run, events);
  return {};
}

bool has_cuda(const std::string& folder, const Host& host) {
  std::error_code error;
  return first_usable_gpu(host) >= 0 && std::filesystem::exists(folder + "/libtorch_cuda.so", error);
}

// Before the areas on the CPU. Where it fails, try_gpu() will say so.
void open_cuda(const Libtorch& library, const Host& host, const LibtorchRun& run, EventWriter& events) {
  if (!has_cuda(run.path, host)) return;
  events.stage(Step::libtorch, fmt::format("loading {}/libtorch_cuda.so", run.path));
  [[maybe_unused]] const auto opened = library.open_cuda();
}

std::string sentence(const Error& error, const std::string& folder) {
  if (error.code == ErrorCode::malformed)
    return fmt::format("computing with {}: {}: this build computes wrong on this machine; take another one", folder,
                       error.message);
  return fmt::format("computing with {}: {}", folder, error.message);
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

LibtorchProbe probe_libtorch(const std::string& folder, const Host& host, bool gpu_areas, EventWriter& events) {
  LibtorchProbe probe{.run = {.path = folder}, .library = std::nullopt};
  LibtorchRun& run = probe.run;
  const double begin = steady_seconds()();
  events.stage(Step::libtorch, fmt::format("loading {}/libtorch_cpu.so", folder));
  auto library = Libtorch::load(folder);
  run.loaded = library.ok();
  if (library.ok()) {
    run.version = library->version();
    run.cpu_capability = library->cpu_capability();
    events.libtorch(run);
    events.stage(Step::libtorch, fmt::format("computing with {}", folder));
    auto right = check_both_types(*library, nullptr);
    run.executed = right.ok();
    if (right.ok()) probe.library = *library;
    if (right.ok()) run.timings.push_back({"start", "cpu", {(steady_seconds()() - begin) * 1e6}});
    if (right.ok()) open_cuda(*library, host, run, events);
    if (right.ok()) try_areas(*library, nullptr, run, events);
    if (!right.ok()) run.problem = sentence(right.error(), folder);
  } else {
    run.problem = library.error().message;
  }
  events.libtorch(run);
  if (!probe.library || !has_cuda(folder, host)) return probe;
  auto right = try_gpu(*probe.library, first_usable_gpu(host), run, gpu_areas, events);
  run.executed_on_gpu = probe.on_gpu = right.ok();
  if (!right.ok()) run.problem = sentence(right.error(), folder);
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
