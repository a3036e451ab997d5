// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/machine_code.hpp"

#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <algorithm>

#include "probes/audit/device_code/sass.hpp"

namespace pbprobe::test {

std::map<std::string, int64_t> count_instructions(const Elf& cubin, const Target& target, const std::string& symbol) {
  std::map<std::string, int64_t> counts;
  const auto sm = static_cast<uint32_t>(std::stoul(target.architecture));
  const ElfSection* found = find_section(cubin, ".text." + symbol);
  EXPECT_NE(found, nullptr) << target.id << ": no kernel " << symbol;
  auto code = found != nullptr ? section_bytes(cubin, *found) : Result<Bytes>(Bytes());
  EXPECT_TRUE(code.ok());
  const auto rows = sass_instructions();
  for (const auto& row : rows) counts[std::string(row.mnemonic)] = 0;
  if (!code) return counts;
  const SassCounts sass = sm < kFirstWideSm ? count_narrow_sass(code->span()) : count_sass(code->span(), sm);
  for (size_t i = 0; i < rows.size(); ++i) counts[std::string(rows[i].mnemonic)] += static_cast<int64_t>(sass.rows[i]);
  return counts;
}

const InstructionPath* find_path(const Target& target, std::string_view instruction, DType type) {
  const auto& paths = target.instructions;
  const auto by_name = [&](const InstructionPath& path) { return path.name == instruction; };
  auto found = std::find_if(paths.begin(), paths.end(),
                            [&](const InstructionPath& path) { return by_name(path) && path.dtype == name_of(type); });
  if (found == paths.end()) found = std::find_if(paths.begin(), paths.end(), by_name);
  return found != paths.end() ? &*found : nullptr;
}

void expect_promised(const Elf& cubin, const Target& target, const std::string& symbol, const InstructionPath& path,
                     bool tensor_memory, bool spills) {
  const auto counts = count_instructions(cubin, target, symbol);
  int64_t promised = 0;
  for (const auto& opcode : path.opcodes) {
    if (counts.contains(opcode)) promised += counts.at(opcode);
  }
  EXPECT_GT(promised, 0) << symbol << " holds none of " << fmt::format("{}", fmt::join(path.opcodes, ", "));
  EXPECT_EQ(counts.at("LDL") + counts.at("STL") > 0, spills) << symbol << " and local memory";
  EXPECT_EQ(counts.at("UTCATOMSWS") > 0, tensor_memory) << symbol << " and allocations of tensor memory";
  EXPECT_EQ(counts.at("LDTM") > 0, tensor_memory) << symbol << " and sums in tensor memory";
  EXPECT_LE(counts.at("BPT"), tensor_memory ? int64_t{kAllocationTraps} : 0) << symbol << " traps";
}

}  // namespace pbprobe::test
