// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/host.hpp"
#include "paths.hpp"
#include "probes/measure/kernels/backend.hpp"
#include "probes/measure/kernels/bench.hpp"
#include "probes/process/statistics.hpp"
#include "tests/measure/child.hpp"

namespace pbprobe {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Device on which the test sets the time. It replaces only hardware: rows are made from its measurements.
class ScriptedBackend : public Backend {
 public:
  Result<void> verify(const Plan& plan) override {
    ++verified;
    now += check_us * 1e-6;
    if (plan.kernel->name == failing) return make_error(ErrorCode::device, "CUDA_ERROR_LAUNCH_FAILED");
    if (plan.kernel->name == wrong) return make_error(ErrorCode::malformed, "C[3,5] is 1, and must be 2");
    return {};
  }
  Result<Candidate> kernel(const Plan& plan) override {
    return Candidate{.name = std::string(plan.kernel->name),
                     .sample = [this, fails = plan.kernel->name == failing_later](int64_t) -> Result<double> {
                       lost = lost || (fails && ++samples > 3);
                       if (lost) return make_error(ErrorCode::device, "CUDA_ERROR_LAUNCH_FAILED");
                       return spend(kernel_us);
                     },
                     .required = false};
  }
  Result<void> repeat(const Plan& plan, int64_t launches, double) override {
    repeated += launches;
    if (plan.kernel->name == unsteady)
      return make_error(ErrorCode::malformed, "launch 1000 of {} gave another result than the first launch", launches);
    return {};
  }
  Result<Candidate> peak(const Kernel&, std::vector<PeakSlice>& slices) override {
    return Candidate{.name = "peak", .sample = [this, &slices](int64_t) {
                       slices.push_back(slice);
                       return spend(1000);
                     }};
  }
  Result<Candidate> libtorch(const Libtorch&) override { return make_error(ErrorCode::unsupported, "not here"); }
  Result<Candidate> bf16() override { return peer; }
  [[nodiscard]] int64_t peak_units() const override { return 1; }

  Result<double> spend(double us) {
    now += us * 1e-6;
    return us;
  }

  double now = 0;
  double kernel_us = 1000;
  double check_us = 0;
  std::string wrong;
  std::string failing;
  std::string failing_later;  // in a sample; then every launch fails, as a CUDA context is lost
  std::string unsteady;
  int verified = 0;
  int samples = 0;
  int64_t repeated = 0;
  bool lost = false;
  Result<Candidate> peer = make_error(ErrorCode::unsupported, "not here");
  PeakSlice slice{};
};

// Two kernels of the table as if this host had both, whatever was built.
class RunCase : public testing::Test {
 protected:
  void SetUp() override {
    one_.problem = make_problem(100, 100, 100, DType::fp32);
    for (const char* name : {"gemm_fp32_14x32_avx512", "gemm_fp32_6x16_avx2"}) {
      const Kernel* kernel = find_kernel(name);
      ASSERT_NE(kernel, nullptr);
      plans_.plans.push_back({.kernel = kernel, .problem = one_.problem, .tile = kernel->tile});
    }
    plans_.best = plans_.plans[0].kernel->name;
  }

  EventLog run() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EventWriter events(ends[1]);
    LibtorchProbe none;
    usable_ = run_case(one_, plans_, host_, backend_, none, events,
                       {.seconds = 0.0205, .clock = [this] { return backend_.now; }});
    close(ends[1]);
    std::string text(65536, '\0');
    text.resize(static_cast<size_t>(std::max<ssize_t>(::read(ends[0], text.data(), text.size()), 0)));
    close(ends[0]);
    return read_events(text);
  }

  // Declares both kernels GPU kernels.
  void put_on_gpu() {
    one_.gpu = 0;
    plans_.plans.clear();
    for (const char* name : {"gemm_fp32_128x128_sm90", "gemm_fp32_64x64_sm90"}) {
      const Kernel* kernel = find_kernel(name);
      ASSERT_NE(kernel, nullptr) << name;
      plans_.plans.push_back({.kernel = kernel, .problem = one_.problem, .tile = kernel->tile});
    }
  }

  Host host_;
  bool usable_ = false;
  BenchCase one_;
  CasePlans plans_;
  ScriptedBackend backend_;
};

TEST_F(RunCase, RowsHoldWhatWasMeasured) {
  backend_.slice = {.gflops = 64 * 2.0, .clock_ghz = 2.0};  // the rate that the table allows for avx512
  const EventLog log = run();
  ASSERT_EQ(log.measurements.rows.size(), 2U);
  const BenchRow& row = log.measurements.rows[0];
  EXPECT_EQ(row.kernel, "gemm_fp32_14x32_avx512");
  EXPECT_EQ(row.target, "avx512");
  EXPECT_DOUBLE_EQ(row.gflops, 2.0);
  EXPECT_TRUE(row.best);
  EXPECT_FALSE(log.measurements.rows[1].best);
  EXPECT_EQ(row.samples_us.size(), 5U) << "20.5 ms, four candidates of 1 ms a round";
  ASSERT_TRUE(row.peak_fraction);
  EXPECT_DOUBLE_EQ(*row.peak_fraction, 2.0 / 128);
  EXPECT_EQ(row.clock_ghz, 2.0);
  EXPECT_EQ(row.shape_class, "small");
  EXPECT_EQ(row.note, std::nullopt);
  // This slice is twice the rate that avx2's row allows.
  EXPECT_EQ(log.measurements.rows[1].peak_fraction, std::nullopt);
  EXPECT_THAT(log.measurements.rows[1].note.value_or(""), HasSubstr("64 operations per clock and core"));
}

TEST_F(RunCase, NamesWrongKernelWithoutRate) {
  backend_.wrong = "gemm_fp32_6x16_avx2";
  const EventLog log = run();
  ASSERT_EQ(log.measurements.rows.size(), 1U);
  EXPECT_EQ(log.measurements.rows[0].target, "avx512");
  ASSERT_EQ(log.measurements.problems.size(), 1U);
  EXPECT_THAT(log.measurements.problems[0], HasSubstr("gemm_fp32_6x16_avx2 is wrong on m 100, n 100, k 100"));
  EXPECT_THAT(log.measurements.problems[0], HasSubstr("C[3,5] is 1, and must be 2"));
}

TEST_F(RunCase, VerifiesWithoutTimingIfAsked) {
  one_.timed = false;
  one_.against_bf16 = true;
  EventLog log = run();
  EXPECT_EQ(backend_.verified, 2);
  EXPECT_EQ(backend_.now, 0) << "no sample was taken";
  EXPECT_THAT(log.measurements.rows, IsEmpty());
  EXPECT_THAT(log.measurements.problems, IsEmpty());
  EXPECT_THAT(log.measurements.notes, IsEmpty());
  backend_.wrong = "gemm_fp32_6x16_avx2";
  log = run();
  EXPECT_THAT(log.measurements.problems, ElementsAre(HasSubstr("gemm_fp32_6x16_avx2 is wrong")));
}

TEST_F(RunCase, ChecksTheChosenKernelFirstIfTimeIsShort) {
  plans_.best = plans_.plans[1].kernel->name;
  backend_.check_us = 6000;
  EXPECT_EQ(run().measurements.rows.size(), 2U);
  backend_.check_us = 12000;
  const EventLog log = run();
  ASSERT_EQ(log.measurements.rows.size(), 1U);
  EXPECT_EQ(log.measurements.rows[0].kernel, plans_.best);
  EXPECT_THAT(log.measurements.notes, Contains(HasSubstr("was enough for 1 of 2 kernels; allow more with --budget")));
  one_.timed = false;
  backend_.verified = 0;
  run();
  EXPECT_EQ(backend_.verified, 2) << "a check that was asked for";
}

TEST_F(RunCase, ReportsWrongGpuKernelForAttribution) {
  put_on_gpu();
  backend_.wrong = "gemm_fp32_64x64_sm90";
  const EventLog log = run();
  EXPECT_THAT(log.measurements.problems, IsEmpty()) << "it proves no defect of the GPU";
  ASSERT_TRUE(log.measurements.kernel_faults);
  const KernelFault& fault = log.measurements.kernel_faults->at(0);
  EXPECT_EQ(fault.device, "cuda:0");
  EXPECT_THAT(fault.what, HasSubstr("gemm_fp32_64x64_sm90 is wrong on m 100, n 100, k 100"));
  EXPECT_EQ(fault.again.kernel, backend_.wrong);
  EXPECT_EQ(fault.again.instruction, "fma.rn.f32");
  EXPECT_EQ(fault.owner, FaultOwner::undecided);
  EXPECT_TRUE(usable_);
  EXPECT_EQ(log.measurements.rows.size(), 1U) << "the other kernel is timed";
}

TEST_F(RunCase, EndsCaseAfterFailedLaunch) {
  put_on_gpu();
  backend_.failing = "gemm_fp32_128x128_sm90";
  const EventLog log = run();
  ASSERT_TRUE(log.measurements.kernel_faults);
  EXPECT_THAT(log.measurements.kernel_faults->at(0).what, HasSubstr("fails on m 100"));
  EXPECT_EQ(backend_.verified, 1) << "the context is lost: the next kernel would be blamed for it";
  EXPECT_FALSE(usable_);
  EXPECT_THAT(log.measurements.problems, IsEmpty());
  ASSERT_TRUE(log.measurements.not_run);
  EXPECT_THAT(log.measurements.not_run->at(0).what, HasSubstr("later measurements of that process did not run"));
}

TEST_F(RunCase, BlamesFirstKernelThatFailsWhileTimed) {
  put_on_gpu();
  backend_.failing_later = "gemm_fp32_64x64_sm90";
  const EventLog log = run();
  ASSERT_TRUE(log.measurements.kernel_faults);
  ASSERT_EQ(log.measurements.kernel_faults->size(), 1U);
  EXPECT_EQ(log.measurements.kernel_faults->at(0).again.kernel, "gemm_fp32_64x64_sm90");
  EXPECT_THAT(log.measurements.problems, IsEmpty());
  EXPECT_FALSE(usable_);
}

TEST_F(RunCase, RepeatsLaunchesIfAsked) {
  put_on_gpu();
  EXPECT_EQ(run().measurements.kernel_faults, std::nullopt);
  EXPECT_EQ(backend_.repeated, 0);
  one_.launches = 4000;
  backend_.unsteady = "gemm_fp32_64x64_sm90";
  const EventLog log = run();
  EXPECT_EQ(backend_.repeated, 8000);
  ASSERT_TRUE(log.measurements.kernel_faults);
  EXPECT_THAT(log.measurements.kernel_faults->at(0).what, HasSubstr("launch 1000 of 4000 gave another result"));
}

TEST_F(RunCase, DoesNotTimeWrongPeer) {
  one_.against_bf16 = true;
  backend_.peer = make_error(ErrorCode::malformed, "C[0,0] is -1, and must be 22");
  EventLog log = run();
  ASSERT_EQ(log.measurements.rows.size(), 2U);
  EXPECT_TRUE(log.measurements.rows[0].peers.empty());
  EXPECT_THAT(log.measurements.notes, Contains(HasSubstr("bf16 computes m 100, n 100, k 100")));
  EXPECT_THAT(log.measurements.notes, Contains(HasSubstr("wrong on cpu, and so is not timed: C[0,0] is -1")));
  EXPECT_THAT(log.measurements.problems, IsEmpty());
  backend_.peer = Candidate{.name = "bf16", .sample = [this](int64_t) { return backend_.spend(500); }};
  log = run();
  EXPECT_EQ(log.measurements.rows.at(0).peers.count("bf16"), 1U);
  EXPECT_THAT(log.measurements.notes, Not(Contains(HasSubstr("wrong"))));
}

TEST_F(RunCase, DropsPeakBelowKernel) {
  backend_.slice = {.gflops = 1.5, .clock_ghz = 2.0};
  const EventLog log = run();
  ASSERT_EQ(log.measurements.rows.size(), 2U);
  EXPECT_EQ(log.measurements.rows[0].peak_fraction, std::nullopt);
  EXPECT_THAT(log.measurements.rows[0].note.value_or(""), HasSubstr("is below the 2 Gop/s of the kernel"));
}

// --- on this machine ---

std::vector<std::string> built_cpu_targets(const Host& host, DType dtype) {
  std::vector<std::string> targets;
  for (const Kernel& kernel : kernel_table()) {
    const auto& mine = host.cpu.targets;
    const std::string target(kernel.target);
    const bool any_rows = kernel.max_m == INT64_MAX;  // not one of small M
    if (kernel.dtype == dtype && kernel.built && any_rows && std::find(mine.begin(), mine.end(), target) != mine.end())
      targets.push_back(target);
  }
  return targets;
}

class Bench : public testing::Test {
 protected:
  void SetUp() override {
    if (*PBPROBE_EMULATOR != '\0') GTEST_SKIP() << "an emulated CPU keeps no time budget";
    request_.host = detect_host(system_sources()).value();
    request_.host.gpus.clear();
    request_.budget_seconds = 12;  // two suffice on an idle machine
  }
  Measurements measure() {
    auto result = measure_in_child(request_, {.program = self()});
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(*result) : Measurements{};
  }
  MeasureRequest request_;
};

TEST_F(Bench, VerifiesAndTimesEachKernel) {
  const auto targets = built_cpu_targets(request_.host, DType::fp32);
  if (targets.empty()) GTEST_SKIP() << "no FP32 kernel was built for this CPU: make build";
  request_.benches = {{.shapes = {{150, 130, 70}, {64, 65, 66}}}};
  const Measurements m = measure();
  EXPECT_THAT(m.problems, IsEmpty());
  ASSERT_EQ(m.rows.size(), 2 * targets.size());
  int best = 0;
  for (const BenchRow& row : m.rows) {
    EXPECT_GE(row.samples_us.size(), 3U) << row.kernel;
    EXPECT_DOUBLE_EQ(row.gflops, compute_gflops(row.m, row.n, row.k, median(row.samples_us)));
    EXPECT_GT(row.gflops, 0.01);
    EXPECT_EQ(row.threads, request_.host.cpu.usable_cpus);
    EXPECT_TRUE(row.peak_fraction.has_value() != row.note.has_value()) << row.kernel << ": a fraction or a reason";
    if (row.peak_fraction) {
      EXPECT_GT(*row.peak_fraction, 0);
      EXPECT_LT(*row.peak_fraction, 1.2);
    }
    best += row.best ? 1 : 0;
  }
  EXPECT_EQ(best, 2) << "one a shape";
}

TEST_F(Bench, RunsEachLayout) {
  const auto targets = built_cpu_targets(request_.host, DType::fp32);
  if (targets.empty()) GTEST_SKIP() << "no FP32 kernel was built for this CPU: make build";
  for (const char* layout : {"nt", "nn", "tn", "tt"})
    request_.benches.push_back({.target = targets[0], .layout = layout, .shapes = {{33, 34, 35}}, .threads = 1});
  const Measurements m = measure();
  EXPECT_THAT(m.problems, IsEmpty());
  std::vector<std::string> layouts;
  for (const BenchRow& row : m.rows) layouts.push_back(row.layout);
  EXPECT_THAT(layouts, ElementsAre("nt", "nn", "tn", "tt"));
}

TEST_F(Bench, NamesCasesBeyondBudget) {
  if (built_cpu_targets(request_.host, DType::fp32).empty())
    GTEST_SKIP() << "no FP32 kernel was built for this CPU: make build";
  request_.budget_seconds = 0.001;
  request_.benches = {{.shapes = {{256, 256, 256}, {300, 300, 300}}}};
  const Measurements m = measure();
  ASSERT_FALSE(m.notes.empty());
  EXPECT_THAT(m.notes.back(), HasSubstr("not measured within the budget of 0.001 s: m 300, n 300, k 300"));
}

TEST_F(Bench, KeepsOwnRowsAfterLibtorchCrash) {
  if (built_cpu_targets(request_.host, DType::fp32).empty())
    GTEST_SKIP() << "no FP32 kernel was built for this CPU: make build";
  request_.libtorch_dir = std::string(PBPROBE_FAKES) + "/abort";
  request_.benches = {{.shapes = {{40, 40, 40}}, .against = {"libtorch"}}};
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_THAT(m.libtorch->problem.value_or(""), HasSubstr("SIGABRT"));
  EXPECT_FALSE(m.rows.empty());
  EXPECT_THAT(m.notes, testing::Contains(HasSubstr("second process, without libtorch")));
}

TEST(WithoutLibtorch, KeepsOtherPeers) {
  MeasureRequest request;
  request.libtorch_dir = "/made-up";
  request.benches = {{.against = {"cublaslt", "libtorch", "bf16"}}, {.against = {"libtorch"}}};
  request = without_libtorch(request);
  EXPECT_EQ(request.libtorch_dir, std::nullopt);
  EXPECT_THAT(request.benches[0].against, testing::ElementsAre("cublaslt", "bf16"));
  EXPECT_THAT(request.benches[1].against, testing::IsEmpty());
}

TEST_F(Bench, NotesDtypeWithoutKernel) {
  request_.benches = {{.dtype = DType::tf32, .shapes = {{40, 40, 40}}}};
  ASSERT_TRUE(built_cpu_targets(request_.host, DType::tf32).empty()) << "a CPU kernel for TF32? take another type here";
  const Measurements m = measure();
  EXPECT_TRUE(m.rows.empty());
  ASSERT_EQ(m.notes.size(), 1U);
  EXPECT_THAT(m.notes[0], HasSubstr("no pbprobe kernel ran m 40, n 40, k 40"));
}

}  // namespace
}  // namespace pbprobe
