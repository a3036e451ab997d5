// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Targets of x86-64's direct jumps, and addresses that code takes.
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

}  // namespace pbprobe
