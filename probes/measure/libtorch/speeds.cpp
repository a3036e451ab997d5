// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch/speeds.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/demangle.hpp"
#include "core/sm.hpp"
#include "probes/measure/kernels/gpu_probes.hpp"
#include "probes/measure/libtorch/scaled.hpp"
#include "probes/process/statistics.hpp"

namespace pbprobe {
namespace {

using Argument = Libtorch::Argument;
using Tensor = Libtorch::Tensor;

constexpr int kRounds = 7;
constexpr size_t kMostKernels = 4;  // kernel names per operation

// An operation of libtorch. `call` queues it once, over memory that the operation keeps.
struct Operation {
  std::string name;
  std::optional<DType> type;  // type of the peak to compare with; null compares with the memory peak
  double work = 0;            // operations, or bytes
  double intensity = 0;       // operations for each byte that it must move
  std::vector<DeviceBuffer> memory;
  std::vector<Tensor> tensors;
  std::function<Result<void>(const std::vector<Tensor>&)> call;
};

class Speeds {
 public:
  Speeds(const Libtorch& library, const GpuDevice& device) : library_(library), device_(device) {}

  // Random bits would be NaN here and there; one number everywhere draws less power. So a short pattern of numbers
  // near one, whose exponent all types of two and four bytes read alike.
  Result<void> add_array(Operation& operation, Element type, std::vector<int64_t> sizes) const {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    const int64_t bytes = count * size_of(type);
    PBPROBE_TRY(DeviceBuffer buffer, device_.allocate(static_cast<size_t>(bytes)));
    PBPROBE_CHECK(fill(buffer));
    PBPROBE_TRY(Tensor tensor, library_.wrap(ArrayView{buffer.data(), type, std::move(sizes), device_.index()}));
    operation.memory.push_back(std::move(buffer));
    operation.tensors.push_back(std::move(tensor));
    return {};
  }

  Result<void> add_matrix(Operation& operation, DType type, int64_t rows, int64_t columns, bool transposed) const {
    PBPROBE_TRY(DeviceBuffer buffer, device_.allocate(static_cast<size_t>(rows * columns * size_of(type))));
    PBPROBE_CHECK(fill(buffer));
    const MatrixView view{buffer.data(),         type,           rows, columns, transposed ? 1 : columns,
                          transposed ? rows : 1, device_.index()};
    PBPROBE_TRY(Tensor tensor, library_.wrap(view));
    operation.memory.push_back(std::move(buffer));
    operation.tensors.push_back(std::move(tensor));
    return {};
  }

  Result<Operation> elementwise() const {
    constexpr int64_t kElements = int64_t{64} << 20;
    Operation operation{.name = "elementwise fp32", .work = 2.0 * 4 * kElements, .intensity = 1.0 / (2 * 4)};
    for (int i = 0; i < 2; ++i) PBPROBE_CHECK(add_array(operation, Element::fp32, {kElements}));
    operation.call = [this](const auto& tensors) { return run("aten::neg", "out", {&tensors[0], &tensors[1]}); };
    return operation;
  }

  Result<Operation> gemm(DType type) const {
    constexpr int64_t kSize = 4096;
    const DType out = type == DType::int8 ? DType::int32 : type;
    Operation operation{.name = fmt::format("mm {}", name_of(type)),
                        .type = type,
                        .work = 2.0 * kSize * kSize * kSize,
                        .intensity = 2.0 * kSize / static_cast<double>(2 * size_of(type) + size_of(out))};
    PBPROBE_CHECK(add_matrix(operation, type, kSize, kSize, false));
    PBPROBE_CHECK(add_matrix(operation, type, kSize, kSize, true));
    PBPROBE_CHECK(add_matrix(operation, out, kSize, kSize, false));
    operation.call = [this, type](const auto& tensors) {
      return library_.matmul(tensors[0], tensors[1], tensors[2], type);
    };
    return operation;
  }

  Result<Operation> scaled(const area::ScaledKind& kind) const {
    constexpr int64_t kSize = 4096;
    PBPROBE_TRY(area::ScaledGemm gemm, area::large_scaled({library_, &device_}, kind, kSize));
    Operation operation{.name = fmt::format("scaled_mm {}{}", kind.scales, name_of(kind.type)),
                        .type = kind.type,
                        .work = 2.0 * kSize * kSize * kSize,
                        .intensity = 2.0 * kSize / (2.0 / static_cast<double>(numbers_in(kind.type)) + 2),
                        .memory = std::move(gemm.memory),
                        .tensors = std::move(gemm.tensors)};
    operation.call = [this](const auto& tensors) { return area::run_scaled({library_, &device_}, tensors); };
    return operation;
  }

  Result<Operation> convolution() const {
    constexpr int64_t kImages = 32, kChannels = 256, kSide = 28;
    constexpr double kWork = 2.0 * kImages * kChannels * kChannels * 9 * kSide * kSide;
    constexpr int64_t kElements = 2 * kImages * kChannels * kSide * kSide + kChannels * kChannels * 9;
    Operation operation{
        .name = "convolution bf16", .type = DType::bf16, .work = kWork, .intensity = kWork / (2.0 * kElements)};
    PBPROBE_CHECK(add_array(operation, Element::bf16, {kImages, kChannels, kSide, kSide}));
    PBPROBE_CHECK(add_array(operation, Element::bf16, {kChannels, kChannels, 3, 3}));
    operation.call = [this](const auto& tensors) -> Result<void> {
      static constexpr std::array<int64_t, 2> kOnes{1, 1};
      const auto result = library_.convolve(tensors[0], tensors[1], kOnes, kOnes, true);
      return result.ok() ? Result<void>() : result.error();
    };
    return operation;
  }

  Result<Operation> attention() const {
    constexpr int64_t kBatch = 4, kHeads = 16, kLength = 2048, kDepth = 128;
    Operation operation{.name = "attention bf16",
                        .type = DType::bf16,
                        .work = 4.0 * kBatch * kHeads * kLength * kLength * kDepth,
                        .intensity = kLength / 2.0,  // Q, K, V and the result, of two bytes
                        .call = {}};
    for (int i = 0; i < 3; ++i) PBPROBE_CHECK(add_array(operation, Element::bf16, {kBatch, kHeads, kLength, kDepth}));
    operation.call = [this](const auto& tensors) {
      return run("aten::scaled_dot_product_attention", "",
                 {&tensors[0], &tensors[1], &tensors[2], std::monostate(), 0.0, false, std::monostate(), false});
    };
    return operation;
  }

  // Warm first: what is loaded, allocated and chosen once is not timed, and cannot be captured.
  Result<std::vector<double>> time(const Operation& operation) const {
    const auto enqueue = [&] { return operation.call(operation.tensors); };
    for (int i = 0; i < 2; ++i) PBPROBE_CHECK(enqueue());
    PBPROBE_CHECK(device_.synchronize());
    std::vector<double> samples;
    for (int round = 0; round < kRounds; ++round) {
      PBPROBE_TRY(const double us, device_.time_us(enqueue, 1));
      samples.push_back(us);
    }
    return samples;
  }

  Result<std::vector<GpuDevice::QueuedKernel>> kernels(const Operation& operation) const {
    return device_.queued_kernels([&] { return operation.call(operation.tensors); });
  }

 private:
  Result<void> fill(const DeviceBuffer& buffer) const {
    constexpr std::array<uint16_t, 8> kNearOne{0x3f80, 0xbf91, 0x3f2b, 0xbf4d, 0x3fa7, 0x3f13, 0xbf86, 0x3f6e};
    std::vector<uint16_t> values(1 << 16);
    for (size_t i = 0; i < values.size(); ++i) values[i] = kNearOne[(i * 7 + i / 8 * 3) % kNearOne.size()];
    const size_t piece = values.size() * sizeof values[0];
    for (size_t offset = 0; offset < buffer.bytes(); offset += piece)
      PBPROBE_CHECK(device_.upload(buffer, offset, values.data(), std::min(piece, buffer.bytes() - offset)));
    return {};
  }

  Result<void> run(const char* name, const char* overload, std::initializer_list<Argument> arguments) const {
    const auto done = library_.call(name, overload, std::span(arguments.begin(), arguments.size()), 1);
    return done.ok() ? Result<void>() : done.error();
  }

  const Libtorch& library_;
  const GpuDevice& device_;
};

// Compares the rate with the memory peak, or with the peak of the type's fastest instruction.
ProbeFigure make_speed_figure(const Operation& operation, const std::string& device, std::vector<double> samples_us,
                              const Result<GpuPeaks>& peaks) {
  for (auto& sample : samples_us) sample = operation.work / sample * 1e-3;  // GB/s, Gop/s
  const double value = median(samples_us);
  ProbeFigure figure{.device = device,
                     .target = "libtorch",
                     .name = operation.name,
                     .unit = operation.type ? "Gop/s" : "GB/s",
                     .value = value,
                     .samples = std::move(samples_us),
                     .intensity = operation.intensity};
  if (!peaks.ok()) return figure;
  if (!operation.type) {
    figure.against = "copy";
    figure.ratio = figure.value / peaks->copy_gbytes;
  } else if (const auto peak = peaks->gops.find(*operation.type); peak != peaks->gops.end()) {
    figure.against = peaks->names.at(*operation.type);
    figure.ratio = figure.value / peak->second;
  }
  return figure;
}

// An area that was computed on this device, and correctly.
bool was_right(const LibtorchRun& run, std::string_view area, const std::string& device) {
  return std::ranges::any_of(run.areas, [&](const LibtorchArea& one) {
    return one.area == area && one.device == device && !one.problem && !one.skipped;
  });
}

void note_kernels(const std::string& operation, const std::string& device,
                  const std::vector<GpuDevice::QueuedKernel>& kernels, LibtorchRun& run) {
  size_t noted = 0;
  for (const auto& kernel : kernels) {
    LibtorchKernel entry{operation, device, function_name(kernel.name), sm_name(make_sm(kernel.binary)),
                         compute_name(make_sm(kernel.ptx))};
    const bool known = std::ranges::any_of(run.kernels, [&](const LibtorchKernel& other) {
      return other.operation == operation && other.name == entry.name && other.machine_code == entry.machine_code;
    });
    if (known || ++noted > kMostKernels) continue;
    run.kernels.push_back(std::move(entry));
  }
}

}  // namespace

void measure_speeds(const Libtorch& library, const GpuDevice& device, const Gpu& gpu, LibtorchRun& run,
                    EventWriter& events) {
  const Speeds speeds(library, device);
  const std::string where = fmt::format("cuda:{}", device.index());
  events.stage(Step::kernels, fmt::format("measuring the peaks of GPU {}", device.index()));
  const auto peaks = measure_peaks(gpu);
  if (!peaks.ok())
    events.note(fmt::format("libtorch's speeds have no peak to compare with: {}", peaks.error().message));
  std::vector<std::function<Result<Operation>()>> makers{
      [&] { return speeds.elementwise(); },     [&] { return speeds.gemm(DType::fp32); },
      [&] { return speeds.gemm(DType::bf16); }, [&] { return speeds.gemm(DType::int8); },
      [&] { return speeds.convolution(); },     [&] { return speeds.attention(); }};
  for (const auto& kind : area::scaled_kinds())
    if (was_right(run, kind.name, where)) makers.emplace_back([&] { return speeds.scaled(kind); });
  for (const auto& make : makers) {
    auto operation = make();
    if (!operation.ok()) {
      events.note(fmt::format("libtorch was not timed on {}: {}", where, operation.error().message));
      continue;
    }
    events.stage(Step::libtorch, fmt::format("timing {} of {} on {}", operation->name, run.path, where));
    auto samples = speeds.time(*operation);
    if (!samples.ok()) {
      events.note(
          fmt::format("{} of libtorch was not timed on {}: {}", operation->name, where, samples.error().message));
      continue;
    }
    run.speeds.push_back(make_speed_figure(*operation, where, std::move(*samples), peaks));
    const auto kernels = speeds.kernels(*operation);
    if (kernels.ok()) note_kernels(operation->name, where, *kernels, run);
    if (!kernels.ok())
      events.note(
          fmt::format("which kernels {} runs on {} is not known: {}", operation->name, where, kernels.error().message));
    events.libtorch(run);
  }
}

}  // namespace pbprobe
