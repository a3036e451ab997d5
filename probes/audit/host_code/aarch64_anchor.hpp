// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Section anchors of GCC: code forms the address of one object, and reaches others from it.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace pbprobe {

// Reports whether the code that follows uses an address in register `number` only to form other addresses, and then
// overwrites the register. `code` begins after the instruction that forms the address.
[[nodiscard]] inline bool is_anchor(std::span<const uint8_t> code, uint32_t number) {
  constexpr size_t kMostWords = 32;
  bool used = false;
  for (size_t at = 0; at + 4 <= code.size() && at < kMostWords * 4; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, code.data() + at, sizeof word);
    const uint32_t to = word & 31U;
    const bool based = ((word >> 5U) & 31U) == number;
    const bool adds = (word & 0xFF800000) == 0x91000000;
    const bool accesses = (word & 0x3B000000) == 0x39000000;  // loads and stores with an unsigned offset
    const bool vector = (word & 0x04000000) != 0;
    const bool loads = (word & 0x00C00000) != 0;
    if ((word & 0x1C000000) == 0x14000000) return false;  // a branch
    if (based && (adds || accesses)) {
      if (to == number && !(accesses && vector)) return adds || loads;  // another store writes the address itself
      used = true;
    } else if ((word & 0x9F000000) == 0x90000000) {  // adrp
      if (to == number) return used;
    } else if (to == number || based || ((word >> 10U) & 31U) == number || ((word >> 16U) & 31U) == number) {
      return false;
    }
  }
  return false;
}

}  // namespace pbprobe
