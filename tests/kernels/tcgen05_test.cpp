// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The tcgen05 kernels, as far as they can be proved without the hardware: their images by the census, the limits of
// their targets, how they are chosen, and the host code that makes their arguments and launches them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/host/driver_api.hpp"
#include "kernels/gemm/choose.hpp"
#include "kernels/gemm/gpu.hpp"
#include "kernels/gemm/tcgen05.hpp"
#include "probes/audit/sass.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;

constexpr std::array<std::array<int64_t, 3>, 12> kBenchShapes{{{1024, 1024, 1024},
                                                               {2048, 2048, 2048},
                                                               {4096, 4096, 4096},
                                                               {8192, 8192, 8192},
                                                               {16384, 16384, 16384},
                                                               {4096, 14336, 4096},
                                                               {8192, 1024, 8192},
                                                               {2112, 7168, 7168},
                                                               {128, 8192, 8192},
                                                               {16, 8192, 8192},
                                                               {300, 1000, 776},
                                                               {5120, 5120, 784}}};

// What one tensor map was asked for.
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

Host host_of(std::string_view target, int64_t sms = 148) {
  Host host;
  host.cpu.architecture = "x86_64";
  Gpu gpu;
  gpu.name = "Test GPU";
  gpu.capability = find_target(target)->capability.value_or("");
  gpu.sm_count = sms;
  host.gpus.push_back(gpu);
  return host;
}

std::vector<const Kernel*> built_kernels() {
  std::vector<const Kernel*> kernels;
  for (const auto& kernel : kernel_table()) {
    if (is_tcgen05(kernel) && kernel.built) kernels.push_back(&kernel);
  }
  return kernels;
}

GpuCall call_of(const Plan& plan, const void* a, const void* b) {
  const Problem& p = plan.problem;
  GpuCall call{};
  call.a = a;
  call.b = b;
  call.lda = p.lda;
  call.ldb = p.ldb;
  call.ldc = p.ldc;
  call.m = static_cast<int>(p.m);
  call.n = static_cast<int>(p.n);
  call.k = static_cast<int>(p.k);
  call.split = 1;
  return call;
}

const void* const kA = reinterpret_cast<const void*>(uintptr_t{0x7f0000000000});
const void* const kB = reinterpret_cast<const void*>(uintptr_t{0x7f4000000000});

// --- rows and limits ---

TEST(Tcgen05, RowsAreWhatTheHostKnowsOfTheirKernels) {
  const auto kernels = built_kernels();
  if (kernels.empty()) GTEST_SKIP() << build_of(*find_kernel("tcgen05_bf16_256x128_sm100")).why_not;
  for (const Kernel* kernel : kernels) {
    const auto& limits = find_target(kernel->target)->limits;
    for (const auto& symbol : symbols_of(*kernel)) {
      const Tcgen05Kernel* known = find_tcgen05(symbol);
      ASSERT_NE(known, nullptr) << symbol;
      EXPECT_EQ((std::array<int64_t, 3>{kernel->tile.m, kernel->tile.n, kernel->tile.k}),
                (std::array<int64_t, 3>{known->tile[0], known->tile[1], known->tile[2]}))
          << symbol;
      EXPECT_EQ(kernel->shared_bytes, known->layout.shared_bytes) << symbol;
      EXPECT_EQ(kernel->threads, known->layout.threads) << symbol;
      EXPECT_EQ(kernel->sms, known->sms) << symbol;
      EXPECT_LE(known->layout.shared_bytes, limits.shared_per_block_bytes.value_or(0)) << symbol;
      EXPECT_LE(known->tensor_columns, limits.tensor_memory_columns.value_or(0)) << symbol;
      EXPECT_LE(known->cluster[0] * known->cluster[1], 8) << symbol << ": more than every GPU can hold together";
      EXPECT_EQ(known->cluster[0] % known->sms, 0) << symbol;
      EXPECT_GE(known->layout.stages, 3) << symbol;
      EXPECT_GE(known->layout.sums, 2) << symbol << ": a tile is multiplied while the last one is written";
      EXPECT_LE(known->layout.parameter_bytes, 4096) << symbol;
    }
  }
}

// The host's compiler and the device's lay the arguments out alike: each kernel's layout stands in its image.
TEST(Tcgen05, HostAndDeviceLayParametersOutAlike) {
  int64_t images = 0;
  for (const auto& build : part_builds()) {
    if (!build.built) continue;
    ++images;
    const std::string_view image(reinterpret_cast<const char*>(build.image.data()), build.image.size());
    std::map<std::string, int64_t> wanted;
    for (const Kernel* kernel : built_kernels()) {
      if (kernel->target != build.target) continue;
      for (const auto& symbol : symbols_of(*kernel)) {
        const auto& layout = find_tcgen05(symbol)->layout;
        ++wanted[std::string(reinterpret_cast<const char*>(&layout), sizeof layout)];
      }
    }
    for (const auto& [bytes, count] : wanted) {
      int64_t seen = 0;
      for (auto at = image.find(bytes); at != std::string_view::npos; at = image.find(bytes, at + 4)) ++seen;
      EXPECT_EQ(seen, count) << build.target;
    }
    EXPECT_FALSE(wanted.empty()) << build.target;
  }
  if (images == 0) GTEST_SKIP() << "no tcgen05 kernels are built";
}

// The threads that write a block's share of a tile write each of its elements once, eight neighbours at a time.
TEST(Tcgen05, EveryElementOfATileIsWrittenOnce) {
  for (const auto& kernel : tcgen05_kernels()) {
    const int rows = kernel.tile[0] / kernel.sms;
    const int columns = kernel.tile[1];
    std::vector<int> times(static_cast<size_t>(rows) * static_cast<size_t>(columns));
    for (int thread = 0; thread < 128; ++thread) {
      for (int part = 0; part < columns / 32; ++part) {
        std::array<int, 2> last{};
        for (int i = 0; i < 32; ++i) {
          const auto at = kernel.where(thread, part, i);
          ASSERT_TRUE(at[0] >= 0 && at[0] < rows && at[1] >= 0 && at[1] < columns) << kernel.symbol;
          ++times[static_cast<size_t>(at[0]) * static_cast<size_t>(columns) + static_cast<size_t>(at[1])];
          if (i % 8 != 0) {
            EXPECT_EQ(at, (std::array<int, 2>{last[0], last[1] + 1})) << kernel.symbol;
          }
          last = at;
        }
      }
    }
    EXPECT_THAT(times, testing::Each(1)) << kernel.symbol;
  }
  if (tcgen05_kernels().empty()) GTEST_SKIP() << "no tcgen05 kernels are built";
}

// The peak loops' own descriptors are those that CUTLASS makes.
TEST(Tcgen05, DescriptorsAreThoseOfCutlass) {
  if (built_kernels().empty()) GTEST_SKIP() << "no tcgen05 kernels are built";
  struct Codes {
    int bytes;
    unsigned sum, element;
  };
  for (const auto& [bytes, sum, element] : {Codes{1, 2, 1}, Codes{2, 1, 1}, Codes{4, 1, 2}}) {
    EXPECT_EQ(tcgen05_instruction(sum, element, 128, 256), instruction_by_cutlass(bytes, true)) << bytes;
    EXPECT_EQ(tcgen05_instruction(sum, element, 128, 16), instruction_by_cutlass(bytes, false)) << bytes;
  }
  for (const unsigned address : {0U, 1024U, 0x38460U}) EXPECT_EQ(tcgen05_lines(address), lines_by_cutlass(address));
}

// --- launch parameters ---

void expect_launch_in_limits(const Kernel& kernel, const Plan& plan) {
  const Problem& p = plan.problem;
  const Tcgen05Kernel& known = *find_tcgen05(std::string(kernel.function_name) + plan.variant);
  const auto call = call_of(plan, kA, kB);
  Tcgen05Launch launch;
  asked.clear();
  ASSERT_EQ(known.prepare(call, static_cast<int>(plan.gpu.band), record, launch), 0);
  const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b * b; };
  const int64_t down = up(up(p.m, kernel.tile.m) / kernel.tile.m * kernel.sms, known.cluster[0]);
  const int64_t across = up(up(p.n, kernel.tile.n) / kernel.tile.n, known.cluster[1]);
  EXPECT_EQ(int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2], down * across) << describe(p);
  EXPECT_EQ(launch.grid[0] % static_cast<unsigned>(known.cluster[0]), 0U);
  EXPECT_EQ(launch.grid[1] % static_cast<unsigned>(known.cluster[1]), 0U);
  EXPECT_LE(launch.grid[1], 65535U);
  EXPECT_EQ(known.workspace(call.m, call.n, call.k), 0) << "the plan has none for it";
  // Four: each operand for the cluster, and for one that the hardware may launch in its place.
  ASSERT_EQ(asked.size(), 4U);
  const int64_t element = size_of(p.a);
  for (size_t i = 0; i < asked.size(); ++i) {
    const Asked& one = asked[i];
    const bool is_a = one.at == kA;
    EXPECT_TRUE(is_a || one.at == kB);
    const int64_t lines = is_a ? p.m : p.n;
    const bool along_k = is_a || b_is_nk(p.layout);
    EXPECT_EQ(one.sizes[0], static_cast<uint64_t>(along_k ? p.k : lines)) << describe(p);
    EXPECT_EQ(one.sizes[1], static_cast<uint64_t>(along_k ? lines : p.k)) << describe(p);
    EXPECT_EQ(one.strides[0], static_cast<uint64_t>((is_a ? p.lda : p.ldb) * element)) << describe(p);
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
    EXPECT_LE(one.box[0] * element, 128) << "more than the swizzle's 128 bytes";
  }
}

TEST(Tcgen05, EveryBenchShapeIsLaunchedWithinTheLimits) {
  const auto kernels = built_kernels();
  if (kernels.empty()) GTEST_SKIP() << "no tcgen05 kernels are built";
  for (const Kernel* kernel : kernels) {
    for (const auto& [m, n, k] : kBenchShapes) {
      for (const Layout layout : {Layout::nt, Layout::nn}) {
        const auto problem = make_problem(m, n, k, kernel->dtype, layout);
        const auto plan = choose(problem, host_of(kernel->target), {}, {.kernel = std::string(kernel->name), .gpu = 0});
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        if (!plan->transposing) expect_launch_in_limits(*kernel, *plan);
        EXPECT_EQ(plan->split, 1);
        ASSERT_NE(plan->otherwise, nullptr);
        EXPECT_GE(plan->workspace_bytes, plan->otherwise->workspace_bytes);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Tcgen05, WhatTheDriverSaysOfAMapIsHandedOn) {
  const Tcgen05Kernel* kernel = find_tcgen05("tcgen05_bf16_256x128_nt");
  if (kernel == nullptr) GTEST_SKIP() << "no tcgen05 kernels are built";
  GpuCall call{};
  call.a = kA;
  call.b = kB;
  call.lda = call.ldb = 64;
  call.m = call.n = call.k = 64;
  Tcgen05Launch launch;
  answer = 1;
  EXPECT_EQ(kernel->prepare(call, 1, record, launch), 1);
  answer = 0;
  EXPECT_EQ(kernel->prepare(call, 1, record, launch), 0);
}

// --- choice ---

std::string chosen(std::string_view target, Problem problem) {
  const auto plan = choose(problem, host_of(target), {}, {.target = std::string(target), .gpu = 0});
  return plan.ok() ? std::string(plan->kernel->function_name) : plan.error().message;
}

TEST(Tcgen05, IsChosenWhereItsOperandsLieRight) {
  if (!build_of(*find_kernel("tcgen05_bf16_256x128_sm100")).built) GTEST_SKIP() << "no tcgen05 kernels are built";
  for (const auto* target : {"sm100", "sm103"}) {
    if (!find_build(target)->built) continue;
    EXPECT_EQ(chosen(target, make_problem(8192, 8192, 8192, DType::bf16)), "tcgen05_bf16_256x128") << target;
    EXPECT_EQ(chosen(target, make_problem(8192, 8192, 8192, DType::tf32)), "tcgen05_tf32_256x128") << target;
    // Half of a larger tile would be empty.
    EXPECT_EQ(chosen(target, make_problem(128, 128 * 148, 4096, DType::bf16)), "tcgen05_bf16_128x128") << target;
    // Rows that tensor maps cannot read, no depth, few rows.
    EXPECT_THAT(chosen(target, make_problem(5120, 5120, 777, DType::bf16)), HasSubstr("gemm_bf16")) << target;
    EXPECT_THAT(chosen(target, make_problem(5120, 5120, 0, DType::bf16)), HasSubstr("gemm_bf16")) << target;
    EXPECT_EQ(chosen(target, make_problem(16, 8192, 8192, DType::bf16)), "gemm_bf16_16x64") << target;
    EXPECT_THAT(chosen(target, make_problem(64, 8192, 8192, DType::bf16)), HasSubstr("gemm_bf16")) << target;
    // An odd k whose rows are spaced is read where it lies.
    auto spaced = make_problem(5120, 5120, 777, DType::bf16);
    spaced.lda = spaced.ldb = 784;
    EXPECT_EQ(chosen(target, spaced), "tcgen05_bf16_256x128") << target;
  }
  EXPECT_EQ(chosen("sm100", make_problem(8192, 8192, 8192, DType::int8)), "tcgen05_int8_256x128");
  if (find_build("sm103")->built) {
    EXPECT_EQ(chosen("sm103", make_problem(8192, 8192, 8192, DType::int8)), "gemm_int8_128x128");
  }
  if (find_build("sm110")->built) {
    EXPECT_EQ(chosen("sm110", make_problem(8192, 8192, 8192, DType::bf16)), "tcgen05_bf16_256x256");
    EXPECT_EQ(chosen("sm110", make_problem(8192, 8192, 8192, DType::int8)), "tcgen05_int8_256x256");
  }
}

TEST(Tcgen05, MoreTilesThanAGridHasAreRefused) {
  const Kernel* kernel = find_kernel("tcgen05_bf16_128x128_sm100");
  if (!kernel->built) GTEST_SKIP() << build_of(*kernel).why_not;
  const auto problem = make_problem(128 * 65536 + 1, 8, 8, DType::bf16);
  const auto plan = choose(problem, host_of("sm100"), {}, {.kernel = std::string(kernel->name), .gpu = 0});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::limit);
  EXPECT_THAT(chosen("sm100", problem), HasSubstr("gemm_bf16"));
}

// --- the launch, on a driver that only takes notes ---

struct Launched {
  std::vector<std::string> kernels;
  CuLaunchConfig config;
  std::array<unsigned, 3> cluster{};
};
Launched launched;
std::vector<std::string> names;

DriverApi noting_driver() {
  DriverApi driver;
  driver.cuGetErrorName = [](CuResult, const char** name) { return *name = "CUDA_ERROR_INVALID_VALUE", 0; };
  driver.cuGetErrorString = [](CuResult, const char** text) { return *text = "invalid argument", 0; };
  driver.cuLibraryLoadData = [](CuLibrary* library, const void*, int*, void**, unsigned, int*, void**, unsigned) {
    *library = reinterpret_cast<CuLibrary>(uintptr_t{1});
    return 0;
  };
  driver.cuLibraryUnload = [](CuLibrary) { return 0; };
  driver.cuLibraryGetKernel = [](CuKernel* kernel, CuLibrary, const char* name) {
    names.emplace_back(name);
    *kernel = reinterpret_cast<CuKernel>(names.size());
    return 0;
  };
  driver.cuCtxGetDevice = [](CuDevice* device) { return *device = 0; };
  driver.cuKernelSetAttribute = [](int, int, CuKernel, CuDevice) { return 0; };
  driver.cuKernelGetAttribute = [](int* value, int, CuKernel, CuDevice) { return *value = 0; };
  driver.cuTensorMapEncodeTiled = record;
  driver.cuLaunchKernelEx = [](const CuLaunchConfig* config, CuFunction function, void**, void**) {
    launched.kernels.push_back(names[reinterpret_cast<uintptr_t>(function) - 1]);
    launched.config = *config;
    for (unsigned i = 0; i < config->attribute_count; ++i) {
      const auto& dims = config->attributes[i].value.dims;
      if (config->attributes[i].id == kCuLaunchClusterDimension) launched.cluster = {dims[0], dims[1], dims[2]};
    }
    return 0;
  };
  driver.cuLaunchKernel = [](CuFunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             CuStream, void**, void**) {
    launched.kernels.push_back(names[reinterpret_cast<uintptr_t>(function) - 1]);
    return 0;
  };
  return driver;
}

class Tcgen05Launches : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_kernel("tcgen05_bf16_256x128_sm100")->built) GTEST_SKIP() << "no tcgen05 kernels are built";
    names.clear();
    driver_ = noting_driver();
    auto kernels = GpuKernels::load(driver_, "sm100");
    ASSERT_TRUE(kernels.ok()) << kernels.error().message;
    kernels_.emplace(std::move(*kernels));
  }
  Result<void> run_it(const Problem& problem, Operands operands) {
    launched = {};
    asked.clear();
    const ChooseOptions options{.kernel = "tcgen05_bf16_256x128_sm100", .gpu = 0};
    PBPROBE_TRY(const Plan plan, choose(problem, host_of("sm100"), {}, options));
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

TEST_F(Tcgen05Launches, AsAClusterOfTwo) {
  const auto result = run_it(make_problem(1000, 1000, 512, DType::bf16), operands_);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(launched.kernels, testing::ElementsAre("tcgen05_bf16_256x128_nt"));
  EXPECT_EQ(launched.cluster, (std::array<unsigned, 3>{2, 1, 1}));
  EXPECT_EQ(launched.config.grid[0] * launched.config.grid[1], 8U * 8U);
  EXPECT_EQ(launched.config.block[0], 256U);
  EXPECT_EQ(launched.config.shared_bytes, 221696U);
}

TEST_F(Tcgen05Launches, WithBAsItLies) {
  ASSERT_TRUE(run_it(make_problem(1000, 1000, 512, DType::bf16, Layout::nn), operands_).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("tcgen05_bf16_256x128_nn"));
}

TEST_F(Tcgen05Launches, AfterTheCopiesThatItsOperandsNeed) {
  ASSERT_TRUE(run_it(make_problem(1000, 1000, 777, DType::bf16, Layout::tt), operands_).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("repack_2", "repack_2", "tcgen05_bf16_256x128_nt"));
}

TEST_F(Tcgen05Launches, AnotherKernelForAddressesThatMapsCannotRead) {
  operands_.a = static_cast<const std::byte*>(kA) + 2;
  ASSERT_TRUE(run_it(make_problem(1000, 1000, 512, DType::bf16), operands_).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("gemm_bf16_128x128_nt"));
  operands_.a = kA;
  ASSERT_TRUE(run_it(make_problem(1000, 1000, 0, DType::bf16), operands_).ok());
  EXPECT_THAT(launched.kernels, testing::ElementsAre("gemm_bf16_128x128_nt"));
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

// --- planted ---

// sm103 has no INT8 by tcgen05; its build compiles, and the census says what became of it.
TEST(Tcgen05Planted, Int8OfSm103HoldsNoProduct) {
  if (!std::filesystem::exists(PBPROBE_PLANTED_INT8)) GTEST_SKIP() << "sm103's tcgen05 kernels are not built";
  std::ifstream file(PBPROBE_PLANTED_INT8, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  const auto cubin =
      read_elf(Bytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, PBPROBE_PLANTED_INT8));
  ASSERT_TRUE(cubin.ok()) << cubin.error().message;
  const auto census = read_census(*cubin, 103);
  ASSERT_TRUE(census.ok()) << census.error().message;
  EXPECT_EQ(census->kernels, 1);
  EXPECT_FALSE(census->instructions.contains("UTCIMMA"));
  EXPECT_FALSE(census->instructions.contains("UTCHMMA"));
  EXPECT_GT(census->instructions.at("BPT"), 0);
}

}  // namespace
}  // namespace pbprobe::test
