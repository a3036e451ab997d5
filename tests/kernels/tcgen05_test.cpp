// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The tcgen05 kernels, as far as they can be proved without the hardware: what the host knows of them, and how they are
// chosen. Their cubins: tcgen05_cubin_test.cpp. Their launches: tcgen05_launch_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/gemm/evidence.hpp"
#include "tests/kernels/tcgen05.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;

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
      EXPECT_GE(known->layout.acc, 2) << symbol << ": a tile is computed while the last one is written";
      EXPECT_LE(known->layout.parameter_bytes, 4096) << symbol;
    }
  }
}

// Host and device compiler agree on the layout of arguments: each kernel's layout is stored in its cubin.
TEST(Tcgen05, HostAndDeviceLayParametersOutAlike) {
  int64_t cubins = 0;
  for (const auto& build : part_builds()) {
    if (!build.built || build.part != "tcgen05") continue;
    ++cubins;
    const auto embedded = cubin_of(build);
    ASSERT_TRUE(embedded.ok()) << embedded.error().message;
    const std::string_view cubin(reinterpret_cast<const char*>(embedded->data()), embedded->size());
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
      for (auto at = cubin.find(bytes); at != std::string_view::npos; at = cubin.find(bytes, at + 4)) ++seen;
      EXPECT_EQ(seen, count) << build.target;
    }
    EXPECT_FALSE(wanted.empty()) << build.target;
  }
  if (cubins == 0) GTEST_SKIP() << "no tcgen05 kernels are built";
}

// The threads that write a block's share of a tile write each of its elements once, eight neighbours at a time.
TEST(Tcgen05, WritesEachElementOfTileOnce) {
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
  const std::map<std::string_view, Tcgen05Codes> types{{"bf16", kTcgen05Bf16}, {"fp16", kTcgen05Fp16},
                                                       {"tf32", kTcgen05Tf32}, {"int8", kTcgen05Int8},
                                                       {"e4m3", kTcgen05E4m3}, {"e5m2", kTcgen05E5m2}};
  for (const auto& [type, codes] : types) {
    EXPECT_EQ(tcgen05_instruction(codes, 128, 256), instruction_by_cutlass(type, true)) << type;
    EXPECT_EQ(tcgen05_instruction(codes, 128, 16), instruction_by_cutlass(type, false)) << type;
  }
  EXPECT_EQ(instruction_by_cutlass("fp32", true), 0U) << "there is no such instruction";
  const std::map<std::string_view, Tcgen05BlockCodes> scaled{{"mx_e4m3", kTcgen05MxE4m3},
                                                             {"mx_e5m2", kTcgen05MxE5m2},
                                                             {"mx_e2m1", kTcgen05MxE2m1},
                                                             {"nv_e2m1", kTcgen05NvE2m1}};
  for (const auto& [type, codes] : scaled) {
    EXPECT_EQ(tcgen05_instruction(codes, 128, 256), instruction_by_cutlass(type, true)) << type;
    EXPECT_EQ(tcgen05_instruction(codes, 128, 16), instruction_by_cutlass(type, false)) << type;
  }
  for (const unsigned address : {0U, 1024U, 0x38460U}) EXPECT_EQ(tcgen05_lines(address), lines_by_cutlass(address));
}

// A record counts for the cubin that the kernel is in, not for the target's other one.
TEST(Tcgen05, CountsRecordOfItsOwnCubin) {
  const auto kernels = built_kernels();
  if (kernels.empty()) GTEST_SKIP() << "no tcgen05 kernels are built";
  for (const Kernel* kernel : kernels) {
    const auto level = [&](std::string_view digest) {
      EvidenceRecord record;
      record.kernel = kernel->name;
      record.digest = digest;
      record.launches = kMinStressLaunches;
      return find_evidence(*kernel, build_of(*kernel), std::vector{record}).level;
    };
    EXPECT_EQ(level(build_of(*kernel).digest), EvidenceLevel::executed) << kernel->name;
    EXPECT_EQ(level(find_build(kernel->target)->digest), EvidenceLevel::assembled) << kernel->name;
  }
}

// --- choice ---

std::string chosen(std::string_view target, Problem problem) {
  const auto plan = choose(problem, make_tcgen05_host(target), {}, {.target = std::string(target), .gpu = 0});
  return plan.ok() ? std::string(plan->kernel->function_name) : plan.error().message;
}

TEST(Tcgen05, IsChosenWhereItsOperandsLieRight) {
  if (!build_of(*find_kernel("tcgen05_bf16_256x128_sm100")).built) GTEST_SKIP() << "no tcgen05 kernels are built";
  for (const auto* target : {"sm100", "sm103"}) {
    if (!find_build(target)->built) continue;
    EXPECT_EQ(chosen(target, make_problem(8192, 8192, 8192, DType::bf16)), "tcgen05_bf16_256x128") << target;
    EXPECT_EQ(chosen(target, make_problem(8192, 8192, 8192, DType::fp16)), "tcgen05_fp16_256x128") << target;
    EXPECT_EQ(chosen(target, make_problem(8192, 8192, 8192, DType::tf32)), "tcgen05_tf32_256x128") << target;
    // Half of a larger tile would be empty.
    EXPECT_EQ(chosen(target, make_problem(128, 128 * 148, 4096, DType::bf16)), "tcgen05_bf16_128x128") << target;
    EXPECT_EQ(chosen(target, make_problem(128, 128 * 148, 4096, DType::fp16)), "tcgen05_fp16_128x128") << target;
    // Rows that tensor maps cannot read are aligned first, which is faster than another instruction; not for small M.
    EXPECT_EQ(chosen(target, make_problem(5120, 5120, 777, DType::bf16)), "tcgen05_bf16_256x128") << target;
    EXPECT_THAT(chosen(target, make_problem(5120, 64, 777, DType::bf16)), HasSubstr("gemm_bf16")) << target;
    // k = 0, small M.
    EXPECT_THAT(chosen(target, make_problem(5120, 5120, 0, DType::bf16)), HasSubstr("gemm_bf16")) << target;
    EXPECT_EQ(chosen(target, make_problem(16, 8192, 8192, DType::bf16)), "gemm_bf16_16x64") << target;
    EXPECT_THAT(chosen(target, make_problem(64, 8192, 8192, DType::bf16)), HasSubstr("gemm_bf16")) << target;
    // An odd k whose rows are spaced is read in place.
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
    EXPECT_EQ(chosen("sm110", make_problem(8192, 8192, 8192, DType::fp16)), "tcgen05_fp16_256x256");
    EXPECT_EQ(chosen("sm110", make_problem(8192, 8192, 8192, DType::int8)), "tcgen05_int8_256x256");
  }
}

// No other kernel of these SMs computes FP8, so that it is chosen for everything.
TEST(Tcgen05, ChoosesFp8KernelForAnyShape) {
  int64_t seen = 0;
  for (const auto* target : {"sm100", "sm103", "sm110"}) {
    if (!build_of(*find_kernel(std::string("tcgen05_e4m3_128x128_") + target)).built) continue;
    const std::string large = target == std::string_view("sm110") ? "_256x256" : "_256x128";
    for (const DType type : {DType::e4m3, DType::e5m2}) {
      const std::string name = "tcgen05_" + std::string(name_of(type));
      EXPECT_EQ(chosen(target, make_problem(8192, 8192, 8192, type)), name + large) << target;
      if (target != std::string_view("sm110")) {
        EXPECT_EQ(chosen(target, make_problem(128, 128 * 148, 4096, type)), name + "_128x128") << target;
      }
      for (const auto& [m, n, k] :
           {std::array<int64_t, 3>{16, 8192, 8192}, {1, 1, 1}, {5120, 5120, 777}, {64, 64, 0}}) {
        EXPECT_THAT(chosen(target, make_problem(m, n, k, type)), testing::StartsWith(name)) << target;
      }
      // FP8 counts as twice as fast as BF16 if no source states its rate.
      const auto seconds = [&](DType of) {
        const auto plan = choose(make_problem(8192, 8192, 8192, of), make_tcgen05_host(target), {}, {.gpu = 0});
        return plan.ok() ? plan->model_seconds : 0;
      };
      EXPECT_LT(seconds(type), seconds(DType::bf16)) << target;
      const auto odd = choose(make_problem(5120, 5120, 777, type), make_tcgen05_host(target), {}, {.gpu = 0});
      ASSERT_TRUE(odd.ok()) << odd.error().message;
      EXPECT_TRUE(odd->gpu.align_a && odd->gpu.align_b);
      EXPECT_THAT(odd->why, HasSubstr("A is aligned first, B is aligned first"));
      EXPECT_THAT(odd->why, HasSubstr(" reads copies of them"));
      ++seen;
    }
  }
  if (seen == 0) GTEST_SKIP() << "no tcgen05 kernels are built";
}

// FP16 has every tile and every layout that BF16 has, on each target.
TEST(Tcgen05, Fp16HasWhatBf16Has) {
  std::map<DType, std::vector<std::string>> symbols;
  for (const auto& kernel : kernel_table()) {
    if (!is_tcgen05(kernel) || kernel.block_scale != BlockScale::none) continue;
    for (std::string symbol : symbols_of(kernel)) {
      const auto at = symbol.find(name_of(kernel.dtype));
      ASSERT_NE(at, std::string::npos) << symbol;
      symbol.erase(at, name_of(kernel.dtype).size());
      symbols[kernel.dtype].push_back(std::string(kernel.target) + " " + symbol);
    }
  }
  EXPECT_GE(symbols[DType::bf16].size(), 9U);
  EXPECT_EQ(symbols[DType::fp16], symbols[DType::bf16]);
}

TEST(Tcgen05, MoreTilesThanAGridHasAreRefused) {
  const Kernel* kernel = find_kernel("tcgen05_bf16_128x128_sm100");
  if (!kernel->built) GTEST_SKIP() << build_of(*kernel).why_not;
  const auto problem = make_problem(128 * 65536 + 1, 8, 8, DType::bf16);
  const auto plan = choose(problem, make_tcgen05_host("sm100"), {}, {.kernel = std::string(kernel->name), .gpu = 0});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::limit);
  EXPECT_THAT(chosen("sm100", problem), HasSubstr("gemm_bf16"));
}

// CUTLASS counts the numbers of a row of E2M1, of which there are twice as many as bytes.
TEST(Tcgen05, MoreNumbersAlongKThanAnIntCountsAreRefused) {
  const Kernel* kernel = find_kernel("tcgen05_nv_e2m1_128x128_sm100");
  if (!kernel->built) GTEST_SKIP() << build_of(*kernel).why_not;
  for (const auto& [k, fits] : {std::pair{int64_t{1} << 29, true}, {int64_t{1} << 30, false}}) {
    auto problem = make_problem(8, 8, k, DType::e2m1x2);
    problem.blocks = BlockScale::nvfp4;
    const auto plan = choose(problem, make_tcgen05_host("sm100"), {}, {.gpu = 0});
    EXPECT_EQ(plan.ok(), fits) << k;
    if (!plan.ok()) {
      EXPECT_THAT(plan.error().message, HasSubstr("numbers along k: split the GEMM"));
    }
  }
}

}  // namespace
}  // namespace pbprobe::test
