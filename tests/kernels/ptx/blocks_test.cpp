// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The block-scaled kernels of SM120 and SM121, for which no GPU is here: run() launches them on a driver whose launches
// run the kernel's PTX in an interpreter, with a scalar model of mma.sync's block scaling (collectives.cpp), and the
// checker compares every bit. That proves addresses, swizzles, edges, scales, waits and the host's part; not ptxas, nor
// the chip.
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/cuda/host/probes.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/run.hpp"
#include "kernels/gemm/checker.hpp"
#include "kernels/gemm/reference.hpp"
#include "paths.hpp"
#include "tests/kernels/loading_driver.hpp"
#include "tests/kernels/ptx/machine.hpp"
#include "tests/kernels/tcgen05.hpp"

namespace pbprobe {
namespace {

using ptx::Range;
using testing::HasSubstr;

// What the driver's launches see: they are plain functions.
struct Machine {
  std::string text;
  std::map<std::string, ptx::Program> programs;
  std::vector<Range> memory;
  std::map<std::string, size_t> shared_bytes;
  std::string fault;
};
Machine machine;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The passes around the kernels ran on GPUs: here their meaning is enough.
void repack(const GpuRepack& pass, int64_t element) {
  for (int64_t i = 0; i < pass.rows; ++i) {
    for (int64_t j = 0; j < pass.columns; ++j) {
      const int64_t from = pass.transpose ? j * pass.from_leading + i : i * pass.from_leading + j;
      std::memcpy(static_cast<char*>(pass.to) + (i * pass.to_leading + j) * element,
                  static_cast<const char*>(pass.from) + from * element, static_cast<size_t>(element));
    }
  }
}

void reduce(const GpuCall& call) {
  const DType type = call.c_type == kGpuBf16 ? DType::bf16 : call.c_type == kGpuFp16 ? DType::fp16 : DType::fp32;
  for (int64_t i = 0; i < call.m; ++i) {
    for (int64_t j = 0; j < call.n; ++j) {
      float sum = 0;
      for (int64_t part = 0; part < call.split; ++part)
        sum += static_cast<const float*>(call.partials)[(part * call.m + i) * call.n + j];
      if (call.scale_a != nullptr) sum *= call.scale_a[i];
      if (call.scale_b != nullptr) sum *= call.scale_b[j];
      if (call.bias != nullptr) sum += call.bias[j];
      set_element(call.c, type, i * call.ldc + j, static_cast<double>(sum));
    }
  }
}

Result<void> launch_here(const std::string& symbol, ptx::LaunchOf launch, void** parameters) {
  if (symbol.starts_with("repack_")) {
    const auto* passes = static_cast<const GpuRepacks*>(parameters[0]);
    for (const GpuRepack* pass : {&passes->first, &passes->second}) repack(*pass, std::stoll(symbol.substr(7)));
    return {};
  }
  if (symbol == "reduce_fp32") {
    reduce(*static_cast<const GpuCall*>(parameters[0]));
    return {};
  }
  auto found = machine.programs.find(symbol);
  if (found == machine.programs.end()) {
    PBPROBE_TRY(auto program, ptx::read_program(machine.text, symbol));
    found = machine.programs.emplace(symbol, std::move(program)).first;
  }
  const ptx::Program& program = found->second;
  for (size_t i = 0; i < program.parameter_bytes.size(); ++i)
    launch.parameters.emplace_back(static_cast<const std::byte*>(parameters[i]), program.parameter_bytes[i]);
  launch.memory = machine.memory;
  return run_program(program, launch);
}

DriverApi interpreting_driver(int minor) {
  static int of_device = 0;
  of_device = minor;
  DriverApi driver = test::loading_driver();
  driver.cuDeviceGetAttribute = [](int* value, int attribute, CuDevice) {
    *value = attribute == kCuCapabilityMajor ? 12 : of_device;
    return 0;
  };
  driver.cuGetErrorName = driver.cuGetErrorString = [](CuResult, const char** text) {
    *text = machine.fault.c_str();
    return 0;
  };
  driver.cuLaunchKernel = [](CuFunction function, unsigned x, unsigned, unsigned z, unsigned threads, unsigned,
                             unsigned, unsigned shared, CuStream, void** parameters, void**) {
    const auto done =
        launch_here(test::name_of_function(function),
                    {.blocks_x = x, .blocks_z = z, .threads = threads, .shared_bytes = shared}, parameters);
    if (done.ok()) return 0;
    machine.fault = done.error().message;
    return int{kCudaErrorLaunchFailed};
  };
  return driver;
}

class Blocks : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    target_ = GetParam();
    machine = {};
    machine.text = read_text(std::string(PBPROBE_KERNEL_CUBINS) + "/" + target_ + "_blocks.ptx");
    if (machine.text.empty()) GTEST_SKIP() << "the PTX of " << target_ << "'s block-scaled kernels is not built";
    driver_ = interpreting_driver(target_ == "sm121" ? 1 : 0);
    auto kernels = GpuKernels::load(driver_, target_);
    ASSERT_TRUE(kernels.ok()) << kernels.error().message;
    kernels_.emplace(std::move(*kernels));
  }

  [[nodiscard]] std::vector<const Kernel*> kernels() const {
    std::vector<const Kernel*> found;
    for (const Kernel& kernel : kernel_table())
      if (kernel.target == target_ && kernel.part == "blocks") found.push_back(&kernel);
    return found;
  }

  static Problem problem_of(const Kernel& kernel, int64_t m, int64_t n, int64_t k, DType c = DType::fp32) {
    Problem problem = make_problem(std::min(m, kernel.max_m), n, k, kernel.dtype, c);
    problem.blocks = kernel.block_scale;
    return problem;
  }

  // By this kernel, in so many parts; both tiers of the checker.
  Result<CheckResult> checked(const Kernel& kernel, const Problem& problem, int64_t parts = 1, int64_t misalign = 0) {
    ChooseOptions options{.gpu = 0, .parts = parts};
    options.kernel = std::string(kernel.name);
    const auto execute = [&](const Problem& p, CheckData& data) -> Result<void> {
      PBPROBE_TRY(const Plan plan, choose(p, test::host_of(target_), {}, options));
      std::vector<std::byte> workspace(static_cast<size_t>(plan.workspace_bytes), std::byte{0x7f});
      machine.memory = ranges_of(data, workspace);
      Context context;
      context.workspace = workspace.data();
      context.workspace_bytes = plan.workspace_bytes;
      context.gpu = &*kernels_;
      const auto done = run(plan, data.operands(), context);
      if (!done.ok() && !machine.fault.empty()) return make_error(ErrorCode::malformed, "{}", machine.fault);
      return done;
    };
    CheckOptions check_options;
    check_options.misalign = misalign;
    return check(problem, execute, check_options);
  }

  void expect_right(const Kernel& kernel, const Problem& problem, int64_t parts = 1, int64_t misalign = 0) {
    const auto result = checked(kernel, problem, parts, misalign);
    ASSERT_TRUE(result.ok()) << kernel.name << ", " << describe(problem) << ": " << result.error().message;
    EXPECT_TRUE(result->passed) << kernel.name << ": " << result->what;
  }

  // Another PTX than the one that was built: wrong in one thing.
  bool passes_with(const std::string& what, const std::string& instead, const std::string& symbol,
                   const Problem& problem) {
    const std::string whole = machine.text;
    machine.programs.clear();
    const auto begin = machine.text.find(".entry " + symbol + "(");
    const auto end = std::min(machine.text.find(".entry ", begin + 1), machine.text.size());
    size_t changed = 0;
    for (auto at = machine.text.find(what, begin); at < end; at = machine.text.find(what, at + instead.size())) {
      machine.text.replace(at, what.size(), instead);
      ++changed;
    }
    EXPECT_GT(changed, 0U) << symbol << " has no " << what;
    const auto result = checked(*find_kernel(symbol.substr(0, symbol.size() - 3) + "_" + target_), problem);
    machine.text = whole;
    machine.programs.clear();
    machine.fault.clear();
    return result.ok() && result->passed;
  }

  static std::vector<Range> ranges_of(CheckData& data, std::vector<std::byte>& workspace) {
    std::vector<Range> ranges;
    const auto add = [&](const std::byte* begin, int64_t bytes, bool written) {
      const auto at = reinterpret_cast<uint64_t>(begin);
      ranges.push_back({at, at + static_cast<uint64_t>(bytes), written});
    };
    for (Guarded* array : {&data.a, &data.b, &data.bias, &data.scale_a, &data.scale_b, &data.blocks_a, &data.blocks_b})
      add(array->data(), array->length_bytes, false);
    add(data.c.data(), data.c.length_bytes, true);
    add(workspace.data(), static_cast<int64_t>(workspace.size()), true);
    return ranges;
  }

  std::string target_;
  DriverApi driver_;
  std::optional<GpuKernels> kernels_;
};

TEST_P(Blocks, AreRightAtEveryEdge) {
  for (const Kernel* kernel : kernels()) {
    const auto& t = kernel->tile;
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{t.m, t.n, t.k},
                                  {t.m + 1, t.n + 1, 3 * t.k + 48},
                                  {1, 1, 1},
                                  {13, 31, 61},
                                  {t.m - 1, t.n - 1, 16},
                                  {5, 2 * t.n + 5, 5 * t.k},
                                  {3, 3, 400},
                                  {4, 4, 0}}) {
      expect_right(*kernel, problem_of(*kernel, m, n, k));
      if (HasFailure()) return;
    }
  }
}

TEST_P(Blocks, AreRightBeyondATileOfScales) {
  for (const Kernel* kernel : kernels()) {
    if (kernel->tile.m == 128) continue;  // the others are in tiles of scales that their own do not begin
    expect_right(*kernel, problem_of(*kernel, 150, 300, 200));
    if (HasFailure()) return;
  }
}

TEST_P(Blocks, AreRightInEveryLayoutTypeAndPart) {
  for (const Kernel* kernel : kernels()) {
    if (kernel->tile.m == 128) continue;
    for (const Layout layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt}) {
      Problem problem = make_problem(std::min<int64_t>(33, kernel->max_m), 65, 160, kernel->dtype, DType::bf16, layout);
      problem.blocks = kernel->block_scale;
      problem.lda += 3;
      problem.ldb += 16;
      problem.ldc += 1;
      problem.bias = layout != Layout::nt;
      problem.scale_a = problem.scale_b = layout != Layout::nn;
      problem.per_tensor = layout == Layout::tt;
      expect_right(*kernel, problem, 1, layout == Layout::tn ? 1 : 0);
      if (HasFailure()) return;
    }
    expect_right(*kernel, problem_of(*kernel, 40, 70, 900, DType::fp16), 3);
    if (writes_c_nm(*kernel)) {
      Problem problem = problem_of(*kernel, 13, 70, 160, DType::bf16);
      problem.c_is_nm = problem.bias = true;
      problem.ldc = problem.m + 1;
      expect_right(*kernel, problem);
    }
    if (HasFailure()) return;
  }
}

// The proof of each loop's instruction, as a GPU runs it.
TEST_P(Blocks, HaveProofsOfTheirInstructions) {
  int proofs = 0;
  for (const Peak& peak : peak_table()) {
    if (peak.target != target_ || peak.part != "blocks") continue;
    auto proof = make_proof(peak);
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    std::vector<uint32_t> sums = proof->c;
    const auto add = [](std::vector<uint32_t>& words, bool written) {
      const auto at = reinterpret_cast<uint64_t>(words.data());
      machine.memory.push_back({at, at + 4 * words.size(), written});
    };
    machine.memory.clear();
    add(proof->a, false);
    add(proof->b, false);
    add(sums, true);
    Context context;
    context.gpu = &*kernels_;
    for (const bool broken : {false, true}) {
      sums = proof->c;
      if (broken) proof->a[0] ^= 0x400000U;
      const auto done = run_proof(peak, proof->a.data(), proof->b.data(), sums.data(), context);
      ASSERT_TRUE(done.ok()) << peak.name << ": " << machine.fault;
      EXPECT_EQ(proof_differs(*proof, sums).empty(), !broken) << peak.name << ": " << proof_differs(*proof, sums);
    }
    ++proofs;
  }
  EXPECT_EQ(proofs, 4);
}

// What the checker is for: each of these gives wrong results, or faults.
TEST_P(Blocks, FailWhereAnIndexIsWrong) {
  const Kernel& kernel = *find_kernel("gemm_mx_e4m3_64x64_" + target_);
  const std::string symbol = "gemm_mx_e4m3_64x64_nt";
  const Problem problem = problem_of(kernel, 64, 64, 256);
  expect_right(kernel, problem);
  EXPECT_FALSE(passes_with("{1, 1}, ", "{1, 0}, ", symbol, problem)) << "thread-id-a";
  EXPECT_FALSE(passes_with(", {2, 3};", ", {2, 2};", symbol, problem)) << "thread-id-b";
  EXPECT_FALSE(passes_with(", {3, 0}, ", ", {2, 0}, ", symbol, problem)) << "byte-id-a";
  EXPECT_FALSE(passes_with("cp.async.wait_group 1;", "cp.async.wait_group 2;", symbol, problem)) << "a wait";
  EXPECT_FALSE(passes_with(", 512;", ", 516;", symbol, problem)) << "the next word of a row's scales";
}

TEST_P(Blocks, RefuseWhatTheyCannotMultiply) {
  const Host host = test::host_of(target_);
  ChooseOptions options{.gpu = 0};
  Problem plain = make_problem(64, 64, 64, DType::e2m1x2);
  auto plan = choose(plain, host, {}, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("e2m1x2 takes mx or nvfp4"));
  Problem mx = make_problem(64, 64, 64, DType::e4m3);
  mx.blocks = BlockScale::mx;
  plan = choose(mx, host, {}, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_THAT(std::string(plan->kernel->name), HasSubstr("gemm_mx_e4m3"));
  plan = choose(mx, test::host_of("sm90", 132), {}, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("its machine code is for capability 12.0"));
  mx.blocks = BlockScale::none;
  plan = choose(mx, host, {}, options);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(std::string(plan->kernel->name), testing::StartsWith("gemm_e4m3"));
}

INSTANTIATE_TEST_SUITE_P(Targets, Blocks, testing::Values("sm120", "sm121"),
                         [](const testing::TestParamInfo<std::string>& one) { return one.param; });

// The kernels' index function and the reference's, which was written from cuBLAS's documentation: the same place for
// every row and block.
TEST(BlockScales, LieWhereCublasltWantsThem) {
  Problem problem = make_problem(300, 1, 32 * 37, DType::e4m3);
  problem.blocks = BlockScale::mx;
  std::vector<bool> seen(static_cast<size_t>(block_scale_bytes(problem, 300)));
  for (int64_t row = 0; row < 300; ++row) {
    for (int64_t block = 0; block < 37; ++block) {
      const int64_t place = place_of_scale(problem, row, block);
      EXPECT_EQ(place, scale_word_offset(row, block / 4, 10) + block % 4) << row << ", " << block;
      EXPECT_FALSE(seen.at(static_cast<size_t>(place))) << row << ", " << block;
      seen[static_cast<size_t>(place)] = true;
    }
  }
}

}  // namespace
}  // namespace pbprobe
