// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Follows AT_HWCAP and AT_HWCAP2 through the straight code of one function. Source of the encodings: Arm ARM (DDI
// 0487).
#include <sys/auxv.h>

#include <array>
#include <cstring>
#include <map>

#include "probes/audit/host_code/guards.hpp"

namespace pbprobe {
namespace {

constexpr uint32_t kStackPointer = 31;

bool is_in(uint32_t word, uint32_t mask, uint32_t value) {
  return (word & mask) == value;
}

uint32_t read_bits(uint32_t word, uint32_t low, uint32_t bits) {
  return (word >> low) & ((1U << bits) - 1);
}

// Returns the constant of `and` and `tst`: a run of ones, rotated and repeated.
uint64_t decode_mask(uint32_t word) {
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

struct Value {
  enum class Kind : uint8_t { unknown, constant, answer, argument } kind = Kind::unknown;
  uint64_t number = 0;                // constant
  const FeatureBits* bits = nullptr;  // bits of an answer
};

class Reader {
 public:
  Reader(std::span<const uint8_t> code, uint64_t address, bool resolver,
         const std::function<bool(uint64_t)>& calls_getauxval)
      : calls_getauxval_(calls_getauxval) {
    guards_.loose = true;
    if (resolver) {
      registers_[0] = make_answer(AT_HWCAP);
      registers_[1].kind = Value::Kind::argument;  // has type __ifunc_arg_t
    }
    for (size_t at = 0; at + 4 <= code.size(); at += 4) {
      uint32_t word = 0;
      std::memcpy(&word, code.data() + at, sizeof word);
      if (const auto found = branched_.find(address + at); found != branched_.end()) keep_answers(found->second);
      see(word, address + at);
      branch(word, address + at);
    }
    if (guards_.asked == 0 && may_escape_) guards_.escapes = true;
  }

  [[nodiscard]] const Guards& guards() const { return guards_; }

 private:
  static Value make_answer(uint64_t entry) {
    return {.kind = Value::Kind::answer, .number = 0, .bits = &get_hwcap_bits(entry)};
  }

  void ask(const Value& value, uint64_t mask) {
    if (value.kind != Value::Kind::answer) return;
    for (unsigned bit = 0; bit < 64; ++bit) {
      if (((mask >> bit) & 1U) != 0) guards_.asked |= (*value.bits)[bit];
    }
  }

  using Registers = std::array<Value, 32>;

  void keep_answers(const Registers& before) {
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i].kind == Value::Kind::answer) registers_[i] = before[i];
    }
  }

  // Remembers the answers that registers hold where a branch leads.
  void branch(uint32_t word, uint64_t address) {
    const auto field = [&](uint32_t low, uint32_t bits) {
      return static_cast<uint64_t>(
          (static_cast<int64_t>(static_cast<uint64_t>(word) << (64 - low - bits)) >> (64 - bits)) * 4);
    };
    std::optional<uint64_t> target;
    if (is_in(word, 0xFC000000, 0x14000000)) target = address + field(0, 26);
    if (is_in(word, 0xFF000010, 0x54000000) || is_in(word, 0x7E000000, 0x34000000)) target = address + field(5, 19);
    if (is_in(word, 0x7E000000, 0x36000000)) target = address + field(5, 14);
    if (target) branched_.try_emplace(*target, registers_);
  }

  Value& at(uint32_t reg) { return registers_[reg]; }

  void see(uint32_t word, uint64_t address) {
    const uint32_t to = read_bits(word, 0, 5);
    const uint32_t from = read_bits(word, 5, 5);
    const uint32_t other = read_bits(word, 16, 5);
    if (is_in(word, 0x7E000000, 0x36000000)) {  // tbz, tbnz
      ask(at(to), uint64_t{1} << (read_bits(word, 31, 1) << 5U | read_bits(word, 19, 5)));
    } else if (is_in(word, 0x7F800000, 0x12000000) || is_in(word, 0x7F800000, 0x72000000)) {  // and, tst
      ask(at(from), decode_mask(word));
      at(to) = {};
    } else if (is_in(word, 0x7FE0FC00, 0x0A000000) || is_in(word, 0x7FE0FC00, 0x6A000000)) {  // and, tst of registers
      if (at(from).kind == Value::Kind::constant) ask(at(other), at(from).number);
      if (at(other).kind == Value::Kind::constant) ask(at(from), at(other).number);
      at(to) = {};
    } else if (is_in(word, 0x7F800000, 0x53000000)) {  // ubfx, lsr
      const uint32_t low = read_bits(word, 16, 6);
      const uint32_t high = read_bits(word, 10, 6);
      if (high >= low && high < 63) ask(at(from), ((uint64_t{2} << high) - 1) >> low << low);
      if (high >= low && high - low > 4 && at(from).kind == Value::Kind::answer) guards_.escapes = true;
      at(to) = {};
    } else if (is_in(word, 0x7F800000, 0x52800000)) {  // mov of a constant
      at(to) = {.kind = Value::Kind::constant,
                .number = uint64_t{read_bits(word, 5, 16)} << (read_bits(word, 21, 2) * 16)};
    } else if (is_in(word, 0x7F8003E0, 0x320003E0)) {  // mov of a mask
      at(to) = {.kind = Value::Kind::constant, .number = decode_mask(word), .bits = nullptr};
    } else if (is_in(word, 0x7F800000, 0x72800000)) {  // movk
      at(to).number |= uint64_t{read_bits(word, 5, 16)} << (read_bits(word, 21, 2) * 16);
    } else if (is_in(word, 0x7FE0FFE0, 0x2A0003E0)) {  // mov of a register
      at(to) = other == 31 ? Value{.kind = Value::Kind::constant} : at(other);
    } else if (is_in(word, 0x7FE0FFE0, 0x2A2003E0)) {  // mvn
      at(to) = at(other);
    } else if (is_in(word, 0xFC000000, 0x94000000)) {
      call(word, address);
    } else if (is_in(word, 0x3FC00000, 0x39000000)) {  // str with an unsigned offset
      store(to, from, read_bits(word, 10, 12) << read_bits(word, 30, 2));
    } else if (is_in(word, 0x3FC00000, 0x39400000)) {  // ldr with an unsigned offset
      load(to, from, read_bits(word, 10, 12) << read_bits(word, 30, 2));
    } else if (is_in(word, 0xFFFFFC1F, 0xD65F0000)) {  // ret
      may_escape_ = may_escape_ || at(0).kind == Value::Kind::answer;
    } else if (is_in(word, 0xFC000000, 0x14000000)) {  // b: a tail call returns the answer
      guards_.escapes = guards_.escapes || leads_to_getauxval(word, address);
    } else if (!is_in(word, 0x1C000000, 0x14000000)) {  // no branch
      other_word(word, to);
    }
    registers_[kStackPointer] = {};
  }

  // An instruction that is not followed: it may write its first register, and read the others.
  void other_word(uint32_t word, uint32_t to) {
    const bool data = is_in(word, 0x1C000000, 0x10000000) || is_in(word, 0x0E000000, 0x0A000000);
    const bool reads = data && !is_in(word, 0x1F000000, 0x10000000);  // not adr, adrp
    const bool registers = is_in(word, 0x0E000000, 0x0A000000);
    if (reads && at(read_bits(word, 5, 5)).kind == Value::Kind::answer) guards_.escapes = true;
    if (registers && at(read_bits(word, 16, 5)).kind == Value::Kind::answer) guards_.escapes = true;
    const bool stores_pair = is_in(word, 0x7E400000, 0x28000000);
    if (stores_pair && (at(to).kind == Value::Kind::answer || at(read_bits(word, 10, 5)).kind == Value::Kind::answer))
      guards_.escapes = true;
    const bool writes = data || is_in(word, 0x0A000000, 0x08000000);
    if (writes && !stores_pair) at(to) = {};
  }

  [[nodiscard]] bool leads_to_getauxval(uint32_t word, uint64_t address) const {
    const auto distance = static_cast<int64_t>(static_cast<uint64_t>(word) << 38U) >> 36;
    return calls_getauxval_ && calls_getauxval_(address + static_cast<uint64_t>(distance));
  }

  void call(uint32_t word, uint64_t address) {
    const Value entry = at(0);
    for (uint32_t i = 0; i < 8; ++i) may_escape_ = may_escape_ || at(i).kind == Value::Kind::answer;
    for (uint32_t i = 0; i < 19; ++i) at(i) = {};
    if (!leads_to_getauxval(word, address)) return;
    if (entry.kind != Value::Kind::constant)
      guards_.escapes = true;
    else if (entry.number == AT_HWCAP || entry.number == AT_HWCAP2)
      at(0) = make_answer(entry.number);
  }

  void store(uint32_t value, uint32_t base, uint64_t offset) {
    if (base == kStackPointer)
      slots_[offset] = at(value);
    else if (at(value).kind == Value::Kind::answer)
      guards_.escapes = true;
  }

  void load(uint32_t to, uint32_t base, uint64_t offset) {
    if (base == kStackPointer) {
      at(to) = slots_.contains(offset) ? slots_.at(offset) : Value{};
    } else if (at(base).kind == Value::Kind::argument && (offset == 8 || offset == 16)) {
      at(to) = make_answer(offset == 8 ? AT_HWCAP : AT_HWCAP2);
    } else if (at(base).kind == Value::Kind::argument && offset != 0) {
      guards_.escapes = true;
    } else {
      at(to) = {};
    }
  }

  const std::function<bool(uint64_t)>& calls_getauxval_;
  Registers registers_{};
  std::map<uint64_t, Registers> branched_;  // registers by target of a branch
  std::map<uint64_t, Value> slots_;         // stack slots
  Guards guards_;
  bool may_escape_ = false;
};

}  // namespace

Guards read_guards_aarch64(std::span<const uint8_t> code, uint64_t address, bool resolver,
                           const std::function<bool(uint64_t)>& calls_getauxval) {
  return Reader(code, address, resolver, calls_getauxval).guards();
}

}  // namespace pbprobe
