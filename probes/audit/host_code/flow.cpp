// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "probes/audit/host_code/code.hpp"
#include "probes/audit/host_code/functions.hpp"
#include "probes/audit/host_code/x86_jumps.hpp"

namespace pbprobe {
namespace {

// Effect of one instruction on the flow.
struct Step {
  uint64_t length = 0;  // 0: no instruction
  bool ends = false;    // a return, or a jump without a condition
  int64_t skips = 0;    // bytes that a branch leads past the next instruction
};

Step step_x86(std::span<const uint8_t> code) {
  const Instruction instruction = decode_x86(code);
  Step step{.length = instruction.length};
  if (step.length == 0) return step;
  const uint8_t* at = code.data();
  const uint8_t* const last = at + step.length - 1;
  while (at < last && (*at == 0xF2 || *at == 0xF3 || *at == 0x3E || (*at & 0xF0) == 0x40)) ++at;
  const bool through = at < last && at[0] == 0xFF && ((at[1] >> 3U) & 7U) == 4;
  const bool near = step.length >= 5 && (at[0] == 0xE9 || (at[0] == 0x0F && (at[1] & 0xF0) == 0x80));
  step.ends = at[0] == 0xC3 || at[0] == 0xC2 || at[0] == 0xEB || at[0] == 0xE9 || through;
  if (is_short_jump(at)) step.skips = static_cast<int8_t>(*last);
  if (near) step.skips = static_cast<int32_t>(relative_target(code.data(), step.length, 0) - step.length);
  return step;
}

Step step_aarch64(std::span<const uint8_t> code) {
  if (code.size() < 4) return {};
  uint32_t word = 0;
  std::memcpy(&word, code.data(), sizeof word);
  const auto offset = [&](unsigned low, unsigned bits) {  // reads a field that counts words from this instruction
    return (static_cast<int64_t>(static_cast<uint64_t>(word) << (64 - low - bits)) >> (64 - bits)) * 4 - 4;
  };
  const bool jumps = (word & 0xFC000000) == 0x14000000;
  const bool branches = (word & 0xFF000010) == 0x54000000 || (word & 0x7E000000) == 0x34000000;
  const bool tests = (word & 0x7E000000) == 0x36000000;
  const bool returns = (word & 0xFFFFF000) == 0xD65F0000 || (word & 0xFFFFFC1F) == 0xD61F0000;
  return {.length = 4,
          .ends = jumps || returns,
          .skips = jumps      ? offset(0, 26)
                   : branches ? offset(5, 19)
                   : tests    ? offset(5, 14)
                              : 0};
}

}  // namespace

uint64_t measure_flow(uint16_t machine, std::span<const uint8_t> code) {
  uint64_t furthest = 0;
  for (uint64_t at = 0; at < code.size();) {
    const auto rest = code.subspan(at);
    const Step step = machine == EM_AARCH64 ? step_aarch64(rest) : step_x86(rest);
    if (step.length == 0) return code.size();
    at += step.length;
    if (step.skips > 0 && static_cast<uint64_t>(step.skips) < code.size() - at)
      furthest = std::max(furthest, at + static_cast<uint64_t>(step.skips));
    if (step.ends && at > furthest) return at;
  }
  return code.size();
}

}  // namespace pbprobe
