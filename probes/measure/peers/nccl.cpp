// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Declared by hand from NCCL's documentation, version 2.
#include "probes/measure/kernels/gpu_probes.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/statuses.hpp"
#include "probes/measure/kernels/gpu_device.hpp"
#include "probes/process/statistics.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kCount = int64_t{64} << 20;  // FP32: 256 MiB
constexpr int kTimedSums = 5;
enum NcclValue : int { kFloat32 = 7, kSum = 0 };

struct Nccl {
  LOOKED_UP(int(void** communicators, int count, const int* devices), init_all, "ncclCommInitAll");
  LOOKED_UP(int(void* communicator), destroy, "ncclCommDestroy");
  LOOKED_UP(int(), group_start, "ncclGroupStart");
  LOOKED_UP(int(), group_end, "ncclGroupEnd");
  LOOKED_UP(int(const void* send, void* receive, size_t count, int type, int operation, void* communicator,
                CuStream stream),
            all_reduce, "ncclAllReduce");
  LOOKED_UP(const char*(int status), error_string, "ncclGetErrorString", "optional");

  [[nodiscard]] Result<void> check(const char* what, int status) const {
    if (status == 0) return {};
    Error error =
        make_error(ErrorCode::device, "{}: {}", what, error_string == nullptr ? "it failed" : error_string(status));
    error.obstacle = classify_status(StatusSource::nccl, status);
    return error;
  }
};

// One GPU's part.
struct Rank {
  GpuDevice device;
  DeviceBuffer send;
  DeviceBuffer receive;
};

// Makes a rank that sends `number` (from 1) in every element.
Result<Rank> make_rank(int32_t gpu, size_t number) {
  PBPROBE_TRY(GpuDevice device, GpuDevice::open(gpu));
  PBPROBE_TRY(DeviceBuffer send, device.allocate(kCount * sizeof(float)));
  PBPROBE_TRY(DeviceBuffer receive, device.allocate(kCount * sizeof(float)));
  const std::vector<float> values(kCount, static_cast<float>(number + 1));
  PBPROBE_CHECK(device.upload(send, 0, values.data(), values.size() * sizeof(float)));
  PBPROBE_CHECK(device.fill(receive, 0xff));
  return Rank{std::move(device), std::move(send), std::move(receive)};
}

class Reduction {
 public:
  Reduction(Nccl nccl, std::vector<Rank> ranks) : nccl_(nccl), ranks_(std::move(ranks)) {}
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  ~Reduction() {
    for (void* communicator : communicators_)
      if (communicator != nullptr) nccl_.destroy(communicator);
  }

  Result<void> start(std::span<const int32_t> gpus) {
    communicators_.resize(gpus.size(), nullptr);
    const std::vector<int> devices(gpus.begin(), gpus.end());
    return nccl_.check("ncclCommInitAll",
                       nccl_.init_all(communicators_.data(), static_cast<int>(devices.size()), devices.data()));
  }

  Result<void> enqueue() const {
    PBPROBE_CHECK(nccl_.check("ncclGroupStart", nccl_.group_start()));
    for (size_t i = 0; i < ranks_.size(); ++i)
      PBPROBE_CHECK(
          nccl_.check("ncclAllReduce", nccl_.all_reduce(ranks_[i].send.data(), ranks_[i].receive.data(), kCount,
                                                        kFloat32, kSum, communicators_[i], ranks_[i].device.stream())));
    return nccl_.check("ncclGroupEnd", nccl_.group_end());
  }

  // Times one all-reduce by the first GPU's clock, after all GPUs are idle.
  [[nodiscard]] Result<double> time_us() const {
    for (const Rank& rank : ranks_) PBPROBE_CHECK(rank.device.synchronize());
    PBPROBE_CHECK(ranks_.front().device.make_current());
    return ranks_.front().device.time_us([this] { return enqueue(); }, 1);
  }

  [[nodiscard]] Result<void> check() const {
    const auto count = ranks_.size();
    const size_t sum = count * (count + 1) / 2;
    const auto wanted = static_cast<float>(sum);
    std::vector<float> seen(kCount);
    for (const Rank& rank : ranks_) {
      PBPROBE_CHECK(rank.device.make_current());
      PBPROBE_CHECK(rank.device.download(seen.data(), rank.receive, 0, seen.size() * sizeof(float)));
      const auto wrong = std::ranges::find_if(seen, [&](float value) { return !(value == wanted); });
      if (wrong != seen.end())
        return make_error(ErrorCode::malformed, "element {} of the all-reduce on cuda:{} is {}, and must be {}",
                          wrong - seen.begin(), rank.device.index(), *wrong, wanted);
    }
    return {};
  }

 private:
  Nccl nccl_;
  std::vector<Rank> ranks_;
  std::vector<void*> communicators_;
};

}  // namespace

Result<ProbeFigure> probe_nccl(const Libtorch& library, std::span<const int32_t> gpus) {
  PBPROBE_TRY(const Nccl nccl, find_functions<Nccl>(library, "NCCL"));
  std::vector<Rank> ranks;
  for (size_t i = 0; i < gpus.size(); ++i) {
    PBPROBE_TRY(Rank rank, make_rank(gpus[i], i));
    ranks.push_back(std::move(rank));
  }
  Reduction reduction(nccl, std::move(ranks));
  PBPROBE_CHECK(reduction.start(gpus));
  PBPROBE_CHECK(reduction.enqueue());
  PBPROBE_CHECK(reduction.check());
  const auto count = static_cast<double>(gpus.size());
  const double share = gpus.size() > 1 ? 2 * (count - 1) / count : 1;
  std::vector<double> values;
  for (int round = 0; round < kTimedSums; ++round) {
    PBPROBE_TRY(const double us, reduction.time_us());
    values.push_back(static_cast<double>(kCount) * sizeof(float) * share / us * 1e-3);
  }
  const double value = median(values);
  return ProbeFigure{.device = fmt::format("cuda:{}", fmt::join(gpus, ",")),
                     .target = "libtorch",
                     .name = gpus.size() > 1 ? "NCCL all-reduce, bus bandwidth" : "NCCL all-reduce, one GPU",
                     .unit = "GB/s",
                     .value = value,
                     .proved = true,
                     .samples = std::move(values)};
}

}  // namespace pbprobe
