// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Words of 64 bits, sm_50 to sm_62: one word in four schedules the other three. The opcode is in the highest bits. The
// values are those that CUDA 12.8's disassembler prints.
#include <algorithm>
#include <array>
#include <cstring>

#include "probes/audit/device_code/sass.hpp"

namespace pbprobe {
namespace {

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

// Instructions without an effect: NOP, SSY, SYNC or DEPBAR, BRA, EXIT, RET, BPT.
constexpr std::array<uint16_t, 7> kIdle{0x50b, 0xe29, 0xf0f, 0xe24, 0xe30, 0xe32, 0xe3a};
constexpr unsigned kIdleShift = 52;

}  // namespace

bool is_idle_narrow(std::span<const uint8_t> code) {
  for (size_t at = 0; (at + 1) * kNarrowWordBytes <= code.size(); ++at) {
    if (at % kBundle == 0) continue;
    uint64_t word = 0;
    std::memcpy(&word, code.data() + at * kNarrowWordBytes, sizeof word);
    if (std::ranges::find(kIdle, word >> kIdleShift) == kIdle.end()) return false;
  }
  return true;
}

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

}  // namespace pbprobe
