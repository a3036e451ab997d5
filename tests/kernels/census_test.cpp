// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks each GPU kernel's machine code by the audit's own census: it contains the instruction that the target's row
// promises, and uses no local memory. The checked cubin is the one that is embedded and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "kernels/dispatch/choose.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/gemm/table.hpp"
#include "probes/audit/device_code/sass.hpp"
#include "tests/kernels/machine_code.hpp"
#include "tests/kernels/tcgen05.hpp"

namespace pbprobe::test {
namespace {

// Returns the targets that have kernels; a target for audits only promises no kernels.
std::vector<std::string> gpu_targets() {
  std::vector<std::string> ids;
  for (const auto& target : all_targets()) {
    if (target.kind == TargetKind::gpu && target.compiler != "none") ids.push_back(target.id);
  }
  return ids;
}

const TargetBuild& find_named_build(std::string_view id) {
  static const TargetBuild none;
  for (const auto& build : target_builds()) {
    if (build.target == id) return build;
  }
  ADD_FAILURE() << id << " has no build";
  return none;
}

class Census : public ::testing::TestWithParam<std::string> {};

// Checks one cubin: each kernel and each loop contains the instruction that its target's row promises, and spills only
// if its row allows spills.
void expect_cubin_as_promised(const Target& target, const TargetBuild& build) {
  const auto embedded = cubin_of(build);
  ASSERT_TRUE(embedded.ok()) << embedded.error().message;
  const std::span bytes(reinterpret_cast<const uint8_t*>(embedded->data()), embedded->size());
  const auto cubin = read_elf(Bytes(bytes, target.id + ".cubin"));
  ASSERT_TRUE(cubin.ok()) << cubin.error().message;
  const auto census = take_census(*cubin, target.architecture);
  ASSERT_TRUE(census.ok()) << census.error().message;
  EXPECT_THAT(census->only_traps, ::testing::IsEmpty());
  const bool tensor_memory = build.part == "tcgen05";
  int64_t kernels = 0;
  for (const auto& kernel : kernel_table()) {
    if (kernel.target != target.id || kernel.part != build.part) continue;
    const auto* path = find_path(target, kernel.instruction, kernel.dtype);
    ASSERT_NE(path, nullptr) << kernel.name << " stands on " << kernel.instruction;
    for (const auto& symbol : symbols_of(kernel)) {
      expect_promised(*cubin, target, symbol, *path, tensor_memory, kernel.spills);
      // Operands come by TMA, and nothing else fetches them.
      EXPECT_EQ(count_instructions(*cubin, target, symbol)["UTMALDG"] > 0,
                tensor_memory || kernel.work != GpuWork::blocks)
          << symbol;
    }
    ++kernels;
  }
  EXPECT_GT(kernels, 0);
  for (const auto& peak : peak_table()) {
    if (peak.target != target.id || peak.part != build.part) continue;
    const auto* path = find_path(target, peak.instruction, peak.dtype);
    ASSERT_NE(path, nullptr) << peak.name << " stands on " << peak.instruction;
    expect_promised(*cubin, target, std::string(peak.function_name), *path, tensor_memory);
    expect_promised(*cubin, target, proof_symbol(peak), *path, tensor_memory);
  }
}

TEST_P(Census, KernelsHoldWhatTheirTargetPromisesAndSpillNothing) {
  const Target& target = *find_target(GetParam());
  const TargetBuild& build = find_named_build(target.id);
  if (!build.built) GTEST_SKIP() << build.why_not;
  if (!build.ptx.empty()) GTEST_SKIP() << "this build embeds PTX, which holds no machine code";
  expect_cubin_as_promised(target, build);
  for (const auto& part : part_builds()) {
    if (part.target == target.id && part.built) expect_cubin_as_promised(target, part);
  }
}

// `griddepcontrol.wait`: ACQBULK, by its whole opcode.
int64_t count_waits(const Elf& cubin, const std::string& symbol) {
  constexpr uint64_t kOpcode = 0xfff;
  constexpr uint64_t kAwaitKernelsAhead = 0x82e;
  const ElfSection* found = find_section(cubin, ".text." + symbol);
  if (found == nullptr) return -1;
  const auto code = section_bytes(cubin, *found);
  if (!code) return -1;
  const std::span bytes = code->span();
  int64_t count = 0;
  for (size_t at = 0; at + 16 <= bytes.size(); at += 16) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    count += (word & kOpcode) == kAwaitKernelsAhead ? 1 : 0;
  }
  return count;
}

// Kernels that the host launches before earlier ones have ended must await them, and so must the passes around such
// kernels; no other kernel does.
class EarlyKernels : public ::testing::TestWithParam<std::string> {};

// Checks the kernels of one cubin, and `passes`.
void expect_waits_as_launched(const TargetBuild& build, const std::vector<std::string>& passes) {
  const auto embedded = cubin_of(build);
  ASSERT_TRUE(embedded.ok()) << embedded.error().message;
  const std::span bytes(reinterpret_cast<const uint8_t*>(embedded->data()), embedded->size());
  const auto cubin = read_elf(Bytes(bytes, std::string(build.target) + ".cubin"));
  ASSERT_TRUE(cubin.ok()) << cubin.error().message;
  for (const auto& kernel : kernel_table()) {
    if (kernel.target != build.target || kernel.part != build.part) continue;
    auto problem = make_problem(std::min<int64_t>(kernel.max_m, 64), 64, 64, kernel.dtype);
    problem.blocks = kernel.block_scale;
    const auto plan =
        choose(problem, make_tcgen05_host(build.target), {}, {.kernel = std::string(kernel.name), .gpu = 0});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (const auto& symbol : symbols_of(kernel)) {
      EXPECT_EQ(count_waits(*cubin, symbol), plan->gpu.overlaps ? 1 : 0) << symbol;
    }
  }
  for (const std::string& symbol : passes) EXPECT_EQ(count_waits(*cubin, symbol), 1) << symbol;
}

TEST_P(EarlyKernels, AwaitThoseAhead) {
  const TargetBuild& build = find_named_build(GetParam());
  if (!build.built) GTEST_SKIP() << build.why_not;
  if (!build.ptx.empty()) GTEST_SKIP() << "this build embeds PTX, which holds no machine code";
  expect_waits_as_launched(build, {"repack_1", "repack_2", "repack_4", "reduce_fp32", "reduce_int32"});
  for (const auto& part : part_builds()) {
    if (part.target == build.target && part.part == "blocks" && part.built) expect_waits_as_launched(part, {});
  }
}

// Every row of targets.json that names an instruction of a type has a kernel or a peak loop with this instruction.
TEST_P(Census, HasKernelForEachPromisedType) {
  const Target& target = *find_target(GetParam());
  std::set<std::string> types;
  for (const auto& path : target.instructions) types.insert(path.dtype);
  for (const auto& type : types) {
    const auto rows = kernel_table();
    EXPECT_TRUE(
        std::any_of(rows.begin(), rows.end(),
                    [&](const Kernel& kernel) { return kernel.target == target.id && name_of(kernel.dtype) == type; }))
        << target.id << " promises " << type;
  }
}

// Words as NVIDIA's disassembler reads them; the first of four words schedules the others.
TEST(NarrowSass, CountsWhatTheDisassemblerShows) {
  const std::vector<uint64_t> words{
      0,
      0xeed4200000070205,
      0xef44000002070b00,
      0xef45000004070b06,  // LDG LDL LDL.64
      0,
      0xef54000000070b04,
      0x53fa830000070508,
      0x53f8840000770507,  // STL IDP.4A.S8.S8 IDP.4A.U8.S8
      0,
      0x53da828005270707,
      0x4980050005270a08,
      0x5180040005270a08,  // IDP FFMA FFMA
      0,
      0x59a0040000070a08,
      0xe3a00000001000c0,
      0xeedc200000070200,  // FFMA BPT STG
      0x59a0040000070a08,  // scheduling, whatever it looks like
  };
  const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
  const SassCounts counts = count_narrow_sass({bytes, words.size() * sizeof(uint64_t)});
  EXPECT_EQ(counts.words, 12U);
  std::map<std::string_view, uint64_t> seen;
  for (size_t i = 0; i < sass_instructions().size(); ++i) seen[sass_instructions()[i].mnemonic] += counts.rows[i];
  for (const auto& [mnemonic, count] : std::map<std::string_view, uint64_t>{
           {"LDG", 1}, {"LDL", 2}, {"STL", 1}, {"IDP", 3}, {"FFMA", 3}, {"BPT", 1}, {"STG", 1}, {"HMMA", 0}}) {
    EXPECT_EQ(seen[mnemonic], count) << mnemonic;
  }
}

// Returns the targets that have `griddepcontrol` (9.0 and later).
std::vector<std::string> targets_since_hopper() {
  auto ids = gpu_targets();
  std::erase_if(ids, [](const std::string& id) { return std::stoi(find_target(id)->architecture) < 90; });
  return ids;
}
INSTANTIATE_TEST_SUITE_P(Targets, EarlyKernels, ::testing::ValuesIn(targets_since_hopper()),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Targets, Census, ::testing::ValuesIn(gpu_targets()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace pbprobe::test
