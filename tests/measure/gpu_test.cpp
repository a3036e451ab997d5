// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// On this machine's first usable GPU. Without one they are skipped; PBPROBE_REQUIRE_HARDWARE=1 makes that a failure.
#include "probes/measure/kernels/gpu_device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/host.hpp"
#include "kernels/cuda/host/probes.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/gemm/checker.hpp"
#include "kernels/gemm/table.hpp"
#include "probes/measure/kernels/backend.hpp"
#include "probes/measure/libtorch/probe.hpp"
#include "probes/measure/peers/cublaslt.hpp"
#include "tests/measure/child.hpp"

namespace pbprobe {
namespace {

using testing::IsEmpty;

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    auto host = detect_host(system_sources());
    ASSERT_TRUE(host.ok()) << host.error().message;
    request_.host = *host;
    index_ = first_usable_gpu(*host);
    if (index_ >= 0) return;
    const char* const required = std::getenv("PBPROBE_REQUIRE_HARDWARE");
    if (required != nullptr && std::string_view(required) == "1")
      FAIL() << host->driver.sentence << " (PBPROBE_REQUIRE_HARDWARE=1)";
    GTEST_SKIP() << host->driver.sentence;
  }
  [[nodiscard]] const Gpu& gpu() const {
    return *std::find_if(request_.host.gpus.begin(), request_.host.gpus.end(),
                         [this](const Gpu& each) { return each.index == index_; });
  }
  Measurements measure() {
    auto result = measure_in_child(request_, {.program = self()});
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(*result) : Measurements{};
  }
  MeasureRequest request_;
  int32_t index_ = -1;
};

TEST_F(OnGpu, MemoryTravelsThereAndBack) {
  auto device = GpuDevice::open(index_);
  ASSERT_TRUE(device.ok()) << device.error().message;
  std::vector<unsigned char> there(5 << 20);
  for (size_t i = 0; i < there.size(); ++i) there[i] = static_cast<unsigned char>(i * 7 + i / 256);
  auto buffer = device->allocate(there.size() + 3);
  ASSERT_TRUE(buffer.ok()) << buffer.error().message;
  ASSERT_TRUE(device->upload(*buffer, 3, there.data(), there.size()).ok());
  std::vector<unsigned char> back(there.size());
  ASSERT_TRUE(device->download(back.data(), *buffer, 3, back.size()).ok());
  EXPECT_EQ(there, back);
}

TEST_F(OnGpu, TimesCallsIndependentlyOfQueueLength) {
  auto device = GpuDevice::open(index_);
  ASSERT_TRUE(device.ok()) << device.error().message;
  auto buffer = device->allocate(256 << 20);
  ASSERT_TRUE(buffer.ok()) << buffer.error().message;
  const auto write = [&] { return device->fill(*buffer, 1); };
  ASSERT_TRUE(device->time_us(write, 1).ok());
  auto one = device->time_us(write, 1);
  auto twenty = device->time_us(write, 20);
  ASSERT_TRUE(one.ok() && twenty.ok());
  EXPECT_GT(*one, 10) << "256 MiB at 25 TB/s";
  EXPECT_NEAR(*one / *twenty, 1, 0.5);
}

TEST_F(OnGpu, MoreMemoryThanThereIsNamesTheDriversError) {
  auto device = GpuDevice::open(index_);
  ASSERT_TRUE(device.ok()) << device.error().message;
  auto buffer = device->allocate(size_t{1} << 50);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code, ErrorCode::device);
  EXPECT_THAT(buffer.error().message, testing::HasSubstr("cuMemAlloc(1125899906842624 bytes)"));
}

// A copy as fast as the driver's (two copies of it differ by up to 2 %), memories in their order, and every instruction
// proved by its bits.
TEST_F(OnGpu, ProbesAskForOneThingAtATime) {
  const std::string target = gpu().target.value_or("");
  const TargetBuild* const build = find_build(target);
  if (build == nullptr || !build->built) GTEST_SKIP() << "no kernels for " << gpu().capability << " in this build";
  request_.probes = true;
  request_.budget_seconds = 20;
  const Measurements m = measure();
  EXPECT_THAT(m.problems, IsEmpty());
  std::map<std::string, ProbeFigure> figures;
  for (const ProbeFigure& figure : m.probes) {
    if (figure.device == fmt::format("cuda:{}", index_)) figures[figure.name] = figure;
  }
  ASSERT_TRUE(figures.contains("copy") && figures.contains("read") && figures.contains("read from L2") &&
              figures.contains("read from shared memory") && figures.contains("launch, queued"));
  EXPECT_GT(figures["copy"].ratio.value_or(0), 0.96);
  EXPECT_GT(figures["read from L2"].value, figures["read"].value);
  EXPECT_GT(figures["read from shared memory"].value, 30);
  EXPECT_LE(figures["read from shared memory"].value, 256);
  EXPECT_GT(figures["launch, waited for"].value, 1);
  int instructions = 0;
  for (const auto& [name, figure] : figures) {
    if (!figure.proved) continue;
    EXPECT_TRUE(*figure.proved) << name;
    if (!figure.per_clock) continue;
    EXPECT_GT(*figure.per_clock, 32) << name;
    ++instructions;
  }
  const auto peaks = peak_table();
  if (!tensor_probe_symbols(target).empty()) {
    EXPECT_GT(figures["tensor copies"].value, 0.8 * figures["read"].value);
    EXPECT_GT(figures["tensor copies from L2"].value, figures["tensor copies"].value);
    EXPECT_GT(figures["tensor copies from L2, to both blocks of a cluster"].value,
              figures["tensor copies from L2"].value);
    for (const auto* const name : {"tensor copies", "launch of clusters, queued"})
      EXPECT_TRUE(figures[name].proved) << name;
    EXPECT_GT(figures["tensor map, written"].value, 0);
  }
  EXPECT_EQ(instructions, std::count_if(peaks.begin(), peaks.end(),
                                        [&](const Peak& peak) { return peak.target == target && peak.built; }));
}

TEST_F(OnGpu, RejectsUnsuitableCubinByName) {
  auto device = GpuDevice::open(index_);
  ASSERT_TRUE(device.ok()) << device.error().message;
  int refused = 0;
  for (const auto& target : all_targets()) {
    const TargetBuild* const build = find_build(target.id);
    if (target.kind != TargetKind::gpu || !build->built || runs_on(target, gpu())) continue;
    const auto kernels = GpuKernels::load(device->driver(), target.id);
    ASSERT_FALSE(kernels.ok()) << target.id;
    EXPECT_EQ(kernels.error().code, ErrorCode::unsupported);
    EXPECT_THAT(kernels.error().message, testing::HasSubstr("CUDA_ERROR_NO_BINARY_FOR_GPU"));
    ++refused;
  }
  if (refused == 0) GTEST_SKIP() << "this build has no other GPU's cubin: make build TARGETS=all";
}

// Reads an address outside the device's memory, then allocates memory: in its own process, which it breaks.
[[noreturn]] void break_the_context(int32_t index, const std::string& target) {
  const auto say = [](const Error& error) { std::fprintf(stderr, "%s\n", error.message.c_str()); };
  auto device = GpuDevice::open(index);
  if (!device.ok()) say(device.error());
  auto kernels = GpuKernels::load(device->driver(), target);
  if (!kernels.ok()) say(kernels.error());
  const Context context{.stream = device->stream(), .gpu = &*kernels};
  auto nowhere =
      run_read_probe(target, reinterpret_cast<const void*>(uintptr_t{4096}), 1 << 20, 1, 0, nullptr, context);
  auto broken = device->synchronize();
  auto after = device->allocate(1024);
  if (nowhere.ok() && !broken.ok() && !after.ok()) {
    say(after.error());
    std::_Exit(0);
  }
  std::_Exit(1);
}

TEST_F(OnGpu, NamesRemedyForEarlierStickyError) {
  const std::string target = gpu().target.value_or("");
  const TargetBuild* const build = find_build(target);
  if (build == nullptr || !build->built) GTEST_SKIP() << "no kernels for " << gpu().capability << " in this build";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(break_the_context(index_, target), testing::ExitedWithCode(0),
              "cuMemAlloc.1024 bytes.: CUDA_ERROR_ILLEGAL_ADDRESS .700.*start the process again");
}

// A backend of this GPU whose kernels break its context at their fourth sample: from then on every call fails, as on a
// GPU that is lost.
class BreakingBackend : public Backend {
 public:
  BreakingBackend(std::unique_ptr<Backend> real, std::function<Result<void>()> break_it)
      : real_(std::move(real)), break_it_(std::move(break_it)) {}
  Result<void> verify(const Plan& plan) override { return real_->verify(plan); }
  Result<Candidate> kernel(const Plan& plan) override {
    PBPROBE_TRY(Candidate candidate, real_->kernel(plan));
    candidate.sample = [this, sample = candidate.sample](int64_t repeats) -> Result<double> {
      if (++samples_ == 4) PBPROBE_CHECK(break_it_());
      return sample(repeats);
    };
    return candidate;
  }
  Result<Candidate> peak(const Kernel& kernel, std::vector<PeakSlice>& slices) override {
    return real_->peak(kernel, slices);
  }
  Result<Candidate> libtorch(const Libtorch& library) override { return real_->libtorch(library); }
  [[nodiscard]] int64_t peak_units() const override { return real_->peak_units(); }

 private:
  std::unique_ptr<Backend> real_;
  std::function<Result<void>()> break_it_;
  int samples_ = 0;
};

// A run that loses its GPU at its second case: prints the kernel that failed, and ends with the number of rows.
[[noreturn]] void lose_the_gpu(const Host& host, int32_t index, const std::string& target) {
  const BenchCase one{.problem = make_problem(256, 256, 256, DType::fp32), .gpu = index, .targets = {target}};
  CasePlans plans = plan_case(one, host);
  plans.plans.resize(1);
  auto device = GpuDevice::open(index);
  auto kernels = GpuKernels::load(device->driver(), target);
  auto backend = make_gpu_backend(one, host);
  if (!backend.ok() || !kernels.ok()) std::_Exit(99);
  const Context context{.stream = device->stream(), .gpu = &*kernels};
  BreakingBackend breaking(std::move(*backend), [&] {
    return run_read_probe(target, reinterpret_cast<const void*>(uintptr_t{4096}), 1 << 20, 1, 0, nullptr, context);
  });
  int ends[2];
  if (pipe(ends) != 0) std::_Exit(98);
  EventWriter events(ends[1]);
  LibtorchProbe none;
  auto before = make_gpu_backend(one, host);
  if (!before.ok()) std::_Exit(97);
  for (Backend* const each : {before->get(), static_cast<Backend*>(&breaking)})
    run_case(one, plans, host, *each, none, events, {.seconds = 1, .clock = steady_seconds()});
  close(ends[1]);
  std::string text(1 << 20, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(::read(ends[0], text.data(), text.size()), 0)));
  const EventLog log = read_events(text);
  for (const auto& fault : log.measurements.kernel_faults.value_or(std::vector<KernelFault>()))
    std::fprintf(stderr, "%s\n", fault.what.c_str());
  std::_Exit(static_cast<int>(log.measurements.rows.size()));
}

TEST_F(OnGpu, KeepsResultsAfterGpuIsLost) {
  const std::string target = gpu().target.value_or("");
  const TargetBuild* const build = find_build(target);
  if (build == nullptr || !build->built) GTEST_SKIP() << "no kernels for " << gpu().capability << " in this build";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(lose_the_gpu(request_.host, index_, target), testing::ExitedWithCode(1),
              "gemm_fp32_.*CUDA_ERROR_ILLEGAL_ADDRESS .700.*start the process again");
}

TEST_F(OnGpu, CublasLtTakesTurnsWithOurs) {
  const std::string target = gpu().target.value_or("");
  const TargetBuild* const build = find_build(target);
  if (build == nullptr || !build->built) GTEST_SKIP() << "no kernels for " << gpu().capability << " in this build";
  auto library = CublasLt::load(cublaslt_places(std::nullopt));
  if (!library.ok()) GTEST_SKIP() << library.error().message;
  for (const DType type : {DType::bf16, DType::int8, DType::fp32}) {
    request_.benches = {{.target = target, .dtype = type, .shapes = {{512, 1024, 256}}, .against = {"cublaslt"}}};
    request_.budget_seconds = 10;
    const Measurements m = measure();
    EXPECT_THAT(m.problems, IsEmpty());
    ASSERT_FALSE(m.rows.empty());
    for (const BenchRow& row : m.rows) {
      ASSERT_TRUE(row.peers.contains("cublaslt")) << testing::PrintToString(m.notes);
      EXPECT_GT(row.peers.at("cublaslt").gflops, 1);
    }
  }
}

// cuBLASLt computes the same results as the kernels, so the peer multiplies the given operands.
TEST_F(OnGpu, ScaledInt8TakesTurnsWithBf16) {
  const std::string target = gpu().target.value_or("");
  const TargetBuild* const build = find_build(target);
  if (build == nullptr || !build->built) GTEST_SKIP() << "no kernels for " << gpu().capability << " in this build";
  request_.benches = {{.target = target,
                       .dtype = DType::int8,
                       .shapes = {{512, 1024, 256}, {2112, 1032, 1024}},
                       .scaled = true,
                       .against = {"bf16"}}};
  request_.budget_seconds = 20;
  const Measurements all = measure();
  EXPECT_THAT(all.problems, IsEmpty());
  ASSERT_THAT(all.rows, testing::Not(IsEmpty()));
  for (const auto& row : all.rows) {
    EXPECT_EQ(row.out, "bf16") << row.kernel;
    ASSERT_TRUE(row.peers.contains("bf16")) << testing::PrintToString(all.notes);
    EXPECT_GT(row.peers.at("bf16").gflops, 1) << row.kernel;
  }
}

TEST_F(OnGpu, CublasLtMultipliesWhatWeMultiply) {
  auto library = CublasLt::load(cublaslt_places(std::nullopt));
  if (!library.ok()) GTEST_SKIP() << library.error().message;
  auto device = GpuDevice::open(index_);
  ASSERT_TRUE(device.ok()) << device.error().message;
  for (const Layout layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt}) {
    const Problem p = make_problem(24, 40, 16, DType::fp32, layout);
    std::vector<float> a(24 * 16);
    std::vector<float> b(40 * 16);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
    std::vector<float> c(24 * 40, -1);
    auto da = device->allocate(a.size() * 4);
    auto db = device->allocate(b.size() * 4);
    auto dc = device->allocate(c.size() * 4);
    ASSERT_TRUE(da.ok() && db.ok() && dc.ok());
    ASSERT_TRUE(device->upload(*da, 0, a.data(), a.size() * 4).ok());
    ASSERT_TRUE(device->upload(*db, 0, b.data(), b.size() * 4).ok());
    auto gemm = library->plan(p, *device);
    ASSERT_TRUE(gemm.ok()) << gemm.error().message;
    const Operands operands{.a = da->data(), .b = db->data(), .c = dc->data()};
    ASSERT_TRUE(gemm->run(operands, device->stream()).ok());
    ASSERT_TRUE(device->download(c.data(), *dc, 0, c.size() * 4).ok());
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          const float left = a[static_cast<size_t>(a_is_km(layout) ? k * p.lda + i : i * p.lda + k)];
          const float right = b[static_cast<size_t>(b_is_nk(layout) ? j * p.ldb + k : k * p.ldb + j)];
          sum += left * right;
        }
        ASSERT_EQ(c[static_cast<size_t>(i * p.ldc + j)], sum) << name_of(layout) << " " << i << "," << j;
      }
    }
  }
}

// Blocks of 128: the result is exact, so the scales have the layout that the library expects.
TEST_F(OnGpu, CublasLtScalesWhatWeScale) {
  if (gpu().capability != "9.0") GTEST_SKIP() << "cuBLASLt has such scales on 9.0";
  auto library = CublasLt::load(cublaslt_places(std::nullopt));
  if (!library.ok()) GTEST_SKIP() << library.error().message;
  auto device = GpuDevice::open(index_);
  ASSERT_TRUE(device.ok()) << device.error().message;
  for (const BlockScale blocks : {BlockScale::rows_squares, BlockScale::squares_rows, BlockScale::rows_rows}) {
    Problem problem = make_problem(256, 384, 640, DType::e4m3, DType::bf16);
    problem.blocks = blocks;
    if (block_rows_a(problem).squares) problem.blocks_lda = 8;
    if (block_rows_b(problem).squares) problem.blocks_ldb = 8;
    const auto execute = [&](const Problem& p, CheckData& data) -> Result<void> {
      std::vector<DeviceBuffer> buffers;
      for (const Guarded* array : {&data.a, &data.b, &data.c, &data.blocks_a, &data.blocks_b}) {
        PBPROBE_TRY(DeviceBuffer buffer, device->allocate(static_cast<size_t>(array->length_bytes)));
        PBPROBE_CHECK(device->upload(buffer, 0, array->data(), static_cast<size_t>(array->length_bytes)));
        buffers.push_back(std::move(buffer));
      }
      PBPROBE_TRY(const CublasLt::Gemm gemm, library->plan(p, *device));
      const Operands operands{.a = buffers[0].data(),
                              .b = buffers[1].data(),
                              .c = buffers[2].data(),
                              .blocks_a = buffers[3].data(),
                              .blocks_b = buffers[4].data()};
      PBPROBE_CHECK(gemm.run(operands, device->stream()));
      return device->download(data.c.data(), buffers[2], 0, static_cast<size_t>(data.c.length_bytes));
    };
    const auto result = pbprobe::check(problem, Tier::exact, execute);
    ASSERT_TRUE(result.ok()) << name_of(blocks) << ": " << result.error().message;
    EXPECT_TRUE(result->passed) << name_of(blocks) << ": " << result->what;
  }
}

TEST_F(OnGpu, VerifiesAndTimesEachKernel) {
  const std::string target = gpu().target.value_or("");
  const TargetBuild* const build = find_build(target);
  if (build == nullptr || !build->built) GTEST_SKIP() << "no kernels for " << gpu().capability << " in this build";
  request_.benches = {{.target = target, .shapes = {{1024, 1024, 1024}, {130, 70, 33}}}};
  request_.budget_seconds = 20;
  const Measurements m = measure();
  EXPECT_THAT(m.problems, IsEmpty());
  ASSERT_GE(m.rows.size(), 2U) << testing::PrintToString(m.notes);
  int best = 0;
  for (const BenchRow& row : m.rows) {
    EXPECT_EQ(row.threads, 0);
    EXPECT_GT(row.gflops, 0.1);
    EXPECT_GE(row.samples_us.size(), 3U);
    EXPECT_TRUE(row.peak_fraction.has_value() != row.note.has_value()) << "a fraction or a reason";
    EXPECT_LE(row.peak_fraction.value_or(0), 1.0);
    ASSERT_TRUE(row.clock_ghz);
    EXPECT_GT(*row.clock_ghz, 0.2);
    EXPECT_LT(*row.clock_ghz, 4.0);
    best += row.best ? 1 : 0;
  }
  EXPECT_EQ(best, 2) << "one a shape";
}

TEST_F(OnGpu, LibtorchComputesThere) {
  const char* const root = std::getenv("PBPROBE_TEST_TORCH");
  if (root == nullptr) GTEST_SKIP() << "PBPROBE_TEST_TORCH is not set: name the site-packages folder that holds torch";
  request_.libtorch_dir = std::string(root) + "/torch/lib";
  if (!std::filesystem::exists(*request_.libtorch_dir + "/libtorch_cuda.so")) GTEST_SKIP() << "a build for CPUs only";
  for (const DType dtype : {DType::fp32, DType::bf16})
    request_.benches.push_back({.dtype = dtype, .shapes = {{1024, 1024, 1024}}, .against = {"libtorch"}});
  request_.budget_seconds = 30;
  request_.limit_seconds = 120;
  const Measurements m = measure();
  ASSERT_TRUE(m.libtorch);
  EXPECT_EQ(m.libtorch->problem, std::nullopt);
  EXPECT_EQ(m.libtorch->executed_on_gpu, true);
  const auto& figures = m.libtorch->figures;
  const auto there = std::count_if(figures.begin(), figures.end(), [](const auto& f) { return f.device != "cpu"; });
  EXPECT_GE(there, 2) << testing::PrintToString(m.notes);
}

}  // namespace
}  // namespace pbprobe
