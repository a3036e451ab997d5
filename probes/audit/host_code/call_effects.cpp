// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/x86_instruction.hpp"

namespace pbprobe {

CallEffects read_call_effects(std::span<const uint8_t> code, uint64_t address) {
  constexpr size_t kMostInstructions = 1000;  // a longer function calls others, which may overwrite all
  std::vector<guards::Decoded> instructions;
  CallEffects effects;
  effects.unknown = !guards::decode_into(instructions, code, address, kMostInstructions);
  for (const auto& one : instructions) {
    const bool call = one.instruction.meta.category == ZYDIS_CATEGORY_CALL;
    const auto target = guards::find_branch(one);
    if (target && (call || *target - address >= code.size())) effects.calls.push_back(*target);
    const bool jump = one.instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
    const bool system = one.instruction.meta.category == ZYDIS_CATEGORY_SYSCALL;
    effects.unknown = effects.unknown || system || (!target && (call || jump));
    for (size_t i = 0; i < one.instruction.operand_count; ++i) {
      const ZydisDecodedOperand& operand = one.operands[i];
      const bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
      const int reg =
          writes && operand.type == ZYDIS_OPERAND_TYPE_REGISTER ? guards::find_register(operand.reg.value) : -1;
      if (reg >= 0) effects.overwritten |= static_cast<uint16_t>(1U << static_cast<unsigned>(reg));
    }
  }
  return effects;
}

}  // namespace pbprobe
