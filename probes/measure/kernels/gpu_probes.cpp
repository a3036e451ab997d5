// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/gpu_probes.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/ranges.h>

#include "core/targets.hpp"
#include "kernels/cuda/host/probes.hpp"
#include "kernels/dispatch/choose.hpp"
#include "probes/measure/kernels/bench.hpp"
#include "probes/measure/kernels/kernel_families.hpp"
#include "probes/process/statistics.hpp"

namespace pbprobe {
namespace {

constexpr int kRounds = 9;
constexpr size_t kMostBytes = size_t{512} << 20;
constexpr uint32_t kFilledWord = 0x5a5a5a5a;
constexpr int64_t kThreadsPerSm = 1024;  // resident at once on every SM since 6.1

// Returns the classes of chips with this rate; "all" if every class has it.
std::optional<std::string> find_chip_class(const Target& target, DType type, double per_clock) {
  constexpr double kWithin = 0.03;
  std::vector<std::string> classes;
  for (const OpsPerClock& ops : target.ops_per_clock) {
    const std::optional<int64_t> rate = rate_of(ops, type);
    if (rate && std::abs(per_clock / static_cast<double>(*rate) - 1) <= kWithin) classes.push_back(ops.chip_class);
  }
  if (classes.empty()) return std::nullopt;
  return classes.size() == target.ops_per_clock.size() ? "all" : fmt::format("{}", fmt::join(classes, " or "));
}

class Prober {
 public:
  Prober(GpuDevice device, GpuKernels cubins, const Target& target)
      : device_(std::move(device)), cubins_(std::move(cubins)), target_(target) {}

  Result<void> prepare() {
    sms_ = std::max<int64_t>(device_.attribute(kCuMultiprocessorCount), 1);
    PBPROBE_TRY(const size_t free_bytes, device_.free_bytes());
    constexpr size_t kPage = 1 << 20;
    bytes_ = std::max(std::min(kMostBytes, free_bytes / 8) / kPage * kPage, kPage);
    PBPROBE_TRY(from_, device_.allocate(bytes_));
    PBPROBE_TRY(to_, device_.allocate(bytes_));
    PBPROBE_TRY(samples_, device_.allocate(sizeof(GpuPeakSample) * static_cast<size_t>(sms_ * kThreadsPerSm / 32)));
    return device_.fill(from_, kFilledWord & 0xff);
  }

  Result<ProbeFigure> copy() {
    std::vector<double> ours;
    std::vector<double> theirs;
    const auto moved = static_cast<double>(2 * bytes_);
    for (int round = 0; round < kRounds; ++round) {
      PBPROBE_TRY(const double us,
                  time([&] { return run_copy_probe(target_.id, from_.data(), to_.data(), size(), context()); }));
      PBPROBE_TRY(const double driver_us, time([&]() -> Result<void> {
                    PBPROBE_CU(
                        device_.driver(), "cuMemcpyDtoDAsync",
                        cuMemcpyDtoDAsync(reinterpret_cast<CuDevicePtr>(to_.data()),
                                          reinterpret_cast<CuDevicePtr>(from_.data()), bytes_, device_.stream()));
                    return {};
                  }));
      ours.push_back(moved / us * 1e-3);
      theirs.push_back(moved / driver_us * 1e-3);
    }
    ProbeFigure figure = make_figure("copy", "GB/s", ours);
    figure.against = "cuMemcpyDtoD";
    figure.ratio = median_ratio(ours, theirs);
    return figure;
  }

  Result<ProbeFigure> read() {
    return sampled("read", static_cast<double>(bytes_),
                   [&] { return run_read_probe(target_.id, from_.data(), size(), 1, 0, sink(), context()); });
  }

  Result<ProbeFigure> read_l2() {
    constexpr int kTimes = 20;
    const int64_t bytes = l2_share();
    return sampled("read from L2", static_cast<double>(bytes) * kTimes, [&, bytes] {
      return run_read_probe(target_.id, from_.data(), bytes, kTimes, sms_ * 2, sink(), context());
    });
  }

  Result<ProbeFigure> read_shared() {
    constexpr int64_t kIterations = 2000;
    const int64_t blocks = sms_ * kThreadsPerSm / kSharedProbeThreads;
    std::vector<double> values;
    for (int round = 0; round < kRounds; ++round) {
      PBPROBE_CHECK(run_shared_probe(target_.id, kIterations, blocks, first_sample(), context()));
      PBPROBE_TRY(const double clocks, read_clocks(blocks));
      const auto bytes = static_cast<double>(kIterations * kSharedProbeBytes * kThreadsPerSm);
      values.push_back(bytes / clocks);
    }
    return make_figure("read from shared memory", "bytes/clock/SM", values);
  }

  // Measures a launch and the wait for it by the host's clock.
  Result<ProbeFigure> launch() {
    constexpr int kCalls = 51;
    std::vector<double> values;
    for (int call = 0; call < kCalls; ++call) {
      const auto begin = std::chrono::steady_clock::now();
      PBPROBE_CHECK(run_empty_probe(target_.id, context()));
      PBPROBE_CHECK(device_.synchronize());
      values.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    return make_figure("launch, waited for", "us", values);
  }

  Result<ProbeFigure> queued_launch() {
    return queued("launch, queued", [&] { return run_empty_probe(target_.id, context()); });
  }

  [[nodiscard]] bool has_tensor_copies() const { return !tensor_probe_symbols(target_.id).empty(); }

  // Copies boxes of 8 KiB by TMA. With `multicast`, each box goes to both blocks of a cluster.
  Result<ProbeFigure> tensor_copies(bool from_l2, bool multicast) {
    constexpr int kTimes = 20;
    constexpr int64_t kBlocksOfSm = 4;
    const int64_t boxes = (from_l2 ? l2_share() : size()) / kBoxProbeBytes;
    const int64_t bytes = boxes * kBoxProbeBytes;
    const int64_t blocks = std::min(sms_ * kBlocksOfSm, boxes) / 2 * 2;
    const int rounds = from_l2 ? kTimes : 1;
    const std::string name =
        fmt::format("tensor copies{}{}", from_l2 ? " from L2" : "", multicast ? ", to both blocks of a cluster" : "");
    PBPROBE_TRY(ProbeFigure figure, sampled(name, static_cast<double>(bytes) * rounds * (multicast ? 2 : 1), [&] {
                  return run_tensor_probe(target_.id, from_.data(), bytes, rounds, blocks, multicast, sink(),
                                          context());
                }));
    PBPROBE_TRY(const std::vector<uint32_t> seen, words_seen(blocks));
    figure.proved = std::all_of(seen.begin(), seen.end(), [](uint32_t word) { return word == kFilledWord; });
    if (!*figure.proved)
      wrong_ = fmt::format("the probe of {} on {} read other bytes than were written", name, figure.device);
    return figure;
  }

  // The device's time for a launch of clusters of two, which read each other's shared memory.
  Result<ProbeFigure> cluster_launch() {
    const int64_t blocks = sms_ / 2 * 2;
    PBPROBE_TRY(ProbeFigure figure, queued("launch of clusters, queued",
                                           [&] { return run_cluster_probe(target_.id, blocks, sink(), context()); }));
    PBPROBE_TRY(const std::vector<uint32_t> seen, words_seen(blocks));
    figure.proved = true;
    for (uint32_t block = 0; block < seen.size(); ++block) *figure.proved &= seen[block] == (block ^ 1U);
    if (!*figure.proved)
      wrong_ = fmt::format("blocks of a cluster on {} did not read each other's shared memory", figure.device);
    return figure;
  }

  // Host time: each launch of warpgroups writes two or three.
  Result<ProbeFigure> map_written() {
    constexpr int kMaps = 1000;
    std::vector<double> values;
    for (int round = 0; round < kRounds; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      for (int map = 0; map < kMaps; ++map) PBPROBE_CHECK(write_probe_map(from_.data(), kBoxProbeBytes, context()));
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      values.push_back(took.count() / kMaps);
    }
    return make_figure("tensor map, written", "us", std::move(values));
  }

  Result<ProbeFigure> instruction(const Peak& peak) {
    PBPROBE_TRY(const Proof proof, make_proof(peak));
    PBPROBE_TRY(const std::string differs, prove(peak, proof));
    const int64_t blocks = sms_ * kThreadsPerSm / peak.threads;
    constexpr int64_t kIterations = 2000;
    const auto operations = static_cast<double>(kIterations * peak.operations) * static_cast<double>(kThreadsPerSm);
    std::vector<double> values;
    std::vector<double> per_clock;
    for (int round = 0; round < kRounds; ++round) {
      PBPROBE_TRY(const double us,
                  time([&] { return run_peak(peak, kIterations, blocks, first_sample(), context()); }));
      PBPROBE_TRY(const double clocks, read_clocks(blocks));
      values.push_back(operations * static_cast<double>(sms_) / us * 1e-3);
      per_clock.push_back(operations / clocks);
    }
    ProbeFigure figure = make_figure(fmt::format("{} {}", peak.instruction, name_of(peak.dtype)), "Gop/s", values);
    figure.per_clock = median(per_clock);
    figure.fits = find_chip_class(target_, peak.dtype, *figure.per_clock);
    figure.proved = differs.empty();
    if (!differs.empty()) wrong_ = fmt::format("{} on {}: {}", figure.name, figure.device, differs);
    return figure;
  }

  // The last instruction or copy whose bits were wrong.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  [[nodiscard]] Context context() const { return {.stream = device_.stream(), .gpu = &cubins_}; }
  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(bytes_); }
  // Returns a size in bytes that stays in the L2 cache.
  [[nodiscard]] int64_t l2_share() const {
    constexpr int64_t kUnknownL2 = 4 << 20;
    const int64_t l2 = device_.attribute(kCuL2CacheBytes);
    return std::min<int64_t>((l2 > 0 ? l2 : kUnknownL2) / 3 / 4096 * 4096, size());
  }
  [[nodiscard]] uint32_t* sink() const { return static_cast<uint32_t*>(samples_.data()); }
  [[nodiscard]] GpuPeakSample* first_sample() const { return static_cast<GpuPeakSample*>(samples_.data()); }
  [[nodiscard]] Result<double> time(const std::function<Result<void>()>& enqueue) const {
    return device_.time_us(enqueue, 1);
  }

  [[nodiscard]] ProbeFigure make_figure(std::string name, std::string unit, std::vector<double> samples) const {
    const double value = median(samples);
    return {.device = fmt::format("cuda:{}", device_.index()),
            .target = target_.id,
            .name = std::move(name),
            .unit = std::move(unit),
            .value = value,
            .samples = std::move(samples)};
  }

  Result<ProbeFigure> sampled(std::string name, double bytes, const std::function<Result<void>()>& enqueue) const {
    std::vector<double> values;
    for (int round = 0; round < kRounds; ++round) {
      PBPROBE_TRY(const double us, time(enqueue));
      values.push_back(bytes / us * 1e-3);
    }
    return make_figure(std::move(name), "GB/s", std::move(values));
  }

  // Reads the results of a probe at sink(): one word per block.
  Result<std::vector<uint32_t>> words_seen(int64_t blocks) const {
    std::vector<uint32_t> seen(static_cast<size_t>(blocks));
    PBPROBE_CHECK(device_.download(seen.data(), samples_, 0, seen.size() * sizeof(uint32_t)));
    return seen;
  }

  // The device's time for one of several launches that follow each other.
  Result<ProbeFigure> queued(std::string name, const std::function<Result<void>()>& enqueue) const {
    constexpr int64_t kQueued = 10;
    std::vector<double> values;
    for (int round = 0; round < kRounds; ++round) {
      PBPROBE_TRY(const double us, device_.time_us(enqueue, kQueued));
      values.push_back(us);
    }
    return make_figure(std::move(name), "us", std::move(values));
  }

  Result<double> read_clocks(int64_t blocks) const {
    std::vector<GpuPeakSample> samples(static_cast<size_t>(blocks));
    PBPROBE_CHECK(device_.download(samples.data(), samples_, 0, samples.size() * sizeof(GpuPeakSample)));
    return std::max(busiest_clocks(samples), 1.0);
  }

  // Returns the difference from the expected bits; "" if the bits are right.
  Result<std::string> prove(const Peak& peak, const Proof& proof) const {
    const auto bytes_of = [](const std::vector<uint32_t>& words) { return words.size() * sizeof(uint32_t); };
    PBPROBE_TRY(const DeviceBuffer a, device_.allocate(bytes_of(proof.a)));
    PBPROBE_TRY(const DeviceBuffer b, device_.allocate(bytes_of(proof.b)));
    PBPROBE_TRY(const DeviceBuffer c, device_.allocate(bytes_of(proof.c)));
    PBPROBE_CHECK(device_.upload(a, 0, proof.a.data(), bytes_of(proof.a)));
    PBPROBE_CHECK(device_.upload(b, 0, proof.b.data(), bytes_of(proof.b)));
    PBPROBE_CHECK(device_.upload(c, 0, proof.c.data(), bytes_of(proof.c)));
    PBPROBE_CHECK(run_proof(peak, a.data(), b.data(), c.data(), context()));
    std::vector<uint32_t> seen(proof.c.size());
    PBPROBE_CHECK(device_.download(seen.data(), c, 0, bytes_of(proof.c)));
    return proof_differs(proof, seen);
  }

  GpuDevice device_;  // first member, so that the device is destroyed last
  GpuKernels cubins_;
  const Target& target_;
  int64_t sms_ = 1;
  size_t bytes_ = 0;
  DeviceBuffer from_;
  DeviceBuffer to_;
  DeviceBuffer samples_;
  std::string wrong_;
};

// Returns the device's own target if it is built, else another target whose cubin runs on the device.
const Target* find_probe_target(const Gpu& gpu) {
  const Target* other = nullptr;
  for (const auto& target : all_targets()) {
    const TargetBuild* const build = find_build(target.id);
    if (target.kind != TargetKind::gpu || build == nullptr || !build->built || !runs_on(target, gpu)) continue;
    if (target.capability == gpu.capability) return &target;
    other = &target;
  }
  return other;
}

Result<Prober> open(const Gpu& gpu, const Target& target) {
  PBPROBE_TRY(GpuDevice device, GpuDevice::open(static_cast<int32_t>(gpu.index)));
  PBPROBE_TRY(GpuKernels cubins, GpuKernels::load(device.driver(), target.id));
  Prober prober(std::move(device), std::move(cubins), target);
  PBPROBE_CHECK(prober.prepare());
  return prober;
}

}  // namespace

Result<GpuPeaks> measure_peaks(const Gpu& gpu) {
  const Target* const target = find_probe_target(gpu);
  if (target == nullptr)
    return make_error(ErrorCode::unsupported, "this pbprobe was built without kernels for {}", gpu.name);
  PBPROBE_TRY(Prober prober, open(gpu, *target));
  PBPROBE_TRY(const ProbeFigure copy, prober.copy());
  GpuPeaks peaks{.copy_gbytes = copy.value, .gops = {}, .names = {}};
  for (const Peak& peak : peak_table()) {
    if (peak.target != target->id) continue;
    PBPROBE_TRY(const ProbeFigure figure, prober.instruction(peak));
    if (figure.value <= peaks.gops[peak.dtype]) continue;
    peaks.gops[peak.dtype] = figure.value;
    peaks.names[peak.dtype] = figure.name;
  }
  return peaks;
}

std::set<int64_t> probe_gpus(const Host& host, EventWriter& events) {
  std::set<int64_t> lost;
  for (const Gpu* const gpu : distinct_gpus(host)) {
    const Target* const target = find_probe_target(*gpu);
    if (target == nullptr) {
      events.note(fmt::format("GPU {} ({}) was not probed: this pbprobe was built without kernels for it", gpu->index,
                              gpu->name));
      continue;
    }
    events.stage(Step::kernels, fmt::format("probing GPU {}", gpu->index));
    auto prober = open(*gpu, *target);
    if (!prober.ok()) {
      events.failed(fmt::format("probing GPU {}: {}", gpu->index, prober.error().message), prober.error(),
                    fmt::format("cuda:{}", gpu->index));
      continue;
    }
    const auto device = fmt::format("cuda:{}", gpu->index);
    // A probe's fault proves no defect of the GPU, as a kernel's does not.
    const auto report_fault = [&](const std::string& what) {
      FaultTrial probe{.target = target->id};
      events.kernel_fault({.device = device,
                           .what = what,
                           .again = std::move(probe),
                           .others = list_other_families({.target = target->id}, host, gpu->index)});
    };
    const auto tell = [&](const auto& probe) {
      if (lost.contains(gpu->index)) return;
      const Result<ProbeFigure> figure = probe();
      if (figure.ok()) return events.probe(*figure);
      const Error& error = figure.error();
      if (error.obstacle || error.code != ErrorCode::device) return events.failed(error.message, error, device);
      report_fault(fmt::format("a probe of GPU {} fails: {}", gpu->index, error.message));
      lost.insert(gpu->index);
    };
    tell([&] { return prober->copy(); });
    tell([&] { return prober->read(); });
    tell([&] { return prober->read_l2(); });
    tell([&] { return prober->read_shared(); });
    tell([&] { return prober->launch(); });
    tell([&] { return prober->queued_launch(); });
    if (prober->has_tensor_copies()) {
      for (const bool from_l2 : {false, true}) {
        for (const bool multicast : {false, true}) tell([&] { return prober->tensor_copies(from_l2, multicast); });
      }
      tell([&] { return prober->cluster_launch(); });
      tell([&] { return prober->map_written(); });
    }
    for (const Peak& peak : peak_table())
      if (peak.target == target->id && peak.built) tell([&] { return prober->instruction(peak); });
    if (!prober->wrong().empty()) report_fault(prober->wrong());
  }
  return lost;
}

}  // namespace pbprobe
