// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch/speeds.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <random>

#include "probes/measure/kernels/timing.hpp"

namespace pbprobe {
namespace {

using Tensor = Libtorch::Tensor;
using Argument = Libtorch::Argument;
using Call = std::function<Result<void>()>;
constexpr std::monostate kNone;

// Seconds of one slice, for the host's clock, and number of slices per process.
constexpr double kSliceSeconds = 4e-3;
constexpr int64_t kSlices = 7;

// Operands of one area: they live as long as it is timed. On a GPU the work is larger, or its launches would be timed.
class Bench {
 public:
  Bench(const Libtorch& library, const GpuDevice* gpu) : library_(library), gpu_(gpu) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : normal_) value = normal(random);
  }

  [[nodiscard]] const Libtorch& library() const { return library_; }
  [[nodiscard]] bool is_gpu() const { return gpu_ != nullptr; }
  [[nodiscard]] int64_t size(int64_t cpu, int64_t gpu) const { return gpu_ != nullptr ? gpu : cpu; }

  // Random normal values; integers and what is only written hold zeros.
  Result<const Tensor*> array(Element type, std::vector<int64_t> sizes) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    PBPROBE_TRY(void* data, memory(count * size_of(type), type == Element::fp32 ? count : 0));
    PBPROBE_TRY(Tensor tensor, library_.wrap(ArrayView{data, type, std::move(sizes), device()}));
    return keep(std::move(tensor));
  }

  Result<const Tensor*> matrix(DType type, int64_t rows, int64_t columns) {
    const bool fp32 = type == DType::fp32;
    PBPROBE_TRY(void* data, memory(rows * columns * size_of(type), fp32 ? rows * columns : 0));
    PBPROBE_TRY(Tensor tensor, library_.wrap(MatrixView{data, type, rows, columns, columns, 1, device()}));
    return keep(std::move(tensor));
  }

  Result<double> microseconds(const Call& call, int64_t repeats) const {
    if (gpu_ != nullptr) return gpu_->time_us(call, repeats);
    const auto clock = steady_seconds();
    const double begin = clock();
    for (int64_t i = 0; i < repeats; ++i) PBPROBE_CHECK(call());
    return (clock() - begin) * 1e6 / static_cast<double>(repeats);
  }

 private:
  [[nodiscard]] int32_t device() const { return gpu_ != nullptr ? gpu_->index() : -1; }

  const Tensor* keep(Tensor tensor) { return &tensors_.emplace_back(std::move(tensor)); }

  // The first `floats` elements are FP32 numbers. In BF16 and INT8 arbitrary bytes would hold NaN: there 0x3c, which is
  // 0.0115 in BF16 and 60 in INT8.
  Result<void*> memory(int64_t bytes, int64_t floats) {
    auto& host = host_.emplace_back(static_cast<size_t>(bytes), floats > 0 ? std::byte{0} : std::byte{0x3c});
    for (int64_t i = 0; i < floats; ++i) {
      const float value = normal_[static_cast<size_t>(i) % normal_.size()];
      std::memcpy(host.data() + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
    }
    if (gpu_ == nullptr) return static_cast<void*>(host.data());
    PBPROBE_TRY(DeviceBuffer buffer, gpu_->allocate(host.size()));
    PBPROBE_CHECK(gpu_->upload(buffer, 0, host.data(), host.size()));
    return buffers_.emplace_back(std::move(buffer)).data();
  }

  const Libtorch& library_;
  const GpuDevice* gpu_;
  std::array<float, 65521> normal_{};  // over and over: drawing each would take longer than what is timed
  // Deques keep addresses: tensors point into memory, and calls to tensors, which are destroyed first.
  std::deque<std::vector<std::byte>> host_;
  std::deque<DeviceBuffer> buffers_;
  std::deque<Tensor> tensors_;
};

// An operator and its arguments, of which the last is where the result goes.
Call dispatched(const Bench& bench, std::string name, std::string overload, std::vector<Argument> arguments,
                size_t results = 1) {
  return [&bench, name = std::move(name), overload = std::move(overload), arguments = std::move(arguments),
          results]() -> Result<void> {
    const auto done = bench.library().call(name, overload, arguments, results);
    return done.ok() ? Result<void>() : done.error();
  };
}

Result<Call> elementwise(Bench& bench) {
  const int64_t count = bench.size(1 << 18, 1 << 24);
  PBPROBE_TRY(const Tensor* in, bench.array(Element::fp32, {count}));
  PBPROBE_TRY(const Tensor* out, bench.array(Element::fp32, {count}));
  return dispatched(bench, "aten::exp", "out", {in, out});
}

Result<Call> reduction(Bench& bench) {
  PBPROBE_TRY(const Tensor* in, bench.array(Element::fp32, {bench.size(1 << 20, 1 << 24)}));
  PBPROBE_TRY(const Tensor* out, bench.array(Element::int64, {}));
  return dispatched(bench, "aten::argmax", "out", {in, kNone, false, out});
}

Result<Call> softmax(Bench& bench) {
  const int64_t rows = bench.size(256, 8192);
  PBPROBE_TRY(const Tensor* in, bench.array(Element::fp32, {rows, 1000}));
  PBPROBE_TRY(const Tensor* out, bench.array(Element::fp32, {rows, 1000}));
  return dispatched(bench, "aten::_softmax", "out", {in, int64_t{1}, false, out});
}

Result<Call> sort(Bench& bench) {
  const int64_t count = bench.size(1 << 15, 1 << 20);
  PBPROBE_TRY(const Tensor* in, bench.array(Element::fp32, {count}));
  PBPROBE_TRY(const Tensor* sorted, bench.array(Element::fp32, {count}));
  PBPROBE_TRY(const Tensor* indices, bench.array(Element::int64, {count}));
  return dispatched(bench, "aten::sort", "values", {in, int64_t{0}, true, sorted, indices}, 2);
}

Result<Call> gemm(Bench& bench, DType type) {
  const int64_t size = bench.size(512, 4096);
  PBPROBE_TRY(const Tensor* a, bench.matrix(type, size, size));
  PBPROBE_TRY(const Tensor* b, bench.matrix(type, size, size));
  PBPROBE_TRY(const Tensor* c, bench.matrix(type == DType::int8 ? DType::int32 : type, size, size));
  return Call([&bench, a, b, c, type] { return bench.library().matmul(*a, *b, *c, type); });
}
Result<Call> matmul_fp32(Bench& bench) {
  return gemm(bench, DType::fp32);
}
Result<Call> matmul_bf16(Bench& bench) {
  return gemm(bench, DType::bf16);
}
Result<Call> matmul_int8(Bench& bench) {
  return gemm(bench, DType::int8);
}

Result<Call> convolution(Bench& bench) {
  PBPROBE_TRY(const Tensor* image, bench.array(Element::fp32, {bench.size(2, 32), 32, 56, 56}));
  PBPROBE_TRY(const Tensor* weight, bench.array(Element::fp32, {32, 32, 3, 3}));
  return Call([&bench, image, weight]() -> Result<void> {
    constexpr std::array<int64_t, 2> kOnes{1, 1};
    const auto done = bench.library().convolve(*image, *weight, kOnes, kOnes, bench.is_gpu());
    return done.ok() ? Result<void>() : done.error();
  });
}

Result<Call> recurrent_cell(Bench& bench) {
  const int64_t batch = 64;
  const int64_t width = bench.size(256, 1024);
  PBPROBE_TRY(const Tensor* input, bench.array(Element::fp32, {batch, width}));
  PBPROBE_TRY(const Tensor* hidden, bench.array(Element::fp32, {batch, width}));
  PBPROBE_TRY(const Tensor* input_weight, bench.array(Element::fp32, {3 * width, width}));
  PBPROBE_TRY(const Tensor* hidden_weight, bench.array(Element::fp32, {3 * width, width}));
  return dispatched(bench, "aten::gru_cell", "", {input, hidden, input_weight, hidden_weight, kNone, kNone});
}

Result<Call> fourier(Bench& bench) {
  const int64_t count = bench.size(1 << 15, 1 << 20);
  PBPROBE_TRY(const Tensor* in, bench.array(Element::fp32, {count}));
  PBPROBE_TRY(const Tensor* out, bench.array(Element::complex64, {count}));
  return dispatched(bench, "aten::fft_fft", "out", {in, kNone, int64_t{-1}, kNone, out});
}

Result<Call> linear_algebra(Bench& bench) {
  const int64_t size = bench.size(128, 512);
  PBPROBE_TRY(const Tensor* in, bench.array(Element::fp32, {size, size}));
  PBPROBE_TRY(const Tensor* out, bench.array(Element::fp32, {size, size}));
  return dispatched(bench, "aten::linalg_inv", "out", {in, out});
}

struct Area {
  std::string_view name;
  Result<Call> (*prepare)(Bench&);
};

constexpr std::array kTimedAreas{
    Area{"elementwise", &elementwise},
    Area{"reduction", &reduction},
    Area{"softmax", &softmax},
    Area{"sort", &sort},
    Area{"matmul in FP32", &matmul_fp32},
    Area{"matmul in BF16", &matmul_bf16},
    Area{"matmul in INT8", &matmul_int8},
    Area{"convolution", &convolution},
    Area{"recurrent cell", &recurrent_cell},
    Area{"FFT", &fourier},
    Area{"linear algebra in FP32", &linear_algebra},
};

Result<std::vector<double>> time_one(const Area& area, const Libtorch& library, const GpuDevice* gpu) {
  Bench bench(library, gpu);
  PBPROBE_TRY(const Call call, area.prepare(bench));
  std::vector<Candidate> single{{.name = std::string(area.name),
                                 .sample = [&](int64_t repeats) { return bench.microseconds(call, repeats); },
                                 .slice_seconds = kSliceSeconds}};
  PBPROBE_TRY(Rounds rounds, interleave(single, {.least_rounds = kSlices, .most_rounds = kSlices}, steady_seconds()));
  return std::move(rounds.samples_us.front());
}

}  // namespace

void time_areas(const Libtorch& library, const GpuDevice* gpu, std::vector<AreaTiming>& timings,
                const std::function<void(std::string_view area)>& tell) {
  const std::string device = gpu == nullptr ? "cpu" : fmt::format("cuda:{}", gpu->index());
  for (const Area& area : kTimedAreas) {
    tell(area.name);
    auto samples = time_one(area, library, gpu);
    if (samples) timings.push_back({std::string(area.name), device, std::move(*samples)});
  }
}

}  // namespace pbprobe
