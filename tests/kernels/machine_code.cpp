// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/machine_code.hpp"

#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "probes/audit/device_code/sass.hpp"

namespace pbprobe::test {
namespace {

// Words of 64 bits, sm_50 to sm_62: one word in four schedules the other three. The opcode is in the highest bits. The
// values are those that CUDA 12.8's disassembler prints.
constexpr size_t kNarrowWordBytes = 8;
constexpr size_t kBundle = 4;
constexpr unsigned kOpcodeShift = 51;

struct NarrowOpcode {
  uint16_t opcode;
  uint16_t mask;
  std::string_view mnemonic;
};

constexpr std::array kNarrowOpcodes{
    NarrowOpcode{0x930, 0x1ff0, "FFMA"},  // c[][] in the middle
    NarrowOpcode{0xa30, 0x1ff0, "FFMA"},  // c[][] last
    NarrowOpcode{0xb30, 0x1ff0, "FFMA"},  // registers
    NarrowOpcode{0x650, 0x1fd0, "FFMA"},  // a constant of its own
    NarrowOpcode{0xa7b, 0x1fff, "IDP"},  NarrowOpcode{0xa7f, 0x1fff, "IDP"},  NarrowOpcode{0x1c74, 0x1ffe, "BPT"},
    NarrowOpcode{0x1de8, 0x1fff, "LDL"}, NarrowOpcode{0x1dea, 0x1fff, "STL"}, NarrowOpcode{0x1dda, 0x1fff, "LDG"},
    NarrowOpcode{0x1ddb, 0x1fff, "STG"}, NarrowOpcode{0x1de9, 0x1fff, "LDS"}, NarrowOpcode{0x1deb, 0x1fff, "STS"},
};

size_t find_opcode_row(std::string_view mnemonic) {
  const auto rows = sass_instructions();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].mnemonic == mnemonic) return i;
  }
  return rows.size();
}

}  // namespace

SassCounts count_narrow_sass(std::span<const uint8_t> code) {
  SassCounts counts;
  counts.rows.resize(sass_instructions().size() + 1);  // the last: what no row fits
  std::array<size_t, kNarrowOpcodes.size()> rows{};
  for (size_t i = 0; i < kNarrowOpcodes.size(); ++i) rows[i] = find_opcode_row(kNarrowOpcodes[i].mnemonic);
  for (size_t at = 0; (at + 1) * kNarrowWordBytes <= code.size(); ++at) {
    if (at % kBundle == 0) continue;
    uint64_t word = 0;
    std::memcpy(&word, code.data() + at * kNarrowWordBytes, sizeof word);
    ++counts.words;
    for (size_t i = 0; i < kNarrowOpcodes.size(); ++i) {
      if ((word >> kOpcodeShift & kNarrowOpcodes[i].mask) == kNarrowOpcodes[i].opcode) ++counts.rows[rows[i]];
    }
  }
  counts.rows.pop_back();
  return counts;
}

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
