// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Values of registers, flags and stack slots in a function that asks the CPU.
#pragma once

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "probes/audit/host_code/guards.hpp"

namespace pbprobe::guards {

inline constexpr size_t kMostAddresses = 16;  // in one value
inline constexpr uint32_t kAll = UINT32_MAX;

struct Value {
  // mixed: depends on a word or a decision on some paths only
  enum class Kind : uint8_t { unknown, constant, word, decision, addresses, mixed };
  Kind kind = Kind::unknown;
  uint64_t constant = 0;
  // Word: bits of an answer, ((inverted ? ~answer : answer) & mask) shifted right.
  const FeatureBits* bits = nullptr;
  uint32_t mask = 0;
  int shift = 0;
  bool inverted = false;
  FeatureSet if_true = 0;  // decision: what the CPU has if the value is not zero, and if it is zero
  FeatureSet if_false = 0;
  std::map<uint64_t, FeatureSet> addresses;  // and what the CPU has if the value is this address
  bool operator==(const Value&) const = default;
};

// Features that the CPU has for each state of a flag.
struct Flags {
  FeatureSet zero = 0, not_zero = 0, carry = 0, not_carry = 0, sign = 0;
  FeatureSet all = 0;  // features of the bits that zero depends on
  bool known = false;  // the CPU's answer decides the flags
  bool operator==(const Flags&) const = default;
};

struct State {
  std::array<Value, 16> registers;
  std::map<std::pair<int, int64_t>, Value> slots;  // stack slots by base register and displacement
  Flags flags;
  FeatureSet has = 0;  // features that the CPU has on all paths to here
  bool operator==(const State&) const = default;
};

inline Value make_constant(uint64_t number) {
  Value value;
  value.kind = Value::Kind::constant;
  value.constant = number;
  return value;
}

inline Value make_decision(FeatureSet if_true, FeatureSet if_false) {
  Value value;
  value.kind = Value::Kind::decision;
  value.if_true = if_true;
  value.if_false = if_false;
  return value;
}

inline Value make_word(const FeatureBits& bits) {
  Value value;
  value.kind = Value::Kind::word;
  value.bits = &bits;
  value.mask = kAll;
  return value;
}

inline Value make_address(uint64_t address, FeatureSet has) {
  Value value;
  value.kind = Value::Kind::addresses;
  value.addresses.emplace(address, has);
  return value;
}

inline bool is_relevant(const Value& value) {
  return value.kind == Value::Kind::word &&
         std::any_of(value.bits->begin(), value.bits->end(), [](FeatureSet set) { return set != 0; });
}

inline FeatureSet list_features(const Value& word) {
  FeatureSet features = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    if (((word.mask >> bit) & 1U) != 0) features |= (*word.bits)[bit];
  }
  return features;
}

inline void merge_addresses(std::map<uint64_t, FeatureSet>& into, const std::map<uint64_t, FeatureSet>& more) {
  for (const auto& [address, has] : more) {
    const auto [found, fresh] = into.try_emplace(address, has);
    if (!fresh) found->second &= has;
  }
}

inline bool depends_on_cpu(const Value& value) {
  return value.kind == Value::Kind::mixed || value.kind == Value::Kind::decision || is_relevant(value);
}

// A constant on one path, where the CPU has `has`, decides as much as a decision.
inline std::optional<Value> find_decision(const Value& value, FeatureSet has) {
  if (value.kind == Value::Kind::decision) return value;
  if (value.kind != Value::Kind::constant || value.constant > 1) return std::nullopt;
  constexpr FeatureSet kEverything = ~FeatureSet{0};
  return value.constant == 1 ? make_decision(has, kEverything) : make_decision(kEverything, has);
}

inline Value merge(const Value& a, FeatureSet a_has, const Value& b, FeatureSet b_has) {
  if (a == b) return a;
  if (a.kind == Value::Kind::addresses && b.kind == Value::Kind::addresses) {
    Value both = a;
    merge_addresses(both.addresses, b.addresses);
    return both.addresses.size() > kMostAddresses ? Value{} : both;
  }
  const auto first = find_decision(a, a_has);
  const auto second = find_decision(b, b_has);
  if (first && second && ((a_has | b_has) != 0 || depends_on_cpu(a) || depends_on_cpu(b)))
    return make_decision(first->if_true & second->if_true, first->if_false & second->if_false);
  Value mixed;
  if (depends_on_cpu(a) || depends_on_cpu(b)) mixed.kind = Value::Kind::mixed;
  return mixed;
}

// Merges `more` into `into`. Reports whether `into` changed.
inline bool merge(State& into, const State& more) {
  const State before = into;
  for (size_t i = 0; i < into.registers.size(); ++i)
    into.registers[i] = merge(into.registers[i], into.has, more.registers[i], more.has);
  for (auto slot = into.slots.begin(); slot != into.slots.end();) {
    const auto other = more.slots.find(slot->first);
    if (other == more.slots.end()) {
      slot = into.slots.erase(slot);
    } else {
      slot->second = merge(slot->second, into.has, other->second, more.has);
      ++slot;
    }
  }
  if (!(into.flags == more.flags)) into.flags = {};
  into.has &= more.has;
  return !(into == before);
}

// Flags of a value that was compared with zero.
inline Flags make_flags(const Value& value) {
  if (value.kind == Value::Kind::decision)
    return {.zero = value.if_false, .not_zero = value.if_true, .all = value.if_true | value.if_false, .known = true};
  if (!is_relevant(value)) return {};
  const FeatureSet all = list_features(value);
  const bool single = (value.mask & (value.mask - 1)) == 0;
  const int top = 31 + value.shift;
  const bool signs = value.mask == kAll && !value.inverted && top >= 0 && top < 32;
  return {.zero = value.inverted ? all : 0,
          .not_zero = single && !value.inverted ? all : 0,
          .sign = signs ? (*value.bits)[static_cast<size_t>(top)] : 0,
          .all = value.mask == kAll ? 0 : all,
          .known = true};
}

// Takes the low bits of a value, or bits 8 to 15.
inline Value narrow(Value value, unsigned bits, bool high) {
  if (value.kind == Value::Kind::constant && bits < 64) value.constant &= (uint64_t{1} << bits) - 1;
  if (value.kind != Value::Kind::word || bits >= 32) return value;
  value.shift += high ? 8 : 0;
  const uint32_t low = (1U << bits) - 1;
  value.mask &= value.shift >= 0 ? low << value.shift : low >> -value.shift;
  return value;
}

enum class Condition : uint8_t { zero, not_zero, carry, not_carry, sign, not_sign, other };

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

}  // namespace pbprobe::guards
