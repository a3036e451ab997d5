// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Fields of aarch64 instructions. Source of the encodings: Arm ARM (DDI 0487).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "probes/audit/host_code/guard_values.hpp"

namespace pbprobe::guards {

inline constexpr uint32_t kStackPointer = 31;  // number of a base; an operand with this number is zero

inline bool is_in(uint32_t word, uint32_t mask, uint32_t value) {
  return (word & mask) == value;
}

inline uint32_t read_bits(uint32_t word, uint32_t low, uint32_t bits) {
  return (word >> low) & ((1U << bits) - 1);
}

inline uint64_t read_signed(uint32_t word, uint32_t low, uint32_t bits) {
  return static_cast<uint64_t>(static_cast<int64_t>(static_cast<uint64_t>(word) << (64 - low - bits)) >> (64 - bits));
}

// Returns the constant of `and` and `tst`: a run of ones, rotated and repeated.
inline uint64_t decode_mask(uint32_t word) {
  const uint32_t immr = read_bits(word, 16, 6);
  const uint32_t imms = read_bits(word, 10, 6);
  const uint32_t length = read_bits(word, 22, 1) << 6U | (~imms & 63U);
  uint32_t size = 64;
  while (size > 1 && (length & size) == 0) size /= 2;
  const uint32_t ones = (imms & (size - 1)) + 1;
  const uint32_t rotated = immr & (size - 1);
  const uint64_t run = ones == 64 ? UINT64_MAX : (uint64_t{1} << ones) - 1;
  const uint64_t within = size == 64 ? UINT64_MAX : (uint64_t{1} << size) - 1;
  const uint64_t element = rotated == 0 ? run : ((run >> rotated) | (run << (size - rotated))) & within;
  uint64_t mask = 0;
  for (uint32_t at = 0; at < 64; at += size) mask |= element << at;
  return mask;
}

// Condition of b.cond, csel and ccmp. After a test of bits, V is 0.
inline Condition decode_condition(uint32_t number) {
  using enum Condition;
  constexpr std::array<Condition, 16> kConditions{zero,  not_zero, carry,    not_carry, sign,  not_sign, other, other,
                                                  other, other,    not_sign, sign,      other, other,    other, other};
  return kConditions[number & 15U];
}

// Load or store of one or two registers.
struct Access {
  uint32_t base = 0;
  std::optional<uint64_t> offset;  // nullopt: in a register
  uint64_t bytes = 0;              // bytes that each register holds
  uint32_t registers = 1;
  bool loads = false;
  bool vector = false;
  bool plain = true;  // false: extends the sign, or is atomic
  bool writes_back = false;
  bool after = false;  // moves the base after the access
};

inline std::optional<Access> decode_access(uint32_t word) {
  Access access{.base = read_bits(word, 5, 5), .vector = read_bits(word, 26, 1) != 0};
  const uint32_t kind = read_bits(word, 22, 2);
  if (is_in(word, 0x3A000000, 0x28000000)) {  // pairs
    const uint32_t size = access.vector ? read_bits(word, 30, 2) + 2 : read_bits(word, 31, 1) + 2;
    const uint32_t mode = read_bits(word, 23, 2);
    access.offset = read_signed(word, 15, 7) << size;
    access.bytes = uint64_t{1} << size;
    access.registers = 2;
    access.loads = read_bits(word, 22, 1) != 0;
    access.plain = access.vector || read_bits(word, 30, 1) == 0;
    access.writes_back = (mode & 1U) != 0;
    access.after = mode == 1;
    return access;
  }
  if (!is_in(word, 0x3A000000, 0x38000000)) return std::nullopt;
  const bool wide = access.vector && (kind & 2U) != 0;
  const uint32_t size = wide ? 4 : read_bits(word, 30, 2);
  access.bytes = uint64_t{1} << size;
  access.loads = access.vector ? (kind & 1U) != 0 : kind != 0;
  access.plain = access.vector || kind < 2;
  if (read_bits(word, 24, 1) != 0) {
    access.offset = uint64_t{read_bits(word, 10, 12)} << size;
    return access;
  }
  const uint32_t mode = read_bits(word, 10, 2);
  if (read_bits(word, 21, 1) != 0) {
    if (mode != 2) access.plain = false;  // atomic
    return access;
  }
  access.offset = read_signed(word, 12, 9);
  access.writes_back = (mode & 1U) != 0;
  access.after = mode == 1;
  return access;
}

// Returns the target of a direct branch, without calls.
inline std::optional<uint64_t> find_branch(uint32_t word, uint64_t address) {
  if (is_in(word, 0xFC000000, 0x14000000)) return address + read_signed(word, 0, 26) * 4;
  if (is_in(word, 0xFF000010, 0x54000000) || is_in(word, 0x7E000000, 0x34000000))
    return address + read_signed(word, 5, 19) * 4;
  if (is_in(word, 0x7E000000, 0x36000000)) return address + read_signed(word, 5, 14) * 4;
  return std::nullopt;
}

// brk, udf.
inline bool is_trap(uint32_t word) {
  return is_in(word, 0xFFE0001F, 0xD4200000) || word < 0x10000;
}

// Inverts the bits `ones` of a value; returns nullopt if they are not followed.
inline std::optional<Value> invert(Value value, uint64_t ones) {
  if (value.kind == Value::Kind::constant) return make_constant(~value.constant & ones);
  const bool plain = value.kind == Value::Kind::word && value.shift == 0;
  if (!plain || value.mask != (ones & make_ones(value.width))) return std::nullopt;
  value.inverted = !value.inverted;
  return value;
}

// Returns the result of movn, movz or movk.
inline Value move_constant(uint32_t word, const Value& before) {
  const uint32_t shift = read_bits(word, 21, 2) * 16;
  const uint64_t part = uint64_t{read_bits(word, 5, 16)} << shift;
  if (is_in(word, 0x60000000, 0x40000000)) return make_constant(part);
  if (is_in(word, 0x60000000, 0)) return make_constant(~part & make_ones(read_bits(word, 31, 1) != 0 ? 64 : 32));
  const uint64_t kept = before.constant & ~(uint64_t{0xFFFF} << shift);
  return before.kind == Value::Kind::constant ? make_constant(kept | part) : Value{};
}

// bl, blr.
inline bool is_call(uint32_t word) {
  return is_in(word, 0xFC000000, 0x94000000) || is_in(word, 0xFEFF0000, 0xD63F0000);
}

// Returns the entry that a load with an index reads from a table; nullopt for another load.
inline std::optional<Value> read_entry(uint32_t word, const Access& access, const Value& base) {
  const bool single = base.kind == Value::Kind::addresses && base.addresses.size() == 1;
  const uint32_t kind = read_bits(word, 22, 2);
  const bool scaled = access.bytes == 1 || read_bits(word, 12, 1) != 0;
  if (!single || !access.loads || access.vector || !is_in(word, 0x00200C00, 0x00200800) || !scaled) return std::nullopt;
  const int width = static_cast<int>(access.bytes * 8);
  Value entry =
      make_entry(width == 64 ? Value::Kind::case_address : Value::Kind::offset, base.addresses.begin()->first, width);
  if (kind == 1) entry.mask = make_ones(width);  // adds no sign
  return entry;
}

// Adds an entry, shifted, to an address: "add x, y, z, sxtb 2" or "add x, y, z, lsl 2". Returns nullopt otherwise.
inline std::optional<Value> add_entry(uint32_t word, const Value& base, const Value& entry) {
  const bool extends = is_in(word, 0x7FE00000, 0x0B200000);
  const bool shifts = is_in(word, 0x7FE00000, 0x0B000000);
  const bool single = base.kind == Value::Kind::addresses && base.addresses.size() == 1;
  if ((!extends && !shifts) || !single || entry.kind != Value::Kind::offset) return std::nullopt;
  Value address = entry;
  address.kind = Value::Kind::case_address;
  address.addresses = base.addresses;
  address.shift = static_cast<int>(extends ? read_bits(word, 10, 3) : read_bits(word, 10, 6));
  if (extends && read_bits(word, 15, 1) != 0) address.mask = 0;  // adds the sign
  return address;
}

// Returns how many cases the jump of a switch has, from the comparison before it; nullopt if none is found near.
inline std::optional<uint64_t> count_cases(std::span<const uint32_t> words, size_t jump) {
  constexpr size_t kMostBefore = 24;
  bool inclusive = false;
  bool compares = false;  // a branch after the comparison tells whether a number is higher
  for (size_t at = jump; at > 0 && jump - at < kMostBefore; --at) {
    const uint32_t word = words[at - 1];
    const uint32_t condition = word & 15U;
    if (is_in(word, 0xFF000010, 0x54000000) && (condition == 8 || condition == 9 || condition == 2 || condition == 3)) {
      compares = true;
      inclusive = condition >= 8;  // hi, ls; the others are hs, lo
    } else if (compares && is_in(word, 0x7F800000, 0x71000000)) {
      return (uint64_t{read_bits(word, 10, 12)} << (read_bits(word, 22, 1) * 12)) + (inclusive ? 1 : 0);
    }
  }
  return std::nullopt;
}

}  // namespace pbprobe::guards
