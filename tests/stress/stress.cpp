// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The stress suite: every GPU kernel of a target, launched back to back, in graphs and eagerly, on two streams, beside
// another process. Every result must have the bits of the first one, which must be exact. `--help` has the options.
//
// Exit code: 0; 1 (a fault, a wrong result, or results that differ); 77 (no GPU of the target, or nothing is built;
// with PBPROBE_REQUIRE_HARDWARE=1 that is 1). PBPROBE_EVIDENCE_DIR=folder: the number of launches is added to the
// evidence of each kernel in <target>.json, which kernels_test writes there first.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tests/kernels/backend.hpp"
#include "tests/kernels/cases.hpp"
#include "tests/kernels/evidence_file.hpp"
#include "tests/stress/stress_case.hpp"

namespace pbprobe::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kSkipped = 77;

struct Options {
  std::string target;
  std::string kernel;
  std::string without;
  double seconds = 60;
  int64_t launches = 1'000'000;
  bool once = false;
  bool neighbour = false;
};

struct Shape {
  const char* what;
  int64_t m, n, k;
  double weight = 1;  // share of the time, relative to other shapes
  int64_t more = 0;   // elements between rows
  BufferEnd end = BufferEnd::padded;
};

// Shapes in units of what a block or cluster computes: k of 0 to 3 stages and many; one tile, an odd number of tiles,
// and more tiles than the GPU has SMs; rows that no tensor map can describe; arrays that end at an unmapped page.
std::vector<Shape> make_shapes(const Kernel& kernel, int64_t sms) {
  const int64_t m = kernel.tile.m * (kernel.across ? 1 : kernel.cluster);
  const int64_t n = kernel.tile.n * (kernel.across ? kernel.cluster : 1);
  const int64_t stage = kernel.tile.k;
  const int64_t down = kernel.max_m < m * 12 ? 1 : 12;
  const int64_t across = (sms * 5 / 4 + down - 1) / down;
  constexpr double kLarge = 0.15;
  // Several tiles for each cluster, whose last one is partly outside of C: the blocks of a cluster end at different
  // times.
  const int64_t far_down = down == 1 ? 1 : 60;
  const Shape waves{"several tiles of each cluster, one stage", far_down * m - m / 12, 360 / far_down * n - n / 5,
                    stage, kLarge};
  return {
      waves,
      {"one tile, k = 0", m, n, 0},
      {"one tile, one stage", m, n, stage},
      {"more tiles than SMs, one stage", down * m - m / 3, across * n - 8, stage, kLarge},
      {"odd tiles, two stages", 3 * m - m / 4, 3 * n + 8, 2 * stage},
      {"more tiles than SMs, a quarter of a stage", down * m, across * n - 40, std::max<int64_t>(stage / 4, 1), kLarge},
      {"more tiles than SMs, three stages", down * m, across * n, 3 * stage, kLarge},
      {"one tile, 65 stages", m, n, 65 * stage, kLarge},
      {"few rows and columns of a tile", m / 3 + 1, n / 3 / 8 * 8 + 8, 3 * stage},
      {"unaligned rows", m + 1, n + 3, stage + 1, 1, 1},
      {"at the end of a page", m, n + 16, 2 * stage, 1, 0, BufferEnd::at_unmapped_page},
      {"unaligned, at the end of a page", std::max<int64_t>(m - 1, 1), n + 5, stage + 3, 1, 1,
       BufferEnd::at_unmapped_page},
  };
}

// A's type, C's type and layout change from round to round, so that all of them are met; the first has the narrowest C.
Problem make_case(const Kernel& kernel, const Shape& shape, int turn) {
  std::vector<DType> outputs;
  for (DType type : {DType::bf16, DType::fp16, DType::fp32, DType::int32}) {
    if (kernel.c.has(type)) outputs.push_back(type);
  }
  const auto types = list_types(kernel);
  const auto pick = [&](const auto& all, int at) { return all[static_cast<size_t>(at) % std::size(all)]; };
  const Layout layout = turn % 3 == 2 ? pick(kLayouts, turn / 3) : Layout::nt;
  return spaced(make_kernel_problem(kernel, limit_rows(kernel, shape.m), shape.n, shape.k, pick(types, turn),
                                    pick(outputs, turn), layout),
                shape.more);
}

// Operands of a problem that is too large to be checked: bytes of which every type makes finite numbers below 2.
CheckData make_operands(const Problem& p) {
  uint64_t state = 12345;
  const auto fill = [&state](int64_t bytes, unsigned mask) {
    Guarded array;
    array.bytes.resize(static_cast<size_t>(bytes));
    array.length_bytes = bytes;
    for (auto& byte : array.bytes) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      byte = static_cast<std::byte>(state >> 56 & mask);
    }
    return array;
  };
  // Clears the upper bit of the exponent of BF16, FP16, FP32 and E5M2, and a bit of each NaN of E4M3.
  constexpr unsigned kFinite = 0xbb;
  CheckData data;
  data.a = fill(extent(stored_rows_a(p), stored_columns_a(p), p.lda) * size_of(p.a), kFinite);
  data.b = fill(extent(stored_rows_b(p), stored_columns_b(p), p.ldb) * size_of(p.b), kFinite);
  data.c = fill(extent(stored_rows_c(p), stored_columns_c(p), p.ldc) * size_of(p.c), 0);
  for (auto& byte : data.c.bytes) byte = std::byte{0xff};
  if (p.blocks != BlockScale::none) {
    data.blocks_a = fill(block_bytes_a(p), kFinite);
    data.blocks_b = fill(block_bytes_b(p), kFinite);
  }
  return data;
}

// A process that uses the same GPU until it is destroyed.
class Neighbour {
 public:
  explicit Neighbour(const std::string& target) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl("/proc/self/exe", "kernels_stress", target.c_str(), "--neighbour", nullptr);
    _exit(127);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  ~Neighbour() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

// Copies memory and computes one product after the other, until it is killed.
Result<void> be_neighbour(Backend& backend, const Kernel& kernel) {
  constexpr size_t kBytes = size_t{256} << 20;
  const DriverApi& driver = backend.gpu_kernels()->driver();
  CuDevicePtr memory = 0;
  PBPROBE_CU(driver, "allocating memory", cuMemAlloc(&memory, 2 * kBytes));
  for (;;) {
    for (int i = 0; i < 16; ++i)
      PBPROBE_CU(driver, "copying memory", cuMemcpyDtoDAsync(memory + kBytes, memory, kBytes, nullptr));
    PBPROBE_CU(driver, "waiting for the copies", cuCtxSynchronize());
    const auto result = check(make_kernel_problem(kernel, limit_rows(kernel, 256), 256, 64, list_types(kernel).front()),
                              Tier::exact, make_execute(kernel, backend));
    if (!result.ok()) return result.error();
  }
}

struct KernelState {
  const Kernel* kernel = nullptr;
  int64_t launches = 0;
  std::string problem;  // first wrong launch; empty if none
};

// Runs all kernels of a target in rounds; each round takes three times as long as the previous round.
class Suite {
 public:
  Suite(const Options& options, Backend& backend, const StressApi& api, const DifferenceCounter& counter)
      : options_(options), backend_(backend), tools_{*backend.gpu_kernels(), api, counter} {
    for (const auto& gpu : this_host().gpus) sms_ = std::max(sms_, gpu.sm_count.value_or(0));
    for (const auto& kernel : kernel_table()) {
      if (kernel.target == options.target && kernel.built &&
          kernel.name.find(options.kernel) != std::string_view::npos &&
          (options.without.empty() || kernel.name.find(options.without) == std::string_view::npos))
        states_.push_back({&kernel});
    }
  }

  [[nodiscard]] bool empty() const { return states_.empty(); }

  // Returns whether every kernel was right. Stops at a fault, after which the context is lost.
  bool run() {
    double seconds = options_.once ? 0 : 0.006;  // time of a shape in the first round
    for (int round = 0; !finished(); ++round, seconds = std::min(3 * seconds, 0.5)) {
      std::optional<Neighbour> neighbour;
      if (round % 3 == 1) neighbour.emplace(options_.target);
      for (auto& state : states_) {
        if (finished()) break;
        if (state.launches >= options_.launches || !state.problem.empty()) continue;
        if (!run_kernel(state, round, seconds)) return false;
      }
      print_progress(fmt::format("round {}", round + 1));
      if (options_.once) break;
    }
    return print_result();
  }

  Result<void> write_evidence(const std::filesystem::path& folder) const {
    for (const auto& state : states_) {
      if (!state.problem.empty()) continue;
      const TargetBuild& build = build_of(*state.kernel);
      const auto digest = build.ptx.empty() ? build.digest : build.source_digest;
      PBPROBE_CHECK(add_launches(folder / (options_.target + ".json"), std::string(state.kernel->name),
                                 std::string(digest), backend_.device(), state.launches));
    }
    return {};
  }

 private:
  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  [[nodiscard]] bool finished() const {
    if (elapsed() > options_.seconds) return true;
    return !options_.once && std::all_of(states_.begin(), states_.end(), [&](const KernelState& state) {
      return state.launches >= options_.launches || !state.problem.empty();
    });
  }

  // Returns false if the GPU's context is lost.
  bool run_kernel(KernelState& state, int round, double seconds) {
    const auto shapes = make_shapes(*state.kernel, sms_);
    for (size_t i = 0; i < shapes.size() && state.problem.empty(); ++i) {
      if (finished() || (state.launches >= options_.launches && round > 0)) break;
      if (!run_shape(state, shapes[i], static_cast<int>(i) + round, seconds * shapes[i].weight)) return false;
    }
    return true;
  }

  // Likewise, for one shape; prints what is wrong.
  bool run_shape(KernelState& state, const Shape& shape, int turn, double seconds) {
    const auto problem = make_case(*state.kernel, shape, turn);
    if (options_.once && problem.m * problem.n * problem.k > kMaxOnce) return true;
    const auto result = run_case(state, problem, shape.end, seconds);
    if (!result.ok()) state.problem = "FAULT: " + result.error().message;
    if (!state.problem.empty()) {
      fmt::print("{}: {} (shape \"{}\", {} × {} × {}; {} launches of this kernel; {:.1f} s)\n", state.kernel->name,
                 state.problem, shape.what, problem.m, problem.n, problem.k, state.launches, elapsed());
      std::fflush(stdout);
    }
    return result.ok();
  }

  Result<void> run_case(KernelState& state, const Problem& problem, BufferEnd end, double seconds) {
    PBPROBE_TRY(const Plan plan, make_plan(*state.kernel, backend_, problem));
    const bool large = problem.m * problem.n * problem.k > kMaxChecked || problem.m * problem.n > kMaxChecked / 4;
    int sets_left = large ? 1 : 2;  // the exact tier computes two sets of operands
    const auto execute = [&](const Problem&, CheckData& data) -> Result<void> {
      StressCase stress(tools_, plan, end);
      PBPROBE_CHECK(stress.begin(data));
      ++state.launches;
      if (--sets_left > 0 || seconds == 0) return {};
      for (const auto mode : {LaunchMode::graph, LaunchMode::eager}) {
        PBPROBE_TRY(const StressCount done, stress.repeat(mode == LaunchMode::graph ? seconds : seconds / 6, mode));
        state.launches += done.launches;
        if (done.differences == 0) continue;
        state.problem = fmt::format("results differ: {} of C's 16-bit units, in {} launches {}", done.differences,
                                    done.launches, mode == LaunchMode::graph ? "in a graph" : "one by one");
      }
      return {};
    };
    if (large) {
      auto data = make_operands(problem);
      return execute(problem, data);
    }
    const auto result = check(problem, Tier::exact, execute);
    if (!result.ok()) return result.error();
    if (!result->passed) state.problem = "wrong: " + result->what;
    return {};
  }

  void print_progress(const std::string& what) const {
    int64_t all = 0;
    int64_t least = INT64_MAX;
    for (const auto& state : states_) {
      all += state.launches;
      least = std::min(least, state.launches);
    }
    fmt::print("{}: {} kernels, {} launches, at least {} of each, {:.0f} s\n", what, states_.size(), all, least,
               elapsed());
    std::fflush(stdout);
  }

  [[nodiscard]] bool print_result() const {
    bool right = true;
    int64_t all = 0;
    for (const auto& state : states_) {
      fmt::print("{:44} {:>10} launches  {}\n", state.kernel->name, state.launches,
                 state.problem.empty() ? "right" : state.problem);
      right = right && state.problem.empty();
      all += state.launches;
    }
    fmt::print("{} kernels of {}, {} launches in {:.0f} s on {}: {}\n", states_.size(), options_.target, all, elapsed(),
               backend_.device(), right ? "no fault, all results equal" : "FAILED");
    return right;
  }

  static constexpr int64_t kMaxOnce = int64_t{1} << 24;     // multiplications under a tool that is slow
  static constexpr int64_t kMaxChecked = int64_t{1} << 22;  // multiplications that the CPU repeats
  const Options& options_;
  Backend& backend_;
  StressTools tools_;
  int64_t sms_ = 1;
  std::vector<KernelState> states_;
  Clock::time_point start_ = Clock::now();
};

int skip(const std::string& why) {
  fmt::print("{}\n", why);
  return hardware_required() ? 1 : kSkipped;
}

int run(const Options& options) {
  const Target* target = find_target(options.target);
  if (target == nullptr || target->kind != TargetKind::gpu)
    return skip(fmt::format("{} is not a GPU target: pbprobe targets lists them", options.target));
  const TargetBuild* build = find_build(options.target);
  if (build == nullptr || !build->built) return skip(fmt::format("not built: make build TARGETS={}", options.target));
  auto backend = make_bed(options.target);
  if (!backend.ok()) return skip(backend.error().message);
  if (options.neighbour) {
    for (const auto& kernel : kernel_table()) {
      if (kernel.target == options.target && kernel.built) return be_neighbour(**backend, kernel).ok() ? 0 : 1;
    }
    return 1;
  }
  const auto api = load_stress_api();
  if (!api.ok()) return skip(api.error().message);
  const auto counter = DifferenceCounter::load((*backend)->gpu_kernels()->driver());
  if (!counter.ok()) return skip(counter.error().message);
  Suite suite(options, **backend, *api, *counter);
  if (suite.empty()) return skip(fmt::format("no kernel of {} is named {}", options.target, options.kernel));
  if (!suite.run()) return 1;
  const char* folder = std::getenv("PBPROBE_EVIDENCE_DIR");
  if (folder == nullptr || options.once) return 0;
  const auto written = suite.write_evidence(folder);
  if (!written.ok()) fmt::print(stderr, "{}\n", written.error().message);
  return written.ok() ? 0 : 1;
}

}  // namespace
}  // namespace pbprobe::test

int main(int argc, char** argv) {
  pbprobe::test::Options options;
  CLI::App app("Launches every GPU kernel of a target back to back, and compares each result with the first one.");
  app.add_option("target", options.target, "GPU target: sm90")->required();
  app.add_option("--seconds", options.seconds, "Stop after this time")
      ->capture_default_str()
      ->envname("PBPROBE_STRESS_SECONDS");
  app.add_option("--launches", options.launches, "Launches of each kernel")->capture_default_str();
  app.add_option("--kernel", options.kernel, "Only kernels whose name contains this text");
  app.add_option("--without", options.without, "Leave out kernels whose name contains this text");
  app.add_flag("--once", options.once, "Launch each small shape once: for compute-sanitizer");
  app.add_flag("--neighbour", options.neighbour, "Only use the GPU, until killed: the suite starts such a process");
  app.footer(
      "Examples:\n  kernels_stress sm90 --seconds 1200\n  kernels_stress sm90 --kernel wgmma_fp16 --seconds 60\n"
      "  compute-sanitizer --tool synccheck kernels_stress sm90 --once");
  CLI11_PARSE(app, argc, argv);
  return pbprobe::test::run(options);
}
