// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Each GPU kernel's machine code by the audit's own census: the instruction that its target's row promises is there,
// and no local memory is used. It is the very cubin that is embedded and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "kernels/gemm/problem.hpp"
#include "kernels/gemm/table.hpp"
#include "probes/audit/sass.hpp"

namespace pbprobe::test {
namespace {

std::vector<std::string> gpu_targets() {
  std::vector<std::string> ids;
  for (const auto& target : all_targets()) {
    if (target.kind == TargetKind::gpu) ids.push_back(target.id);
  }
  return ids;
}

const TargetBuild& build_of(std::string_view id) {
  static const TargetBuild none;
  for (const auto& build : target_builds()) {
    if (build.target == id) return build;
  }
  ADD_FAILURE() << id << " has no build";
  return none;
}

// How often one kernel's section holds each mnemonic.
std::map<std::string, int64_t> counts_of(const Elf& cubin, const std::string& section) {
  std::map<std::string, int64_t> counts;
  const ElfSection* found = find_section(cubin, section);
  EXPECT_NE(found, nullptr) << section;
  auto code = found != nullptr ? section_bytes(cubin, *found) : Result<Bytes>(Bytes());
  EXPECT_TRUE(code.ok());
  if (!code) return counts;
  const SassCounts sass = count_sass(code->span());
  const auto rows = sass_instructions();
  for (size_t i = 0; i < rows.size(); ++i) counts[std::string(rows[i].mnemonic)] += static_cast<int64_t>(sass.rows[i]);
  return counts;
}

// "mma.sync" stands there for several types, with other opcodes; a type that is widened stands on another's path.
auto path_of(const Target& target, const Kernel& kernel) {
  const auto& paths = target.instructions;
  const auto by_name = [&](const InstructionPath& path) { return path.name == kernel.instruction; };
  const auto exact = std::find_if(paths.begin(), paths.end(), [&](const InstructionPath& path) {
    return by_name(path) && path.dtype == name_of(kernel.dtype);
  });
  return exact != paths.end() ? exact : std::find_if(paths.begin(), paths.end(), by_name);
}

class Census : public ::testing::TestWithParam<std::string> {};

TEST_P(Census, KernelsHoldWhatTheirTargetPromisesAndSpillNothing) {
  const Target& target = *find_target(GetParam());
  const TargetBuild& build = build_of(target.id);
  if (!build.built) GTEST_SKIP() << build.why_not;
  const std::span bytes(reinterpret_cast<const uint8_t*>(build.image.data()), build.image.size());
  const auto cubin = read_elf(Bytes(bytes, target.id + ".cubin"));
  ASSERT_TRUE(cubin.ok()) << cubin.error().message;
  const auto sm = static_cast<uint32_t>(std::stoul(target.architecture));
  if (sm < kFirstWideSm) GTEST_SKIP() << "words of 64 bits, which the census does not count";
  const auto census = read_census(*cubin, sm);
  ASSERT_TRUE(census.ok()) << census.error().message;
  EXPECT_THAT(census->only_traps, ::testing::IsEmpty());
  for (const auto& kernel : kernel_table()) {
    if (kernel.target != target.id) continue;
    const auto path = path_of(target, kernel);
    ASSERT_NE(path, target.instructions.end()) << kernel.name << " stands on " << kernel.instruction;
    for (const auto& [layout, name] : enum_names(Layout{})) {
      const auto section = fmt::format(".text.{}_{}", kernel.function_name, name);
      const auto counts = counts_of(*cubin, section);
      int64_t promised = 0;
      for (const auto& opcode : path->opcodes) {
        if (counts.contains(opcode)) promised += counts.at(opcode);
      }
      EXPECT_GT(promised, 0) << section << " holds none of " << fmt::format("{}", fmt::join(path->opcodes, ", "));
      EXPECT_EQ(counts.at("LDL") + counts.at("STL"), 0) << section << " uses local memory";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Census, ::testing::ValuesIn(gpu_targets()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace pbprobe::test
