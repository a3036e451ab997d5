// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// SVE code for one vector length, such as from -msve-vector-bits=256 of GCC and Clang.
#pragma once

#include <cstdint>
#include <span>

namespace pbprobe {

// Vector lengths that a function works with; every SVE has vectors of 16 bytes at least.
enum class VectorLengths : uint8_t {
  any,        // asks for the length (cntw, incw, rdvl …), or touches at most 16 bytes at a time
  undecided,  // never asks for the length, and reads or writes whole vectors
  longer,     // never asks for the length, and is wrong on vectors of 16 bytes
};

[[nodiscard]] VectorLengths find_vector_lengths(std::span<const uint8_t> code);

}  // namespace pbprobe
