// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/flush_to_zero.hpp"

#include <cstring>

namespace pbprobe {
namespace {

bool is_rex(uint8_t byte) {
  return (byte & 0xF0) == 0x40;
}

// or of FTZ (bit 15), DAZ (bit 6) or both, as GCC's crtfastmath.o and _MM_SET_FLUSH_ZERO_MODE() have it.
bool has_bits(const uint8_t* at, size_t length) {
  const uint8_t opcode = at[is_rex(at[0]) ? 1 : 0];
  const bool to_rax = opcode == 0x0D;
  if (!to_rax && (at[is_rex(at[0]) ? 2 : 1] & 0x38) != 0x08) return false;  // another of the group's operations
  if (opcode == 0x80) return at[length - 1] == 0x80;                        // the byte holds bits 8 to 15
  if (opcode == 0x83) return at[length - 1] == 0x40;
  if (opcode != 0x81 && !to_rax) return false;
  uint32_t bits = 0;
  std::memcpy(&bits, at + length - sizeof bits, sizeof bits);
  return bits == 0x8040 || bits == 0x8000;
}

// ldmxcsr and vldmxcsr
bool loads_mxcsr(const uint8_t* at) {
  const bool vex = at[0] == 0xC5 && (at[1] & 0x7F) == 0x78;
  const uint8_t* opcode = at + (vex || is_rex(at[0]) ? 2 : 1);
  return (vex || opcode[-1] == 0x0F) && opcode[0] == 0xAE && (opcode[1] & 0x38) == 0x10 && opcode[1] < 0xC0;
}

// mov or orr of FZ (bit 24), of 32 or 64 bits, as GCC's crtfastmath.o has it.
bool has_bit(uint32_t word) {
  const uint32_t mov = word & 0xFFFFFFE0;
  const uint32_t orr = word & 0xFFFFFC00;
  return mov == 0x52A02000 || mov == 0xD2A02000 || orr == 0x32080000 || orr == 0xB2680000;
}

// msr fpcr, x
bool sets_fpcr(uint32_t word) {
  return (word & 0xFFFFFFE0) == 0xD51B4400;
}

}  // namespace

bool FlushToZero::see_x86(const uint8_t* at, size_t length) {
  set_ = set_ || (bits_ && loads_mxcsr(at));
  bits_ = bits_ || has_bits(at, length);
  return set_;
}

bool FlushToZero::see_aarch64(uint32_t word) {
  set_ = set_ || (bits_ && sets_fpcr(word));
  bits_ = bits_ || has_bit(word);
  return set_;
}

}  // namespace pbprobe
