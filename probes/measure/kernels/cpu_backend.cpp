// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "kernels/dispatch/run.hpp"
#include "kernels/gemm/checker.hpp"
#include "probes/measure/kernels/backend.hpp"
#include "probes/measure/kernels/operands.hpp"
#include "probes/measure/kernels/thread_pool.hpp"
#include "probes/measure/kernels/verify.hpp"

namespace pbprobe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOperandBytes = 1U << 30;
constexpr int64_t kAssumedCacheBytes = 32 << 20;
constexpr int64_t kPeerGrid = 4;            // rows and columns of a peer's C that are compared
constexpr double kPeakSliceSeconds = 2e-3;  // facts of measuring: 10 ms or less
constexpr double kClockSliceSeconds = 1e-4;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Iterations of a loop that take about so long, found on this thread.
int64_t choose_iterations(CpuLoop loop, double seconds) {
  for (int64_t iterations = 64;; iterations *= 4) {
    const auto begin = Clock::now();
    [[maybe_unused]] volatile uint64_t sink = loop(iterations);
    const double took = seconds_between(begin, Clock::now());
    if (took > seconds / 8)
      return std::max<int64_t>(static_cast<int64_t>(static_cast<double>(iterations) * seconds / took), 1);
  }
}

// The peak loop and then the clock chain, on every thread at once.
class PeakLoop {
 public:
  PeakLoop(const Peak& peak, const Peak* clock, BenchThreads& pool)
      : peak_(peak), clock_(clock), pool_(pool), runs_(static_cast<size_t>(pool.threads())) {
    iterations_ = choose_iterations(peak.function, kPeakSliceSeconds);
    if (clock != nullptr) clock_iterations_ = choose_iterations(clock->function, kClockSliceSeconds);
  }

  PeakSlice slice(double& seconds) {
    arrived_ = 0;
    const auto threads = static_cast<int64_t>(runs_.size());
    pool_.run(
        threads, [](void* state, int64_t index) { static_cast<PeakLoop*>(state)->run_one(index); }, this);
    auto begin = runs_[0].begin;
    auto end = runs_[0].end;
    double clock_ghz = 0;
    for (const Run& run : runs_) {
      begin = std::min(begin, run.begin);
      end = std::max(end, run.end);
      clock_ghz += run.clock_ghz / static_cast<double>(threads);
    }
    seconds = seconds_between(begin, end);
    const auto operations = static_cast<double>(iterations_ * peak_.operations * threads);
    return {.gflops = operations / seconds * 1e-9, .clock_ghz = clock_ghz};
  }

 private:
  struct Run {
    Clock::time_point begin, end;
    double clock_ghz = 0;
  };

  // Waits for all other runs, so that no thread takes two runs and all runs are simultaneous.
  void run_one(int64_t index) {
    Run& mine = runs_[static_cast<size_t>(index)];
    ++arrived_;
    while (arrived_ < static_cast<int64_t>(runs_.size())) std::this_thread::yield();
    mine.begin = Clock::now();
    [[maybe_unused]] volatile uint64_t sink = peak_.function(iterations_);
    mine.end = Clock::now();
    if (clock_ == nullptr) return;
    // The fastest of three reads: an interruption can only make the clock look slower.
    auto before = mine.end;
    mine.clock_ghz = 0;
    for (int i = 0; i < 3; ++i) {
      sink = clock_->function(clock_iterations_);
      const auto now = Clock::now();
      const auto cycles = static_cast<double>(clock_iterations_ * clock_->cycles);
      mine.clock_ghz = std::max(mine.clock_ghz, cycles / seconds_between(before, now) * 1e-9);
      before = now;
    }
  }

  const Peak& peak_;
  const Peak* clock_;
  BenchThreads& pool_;
  std::vector<Run> runs_;
  std::atomic<int64_t> arrived_{0};
  int64_t iterations_ = 1;
  int64_t clock_iterations_ = 1;
};

class CpuBackend : public Backend {
 public:
  CpuBackend(const BenchCase& one, const Host& host) : one_(one), host_(host), pool_(one.threads) {}

  Result<void> prepare() {
    const Problem& p = one_.problem;
    rotation_ = plan_rotation(p, host_.cpu.last_level_cache_bytes.value_or(kAssumedCacheBytes), kMostOperandBytes);
    PBPROBE_TRY(memory_, HostMemory::allocate(rotation_.bytes()));
    PBPROBE_CHECK(fill_operands(p, rotation_, [this](size_t offset, const void* bytes, size_t count) {
      std::memcpy(memory_.data() + offset, bytes, count);
      return Result<void>();
    }));
    for (size_t copy = 1; copy < rotation_.copies; ++copy)
      std::memcpy(memory_.data() + copy * rotation_.copy_bytes, memory_.data(), rotation_.copy_bytes);
    return {};
  }

  Result<void> verify(const Plan& plan) override {
    const ChooseOptions same{.kernel = std::string(plan.kernel->name), .threads = one_.threads};
    PBPROBE_TRY(const CheckResult result, check(check_problem(plan), [&](const Problem& problem, CheckData& data) {
                  return execute(problem, data, same);
                }));
    if (!result.passed) return make_error(ErrorCode::malformed, "{}", result.what);
    const Operands timed = rotation_.operands(memory_.data(), 0);
    poison(plan.problem, timed.c);
    PBPROBE_CHECK(run_once(plan, timed));
    return spot_check(plan.problem, timed);
  }

  Result<Candidate> kernel(const Plan& plan) override {
    PBPROBE_TRY(HostMemory memory, HostMemory::allocate(static_cast<size_t>(plan.workspace_bytes)));
    workspaces_.push_back(std::move(memory));
    std::byte* const workspace = workspaces_.back().data();
    PBPROBE_TRY(const std::byte* const packed, prepack_all(plan));
    return Candidate{.name = std::string(plan.kernel->name),
                     .sample = [this, plan, workspace, packed](int64_t repeats) -> Result<double> {
                       const Context context{.workspace = workspace,
                                             .workspace_bytes = plan.workspace_bytes,
                                             .parallel_for = pool_.parallel_for()};
                       const auto begin = Clock::now();
                       for (int64_t i = 0; i < repeats; ++i) {
                         const size_t copy = next_++;
                         Operands operands = rotation_.operands(memory_.data(), copy);
                         if (packed != nullptr)
                           operands.packed_b = packed + copy % rotation_.copies * packed_step(plan);
                         PBPROBE_CHECK(pbprobe::run(plan, operands, context));
                       }
                       return seconds_between(begin, Clock::now()) * 1e6 / static_cast<double>(repeats);
                     },
                     .slice_seconds = one_.slice_seconds,
                     .required = false};
  }

  Result<Candidate> peak(const Kernel& kernel, std::vector<PeakSlice>& slices) override {
    const Peak* const peak = peak_of(kernel);
    if (peak == nullptr || peak->function == nullptr)
      return make_error(ErrorCode::not_found, "{} has no peak loop", kernel.name);
    const Peak* const clock = clock_of(kernel.target);
    loops_.push_back(std::make_unique<PeakLoop>(*peak, clock, pool_));
    return Candidate{.name = std::string(peak->name),
                     .sample = [loop = loops_.back().get(), &slices](int64_t) -> Result<double> {
                       double seconds = 0;
                       slices.push_back(loop->slice(seconds));
                       return seconds * 1e6;
                     },
                     .required = false};
  }

  Result<Candidate> libtorch(const Libtorch& library) override {
    tensors_.clear();
    for (size_t i = 0; i < rotation_.copies; ++i) {
      PBPROBE_TRY(const PeerViews views, peer_views(one_.problem, rotation_.operands(memory_.data(), i), -1));
      Tensors tensors;
      PBPROBE_TRY(tensors.a, library.wrap(views.a));
      PBPROBE_TRY(tensors.b, library.wrap(views.b));
      PBPROBE_TRY(tensors.c, library.wrap(views.c));
      tensors_.push_back(std::move(tensors));
    }
    PBPROBE_CHECK(check_peer(library));
    return Candidate{.name = "libtorch",
                     .sample = [this, &library](int64_t repeats) -> Result<double> {
                       pool_.rest();
                       const auto begin = Clock::now();
                       for (int64_t i = 0; i < repeats; ++i) {
                         const Tensors& t = tensors_[next_++ % tensors_.size()];
                         PBPROBE_CHECK(library.matmul(t.a, t.b, t.c, one_.problem.a));
                       }
                       return seconds_between(begin, Clock::now()) * 1e6 / static_cast<double>(repeats);
                     },
                     .slice_seconds = one_.slice_seconds,
                     .required = false};
  }

  Result<Candidate> reading() override {
    return Candidate{.name = "reading B",
                     .sample = [this](int64_t repeats) -> Result<double> {
                       const auto begin = Clock::now();
                       for (int64_t i = 0; i < repeats; ++i) read_once(rotation_.operands(memory_.data(), next_++));
                       return seconds_between(begin, Clock::now()) * 1e6 / static_cast<double>(repeats);
                     },
                     .slice_seconds = one_.slice_seconds,
                     .required = false};
  }

  // Hyperthreads share the units of a core.
  [[nodiscard]] int64_t peak_units() const override {
    return std::min(pool_.threads(), host_.cpu.physical_cores.value_or(pool_.threads()));
  }

 private:
  // All of B, a piece at a time by whichever thread is free.
  void read_once(const Operands& operands) {
    static constexpr int64_t kPiece = 256 << 10;
    const Problem& p = one_.problem;
    struct Reading {
      const std::byte* from;
      int64_t bytes;
      std::atomic<uint64_t> sum{0};
    };
    Reading reading{.from = static_cast<const std::byte*>(operands.b),
                    .bytes = extent(stored_rows_b(p), stored_columns_b(p), p.ldb) * size_of(p.b)};
    pool_.run((reading.bytes + kPiece - 1) / kPiece,
              [](void* state, int64_t index) {
                auto& all = *static_cast<Reading*>(state);
                all.sum += sum_words(all.from + index * kPiece, std::min(kPiece, all.bytes - index * kPiece));
              },
              &reading);
    [[maybe_unused]] volatile uint64_t sink = reading.sum;
  }

  // Four streams at a time, as a kernel reads columns: a single one does not keep the memory busy.
  static uint64_t sum_words(const std::byte* from, int64_t bytes) {
    constexpr size_t kStreams = 4;
    constexpr size_t kWords = 8;
    constexpr size_t kAheadBytes = 1024;
    std::array<uint64_t, kStreams * kWords> sums{};
    const size_t stream = static_cast<size_t>(bytes) / kStreams / 64 * 64;
    for (size_t at = 0; at < stream; at += 64) {
      for (size_t s = 0; s < kStreams; ++s) {
        std::array<uint64_t, kWords> words;
        std::memcpy(words.data(), from + s * stream + at, sizeof words);
        __builtin_prefetch(from + s * stream + at + kAheadBytes);
        for (size_t i = 0; i < kWords; ++i) sums[s * kWords + i] += words[i];
      }
    }
    uint64_t sum = 0;
    for (const uint64_t word : sums) sum += word;
    return sum;
  }

  static size_t packed_step(const Plan& plan) {
    return static_cast<size_t>((plan.prepacked_bytes + kPackedAlign - 1) / kPackedAlign * kPackedAlign);
  }

  // Packs every copy of B. Returns null if the plan reads unpacked B.
  Result<const std::byte*> prepack_all(const Plan& plan) {
    if (plan.prepacked_bytes == 0) return nullptr;
    PBPROBE_TRY(HostMemory memory, HostMemory::allocate(packed_step(plan) * rotation_.copies));
    workspaces_.push_back(std::move(memory));
    std::byte* const packed = workspaces_.back().data();
    for (size_t i = 0; i < rotation_.copies; ++i)
      PBPROBE_CHECK(
          prepack(plan, rotation_.operands(memory_.data(), i).b, packed + i * packed_step(plan), pool_.parallel_for()));
    return packed;
  }

  struct Tensors {
    Libtorch::Tensor a, b, c;
  };

  // A peer that leaves C as it is would be the fastest of all: torch 2.11's _int_mm does for k = 1.
  Result<void> check_peer(const Libtorch& library) {
    const Operands first = rotation_.operands(memory_.data(), 0);
    Problem theirs = one_.problem;
    theirs.c = peer_result(theirs);
    poison(theirs, first.c);
    const Tensors& t = tensors_.front();
    PBPROBE_CHECK(library.matmul(t.a, t.b, t.c, theirs.a));
    return spot_check(theirs, first, kPeerGrid);
  }

  Result<void> execute(const Problem& problem, CheckData& data, const ChooseOptions& same) {
    PBPROBE_TRY(const Plan plan, choose(problem, host_, {}, same));
    return run_once(plan, data.operands());
  }

  Result<void> run_once(const Plan& plan, const Operands& operands) {
    PBPROBE_TRY(const HostMemory workspace, HostMemory::allocate(static_cast<size_t>(plan.workspace_bytes)));
    PBPROBE_TRY(const HostMemory packed, HostMemory::allocate(static_cast<size_t>(plan.prepacked_bytes)));
    Operands all = operands;
    if (plan.prepacked_bytes > 0) {
      PBPROBE_CHECK(prepack(plan, operands.b, packed.data(), pool_.parallel_for()));
      all.packed_b = packed.data();
    }
    return pbprobe::run(
        plan, all,
        {.workspace = workspace.data(), .workspace_bytes = plan.workspace_bytes, .parallel_for = pool_.parallel_for()});
  }

  const BenchCase& one_;
  const Host& host_;
  BenchThreads pool_;
  Rotation rotation_;
  HostMemory memory_;
  size_t next_ = 0;
  std::vector<HostMemory> workspaces_;
  std::vector<std::unique_ptr<PeakLoop>> loops_;
  std::vector<Tensors> tensors_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_cpu_backend(const BenchCase& one, const Host& host) {
  auto backend = std::make_unique<CpuBackend>(one, host);
  PBPROBE_CHECK(backend->prepare());
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace pbprobe
