// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Source of the lengths: Intel SDM volume 2, appendix A (opcode maps), AMD APM volume 3 (XOP), in 64-bit mode.
#include <algorithm>
#include <array>
#include <cstring>

#include "probes/audit/host_code/code.hpp"
#include "probes/audit/host_code/flush_to_zero.hpp"
#include "probes/audit/host_code/x86_forms.hpp"
#include "probes/audit/host_code/x86_jumps.hpp"

namespace pbprobe {
namespace {

// Bytes that follow an opcode.
enum Shape : uint8_t {
  none = 0,
  modrm = 1,
  imm8 = 2,
  imm16 = 4,
  immz = 8,    // 2 bytes with an operand-size prefix, else 4
  rel32 = 16,  // a direct jump or call
  special = 32,
  bad = 64,
  beyond = 128,  // one byte, and not every x86-64 CPU has all of its instructions
};

constexpr std::array<uint8_t, 256> one_byte_shapes() {
  std::array<uint8_t, 256> shape{};
  for (int op = 0; op < 0x40; ++op) {
    const int low = op & 7;
    shape[op] = low < 4    ? modrm
                : low == 4 ? imm8
                : low == 5 ? immz
                           : bad;  // add … cmp; push/pop es and others are gone
  }
  for (int op : {0x26, 0x2E, 0x36, 0x3E}) shape[op] = special;  // prefixes
  for (int op = 0x40; op < 0x50; ++op) shape[op] = special;     // REX
  for (int op : {0x60, 0x61, 0x82, 0x9A, 0xCE, 0xD4, 0xD6, 0xEA}) shape[op] = bad;
  for (int op : {0x62, 0x64, 0x65, 0x66, 0x67, 0x8F, 0xC4, 0xC5, 0xD5, 0xF0, 0xF2, 0xF3, 0x0F}) shape[op] = special;
  shape[0x63] = modrm;
  shape[0x68] = immz;
  shape[0x69] = modrm | immz;
  shape[0x6A] = imm8;
  shape[0x6B] = modrm | imm8;
  for (int op = 0x70; op < 0x80; ++op) shape[op] = imm8;  // short jumps
  shape[0x80] = shape[0x83] = modrm | imm8;
  shape[0x81] = modrm | immz;
  for (int op = 0x84; op < 0x8F; ++op) shape[op] = modrm;
  for (int op = 0xA0; op < 0xA4; ++op) shape[op] = special;  // absolute addresses
  shape[0xA8] = imm8;
  shape[0xA9] = immz;
  for (int op = 0xB0; op < 0xB8; ++op) shape[op] = imm8;
  for (int op = 0xB8; op < 0xC0; ++op) shape[op] = special;  // 8 bytes with REX.W
  shape[0xC0] = shape[0xC1] = modrm | imm8;
  shape[0xC2] = shape[0xCA] = imm16;
  shape[0xC6] = modrm | imm8;
  shape[0xC7] = modrm | immz;
  shape[0xC8] = imm16 | imm8;
  shape[0xCD] = imm8;
  for (int op = 0xD0; op < 0xD4; ++op) shape[op] = modrm;
  for (int op = 0xD8; op < 0xE0; ++op) shape[op] = modrm;  // x87
  for (int op = 0xE0; op < 0xE8; ++op) shape[op] = imm8;
  shape[0xE8] = shape[0xE9] = rel32;
  shape[0xEB] = imm8;
  shape[0xF6] = shape[0xF7] = special;  // an immediate only for test
  shape[0xFE] = shape[0xFF] = modrm;
  for (int op : {0x9E, 0x9F, 0xC6, 0xC7, 0xDB, 0xDD, 0xDF}) shape[op] |= beyond;
  return shape;
}

constexpr std::array<uint8_t, 256> two_byte_shapes() {
  std::array<uint8_t, 256> shape{};
  shape.fill(modrm);
  for (int op : {0x04, 0x0A, 0x0C, 0x24, 0x25, 0x26, 0x27, 0x36, 0x39, 0x3B, 0x3C, 0x3D, 0x3E, 0x3F, 0x7A, 0x7B})
    shape[op] = bad;
  for (int op : {0x05, 0x06, 0x07, 0x08, 0x09, 0x0B, 0x0E, 0x30, 0x31, 0x32, 0x33,
                 0x34, 0x35, 0x37, 0x77, 0xA0, 0xA1, 0xA2, 0xA8, 0xA9, 0xAA})
    shape[op] = none;
  for (int op = 0x80; op < 0x90; ++op) shape[op] = rel32;
  for (int op = 0xC8; op < 0xD0; ++op) shape[op] = none;  // bswap
  for (int op : {0x0F, 0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6}) shape[op] = modrm | imm8;
  shape[0x38] = shape[0x3A] = shape[0x78] = special;
  return shape;
}

constexpr auto kOneByte = one_byte_shapes();
constexpr auto kTwoByte = two_byte_shapes();
constexpr size_t kLongest = 15;
constexpr size_t kWindow = 32;  // bytes that may be looked at from an instruction's first one

struct Prefixes {
  bool operand_size = false;
  bool address_size = false;
  bool fixed = false;  // saw 66, F2, F3, F0 or REX, which must not precede VEX, EVEX or XOP
  uint8_t rep = 0;     // 1: F3, 2: F2
  uint8_t rex = 0;
  [[nodiscard]] bool wide() const { return (rex & 8) != 0; }
};

struct Decoded {
  size_t length = 0;  // 0: no instruction
  uint8_t set = 0;    // X86Forms' number; 0: nothing to ask about
  bool relative = false;
  uint8_t operand = 0;  // offset of ModRM in the instruction; 0: no ModRM, or irrelevant
};

// ModRM, SIB and displacement.
size_t operand_bytes(const uint8_t* at) {
  const uint8_t mod = at[0] >> 6;
  const uint8_t rm = at[0] & 7;
  if (mod == 3) return 1;
  size_t size = mod == 1 ? 2 : mod == 2 ? 5 : 1;
  if (rm == 4) {
    size += 1;
    if (mod == 0 && (at[1] & 7) == 5) size += 4;
  } else if (rm == 5 && mod == 0) {
    size += 4;
  }
  return size;
}

uint32_t operand_bits(uint8_t byte) {
  return ((byte >> 3U) & 7U) << 1U | (byte >= 0xC0 ? 1U : 0U);
}

bool has_imm8(uint32_t map, uint8_t opcode) {
  if (map == 3) return true;
  return map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xC2 || (opcode >= 0xC4 && opcode <= 0xC6));
}

class Decoder {
 public:
  explicit Decoder(X86Forms& forms) : forms_(forms) {}

  // `start` has kWindow readable bytes.
  Decoded operator()(const uint8_t* start) const {
    const uint8_t* at = start;
    Prefixes prefixes;
    if (special_prefix(*at)) at = read_prefixes(at, prefixes);
    if (at - start >= static_cast<ptrdiff_t>(kLongest)) return {};
    const uint8_t opcode = *at;
    switch (opcode) {
      case 0x0F: return escaped(start, at + 1, prefixes);
      case 0xC4:
      case 0xC5: return vex(start, at, prefixes);
      case 0x62: return evex(start, at, prefixes);
      case 0xD5: return rex2(start, at, prefixes);
      case 0x8F:
        return (at[1] & 0x1F) >= 8 && (at[1] & 0x1F) <= 10 ? xop(start, at, prefixes)
                                                           : plain(start, at, modrm, prefixes);
      default: return plain(start, at, kOneByte[opcode], prefixes);
    }
  }

 private:
  static bool special_prefix(uint8_t byte) { return (kOneByte[byte] & special) != 0; }

  static const uint8_t* read_prefixes(const uint8_t* at, Prefixes& prefixes) {
    for (size_t i = 0; i < kLongest; ++i, ++at) {
      switch (*at) {
        case 0x66: prefixes.operand_size = true; break;
        case 0x67: prefixes.address_size = true; break;
        case 0xF2: prefixes.rep = 2; break;
        case 0xF3: prefixes.rep = 1; break;
        case 0xF0: prefixes.fixed = true; break;
        case 0x26:
        case 0x2E:
        case 0x36:
        case 0x3E:
        case 0x64:
        case 0x65: break;
        default:
          if ((*at & 0xF0) != 0x40) {
            prefixes.fixed = prefixes.fixed || prefixes.operand_size || prefixes.rep != 0 || prefixes.rex != 0;
            return at;
          }
          prefixes.rex = *at;
          continue;
      }
      prefixes.rex = 0;  // counts only as the last one
    }
    return at;
  }

  static size_t immediates(uint8_t shape, const Prefixes& prefixes) {
    size_t size = 0;
    if ((shape & imm8) != 0) size += 1;
    if ((shape & imm16) != 0) size += 2;
    if ((shape & immz) != 0) size += prefixes.operand_size && !prefixes.wide() ? 2 : 4;
    if ((shape & rel32) != 0) size += 4;
    return size;
  }

  // APX: a payload byte, and a legacy opcode of map 0 or 1. In map 0, prefixes and escapes are invalid.
  Decoded rex2(const uint8_t* start, const uint8_t* at, Prefixes prefixes) const {
    if (prefixes.rex != 0) return {};
    const uint8_t payload = at[1];
    prefixes.rex = (payload & 8) != 0 ? 0x48 : 0x40;
    const uint8_t opcode = at[2];
    const bool escapes = (opcode & 0xF0) == 0x40 || opcode == 0x62 || opcode == 0x0F || opcode == 0xC4 ||
                         opcode == 0xC5 || opcode == 0xD5 || opcode == 0x8F;
    if ((payload & 0x80) != 0) return mark_apx(escaped(start, at + 2, prefixes));
    return escapes ? Decoded{} : mark_apx(plain(start, at + 2, kOneByte[opcode], prefixes));
  }

  static Decoded plain(const uint8_t* start, const uint8_t* at, uint8_t shape, const Prefixes& prefixes) {
    if ((shape & bad) != 0) return {};
    const uint8_t opcode = *at++;
    size_t size = 0;
    uint8_t operand = (shape & modrm) != 0 ? static_cast<uint8_t>(at - start) : uint8_t{0};
    if ((shape & special) != 0) {
      if (opcode >= 0xA0 && opcode < 0xA4) {
        size = prefixes.address_size ? 4 : 8;
      } else if (opcode >= 0xB8 && opcode < 0xC0) {
        size = prefixes.wide() ? 8 : prefixes.operand_size ? 2 : 4;
      } else if (opcode == 0xF6 || opcode == 0xF7) {
        const bool test = (*at & 0x30) == 0;
        operand = static_cast<uint8_t>(at - start);
        size = operand_bytes(at) + (!test ? 0 : opcode == 0xF6 ? 1 : immediates(immz, prefixes));
      } else {
        return {};
      }
    } else {
      size = ((shape & modrm) != 0 ? operand_bytes(at) : 0) + immediates(shape, prefixes);
    }
    const uint8_t set = (shape & beyond) == 0 ? uint8_t{0} : X86Forms::set_of_plain(opcode, *at);
    return {.length = static_cast<size_t>(at - start) + size,
            .set = set,
            .relative = (shape & rel32) != 0,
            .operand = operand};
  }

  Decoded asked(const uint8_t* start, size_t length, uint32_t form, const uint8_t* operand) const {
    if (length > kLongest) return {};
    const uint8_t set = forms_.find_set(form, {start, length});
    if (set == X86Forms::kInvalid) return {};
    return {.length = length,
            .set = set,
            .operand = operand == nullptr ? uint8_t{0} : static_cast<uint8_t>(operand - start)};
  }

  Decoded escaped(const uint8_t* start, const uint8_t* at, const Prefixes& prefixes) const {
    uint32_t map = 0;
    uint8_t opcode = *at++;
    uint8_t shape = kTwoByte[opcode];
    if (opcode == 0x38 || opcode == 0x3A) {
      map = opcode == 0x38 ? 1 : 2;
      shape = map == 1 ? modrm : modrm | imm8;
      opcode = *at++;
    } else if (opcode == 0x78) {  // SSE4A's extrq and insertq have two immediates, vmread none
      shape = prefixes.operand_size || prefixes.rep == 2 ? modrm | imm16 : modrm;
    }
    if ((shape & bad) != 0) return {};
    if ((shape & rel32) != 0) return {.length = static_cast<size_t>(at - start) + 4, .relative = true};
    const bool moves_control = map == 0 && opcode >= 0x20 && opcode < 0x24;  // their operand is always a register
    const size_t operands = (shape & modrm) == 0 ? 0 : moves_control ? 1 : operand_bytes(at);
    const size_t length = static_cast<size_t>(at - start) + operands + immediates(shape, prefixes);
    const bool varied = map == 0 && opcode == 0x01 && *at >= 0xC0;
    const uint32_t form = varied ? X86Forms::kVaried
                                 : X86Forms::kLegacy + (map << 16U | static_cast<uint32_t>(opcode) << 8U |
                                                        (prefixes.operand_size ? 1U << 7U : 0U) | prefixes.rep << 5U |
                                                        (prefixes.wide() ? 1U << 4U : 0U) |
                                                        ((shape & modrm) != 0 ? operand_bits(*at) : 0U));
    return asked(start, length, form, operands == 0 ? nullptr : at);
  }

  Decoded vex(const uint8_t* start, const uint8_t* at, const Prefixes& prefixes) const {
    if (prefixes.fixed) return {};
    const bool two = *at == 0xC5;
    const uint32_t map = two ? 1 : at[1] & 0x1FU;
    if (map < 1 || map > 3) return {};
    const uint8_t last = two ? at[1] : at[2];
    const uint32_t wide = two ? 0 : last >> 7U;
    at += two ? 2 : 3;
    const uint8_t opcode = *at++;
    const bool bare = map == 1 && opcode == 0x77;  // vzeroupper, vzeroall
    const size_t operands = bare ? 0 : operand_bytes(at) + (has_imm8(map, opcode) ? 1 : 0);
    const uint32_t form = X86Forms::kVex + (map << 16U | static_cast<uint32_t>(opcode) << 8U | (last & 3U) << 6U |
                                            wide << 5U | ((last >> 2U) & 1U) << 4U | (bare ? 0 : operand_bits(*at)));
    return asked(start, static_cast<size_t>(at - start) + operands, form, bare ? nullptr : at);
  }

  Decoded xop(const uint8_t* start, const uint8_t* at, const Prefixes& prefixes) const {
    if (prefixes.fixed) return {};
    const uint32_t map = (at[1] & 0x1FU) - 8;
    const uint8_t last = at[2];
    const uint8_t opcode = at[3];
    at += 4;
    const size_t operands = operand_bytes(at) + (map == 0 ? 1 : map == 2 ? 4 : 0);
    const uint32_t form = X86Forms::kXop + (map << 16U | static_cast<uint32_t>(opcode) << 8U | (last & 3U) << 6U |
                                            (last >> 7U) << 5U | ((last >> 2U) & 1U) << 4U | operand_bits(*at));
    return asked(start, static_cast<size_t>(at - start) + operands, form, at);
  }

  Decoded evex(const uint8_t* start, const uint8_t* at, const Prefixes& prefixes) const {
    const uint32_t map = at[1] & 7U;
    if (map == 4 && !prefixes.fixed) return legacy_in_evex(start, at, prefixes);
    if (prefixes.fixed) return {};
    if ((at[1] & 8) != 0 || (at[2] & 4) == 0) return further_registers(start, at, prefixes);
    const uint8_t opcode = at[4];
    const size_t operands = operand_bytes(at + 5) + (has_imm8(map, opcode) ? 1 : 0);
    const uint32_t form = X86Forms::kEvex + (map << 18U | static_cast<uint32_t>(opcode) << 10U | (at[2] & 3U) << 8U |
                                             static_cast<uint32_t>(at[2] >> 7U) << 7U | ((at[3] >> 5U) & 3U) << 5U |
                                             ((at[3] >> 4U) & 1U) << 4U | operand_bits(at[5]));
    return asked(start, static_cast<size_t>(at + 5 - start) + operands, form, at + 5);
  }

  // APX: map 4 holds opcodes of map 0, and some of 0F38.
  static Decoded legacy_in_evex(const uint8_t* start, const uint8_t* at, const Prefixes& prefixes) {
    const uint8_t opcode = at[4];
    uint8_t shape = modrm;
    if ((kOneByte[opcode] & modrm) != 0 || opcode == 0xF6 || opcode == 0xF7) {
      shape = kOneByte[opcode];
    } else if (opcode < 0x40) {
      return {};
    }
    Prefixes own = prefixes;
    own.operand_size = (at[2] & 3) == 1;
    own.rex = (at[2] & 0x80) != 0 ? 0x48 : 0x40;
    return mark_apx(plain(start, at + 4, shape, own));
  }

  // APX: an EVEX instruction that names one of the registers from r16 on.
  Decoded further_registers(const uint8_t* start, const uint8_t* at, const Prefixes& prefixes) const {
    std::array<uint8_t, kWindow> plainer{};
    const auto before = static_cast<size_t>(at - start);
    if (before != 0) return {};
    std::copy_n(start, kLongest, plainer.begin());
    plainer[1] &= static_cast<uint8_t>(~8U);
    plainer[2] |= 4;
    return mark_apx(evex(plainer.data(), plainer.data(), prefixes));
  }

  static Decoded mark_apx(Decoded decoded) {
    if (decoded.length > kLongest) return {};
    if (decoded.length != 0) decoded.set = X86Forms::kApx;
    return decoded;
  }

  X86Forms& forms_;
};

// cpuid, xgetbv
bool asks_cpu(const uint8_t* at) {
  return at[0] == 0x0F && (at[1] == 0xA2 || (at[1] == 0x01 && at[2] == 0xD0));
}

// Calls `see` with each instruction, and with length 0 for each undecodable byte. Skips an instruction that the end
// cuts off.
template <class See>
void visit_instructions(std::span<const uint8_t> code, const See& see) {
  const Decoder decode(X86Forms::shared());
  std::array<uint8_t, kWindow> tail{};  // the last bytes, followed by zeros
  for (size_t offset = 0; offset < code.size();) {
    const size_t left = code.size() - offset;
    const uint8_t* at = code.data() + offset;
    if (left < kWindow) {
      tail.fill(0);
      std::memcpy(tail.data(), at, left);
      at = tail.data();
    }
    const Decoded decoded = decode(at);
    const bool cut = decoded.length > left;
    if (!cut) see(at, offset, decoded);
    offset += cut || decoded.length == 0 ? 1 : decoded.length;
  }
}

// Tracks register contents through straight code, to find the targets of calls through registers.
class X86Tracer {
 public:
  explicit X86Tracer(uint64_t address) : address_(address) {}

  void see(const uint8_t* at, size_t offset, const Decoded& decoded) {
    trace_.features |= X86Forms::features(decoded.set);
    const bool plain = decoded.set == 0;
    trace_.asks = trace_.asks || asks_cpu(at);
    trace_.flushes = flush_.see_x86(at, decoded.length);
    if (decoded.relative) {
      trace_.calls.push_back(relative_target(at, decoded.length, address_ + offset));
      if (at[0] == 0xE8) forget_after_call();
    }
    if (is_short_jump(at)) trace_.calls.push_back(short_target(at, address_ + offset));
    if (decoded.operand == 0) return;
    const uint8_t operand = at[decoded.operand];
    const bool in_memory = names_place(at, decoded.operand);
    const uint64_t place = in_memory ? find_place(at, decoded.length, decoded.operand, address_ + offset) : 0;
    if (plain) return see_plain(at, decoded, operand, in_memory, place);
    if (in_memory) trace_.data.push_back(place);
  }

  CodeTrace take() { return std::move(trace_); }

 private:
  enum class Holds : uint8_t { unknown, address, pointer_at };
  struct Register {
    Holds holds = Holds::unknown;
    uint64_t value = 0;
  };

  void see_plain(const uint8_t* at, const Decoded& decoded, uint8_t operand, bool in_memory, uint64_t place) {
    const uint8_t opcode = at[decoded.operand - 1];
    const uint8_t rex = decoded.operand >= 2 && (at[decoded.operand - 2] & 0xF0) == 0x40 ? at[decoded.operand - 2] : 0;
    const size_t reg = ((operand >> 3U) & 7U) | ((rex & 4U) << 1U);
    const size_t rm = (operand & 7U) | ((rex & 1U) << 3U);
    const bool direct = operand >= 0xC0;
    const uint8_t group = (operand >> 3U) & 7U;
    if (opcode == 0xFF && (group == 2 || group == 4)) return see_call(group == 2, direct, rm, in_memory, place);
    if (opcode == 0x8D || opcode == 0x8B) {
      registers_[reg] = {};
      if (in_memory) registers_[reg] = {opcode == 0x8D ? Holds::address : Holds::pointer_at, place};
      if (opcode == 0x8B && direct) registers_[reg] = registers_[rm];
    } else if (opcode == 0x89 && direct) {
      registers_[rm] = registers_[reg];
    } else if (direct) {
      registers_[opcode == 0x33 || opcode == 0x03 || opcode == 0x63 ? reg : rm] = {};
    }
    if (in_memory) (opcode == 0x8D ? trace_.taken : trace_.data).push_back(place);
  }

  void see_call(bool call, bool direct, size_t rm, bool in_memory, uint64_t place) {
    const Register from = direct ? registers_[rm] : Register{};
    if (in_memory) {
      trace_.through.push_back(place);
    } else if (from.holds == Holds::address) {
      trace_.calls.push_back(from.value);
    } else if (from.holds == Holds::pointer_at) {
      trace_.through.push_back(from.value);
    } else if (call) {
      trace_.indirect = true;
    }
    if (call) forget_after_call();
  }

  // A callee may overwrite rax, rcx, rdx, rsi, rdi and r8 to r11.
  void forget_after_call() {
    for (const size_t i : {0, 1, 2, 6, 7, 8, 9, 10, 11}) registers_[i] = {};
  }

  uint64_t address_;
  FlushToZero flush_;
  std::array<Register, 16> registers_{};
  CodeTrace trace_;
};

}  // namespace

CodeCount count_x86(std::span<const uint8_t> code, uint64_t address, CodeTargets* targets) {
  CodeCount count;
  std::array<int64_t, 256> by_set{};
  visit_instructions(code, [&](const uint8_t* at, size_t offset, const Decoded& decoded) {
    if (decoded.length == 0) {
      if (count.unknown++ == 0) count.first_unknown = address + offset;
      return;
    }
    ++count.instructions;
    if (decoded.set != 0) ++by_set[decoded.set];
    count.asks = count.asks || asks_cpu(at);
    count.sse = count.sse || is_sse_move(at, decoded.operand);
    if (targets != nullptr && (decoded.relative || takes_address(at, decoded.length)))
      targets->push_back(relative_target(at, decoded.length, address + offset));
    if (targets != nullptr && names_place(at, decoded.operand) && !takes_address(at, decoded.length)) {
      const uint64_t place = find_place(at, decoded.length, decoded.operand, address + offset);
      for (uint64_t word = 0; word < count_words(at, decoded.operand); ++word)
        targets->push_back((place + word * 8) | kInPlace);
    }
    // A tail call of a near function: `if (cpu_supports) fast(); else slow();`.
    if (targets != nullptr && is_short_jump(at) && short_target(at, address + offset) - address >= code.size())
      targets->push_back(short_target(at, address + offset));
  });
  for (size_t set = 0; set < by_set.size(); ++set) {
    const FeatureSet features = by_set[set] == 0 ? 0 : X86Forms::features(static_cast<uint8_t>(set));
    if (features == 0) continue;
    count.features |= features;
    count.counts.emplace_back(features, by_set[set]);
  }
  return count;
}

CodeTrace trace_x86(std::span<const uint8_t> code, uint64_t address) {
  X86Tracer tracer(address);
  visit_instructions(code, [&](const uint8_t* at, size_t offset, const Decoded& decoded) {
    if (decoded.length != 0) tracer.see(at, offset, decoded);
  });
  return tracer.take();
}

Instruction decode_x86(std::span<const uint8_t> code) {
  std::array<uint8_t, kWindow> window{};
  std::copy_n(code.begin(), std::min(code.size(), kWindow), window.begin());
  const Decoded decoded = Decoder(X86Forms::shared())(window.data());
  if (decoded.length == 0 || decoded.length > std::min(code.size(), kLongest)) return {};
  return {decoded.length, X86Forms::features(decoded.set)};
}

}  // namespace pbprobe
