// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// SVE code for one vector length, such as from -msve-vector-bits=256 of GCC and Clang.
#pragma once

#include <array>
#include <cstdint>

namespace pbprobe {

// Reads one function, word by word. Every SVE has vectors of 16 bytes at least. A function assumes longer ones if it
// sets a predicate for more than 16 bytes, or steps through memory by more than 16 bytes a vector, and never asks for
// the length (cntw, incw, rdvl …).
class VectorLength {
 public:
  void see(uint32_t word);

  // Reports whether the function is wrong on vectors of 16 bytes.
  [[nodiscard]] bool is_fixed() const;

 private:
  void see_sve(uint32_t word);

  bool asks_ = false;
  bool sets_long_predicate_ = false;
  // Indexed by register: bytes of a vector for each step of the register, and bytes that one `add` of a constant adds.
  std::array<uint32_t, 32> element_{};
  std::array<uint32_t, 32> step_{};
};

}  // namespace pbprobe
