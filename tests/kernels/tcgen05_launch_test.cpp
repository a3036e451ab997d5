// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Launches of the tcgen05 kernels on a driver that only takes notes: arguments, tensor maps, grids and clusters of
// every shape that kernels are measured by, against the limits of the target.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/driver/driver_api.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/run.hpp"
#include "tests/kernels/loading_driver.hpp"
#include "tests/kernels/tcgen05.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;

// Shapes of the comparison with cuBLASLt (tests/kernels/hardware.py), shapes of bench, and others.
constexpr std::array<std::array<int64_t, 3>, 14> kBenchShapes{{{256, 256, 256},
                                                               {1024, 1024, 1024},
                                                               {2048, 2048, 2048},
                                                               {4096, 4096, 4096},
                                                               {8192, 8192, 8192},
                                                               {16384, 16384, 16384},
                                                               {4096, 14336, 4096},
                                                               {8192, 1024, 8192},
                                                               {2112, 7168, 7168},
                                                               {128, 8192, 8192},
                                                               {16, 8192, 8192},
                                                               {5120, 5120, 777},
                                                               {5120, 5120, 784},
                                                               {300, 1000, 776}}};

// Arguments of one tensor map.
struct Asked {
  int type = 0;
  unsigned rank = 0;
  const void* at = nullptr;
  std::array<uint64_t, 5> sizes{};
  std::array<uint64_t, 5> strides{};
  std::array<uint32_t, 5> box{};
  int swizzle = 0;
};
std::vector<Asked> asked;
int answer = 0;

int record(void* map, int type, unsigned rank, void* address, const uint64_t* sizes, const uint64_t* strides,
           const uint32_t* box, const uint32_t* steps, int interleave, int swizzle, int, int fill) {
  Asked one{.type = type, .rank = rank, .at = address, .swizzle = swizzle};
  EXPECT_GE(rank, 2U);
  EXPECT_LE(rank, one.sizes.size());
  for (unsigned i = 0; i < std::min<unsigned>(rank, one.sizes.size()); ++i) {
    one.sizes[i] = sizes[i];
    one.box[i] = box[i];
    if (i + 1 < rank) one.strides[i] = strides[i];
  }
  EXPECT_TRUE(std::all_of(steps, steps + rank, [](uint32_t step) { return step == 1; }));
  EXPECT_EQ(interleave, 0);
  EXPECT_EQ(fill, 0) << "what is outside must be zeros";
  EXPECT_EQ(reinterpret_cast<uintptr_t>(map) % 64, 0U);
  asked.push_back(one);
  return answer;
}

const void* const kA = reinterpret_cast<const void*>(uintptr_t{0x7f0000000000});
const void* const kB = reinterpret_cast<const void*>(uintptr_t{0x7f4000000000});
const void* const kScalesA = reinterpret_cast<const void*>(uintptr_t{0x7fa000000000});
const void* const kScalesB = reinterpret_cast<const void*>(uintptr_t{0x7fb000000000});

// --- a driver that only takes notes ---

constexpr unsigned kMostDown = 65535;  // limit of a grid's second and third size
constexpr unsigned kMostThreads = 1024;

struct Launched {
  std::vector<std::string> kernels;
  CuLaunchConfig config;
  std::array<unsigned, 3> cluster{};
  bool passes_fit = true;  // the earlier launches keep the limits of a grid and a block
};
Launched launched;

DriverApi noting_driver() {
  DriverApi driver = test::loading_driver();
  driver.cuGetErrorName = [](CuResult, const char** name) { return *name = "CUDA_ERROR_INVALID_VALUE", 0; };
  driver.cuGetErrorString = [](CuResult, const char** text) { return *text = "invalid argument", 0; };
  driver.cuTensorMapEncodeTiled = record;
  driver.cuLaunchKernelEx = [](const CuLaunchConfig* config, CuFunction function, void**, void**) {
    launched.kernels.push_back(test::name_of_function(function));
    launched.config = *config;
    for (unsigned i = 0; i < config->attribute_count; ++i) {
      const auto& dims = config->attributes[i].value.dims;
      if (config->attributes[i].id == kCuLaunchClusterDimension) launched.cluster = {dims[0], dims[1], dims[2]};
    }
    return 0;
  };
  driver.cuLaunchKernel = [](CuFunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                             unsigned, unsigned, CuStream, void**, void**) {
    launched.passes_fit =
        launched.passes_fit && x > 0 && x <= INT32_MAX && y <= kMostDown && z <= kMostDown && threads <= kMostThreads;
    launched.kernels.push_back(test::name_of_function(function));
    return 0;
  };
  return driver;
}

// --- every shape ---

// Operand that the GEMM reads, after the passes.
struct Read {
  const void* at;
  int64_t leading;
  int64_t lines, k;
  bool along_k;
  int64_t element;
  int64_t numbers = 1;  // in an element
};

void expect_map_in_limits(const Asked& one, const Read& read) {
  EXPECT_EQ(one.sizes[0], static_cast<uint64_t>(read.along_k ? read.k * read.numbers : read.lines));
  EXPECT_EQ(one.sizes[1], static_cast<uint64_t>(read.along_k ? read.lines : read.k));
  EXPECT_EQ(one.strides[0], static_cast<uint64_t>(read.leading * read.element));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(one.at) % kMapBytes, 0U);
  for (unsigned rank = 0; rank + 1 < one.rank; ++rank) {
    EXPECT_EQ(one.strides[rank] % kMapBytes, 0U);
    EXPECT_LT(one.strides[rank], uint64_t{1} << 40);
  }
  for (unsigned rank = 0; rank < one.rank; ++rank) {
    EXPECT_GT(one.sizes[rank], 0U);
    EXPECT_LE(one.sizes[rank], uint64_t{1} << 32);
    EXPECT_GT(one.box[rank], 0U);
    EXPECT_LE(one.box[rank], 256U);
  }
  EXPECT_LE(one.box[0] * read.element / read.numbers, 128) << "more than the swizzle's 128 bytes";
}

// Copies that the passes make follow each other in the workspace, whatever its alignment.
void expect_copies_in_workspace(const Plan& plan, const Read& a, const Read& b, const void* workspace) {
  const auto bytes = [&](const Read& read) {
    return (read.along_k ? read.lines : read.k) * read.leading * read.element;
  };
  int64_t end = 0;
  if (a.at == workspace) end = bytes(a);
  if (plan.gpu.transpose_b || plan.gpu.align_b) {
    EXPECT_GE(plan.gpu.b_offset, end);
    end = plan.gpu.b_offset + bytes(b);
  }
  constexpr int64_t kAlign = 256;
  if (end > 0) {
    EXPECT_LE(end + kAlign - 1, plan.workspace_bytes) << describe(plan.problem);
  }
}

// Checks the scales: tiles of 512 bytes, two at a time. They are the caller's scales or, if k has no whole words of
// them, copies behind the copies of the operands.
constexpr int kTypeOfScales = 1;  // CU_TENSOR_MAP_DATA_TYPE_UINT16
void expect_scales_read(const Plan& plan, const Asked& one, const std::byte* workspace) {
  const Problem& p = plan.problem;
  const int64_t bytes_a = block_scale_bytes(p, p.m);
  const int64_t bytes_b = block_scale_bytes(p, p.n);
  const int64_t end = trimmed_scales_end(plan);
  EXPECT_EQ(end > 0, trims_scales(plan));
  const void* const a = end > 0 ? workspace + end - bytes_a - bytes_b : kScalesA;
  const void* const b = end > 0 ? workspace + end - bytes_b : kScalesB;
  ASSERT_TRUE(one.at == a || one.at == b) << describe(p);
  if (end > 0) {
    EXPECT_LE(end + 255, plan.workspace_bytes) << describe(p);
    EXPECT_GE(end - bytes_a - bytes_b, plan.gpu.partials_offset) << describe(p);
  }
  EXPECT_EQ(one.swizzle, 0);
  EXPECT_EQ(one.sizes[0], 256U);
  uint64_t elements = 1;
  for (unsigned rank = 0; rank < one.rank; ++rank) {
    elements *= one.sizes[rank];
    EXPECT_LE(one.box[rank], 256U);
  }
  EXPECT_EQ(2 * elements, static_cast<uint64_t>(one.at == a ? bytes_a : bytes_b)) << describe(p);
}

void expect_launch_in_limits(const Plan& plan, const void* workspace) {
  const Problem& p = plan.problem;
  const Kernel& kernel = *plan.kernel;
  const Tcgen05Kernel& known = *find_tcgen05(std::string(kernel.function_name) + plan.variant);
  const auto& limits = find_target(kernel.target)->limits;
  ASSERT_FALSE(launched.kernels.empty());
  EXPECT_EQ(launched.kernels.back(), known.symbol);
  EXPECT_TRUE(launched.passes_fit) << describe(p);
  const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };
  const int64_t down = up(up(p.m, kernel.tile.m) / kernel.tile.m * kernel.sms, known.cluster[0]);
  const int64_t across = up(up(p.n, kernel.tile.n) / kernel.tile.n, known.cluster[1]);
  const auto& grid = launched.config.grid;
  EXPECT_EQ(int64_t{grid[0]} * grid[1] * grid[2], down * across) << describe(p);
  EXPECT_LE(grid[0], unsigned{INT32_MAX});
  EXPECT_LE(grid[1], kMostDown);
  EXPECT_LE(grid[2], kMostDown);
  const std::array<unsigned, 3> cluster{static_cast<unsigned>(known.cluster[0]),
                                        static_cast<unsigned>(known.cluster[1]), 1};
  EXPECT_EQ(launched.cluster, cluster) << describe(p);
  for (size_t i = 0; i < cluster.size(); ++i) EXPECT_EQ(grid[i] % cluster[i], 0U) << describe(p);
  EXPECT_EQ(launched.config.shared_bytes, static_cast<unsigned>(known.layout.shared_bytes));
  EXPECT_LE(launched.config.shared_bytes, limits.shared_per_block_bytes.value_or(0));
  EXPECT_EQ(launched.config.block[0], static_cast<unsigned>(known.layout.threads));
  EXPECT_LE(launched.config.block[0] * launched.config.block[1] * launched.config.block[2], kMostThreads);
  EXPECT_EQ(known.workspace(static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k)), 0)
      << "the plan has none for it";
  const bool copied_a = plan.gpu.transpose_a || plan.gpu.align_a;
  const bool copied_b = plan.gpu.transpose_b || plan.gpu.align_b;
  const auto* copies = static_cast<const std::byte*>(workspace);
  const Read a{
      copied_a ? workspace : kA, copied_a ? plan.gpu.a_leading : p.lda, p.m, p.k, true, size_of(p.a), numbers_in(p.a)};
  const Read b{copied_b ? copies + plan.gpu.b_offset : kB,
               copied_b ? plan.gpu.b_leading : p.ldb,
               p.n,
               p.k,
               b_is_nk(layout_read(kernel, p.layout)),
               size_of(p.b),
               numbers_in(p.b)};
  expect_copies_in_workspace(plan, a, b, workspace);
  // Four, and of scales four more: each operand for the cluster, and for one that the hardware may launch in its place.
  ASSERT_EQ(asked.size(), p.blocks != BlockScale::none ? 8U : 4U);
  for (const auto& one : asked) {
    if (one.type == kTypeOfScales && p.blocks != BlockScale::none) {
      expect_scales_read(plan, one, copies);
      continue;
    }
    ASSERT_TRUE(one.at == a.at || one.at == b.at);
    expect_map_in_limits(one, one.at == a.at ? a : b);
  }
}

TEST(Tcgen05, LaunchesEachBenchShapeWithinLimits) {
  const auto kernels = built_kernels();
  if (kernels.empty()) GTEST_SKIP() << "no tcgen05 kernels are built";
  const DriverApi driver = noting_driver();
  const Operands operands{.a = kA,
                          .b = kB,
                          .c = reinterpret_cast<void*>(uintptr_t{0x7f8000000000}),
                          .blocks_a = kScalesA,
                          .blocks_b = kScalesB};
  Context context;
  context.workspace = reinterpret_cast<std::byte*>(uintptr_t{0x7f9000000000});
  for (const Kernel* kernel : kernels) {
    const auto loaded = GpuKernels::load(driver, kernel->target);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    context.gpu = &*loaded;
    for (const auto& [m, n, k] : kBenchShapes) {
      for (const Layout layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt}) {
        auto problem = make_problem(m, n, k, kernel->dtype, layout);
        problem.blocks = kernel->block_scale;
        const auto plan =
            choose(problem, make_tcgen05_host(kernel->target), {}, {.kernel = std::string(kernel->name), .gpu = 0});
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        EXPECT_EQ(plan->split, 1);
        ASSERT_NE(plan->otherwise, nullptr);
        EXPECT_GE(plan->workspace_bytes, plan->otherwise->workspace_bytes);
        launched = {};
        asked.clear();
        context.workspace_bytes = plan->workspace_bytes;
        const auto result = run(*plan, operands, context);
        ASSERT_TRUE(result.ok()) << result.error().message;
        expect_launch_in_limits(*plan, context.workspace);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Tcgen05, ReturnsDriverErrorOfTensorMap) {
  const Tcgen05Kernel* kernel = find_tcgen05("tcgen05_bf16_256x128_nt");
  if (kernel == nullptr) GTEST_SKIP() << "no tcgen05 kernels are built";
  GpuCall call{};
  call.a = kA;
  call.b = kB;
  call.lda = call.ldb = 64;
  call.m = call.n = call.k = 64;
  Tcgen05Launch launch;
  answer = 1;
  EXPECT_EQ(kernel->prepare(call, {}, 1, record, launch), 1);
  answer = 0;
  EXPECT_EQ(kernel->prepare(call, {}, 1, record, launch), 0);
}

// --- one launch ---

class Tcgen05Launches : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_kernel("tcgen05_bf16_256x128_sm100")->built) GTEST_SKIP() << "no tcgen05 kernels are built";
    driver_ = noting_driver();
    auto kernels = GpuKernels::load(driver_, "sm100");
    ASSERT_TRUE(kernels.ok()) << kernels.error().message;
    kernels_.emplace(std::move(*kernels));
  }
  Result<void> run_it(const Problem& problem, Operands operands, const char* kernel = "tcgen05_bf16_256x128_sm100") {
    launched = {};
    asked.clear();
    const ChooseOptions options{.kernel = kernel, .gpu = 0};
    PBPROBE_TRY(const Plan plan, choose(problem, make_tcgen05_host("sm100"), {}, options));
    std::vector<std::byte> workspace(static_cast<size_t>(plan.workspace_bytes));
    Context context;
    context.workspace = workspace.data();
    context.workspace_bytes = plan.workspace_bytes;
    context.gpu = &*kernels_;
    return run(plan, operands, context);
  }
  DriverApi driver_;
  std::optional<GpuKernels> kernels_;
  Operands operands_{.a = kA, .b = kB, .c = reinterpret_cast<void*>(uintptr_t{0x7f8000000000})};
};

TEST_F(Tcgen05Launches, UsesClusterOfTwo) {
  const auto result = run_it(make_problem(1000, 1000, 512, DType::bf16), operands_);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(launched.kernels, testing::ElementsAre("tcgen05_bf16_256x128_nt"));
  EXPECT_EQ(launched.cluster, (std::array<unsigned, 3>{2, 1, 1}));
  EXPECT_EQ(launched.config.grid[0] * launched.config.grid[1], 8U * 8U);
  EXPECT_EQ(launched.config.block[0], 256U);
  EXPECT_EQ(launched.config.shared_bytes, 221696U);
}

TEST_F(Tcgen05Launches, ReadsBInItsLayout) {
  ASSERT_TRUE(run_it(make_problem(1000, 1000, 512, DType::bf16, Layout::nn), operands_).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("tcgen05_bf16_256x128_nn"));
}

TEST_F(Tcgen05Launches, CopiesOperandsFirst) {
  ASSERT_TRUE(run_it(make_problem(1000, 1000, 777, DType::bf16, Layout::tt), operands_).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("repack_2", "tcgen05_bf16_256x128_nt"));
}

TEST_F(Tcgen05Launches, UsesOtherKernelForUnalignedAddresses) {
  operands_.a = static_cast<const std::byte*>(kA) + 2;
  ASSERT_TRUE(run_it(make_problem(1000, 1000, 512, DType::bf16), operands_).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("gemm_bf16_128x128_nt"));
  operands_.a = kA;
  ASSERT_TRUE(run_it(make_problem(1000, 1000, 0, DType::bf16), operands_).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("gemm_bf16_128x128_nt"));
}

// FP8 has no other kernel: what maps cannot read is copied first, and of k = 0 the pass that sums parts writes C.
TEST_F(Tcgen05Launches, CopiesFp8OperandsThatMapsCannotRead) {
  const char* kernel = "tcgen05_e4m3_256x128_sm100";
  auto problem = make_problem(1000, 1000, 512, DType::e4m3, DType::bf16);
  ASSERT_TRUE(run_it(problem, operands_, kernel).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("tcgen05_e4m3_256x128_nt"));
  for (auto* operand : {&operands_.a, &operands_.b}) {
    const void* before = *operand;
    *operand = static_cast<const std::byte*>(before) + 1;
    const auto result = run_it(problem, operands_, kernel);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_THAT(launched.kernels, testing::ElementsAre("repack_1", "tcgen05_e4m3_256x128_nt"));
    ASSERT_EQ(asked.size(), 4U);
    for (const auto& one : asked) EXPECT_EQ(reinterpret_cast<uintptr_t>(one.at) % kMapBytes, 0U);
    *operand = before;
  }
  problem = make_problem(1000, 1000, 0, DType::e4m3, DType::bf16);
  ASSERT_TRUE(run_it(problem, operands_, kernel).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("reduce_fp32"));
}

// A scale of all of A, and one of all of B, is written as often as there are rows and columns.
TEST_F(Tcgen05Launches, SpreadsScalesBeforeFp8) {
  auto problem = make_problem(1000, 1000, 512, DType::e4m3, DType::bf16);
  problem.scale_a = problem.scale_b = true;
  const std::vector<float> scales(1000, 1.0F);
  operands_.scale_a = operands_.scale_b = scales.data();
  ASSERT_TRUE(run_it(problem, operands_, "tcgen05_e4m3_256x128_sm100").ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("tcgen05_e4m3_256x128_nt"));
  problem.per_tensor = true;
  ASSERT_TRUE(run_it(problem, operands_, "tcgen05_e4m3_256x128_sm100").ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("repack_4", "tcgen05_e4m3_256x128_nt"));
}

TEST_F(Tcgen05Launches, AreNotMadeWhereTheDriverRefusesAMap) {
  answer = 1;
  const auto result = run_it(make_problem(1000, 1000, 512, DType::bf16), operands_);
  answer = 0;
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::device);
  EXPECT_THAT(result.error().message, HasSubstr("describing the operands of tcgen05_bf16_256x128_nt"));
  EXPECT_THAT(launched.kernels, testing::IsEmpty());
}

TEST_F(Tcgen05Launches, AreNotMadeBeyondTheTargetsSharedMemory) {
  const ChooseOptions options{.kernel = "tcgen05_bf16_256x128_sm100", .gpu = 0};
  auto plan = choose(make_problem(1000, 1000, 512, DType::bf16), make_tcgen05_host("sm100"), {}, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::vector<std::byte> workspace(static_cast<size_t>(plan->workspace_bytes));
  Context context;
  context.workspace = workspace.data();
  context.workspace_bytes = plan->workspace_bytes;
  context.gpu = &*kernels_;
  launched = {};
  plan->shared_bytes = find_target("sm100")->limits.shared_per_block_bytes.value_or(0) + 1;
  const auto result = run(*plan, operands_, context);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::limit);
  EXPECT_THAT(launched.kernels, testing::IsEmpty());
}

TEST_F(Tcgen05Launches, AreNotMadeInASmallerWorkspace) {
  const ChooseOptions options{.kernel = "tcgen05_bf16_256x128_sm100", .gpu = 0};
  const auto plan = choose(make_problem(1000, 1000, 777, DType::bf16), make_tcgen05_host("sm100"), {}, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::vector<std::byte> workspace(static_cast<size_t>(plan->workspace_bytes));
  Context context;
  context.workspace = workspace.data();
  context.workspace_bytes = plan->workspace_bytes - 1;
  context.gpu = &*kernels_;
  launched = {};
  const auto result = run(*plan, operands_, context);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("needs a workspace of"));
  EXPECT_THAT(launched.kernels, testing::IsEmpty());
}

}  // namespace
}  // namespace pbprobe::test
