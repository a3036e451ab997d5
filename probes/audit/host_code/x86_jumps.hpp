// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Single instructions of x86-64: targets of direct jumps, addresses that code takes, moves of SSE2.
#pragma once

#include <cstdint>
#include <cstring>

namespace pbprobe {

// Returns where an instruction of `length` bytes leads whose last four bytes are a displacement.
[[nodiscard]] inline uint64_t relative_target(const uint8_t* at, size_t length, uint64_t address) {
  int32_t displacement = 0;
  std::memcpy(&displacement, at + length - 4, sizeof displacement);
  return address + length + static_cast<uint64_t>(static_cast<int64_t>(displacement));
}

[[nodiscard]] inline bool is_short_jump(const uint8_t* at) {
  return at[0] == 0xEB || (at[0] & 0xF0) == 0x70;
}

[[nodiscard]] inline uint64_t short_target(const uint8_t* at, uint64_t address) {
  return address + 2 + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(at[1])));
}

// Recognizes "lea register, [rip + displacement]", which takes an address.
[[nodiscard]] inline bool takes_address(const uint8_t* at, size_t length) {
  return length == 7 && (at[0] & 0xF8) == 0x48 && at[1] == 0x8D && (at[2] & 0xC7) == 0x05;
}

// Recognizes the operand [rip + displacement]. `operand`: offset of ModRM; 0: none.
[[nodiscard]] inline bool names_place(const uint8_t* at, size_t operand) {
  return operand != 0 && (at[operand] & 0xC7) == 0x05;
}

[[nodiscard]] inline uint64_t find_place(const uint8_t* at, size_t length, size_t operand, uint64_t address) {
  int32_t displacement = 0;
  std::memcpy(&displacement, at + operand + 1, sizeof displacement);
  return address + length + static_cast<uint64_t>(static_cast<int64_t>(displacement));
}

// Returns how many words of 8 bytes an instruction may read at most, by its encoding. `operand`: offset of ModRM.
[[nodiscard]] inline uint64_t count_words(const uint8_t* at, size_t operand) {
  if (at[0] == 0x62) return 8;
  if (at[0] == 0xC4 || at[0] == 0xC5) return 4;
  const bool escaped = (operand >= 2 && at[operand - 2] == 0x0F) || (operand >= 3 && at[operand - 3] == 0x0F);
  return escaped ? 2 : 1;
}

// Recognizes moves and XORs of SSE2 in their old encoding. `operand`: offset of the ModRM byte.
[[nodiscard]] inline bool is_sse_move(const uint8_t* at, size_t operand) {
  if (operand < 2 || at[operand - 2] != 0x0F) return false;
  const uint8_t opcode = at[operand - 1];
  const bool prefixed = at[0] == 0x66 || at[0] == 0xF3;  // without one, 6F, 7F and EF are MMX
  return opcode == 0x10 || opcode == 0x11 || opcode == 0x28 || opcode == 0x29 || opcode == 0x57 ||
         (prefixed && (opcode == 0x6F || opcode == 0x7F || opcode == 0xEF));
}

}  // namespace pbprobe
