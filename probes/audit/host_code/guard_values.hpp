// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Values of registers, flags and stack slots in a function that asks the CPU.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "probes/audit/host_code/guards.hpp"

namespace pbprobe::guards {

inline constexpr size_t kMostAddresses = 16;  // in one value

// Value that a register or stack slot may have: a constant, an address, or bits of the CPU's answer (cpuid, AT_HWCAP).
struct Value {
  // mixed: depends on a word or a decision on some paths only; page: result of adrp, without the offset in the page;
  // argument: pointer to __ifunc_arg_t, which ld.so passes to a resolver of aarch64; offset: entry of the table at
  // `constant`, relative to some address; case_address: such an entry, added to the address in `addresses`, or an
  // entry that is an address
  enum class Kind : uint8_t {
    unknown,
    constant,
    word,
    decision,
    addresses,
    mixed,
    page,
    stack,
    argument,
    offset,
    case_address
  };
  Kind kind = Kind::unknown;
  uint64_t constant = 0;  // also the address of a page, and the distance from the stack pointer at entry
  // Word: bits of an answer, ((inverted ? ~answer : answer) & mask) shifted right.
  const FeatureBits* bits = nullptr;
  uint64_t mask = 0;
  int width = 0;  // bits of the whole answer, or of an entry of a table
  int shift = 0;
  bool inverted = false;
  uint64_t flipped = 0;    // bits of the mask that are inverted, if not all are
  bool kept = false;       // code stored it at a known place, where other code finds it
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

template <size_t kRegisters>
struct State {
  std::array<Value, kRegisters> registers;
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

inline Value make_entry(Value::Kind kind, uint64_t table, int width) {
  Value value = make_constant(table);
  value.kind = kind;
  value.width = width;
  return value;
}

inline Value make_decision(FeatureSet if_true, FeatureSet if_false) {
  Value value;
  value.kind = Value::Kind::decision;
  value.if_true = if_true;
  value.if_false = if_false;
  return value;
}

inline uint64_t make_ones(int bits) {
  return bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
}

// Moves bits to the left; to the right if `by` is negative.
inline uint64_t move_bits(uint64_t bits, int by) {
  if (by <= -64 || by >= 64) return 0;
  return by >= 0 ? bits << by : bits >> -by;
}

inline Value make_word(const FeatureBits& bits, int width) {
  Value value;
  value.kind = Value::Kind::word;
  value.bits = &bits;
  value.width = width;
  value.mask = make_ones(width);
  return value;
}

inline bool is_whole(const Value& word) {
  return word.mask == make_ones(word.width);
}

inline bool is_single_bit(const Value& word) {
  return word.mask != 0 && (word.mask & (word.mask - 1)) == 0;
}

inline Value make_address(uint64_t address, FeatureSet has) {
  Value value;
  value.kind = Value::Kind::addresses;
  value.addresses.emplace(address, has);
  return value;
}

// Reports whether a word has a bit that stands for a CPU feature.
inline bool is_relevant(const Value& value) {
  return value.kind == Value::Kind::word &&
         std::any_of(value.bits->begin(), value.bits->end(), [](FeatureSet set) { return set != 0; });
}

// Reports whether a word is 0 or 1, from one bit of an answer.
inline bool is_number(const Value& value) {
  return value.kind == Value::Kind::word && value.shift >= 0 && value.shift < 64 && value.mask >> value.shift == 1 &&
         is_single_bit(value) && value.flipped == 0;
}

inline FeatureSet list_features(const Value& word) {
  FeatureSet features = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
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
inline std::optional<Value> convert_to_decision(const Value& value, FeatureSet has) {
  if (value.kind == Value::Kind::decision) return value;
  if (value.kind != Value::Kind::constant || value.constant > 1) return std::nullopt;
  constexpr FeatureSet kEverything = ~FeatureSet{0};
  return value.constant == 1 ? make_decision(has, kEverything) : make_decision(kEverything, has);
}

// Returns the value after two paths meet; `a_has` and `b_has`: features that the CPU has on each path.
inline Value merge(const Value& a, FeatureSet a_has, const Value& b, FeatureSet b_has) {
  if (a == b) return a;
  if (a.kept != b.kept) {
    Value plain = a.kept ? a : b;
    plain.kept = false;
    return a.kept ? merge(plain, a_has, b, b_has) : merge(a, a_has, plain, b_has);
  }
  // Bits that are set come from the answer, if the other paths have zero.
  const auto is_zero = [](const Value& value) { return value.kind == Value::Kind::constant && value.constant == 0; };
  if (a.kind == Value::Kind::word && !a.inverted && a.flipped == 0 && is_zero(b)) return a;
  if (b.kind == Value::Kind::word && !b.inverted && b.flipped == 0 && is_zero(a)) return b;
  if (a.kind == Value::Kind::addresses && b.kind == Value::Kind::addresses) {
    Value both = a;
    merge_addresses(both.addresses, b.addresses);
    return both.addresses.size() > kMostAddresses ? Value{} : both;
  }
  const auto first = convert_to_decision(a, a_has);
  const auto second = convert_to_decision(b, b_has);
  if (first && second && ((a_has | b_has) != 0 || depends_on_cpu(a) || depends_on_cpu(b)))
    return make_decision(first->if_true & second->if_true, first->if_false & second->if_false);
  Value mixed;
  if (depends_on_cpu(a) || depends_on_cpu(b)) mixed.kind = Value::Kind::mixed;
  return mixed;
}

// Merges `more` into `into`. Reports whether `into` changed.
template <size_t kRegisters>
bool merge(State<kRegisters>& into, const State<kRegisters>& more) {
  const State<kRegisters> before = into;
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
  if (!is_relevant(value) || value.flipped != 0) return {};
  const FeatureSet all = list_features(value);
  const bool single = (value.mask & (value.mask - 1)) == 0;
  const int top = value.width - 1 + value.shift;
  const bool signs = is_whole(value) && !value.inverted && top >= 0 && top < value.width;
  return {.zero = value.inverted ? all : 0,
          .not_zero = single && !value.inverted ? all : 0,
          .sign = signs ? (*value.bits)[static_cast<size_t>(top)] : 0,
          .all = is_whole(value) ? 0 : all,
          .known = true};
}

// Inverts the given bits of a word.
inline Value flip_word(Value word, uint64_t bits) {
  word.flipped ^= move_bits(bits, word.shift);
  word.flipped &= word.mask;
  if (word.flipped == 0 || word.flipped != word.mask) return word;
  word.flipped = 0;
  word.inverted = !word.inverted;
  return word;
}

// Keeps the given bits of a word.
inline Value mask_word(Value word, uint64_t bits) {
  word.mask &= move_bits(bits, word.shift);
  return flip_word(std::move(word), 0);
}

inline Value shift_word(Value word, int by, bool right) {
  word.shift += right ? by : -by;
  if (right && word.shift > 0) word.mask &= move_bits(make_ones(word.width), word.shift);
  if (!right && word.shift < 0) word.mask &= move_bits(make_ones(word.width), word.shift);
  return word;
}

// Takes the low bits of a value, or bits 8 to 15.
inline Value narrow(Value value, int bits, bool high) {
  if (value.kind == Value::Kind::constant) value.constant &= make_ones(bits);
  if (value.kind != Value::Kind::word || bits >= value.width) return value;
  value.shift += high ? 8 : 0;
  return mask_word(value, make_ones(bits));
}

inline StoredAnswer store_answer(const Value& value, uint64_t bytes) {
  StoredAnswer answer{.bytes = bytes};
  if (is_number(value)) {
    (value.inverted ? answer.if_false : answer.if_true) = list_features(value);
  } else if (is_relevant(value) && !value.inverted && value.flipped == 0) {
    answer.bits = value.bits;
    answer.mask = value.mask;
    answer.shift = value.shift;
  } else if (value.kind == Value::Kind::decision) {
    answer.if_true = value.if_true;
    answer.if_false = value.if_false;
  } else {
    answer.known = false;
  }
  return answer;
}

inline Value load_answer(const StoredAnswer& answer) {
  if (answer.bits == nullptr) return make_decision(answer.if_true, answer.if_false);
  Value value = make_word(*answer.bits, 64);
  value.mask = answer.mask;
  value.shift = answer.shift;
  return value;
}

// Adds what the CPU has if the value is used.
inline Value strengthen(Value value, FeatureSet has) {
  if (value.kind == Value::Kind::decision) {
    value.if_true |= has;
    value.if_false |= has;
  }
  for (auto& [address, known] : value.addresses) known |= has;
  return value;
}

enum class Condition : uint8_t { zero, not_zero, carry, not_carry, sign, not_sign, other };

}  // namespace pbprobe::guards
