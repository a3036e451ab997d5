// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Decoded instructions of x86-64, with their registers, branch targets and conditions.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probes/audit/host_code/guard_values.hpp"

namespace pbprobe::guards {

struct Conditional {
  enum class Kind : uint8_t { jump, set, move } kind = Kind::jump;
  Condition condition = Condition::other;
};

inline std::optional<Conditional> find_conditional(ZydisMnemonic mnemonic) {
  using enum Condition;
  using enum Conditional::Kind;
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_JZ: return Conditional{jump, zero};
    case ZYDIS_MNEMONIC_JNZ: return Conditional{jump, not_zero};
    case ZYDIS_MNEMONIC_JB: return Conditional{jump, carry};
    case ZYDIS_MNEMONIC_JNB: return Conditional{jump, not_carry};
    case ZYDIS_MNEMONIC_JL:
    case ZYDIS_MNEMONIC_JS: return Conditional{jump, sign};
    case ZYDIS_MNEMONIC_JNL:
    case ZYDIS_MNEMONIC_JNS: return Conditional{jump, not_sign};
    case ZYDIS_MNEMONIC_SETZ: return Conditional{set, zero};
    case ZYDIS_MNEMONIC_SETNZ: return Conditional{set, not_zero};
    case ZYDIS_MNEMONIC_SETB: return Conditional{set, carry};
    case ZYDIS_MNEMONIC_SETNB: return Conditional{set, not_carry};
    case ZYDIS_MNEMONIC_SETS: return Conditional{set, sign};
    case ZYDIS_MNEMONIC_SETNS: return Conditional{set, not_sign};
    case ZYDIS_MNEMONIC_CMOVZ: return Conditional{move, zero};
    case ZYDIS_MNEMONIC_CMOVNZ: return Conditional{move, not_zero};
    case ZYDIS_MNEMONIC_CMOVB: return Conditional{move, carry};
    case ZYDIS_MNEMONIC_CMOVNB: return Conditional{move, not_carry};
    case ZYDIS_MNEMONIC_CMOVL:
    case ZYDIS_MNEMONIC_CMOVS: return Conditional{move, sign};
    case ZYDIS_MNEMONIC_CMOVNL:
    case ZYDIS_MNEMONIC_CMOVNS: return Conditional{move, not_sign};
    case ZYDIS_MNEMONIC_JBE:
    case ZYDIS_MNEMONIC_JNBE:
    case ZYDIS_MNEMONIC_JLE:
    case ZYDIS_MNEMONIC_JNLE: return Conditional{jump, other};
    default: return std::nullopt;
  }
}

struct Decoded {
  uint64_t address = 0;
  ZydisDecodedInstruction instruction{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
};

inline int find_register(ZydisRegister reg) {
  const ZydisRegister large = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  return large >= ZYDIS_REGISTER_RAX && large <= ZYDIS_REGISTER_R15 ? large - ZYDIS_REGISTER_RAX : -1;
}

// Returns the target of a direct branch.
inline std::optional<uint64_t> find_branch(const Decoded& one) {
  const ZydisDecodedOperand& to = one.operands[0];
  if (to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !to.imm.is_relative) return std::nullopt;
  return one.address + one.instruction.length + static_cast<uint64_t>(to.imm.value.s);
}

// Appends the instructions of `code` to `into`. Returns false if one cannot be decoded, or if `into` has `most`.
inline bool decode_into(std::vector<Decoded>& into, std::span<const uint8_t> code, uint64_t address, size_t most) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  for (size_t at = 0; at < code.size();) {
    Decoded one{.address = address + at};
    const bool ok = ZYAN_SUCCESS(
        ZydisDecoderDecodeFull(&decoder, code.data() + at, code.size() - at, &one.instruction, one.operands.data()));
    if (!ok || into.size() == most) return false;
    at += one.instruction.length;
    into.push_back(one);
  }
  return true;
}

// Returns how many cases the jump of a switch has, from the comparison before it; nullopt if none is found near.
inline std::optional<uint64_t> count_cases(std::span<const Decoded> code, size_t jump) {
  constexpr size_t kMostBefore = 24;  // instructions; unoptimized code stores the number in between
  for (size_t at = jump; at > 1 && jump - at < kMostBefore; --at) {
    const ZydisMnemonic mnemonic = code[at - 1].instruction.mnemonic;
    if (mnemonic == ZYDIS_MNEMONIC_JMP || mnemonic == ZYDIS_MNEMONIC_RET) return std::nullopt;
    if (mnemonic != ZYDIS_MNEMONIC_JNBE && mnemonic != ZYDIS_MNEMONIC_JNB) continue;
    for (size_t before = at - 1; before > 0 && jump - before < kMostBefore; --before) {
      const Decoded& compared = code[before - 1];
      if (compared.instruction.mnemonic == ZYDIS_MNEMONIC_CMP &&
          compared.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return compared.operands[1].imm.value.u + (mnemonic == ZYDIS_MNEMONIC_JNBE ? 1 : 0);
      if (compared.instruction.cpu_flags != nullptr && compared.instruction.cpu_flags->modified != 0) break;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace pbprobe::guards
