// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/bench.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "core/targets.hpp"
#include "probes/measure/kernels/backend.hpp"
#include "probes/measure/kernels/cpu_wait.hpp"
#include "probes/measure/kernels/kernel_families.hpp"
#include "probes/measure/kernels/thread_pool.hpp"
#include "probes/measure/kernels/timing.hpp"
#include "probes/process/statistics.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kFewRows = 8;  // up to so many, the memory is the limit
constexpr int64_t kFewRowsOfGpu = 16;

std::string device_name(const BenchCase& one) {
  return one.gpu ? fmt::format("cuda:{}", *one.gpu) : "cpu";
}

std::string describe_plan(const Plan& plan) {
  std::string text = fmt::format("tile {}x{}", plan.tile.m, plan.tile.n);
  if (plan.split > 1) text += fmt::format(", k split in {}", plan.split);
  if (!plan.variant.empty())
    text += fmt::format(", variant {}", plan.variant.substr(plan.variant.find_first_not_of('_')));
  if (plan.kernel->function != nullptr) {
    text += fmt::format(", blocks {}x{}x{}", plan.cpu.rows, plan.cpu.columns, plan.cpu.k_block);
    text += fmt::format(", tasks {}x{} on {} {}", plan.cpu.task_rows, plan.cpu.task_columns, plan.cpu.threads,
                        plan.cpu.threads == 1 ? "thread" : "threads");
    if (plan.problem.prepacked_b) text += ", B packed beforehand";
  }
  if (plan.problem.scale_a) text += ", scaled by row and column";
  if (plan.problem.blocks != BlockScale::none) text += fmt::format(", {} blocks", name_of(plan.problem.blocks));
  if (plan.transposing) text += ", " + *plan.transposing;
  return text;
}

// Returns the operations per clock allowed for this type. Sets `second_hand` if a rate has no primary source: such a
// rate refutes nothing.
std::vector<int64_t> allowed_ops(const Target& target, DType type, bool& second_hand) {
  std::vector<int64_t> allowed;
  for (const OpsPerClock& ops : target.ops_per_clock) {
    const std::optional<int64_t> entry = rate_of(ops, type);
    if (entry) allowed.push_back(*entry);
    if (std::ranges::find(ops.leads, name_of(type)) != ops.leads.end()) second_hand = true;
  }
  return allowed;
}

// Returns the type of the kernel's peak loop: a BF16 kernel may use FP32 instructions.
DType peak_type(const Kernel& kernel) {
  const Peak* const peak = peak_of(kernel);
  return peak != nullptr ? peak->dtype : kernel.dtype;
}

// A kernel of the case, with its place among the candidates.
struct Series {
  Plan plan;
  std::unique_ptr<std::vector<PeakSlice>> slices = std::make_unique<std::vector<PeakSlice>>();
  std::optional<size_t> peak;  // index of its peak loop
  size_t kernel = 0;
};

class CaseRun {
 public:
  CaseRun(const BenchCase& one, const CasePlans& plans, LibtorchProbe& libtorch, EventWriter& events)
      : one_(one), plans_(plans), libtorch_(libtorch), events_(events), name_(describe(one.problem)) {}
  void use(const CublasLt& library) { lt_ = &library; }

  // Returns whether the device can run further cases.
  bool run(Backend& backend, const Host& host, const CaseLimits& limits) {
    host_ = &host;
    run_all(backend, limits);
    return !lost_;
  }

 private:
  void run_all(Backend& backend, const CaseLimits& limits) {
    const double began = limits.clock();
    size_t checked = 0;
    for (const Plan* const plan : list_chosen_first()) {
      constexpr double kChecking = 0.5;  // part of the time that checks may take of what is timed
      if (one_.timed && checked > 0 && limits.clock() - began > kChecking * limits.seconds) {
        events_.note(
            fmt::format("{} on {}: the budget of {:g} s was enough for {} of {} kernels; allow more with --budget",
                        name_, device_name(one_), limits.budget_seconds, checked, plans_.plans.size()));
        break;
      }
      add_kernel(backend, *plan);
      if (lost_) return;
      ++checked;
    }
    if (!one_.timed) return;
    if (one_.against_libtorch && libtorch_.library) add_libtorch(backend);
    if (one_.against_cublaslt && lt_ != nullptr) add_peer("cublaslt", lt_->path(), backend.cublaslt(*lt_, false));
    if (one_.against_cublaslt_best && lt_ != nullptr)
      add_peer("cublaslt_best", lt_->path(), backend.cublaslt(*lt_, true));
    if (one_.against_bf16) add_peer("bf16", "our kernel of BF16", backend.bf16());
    if (!one_.gpu && (one_.against_cublaslt || one_.against_cublaslt_best))
      events_.note(fmt::format("{} was not compared with cuBLASLt on the CPU: cuBLASLt computes only on GPUs", name_));
    if (one_.problem.m <= (one_.gpu ? kFewRowsOfGpu : kFewRows)) add_reading(backend);
    if (candidates_.empty()) return;
    events_.stage(Step::kernels, fmt::format("timing {} on {}", name_, device_name(one_)));
    const CpuTime before = one_.gpu ? CpuTime() : read_cpu_time();
    auto rounds = interleave(
        candidates_,
        {.budget_seconds = limits.seconds - (limits.clock() - began), .deadline_seconds = limits.deadline_seconds},
        limits.clock);
    if (!rounds.ok()) return events_.failed(rounds.error().message, rounds.error(), device_name(one_));
    if (!one_.gpu && one_.threads <= host_->cpu.usable_cpus) disturbed_ = describe_cpu_wait(before, read_cpu_time());
    if (rounds->cut_short)
      events_.note(fmt::format(
          "{} on {}: the budget of {:g} s was enough for {} rounds of measurement; allow more with --budget", name_,
          device_name(one_), limits.budget_seconds, rounds->samples_us[0].size()));
    report(*rounds, backend.peak_units());
  }

  [[nodiscard]] std::vector<const Plan*> list_chosen_first() const {
    std::vector<const Plan*> plans;
    for (const Plan& plan : plans_.plans) plans.push_back(&plan);
    std::stable_partition(plans.begin(), plans.end(),
                          [&](const Plan* plan) { return plan->kernel->name == plans_.best; });
    return plans;
  }

  void add_kernel(Backend& backend, const Plan& plan) {
    const std::string kernel(plan.kernel->name);
    events_.stage(Step::kernels, fmt::format("checking {} on {}", kernel, name_));
    auto right = backend.verify(plan);
    if (right.ok() && one_.gpu && one_.launches > 0) right = backend.repeat(plan, one_.launches, kRepeatSeconds);
    if (!right.ok()) {
      const char* const what = right.error().code == ErrorCode::malformed ? "is wrong"
                               : right.error().obstacle                   ? "could not run"
                                                                          : "fails";
      return fail(plan, fmt::format("{} {} on {}, and so has no rate: {}", kernel, what, name_, right.error().message),
                  right.error());
    }
    if (!one_.timed) return;
    Series series{.plan = plan};
    auto candidate = backend.kernel(series.plan);
    if (!candidate.ok())
      return events_.failed(fmt::format("{} on {}: {}", kernel, name_, candidate.error().message), candidate.error(),
                            device_name(one_));
    // Only with its kernel: its loop writes into the series.
    if (auto peak = backend.peak(*plan.kernel, *series.slices); peak.ok()) {
      series.peak = candidates_.size();
      candidates_.push_back(std::move(*peak));
    }
    series.kernel = candidates_.size();
    candidates_.push_back(std::move(*candidate));
    series_.push_back(std::move(series));
  }

  // Reports a kernel that could not run, or has a fault. On a GPU, whose fault that is takes trials in other processes.
  void fail(const Plan& plan, const std::string& text, const Error& error) {
    const bool launch_failed = error.code == ErrorCode::device;
    if (!one_.gpu || error.obstacle || (!launch_failed && error.code != ErrorCode::malformed))
      return events_.failed(text, error, device_name(one_));
    events_.kernel_fault({.device = device_name(one_),
                          .what = text,
                          .again = make_trial(plan),
                          .others = list_other_families({.target = std::string(plan.kernel->target),
                                                         .instruction = std::string(plan.kernel->instruction),
                                                         .family = describe_family(*plan.kernel)},
                                                        *host_, *one_.gpu)});
    if (!launch_failed) return;
    lost_ = true;
    events_.not_run({.what = fmt::format("a launch of {} failed on {}: later measurements of that process did not run",
                                         plan.kernel->name, device_name(one_)),
                     .why = Obstacle::unexplained,
                     .device = device_name(one_)});
  }

  // A peer that can run the problem takes part under `key`; another one is a note.
  void add_peer(const char* key, const std::string& library, Result<Candidate> candidate) {
    events_.stage(key == std::string_view("libtorch") ? Step::libtorch : Step::kernels,
                  fmt::format("computing {} with {} on {}", name_, library, device_name(one_)));
    if (candidate.ok()) {
      if (auto first = candidate->sample(1); first.ok()) {
        peers_[key] = {candidates_.size(), candidate->name};
        candidates_.push_back(std::move(*candidate));
        return;
      } else {
        candidate = first.error();
      }
    }
    const Error& why = candidate.error();
    events_.note(why.code == ErrorCode::malformed
                     ? fmt::format("{} computes {} wrong on {}, and so is not timed: {}", key, name_, device_name(one_),
                                   why.message)
                     : fmt::format("{} did not run {} on {}: {}", key, name_, device_name(one_), why.message));
  }

  void add_libtorch(Backend& backend) {
    if (!one_.gpu && !libtorch_.library->set_threads(one_.threads))
      events_.note("the number of threads of this libtorch cannot be set: libtorch uses its own default");
    add_peer("libtorch", libtorch_.run.path, backend.libtorch(*libtorch_.library));
  }

  void add_reading(Backend& backend) {
    auto candidate = backend.reading();
    if (!candidate.ok()) return;
    peers_["reading"] = {candidates_.size(), candidate->name};
    candidates_.push_back(std::move(*candidate));
  }

  [[nodiscard]] double find_gflops(const Rounds& rounds, size_t index) const {
    return compute_gflops(one_.problem.m, one_.problem.n, numbers_along_k(one_.problem),
                          median(rounds.samples_us[index]));
  }

  void report(const Rounds& rounds, int64_t units) {
    for (const Series& series : series_) {
      const std::string& failure = rounds.failures[series.kernel];
      const Error error{ErrorCode::device, failure, rounds.obstacles[series.kernel]};
      // After the first failure on a GPU, other candidates fail because the CUDA context is lost.
      if (!failure.empty() && (!one_.gpu || rounds.first_failed == series.kernel))
        fail(series.plan, failure, error);
      else if (!failure.empty())
        events_.not_run(
            {.what = fmt::format("{}, after {} had failed", failure, candidates_[rounds.first_failed.value_or(0)].name),
             .why = rounds.obstacles[series.kernel].value_or(Obstacle::unexplained),
             .device = device_name(one_)});
      if (!rounds.samples_us[series.kernel].empty()) events_.row(make_row(series, rounds, units));
    }
    const auto libtorch = peers_.find("libtorch");
    if (libtorch == peers_.end() || rounds.samples_us[libtorch->second.at].empty()) return;
    const size_t at = libtorch->second.at;
    const Problem& p = one_.problem;
    libtorch_.run.figures.push_back({.device = device_name(one_),
                                     .dtype = std::string(name_of(p.a)),
                                     .m = p.m,
                                     .n = p.n,
                                     .k = numbers_along_k(p),
                                     .layout = std::string(name_of(p.layout)),
                                     .threads = one_.gpu ? 0 : one_.threads,
                                     .gflops = find_gflops(rounds, at),
                                     .samples_us = rounds.samples_us[at],
                                     .disturbed = disturbed_});
    events_.libtorch(libtorch_.run);
  }

  [[nodiscard]] BenchRow make_row(const Series& series, const Rounds& rounds, int64_t units) const {
    const Problem& p = one_.problem;
    const Kernel& kernel = *series.plan.kernel;
    const auto& samples = rounds.samples_us[series.kernel];
    BenchRow row{
        .kernel = std::string(kernel.name),
        .target = std::string(kernel.target),
        .dtype = std::string(name_of(p.a)),
        .m = p.m,
        .n = p.n,
        .k = numbers_along_k(p),
        .layout = std::string(name_of(p.layout)),
        .out = std::string(name_of(p.c)),
        .instruction = std::string(kernel.instruction),
        .shape_class = shape_class(p.m, p.n, numbers_along_k(p)),
        .threads = one_.gpu ? 0 : one_.threads,
        .gflops = find_gflops(rounds, series.kernel),
        .best = kernel.name == plans_.best,
        .prepacked_b = p.prepacked_b,
        .plan = describe_plan(series.plan),
        .model_us = series.plan.model_seconds > 0 ? std::optional(series.plan.model_seconds * 1e6) : std::nullopt,
        .samples_us = samples,
        .disturbed = disturbed_};
    if (launch_decides(row)) row.shape_class = kLaunchBound;
    set_peak(row, series, rounds, units);
    for (const auto& [key, peer] : peers_) {
      const auto& theirs = rounds.samples_us[peer.at];
      if (!theirs.empty()) row.peers[key] = {find_gflops(rounds, peer.at), median_ratio(theirs, samples), theirs};
    }
    return row;
  }

  // Returns the best GFLOP/s on the peak loop of `series`. Includes libtorch only for the fastest path of the run,
  // since
  // libtorch chooses its path itself.
  [[nodiscard]] double find_fastest(const Series& series, const Rounds& rounds) const {
    const auto best_peak = [](const Series& other) {
      double best = 0;
      for (const PeakSlice& slice : *other.slices) best = std::max(best, slice.gflops);
      return best;
    };
    double fastest = 0;
    bool fastest_path = true;
    for (const Series& other : series_) {
      if (peak_of(*other.plan.kernel) == peak_of(*series.plan.kernel))
        fastest = std::max(fastest, find_gflops(rounds, other.kernel));
      else if (best_peak(other) > best_peak(series))
        fastest_path = false;
    }
    if (const auto peer = peers_.find("libtorch"); peer != peers_.end() && fastest_path)
      fastest = std::max(fastest, find_gflops(rounds, peer->second.at));
    return fastest;
  }

  void set_peak(BenchRow& row, const Series& series, const Rounds& rounds, int64_t units) const {
    const auto& samples = rounds.samples_us[series.kernel];
    const auto& slices = *series.slices;
    for (const PeakSlice& slice : slices) row.peak_gflops = std::max(row.peak_gflops.value_or(0), slice.gflops);
    std::vector<PeakPair> pairs;
    if (series.peak && slices.size() >= samples.size()) {
      const size_t skip = slices.size() - samples.size();  // slices of the warm-up
      for (size_t i = 0; i < samples.size(); ++i)
        pairs.push_back(
            {slices[skip + i].gflops, compute_gflops(row.m, row.n, row.k, samples[i]), slices[skip + i].clock_ghz});
    }
    const Target* const target = find_target(row.target);
    bool second_hand = false;
    const auto allowed =
        target != nullptr ? allowed_ops(*target, peak_type(*series.plan.kernel), second_hand) : std::vector<int64_t>{};
    const PeakVerdict verdict = judge_peak(pairs, find_fastest(series, rounds), allowed, second_hand, units);
    if (verdict.clock_ghz > 0) row.clock_ghz = verdict.clock_ghz;
    if (verdict.why_not.empty()) {
      row.peak_fraction = verdict.fraction;
    } else {
      row.note = "no peak_fraction: " + verdict.why_not;
    }
  }

  static constexpr double kRepeatSeconds = 8;

  const BenchCase& one_;
  const Host* host_ = nullptr;
  bool lost_ = false;  // the CUDA context is
  std::optional<std::string> disturbed_;
  const CasePlans& plans_;
  LibtorchProbe& libtorch_;
  EventWriter& events_;
  std::string name_;
  std::vector<Candidate> candidates_;
  std::vector<Series> series_;
  struct Peer {
    size_t at = 0;  // among the candidates
    std::string name;
  };
  std::map<std::string, Peer, std::less<>> peers_;
  const CublasLt* lt_ = nullptr;
};

// Loads cuBLASLt if a case on a GPU compares with it; notes a failure.
std::optional<CublasLt> load_cublaslt(const std::vector<BenchCase>& cases, const MeasureRequest& request,
                                      EventWriter& events) {
  if (std::ranges::none_of(
          cases, [](const BenchCase& one) { return one.gpu && (one.against_cublaslt || one.against_cublaslt_best); }))
    return std::nullopt;
  events.stage(Step::kernels, "loading cublaslt");
  events.loading("cublaslt");
  auto loaded = CublasLt::load(cublaslt_places(request.torch_libraries));
  events.loaded();
  if (loaded.ok()) return std::move(*loaded);
  events.note(fmt::format("against cublaslt: {}", loaded.error().message));
  return std::nullopt;
}

// Loads the OpenMP runtime of the operators' threads if kernels run on several; notes a missing runtime.
void find_operators_threads(const std::vector<BenchCase>& cases, const MeasureRequest& request, EventWriter& events) {
  const bool needed = std::ranges::any_of(cases, [&](const BenchCase& one) {
    return !one.gpu && one.threads > 1 && !plan_case(one, request.host).plans.empty();
  });
  if (!needed) return;
  if (request.torch_libraries) {
    events.loading("OpenMP's runtime");
    load_openmp(*request.torch_libraries);
    events.loaded();
  }
  if (!find_openmp())
    events.note(
        "no OpenMP runtime is loaded or installed: CPU kernels ran on threads of pbprobe's own, and operators on "
        "torch's may take another time");
}

// Makes the plans, and the operands on the device, then runs the case. Returns the result of run_case().
bool prepare_and_run(const BenchCase& one, const MeasureRequest& request, LibtorchProbe& libtorch,
                     const std::optional<CublasLt>& cublaslt, EventWriter& events, const CaseLimits& limits) {
  const std::string where = fmt::format("{} on {}", describe(one.problem), device_name(one));
  const CasePlans plans = plan_case(one, request.host);
  if (plans.plans.empty()) {
    const std::string text = fmt::format("no pbprobe kernel ran {}: {}", where, plans.why_not);
    one.asked_for_target ? events.problem(text) : events.note(text);
  }
  const bool libtorch_runs = one.against_libtorch && libtorch.library && (!one.gpu || libtorch.on_gpu);
  if (plans.plans.empty() && !libtorch_runs) return true;
  events.stage(Step::kernels, "preparing " + where);
  auto backend = one.gpu ? make_gpu_backend(one, request.host) : make_cpu_backend(one, request.host);
  if (!backend.ok()) {
    events.failed(fmt::format("{}: {}", where, backend.error().message), backend.error(), device_name(one));
    return true;
  }
  BenchCase here = one;
  here.against_libtorch = libtorch_runs;
  CaseRun run(here, plans, libtorch, events);
  if (cublaslt) run.use(*cublaslt);
  return run.run(**backend, request.host, limits);
}

}  // namespace

bool run_case(const BenchCase& one, const CasePlans& plans, const Host& host, Backend& backend, LibtorchProbe& libtorch,
              EventWriter& events, const CaseLimits& limits) {
  return CaseRun(one, plans, libtorch, events).run(backend, host, limits);
}

void run_benches(const MeasureRequest& request, LibtorchProbe& libtorch, EventWriter& events, std::set<int64_t> lost) {
  std::vector<BenchCase> cases;
  for (const BenchRequest& bench : request.benches) {
    for (BenchCase& one : plan_cases(bench, request.host)) cases.push_back(std::move(one));
    if (const size_t count = shapes_left_out(bench, request.host); count > 0)
      events.note(fmt::format("{} of {} shapes do not fit into memory", count, bench.shapes.size()));
  }
  find_operators_threads(cases, request, events);
  const std::optional<CublasLt> cublaslt = load_cublaslt(cases, request, events);
  const Budget budget(request.budget_seconds, steady_seconds());
  for (size_t i = 0; i < cases.size(); ++i) {
    if (budget.left() <= 0) {
      const size_t more = cases.size() - i - 1;
      events.note(fmt::format("not measured within the budget of {:g} s: {} on {}{}; allow more with --budget",
                              request.budget_seconds, describe(cases[i].problem), device_name(cases[i]),
                              more > 0 ? fmt::format(", and {} more", more) : ""));
      return;
    }
    if (cases[i].gpu && lost.contains(*cases[i].gpu)) continue;
    const bool usable = prepare_and_run(cases[i], request, libtorch, cublaslt, events,
                                        {.seconds = budget.share(static_cast<int64_t>(cases.size() - i)),
                                         .budget_seconds = request.budget_seconds,
                                         .deadline_seconds = budget.deadline() + 0.2 * request.budget_seconds,
                                         .clock = budget.clock()});
    if (!usable) lost.insert(*cases[i].gpu);
  }
}

}  // namespace pbprobe
