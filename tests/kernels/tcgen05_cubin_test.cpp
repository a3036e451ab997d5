// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The tcgen05 cubins of each target: which kernels they hold, their machine code, and what of an SM each takes, by the
// cubin itself and by ptxas. Those that are embedded, and those that TCGEN05=full would build: `make test-real` builds
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/gemm/table.hpp"
#include "paths.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/device_code/sass.hpp"
#include "tests/kernels/machine_code.hpp"

namespace pbprobe::test {
namespace {

struct Type {
  DType type;
  bool scaled = false;  // scaled by blocks
};
struct Instance {
  std::string symbol;
  Type type;
  int sms, columns, down, across;
};

// Every kernel of the target that kernels/cuda/tcgen05.inc can build: what of it sm110.cu and the others ask for.
std::vector<Instance> all_instances(std::string_view target) {
  constexpr Type Bf16Tiles{DType::bf16};
  constexpr Type Fp16Tiles{DType::fp16};
  constexpr Type E4m3Tiles{DType::e4m3};
  constexpr Type E5m2Tiles{DType::e5m2};
  constexpr Type Tf32Tiles{DType::tf32};
  constexpr Type Int8Tiles{DType::int8};
  constexpr Type MxE4m3Tiles{DType::e4m3, true};
  constexpr Type MxE5m2Tiles{DType::e5m2, true};
  constexpr Type MxE2m1Tiles{DType::e2m1x2, true};
  constexpr Type NvE2m1Tiles{DType::e2m1x2, true};
  std::vector<Instance> all;
#define PBPROBE_TCGEN05_FULL
#define PBPROBE_TCGEN05_PAIRS
#define PBPROBE_TCGEN05_WIDE
#define PBPROBE_TCGEN05_INT8
#define PBPROBE_TCGEN05_BLOCKS
#define PBPROBE_TCGEN05(name, type, sms, rows, columns, down, across, bkn) \
  all.push_back({#name, type, sms, columns, down, across});
#include "kernels/cuda/tcgen05.inc"
#undef PBPROBE_TCGEN05
  const auto is_for_another = [&](const Instance& one) {
    if (one.type.type == DType::int8 && target == "sm103") return true;
    return !one.type.scaled && one.sms == 2 && (one.columns == 256) != (target == "sm110");
  };
  std::erase_if(all, is_for_another);
  return all;
}

struct Cubin {
  std::vector<char> bytes;
  Elf cubin;
  std::string resources;  // output of ptxas
};

std::string cubin_path(const std::string& name) {
  return std::string(PBPROBE_KERNEL_CUBINS) + "/" + name + ".cubin";
}

std::vector<char> read_binary(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<Cubin> read_cubin(const std::string& name) {
  Cubin cubin;
  const std::string path = cubin_path(name);
  cubin.bytes = read_binary(path);
  PBPROBE_TRY(cubin.cubin,
              read_elf(Bytes({reinterpret_cast<const uint8_t*>(cubin.bytes.data()), cubin.bytes.size()}, path)));
  const auto reported = read_binary(path + ".resources");
  cubin.resources = {reported.begin(), reported.end()};
  return cubin;
}

std::vector<std::string> list_cubin_kernels(const Elf& cubin) {
  constexpr std::string_view kText = ".text.";
  std::vector<std::string> kernels;
  for (const auto& section : cubin.sections) {
    if (section.name.starts_with(kText)) kernels.push_back(section.name.substr(kText.size()));
  }
  return kernels;
}

// Returns the layout that the device's compiler stored in the cubin for a kernel.
std::optional<Tcgen05Layout> read_layout(const Elf& cubin, const std::string& symbol) {
  std::optional<Tcgen05Layout> layout;
  const auto visited = visit_symbols(cubin, ".symtab", [&](std::string_view name, const Elf64_Sym& found) {
    if (name != "layout_" + symbol || found.st_shndx >= cubin.sections.size()) return;
    const auto held = section_bytes(cubin, cubin.sections[found.st_shndx]);
    if (!held || found.st_value + sizeof(Tcgen05Layout) > held->span().size()) return;
    std::memcpy(&layout.emplace(), held->span().data() + found.st_value, sizeof(Tcgen05Layout));
  });
  EXPECT_TRUE(visited.ok());
  return layout;
}

struct Used {
  int64_t registers = 0;
  int64_t local_bytes = 0;  // bytes of stack and spills
};

std::optional<Used> read_usage(const std::string& symbol, const std::string& resources) {
  const auto begin = resources.find("Compiling entry function '" + symbol + "'");
  if (begin == std::string::npos) return std::nullopt;
  std::istringstream lines(resources.substr(begin));
  Used used;
  for (std::string line; std::getline(lines, line);) {
    long stack = 0;
    long stores = 0;
    long loads = 0;
    if (std::sscanf(line.c_str(), " %ld bytes stack frame, %ld bytes spill stores, %ld bytes spill loads", &stack,
                    &stores, &loads) == 3) {
      used.local_bytes = stack + stores + loads;
    } else if (std::sscanf(line.c_str(), "ptxas info : Used %ld registers", &used.registers) == 1) {
      return used;
    }
  }
  return std::nullopt;
}

void expect_within_limits(const Cubin& cubin, const Target& target, const Instance& one) {
  const auto layout = read_layout(cubin.cubin, one.symbol);
  ASSERT_TRUE(layout) << one.symbol;
  EXPECT_GT(layout->shared_bytes, 0) << one.symbol;
  EXPECT_LE(layout->shared_bytes, target.limits.shared_per_block_bytes.value_or(0)) << one.symbol;
  EXPECT_GT(layout->acc, 0) << one.symbol;
  EXPECT_EQ(layout->scale_columns > 0, one.type.scaled) << one.symbol;
  EXPECT_LE(layout->acc * one.columns + layout->scale_columns, target.limits.tensor_memory_columns.value_or(0))
      << one.symbol;
  EXPECT_GE(layout->stages, 3) << one.symbol;
  EXPECT_LE(size_t(layout->parameter_bytes), Tcgen05Launch::kMostBytes) << one.symbol;
  EXPECT_LE(one.down * one.across, 8) << one.symbol << ": more than every GPU can hold together";
  EXPECT_EQ(one.down % one.sms, 0) << one.symbol;
  const auto used = read_usage(one.symbol, cubin.resources);
  ASSERT_TRUE(used) << one.symbol;
  EXPECT_GT(used->registers, 0) << one.symbol;
  EXPECT_LE(used->registers * layout->threads, target.limits.registers_per_sm.value_or(0)) << one.symbol;
  EXPECT_EQ(used->local_bytes, 0) << one.symbol;
}

// Evidence goes by the cubin's digest: nothing in it says in which folder it was built (cmake/Cubin.cmake).
void expect_of_no_folder(const Elf& cubin) {
  for (const std::string_view prefix : {"_INTERNAL_", "_GLOBAL__N__"}) {
    const auto visited = visit_symbols(cubin, ".symtab", [&](std::string_view name, const Elf64_Sym&) {
      const auto at = name.find(prefix);
      if (at == std::string_view::npos) return;
      EXPECT_EQ(name.substr(at + prefix.size(), 9), "00000000_") << name;
    });
    EXPECT_TRUE(visited.ok());
  }
}

void expect_cubin_correct(const Cubin& cubin, const Target& target, const std::vector<Instance>& instances) {
  const auto census = take_census(cubin.cubin, target.architecture);
  ASSERT_TRUE(census.ok()) << census.error().message;
  EXPECT_THAT(census->only_traps, testing::IsEmpty());
  expect_of_no_folder(cubin.cubin);
  std::vector<std::string> wanted;
  for (const auto& one : instances) {
    wanted.push_back(one.symbol);
    const auto* path = find_path(target, one.type.scaled ? "tcgen05.mma.block_scale" : "tcgen05.mma", one.type.type);
    ASSERT_NE(path, nullptr);
    expect_promised(cubin.cubin, target, one.symbol, *path, true);
    EXPECT_GT(count_instructions(cubin.cubin, target, one.symbol)["UTMALDG"], 0) << one.symbol;
    expect_within_limits(cubin, target, one);
  }
  for (const auto& peak : peak_table()) {
    if (peak.target != target.id || peak.part.empty()) continue;
    wanted.emplace_back(peak.function_name);
    wanted.push_back(proof_symbol(peak));
    EXPECT_LE(peak.shared_bytes, target.limits.shared_per_block_bytes.value_or(0)) << peak.name;
    for (const auto& symbol : {wanted[wanted.size() - 2], wanted.back()}) {
      const auto used = read_usage(symbol, cubin.resources);
      ASSERT_TRUE(used) << symbol;
      EXPECT_LE(used->registers * peak.threads, target.limits.registers_per_sm.value_or(0)) << symbol;
      EXPECT_EQ(used->local_bytes, 0) << symbol;
      expect_promised(cubin.cubin, target, symbol, *find_path(target, peak.instruction, peak.dtype), true);
    }
  }
  wanted.emplace_back(kTrimScales);
  EXPECT_THAT(list_cubin_kernels(cubin.cubin), testing::UnorderedElementsAreArray(wanted));
}

class Tcgen05Cubin : public testing::TestWithParam<std::string> {};

TEST_P(Tcgen05Cubin, HoldsItsKernelsWithinTheLimits) {
  const std::string name = GetParam() + "_tcgen05";
  if (!std::filesystem::exists(cubin_path(name))) GTEST_SKIP() << name << " is not built";
  const auto cubin = read_cubin(name);
  ASSERT_TRUE(cubin.ok()) << cubin.error().message;
  std::vector<Instance> embedded;
  for (const auto& one : all_instances(GetParam())) {
    for (const auto& kernel : kernel_table()) {
      if (kernel.target != GetParam() || kernel.part.empty()) continue;
      const auto symbols = symbols_of(kernel);
      if (std::find(symbols.begin(), symbols.end(), one.symbol) != symbols.end()) embedded.push_back(one);
    }
  }
  expect_cubin_correct(*cubin, *find_target(GetParam()), embedded);
}

class FullTcgen05Cubin : public testing::TestWithParam<std::string> {};

TEST_P(FullTcgen05Cubin, HoldsEveryKernelWithinTheLimits) {
  const std::string name = "full_" + GetParam() + "_tcgen05";
  if (!std::filesystem::exists(cubin_path(name))) GTEST_SKIP() << name << " is not built: make test-real";
  const auto cubin = read_cubin(name);
  ASSERT_TRUE(cubin.ok()) << cubin.error().message;
  const auto instances = all_instances(GetParam());
  EXPECT_GE(instances.size(), 10U);
  expect_cubin_correct(*cubin, *find_target(GetParam()), instances);
}

const auto kTargets = testing::Values("sm100", "sm103", "sm110");
const auto kName = [](const auto& test) { return test.param; };
INSTANTIATE_TEST_SUITE_P(Embedded, Tcgen05Cubin, kTargets, kName);
INSTANTIATE_TEST_SUITE_P(Real, FullTcgen05Cubin, kTargets, kName);

// sm103 has no INT8 by tcgen05; its build compiles, and the census says what became of it.
TEST(Tcgen05Planted, Int8OfSm103HoldsNoMma) {
  if (!std::filesystem::exists(cubin_path("planted_int8_sm103"))) {
    GTEST_SKIP() << "sm103's tcgen05 kernels are not built";
  }
  const auto cubin = read_cubin("planted_int8_sm103");
  ASSERT_TRUE(cubin.ok()) << cubin.error().message;
  const auto census = take_census(cubin->cubin, "103");
  ASSERT_TRUE(census.ok()) << census.error().message;
  EXPECT_THAT(census->only_traps, testing::ElementsAre("tcgen05_int8_256x128_nt"));
  EXPECT_FALSE(census->instructions.contains("UTCIMMA"));
  EXPECT_FALSE(census->instructions.contains("UTCHMMA"));
  // All other parts of a GEMM exist.
  EXPECT_GT(census->instructions.at("UTMALDG"), 0);
  EXPECT_GT(census->instructions.at("UTCATOMSWS"), 0);
}

}  // namespace
}  // namespace pbprobe::test
