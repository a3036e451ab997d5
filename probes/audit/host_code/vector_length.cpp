// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Source of the encodings: Arm ARM (DDI 0487), C4.1.36 (SVE).
#include "probes/audit/host_code/vector_length.hpp"

#include <algorithm>
#include <iterator>

namespace pbprobe {
namespace {

constexpr uint32_t kLeastBytes = 16;
constexpr uint32_t kZeroRegister = 31;

struct Mask {
  uint32_t mask;
  uint32_t value;
};

// cnt, inc and dec of a register, of a vector, saturating; addvl, addpl; rdvl; cntp, incp
constexpr Mask kAsking[] = {{0xFF30FC00, 0x0420E000}, {0xFF30F800, 0x0430E000}, {0xFF30F800, 0x0430C000},
                            {0xFF20F000, 0x0420F000}, {0xFF30F000, 0x0420C000}, {0xFFA0F000, 0x04205000},
                            {0xFFFFF000, 0x04BF5000}, {0xFF38C000, 0x25208000}, {0xFF38F000, 0x25288000}};

// log2 of the bytes of an element in memory and in the vector, by the dtype of a ld1
constexpr uint8_t kInMemory[] = {0, 0, 0, 0, 2, 1, 1, 1, 1, 1, 2, 2, 0, 0, 0, 3};
constexpr uint8_t kInVector[] = {0, 1, 2, 3, 3, 1, 2, 3, 3, 2, 2, 3, 3, 2, 1, 3};

// Lanes of a ptrue with a count: vl1 to vl8, vl16 to vl256; 0: no count.
uint32_t count_lanes(uint32_t pattern) {
  if (pattern <= 8) return pattern;
  return pattern <= 13 ? 16U << (pattern - 9) : 0;
}

bool is_in(uint32_t word, Mask mask) {
  return (word & mask.mask) == mask.value;
}

}  // namespace

void VectorLength::see(uint32_t word) {
  const uint32_t to = word & 31U;
  const uint32_t from = (word >> 5U) & 31U;
  if (is_in(word, {0x7FC00000, 0x11000000}) && to == from) {  // add x, x, constant
    step_[to] = std::max(step_[to], (word >> 10U) & 0xFFFU);
  } else if (is_in(word, {0x1E000000, 0x04000000})) {
    see_sve(word);
  }
}

void VectorLength::see_sve(uint32_t word) {
  const uint32_t base = (word >> 5U) & 31U;
  const uint32_t index = (word >> 16U) & 31U;
  const uint32_t size = (word >> 22U) & 3U;
  const bool store = (word & 0x40000000) != 0;
  const uint32_t dtype = (word >> 21U) & 15U;
  const uint32_t in_vector = store ? dtype & 3U : kInVector[dtype];
  const uint32_t in_memory = store ? dtype >> 2U : kInMemory[dtype];
  const uint32_t per_byte = 1U << (in_vector > in_memory ? in_vector - in_memory : 0);  // ld1sb {z0.s}: 4
  asks_ = asks_ || std::any_of(std::begin(kAsking), std::end(kAsking), [&](Mask mask) { return is_in(word, mask); });
  if (is_in(word, {0xFF3EFC10, 0x2518E000})) {  // ptrue
    sets_long_predicate_ = sets_long_predicate_ || count_lanes((word >> 5U) & 31U) << size > kLeastBytes;
  } else if (is_in(word, {0xFF20E000, 0x25200000})) {  // whilelo and others: a counter of elements
    element_[base] = std::max(element_[base], 1U << size);
  } else if (is_in(word, {0xFE00E000, 0xA4004000}) ||
             is_in(word, {0xFE00E000, 0xE4004000})) {  // ld1, st1 [base, index]
    element_[base] = std::max(element_[base], per_byte);
    element_[index] = std::max(element_[index], 1U << in_vector);
  } else if (is_in(word, {0xFE10E000, 0xA400A000}) || is_in(word, {0xFE10E000, 0xE400E000})) {  // ld1, st1 [base]
    element_[base] = std::max(element_[base], per_byte);
  }
}

bool VectorLength::is_fixed() const {
  if (asks_) return false;
  if (sets_long_predicate_) return true;
  for (uint32_t i = 0; i < kZeroRegister; ++i) {
    if (element_[i] * step_[i] > kLeastBytes) return true;
  }
  return false;
}

}  // namespace pbprobe
