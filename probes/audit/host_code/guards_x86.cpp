// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Follows the bits of CPUID and of libgcc's copy of them through all paths of one function, up to a fixed point.
#include <Zydis/Zydis.h>

#include <algorithm>

#include "probes/audit/host_code/guard_follower.hpp"

namespace pbprobe::guards {
namespace {

struct Conditional {
  enum class Kind : uint8_t { jump, set, move } kind = Kind::jump;
  Condition condition = Condition::other;
};

std::optional<Conditional> find_conditional(ZydisMnemonic mnemonic) {
  using enum Condition;
  using enum Conditional::Kind;
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_JZ: return Conditional{jump, zero};
    case ZYDIS_MNEMONIC_JNZ: return Conditional{jump, not_zero};
    case ZYDIS_MNEMONIC_JB: return Conditional{jump, carry};
    case ZYDIS_MNEMONIC_JNB: return Conditional{jump, not_carry};
    case ZYDIS_MNEMONIC_JL:
    case ZYDIS_MNEMONIC_JS: return Conditional{jump, sign};
    case ZYDIS_MNEMONIC_JNL:
    case ZYDIS_MNEMONIC_JNS: return Conditional{jump, not_sign};
    case ZYDIS_MNEMONIC_SETZ: return Conditional{set, zero};
    case ZYDIS_MNEMONIC_SETNZ: return Conditional{set, not_zero};
    case ZYDIS_MNEMONIC_SETB: return Conditional{set, carry};
    case ZYDIS_MNEMONIC_SETNB: return Conditional{set, not_carry};
    case ZYDIS_MNEMONIC_SETS: return Conditional{set, sign};
    case ZYDIS_MNEMONIC_SETNS: return Conditional{set, not_sign};
    case ZYDIS_MNEMONIC_CMOVZ: return Conditional{move, zero};
    case ZYDIS_MNEMONIC_CMOVNZ: return Conditional{move, not_zero};
    case ZYDIS_MNEMONIC_CMOVB: return Conditional{move, carry};
    case ZYDIS_MNEMONIC_CMOVNB: return Conditional{move, not_carry};
    case ZYDIS_MNEMONIC_CMOVL:
    case ZYDIS_MNEMONIC_CMOVS: return Conditional{move, sign};
    case ZYDIS_MNEMONIC_CMOVNL:
    case ZYDIS_MNEMONIC_CMOVNS: return Conditional{move, not_sign};
    case ZYDIS_MNEMONIC_JBE:
    case ZYDIS_MNEMONIC_JNBE:
    case ZYDIS_MNEMONIC_JLE:
    case ZYDIS_MNEMONIC_JNLE: return Conditional{jump, other};
    default: return std::nullopt;
  }
}

struct Decoded {
  uint64_t address = 0;
  ZydisDecodedInstruction instruction{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
};

int find_register(ZydisRegister reg) {
  const ZydisRegister large = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  return large >= ZYDIS_REGISTER_RAX && large <= ZYDIS_REGISTER_R15 ? large - ZYDIS_REGISTER_RAX : -1;
}

class Reader : public PathFollower<16> {
 public:
  Reader(std::span<const uint8_t> code, uint64_t address, const CpuModel& model) : model_(model), address_(address) {
    mixed_escapes_ = true;
    decode(code);
  }

  Guards read() { return follow({}, code_.size()); }

 private:
  void decode(std::span<const uint8_t> code) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t at = 0; at < code.size();) {
      Decoded one{.address = address_ + at};
      const bool ok = ZYAN_SUCCESS(
          ZydisDecoderDecodeFull(&decoder, code.data() + at, code.size() - at, &one.instruction, one.operands.data()));
      if (!ok || code_.size() == kMostInstructions) {
        guards_.escapes = true;
        return;
      }
      index_.emplace(one.address, code_.size());
      at += one.instruction.length;
      code_.push_back(one);
    }
    for (const auto& one : code_) {
      if (const auto target = find_branch(one); target && index_.contains(*target)) starts_.insert(index_.at(*target));
    }
  }

  // Returns the target of a direct branch.
  static std::optional<uint64_t> find_branch(const Decoded& one) {
    const ZydisDecodedOperand& to = one.operands[0];
    if (to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !to.imm.is_relative) return std::nullopt;
    return one.address + one.instruction.length + static_cast<uint64_t>(to.imm.value.s);
  }

  std::optional<Next> leave(size_t at) override {
    const Decoded& one = code_[at];
    const ZydisMnemonic mnemonic = one.instruction.mnemonic;
    if (mnemonic == ZYDIS_MNEMONIC_RET) {
      hand_over(state_.registers[0], true);
      return Next{};
    }
    if (mnemonic == ZYDIS_MNEMONIC_UD2 || mnemonic == ZYDIS_MNEMONIC_HLT || mnemonic == ZYDIS_MNEMONIC_INT3)
      return Next{};
    const auto target = find_branch(one);
    if (mnemonic == ZYDIS_MNEMONIC_JMP) {
      if (!target) {
        const Value to = read(one, 0);
        if (to.kind != Kind::addresses && one.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) guards_.escapes = true;
        hand_over(to, true);
        return Next{};
      }
      return follow_branch(*target, 0);
    }
    const auto conditional = find_conditional(mnemonic);
    if (one.instruction.meta.category != ZYDIS_CATEGORY_COND_BR || !target) return std::nullopt;
    const auto [taken, passed] = decide(state_.flags, conditional ? conditional->condition : Condition::other);
    Next next = follow_branch(*target, taken);
    if (at + 1 < code_.size()) next.emplace_back(at + 1, passed);
    return next;
  }

  std::optional<uint64_t> find_place(const Decoded& one, const ZydisDecodedOperand& operand) const {
    const auto& memory = operand.mem;
    if (memory.index != ZYDIS_REGISTER_NONE) return std::nullopt;
    const auto displacement = static_cast<uint64_t>(memory.disp.has_displacement ? memory.disp.value : 0);
    if (memory.base == ZYDIS_REGISTER_RIP) return one.address + one.instruction.length + displacement;
    const int base = find_register(memory.base);
    if (base < 0) return std::nullopt;
    const Value& value = state_.registers[static_cast<size_t>(base)];
    if (value.kind != Kind::addresses || value.addresses.size() != 1) return std::nullopt;
    return value.addresses.begin()->first + displacement;
  }

  static std::optional<std::pair<int, int64_t>> find_slot(const ZydisDecodedOperand& operand) {
    const auto& memory = operand.mem;
    const bool frame = memory.base == ZYDIS_REGISTER_RBP || memory.base == ZYDIS_REGISTER_RSP;
    if (!frame || memory.index != ZYDIS_REGISTER_NONE) return std::nullopt;
    return std::pair(static_cast<int>(memory.base), memory.disp.has_displacement ? memory.disp.value : 0);
  }

  // Reads libgcc's words, and pointers that ld.so writes.
  Value read_place(uint64_t place) {
    constexpr uint64_t kFeatures = 12;  // offset in __cpu_model
    constexpr uint64_t kWords = 4;      // words in __cpu_features2
    const auto word_at = [](uint64_t offset, uint64_t first) {
      Value word = make_word(get_model_bits(first + offset / 4), 32);
      word.shift = static_cast<int>(offset % 4) * 8;
      return word;
    };
    if (model_.first && place - *model_.first < kFeatures) guards_.escapes = true;  // vendor, type
    if (model_.first && place - *model_.first - kFeatures < 4) return word_at(place - *model_.first - kFeatures, 0);
    if (model_.second && place - *model_.second < kWords * 4) return word_at(place - *model_.second, 1);
    const auto pointer = model_.read_pointer ? model_.read_pointer(place) : std::nullopt;
    return pointer ? make_address(*pointer, state_.has) : Value{};
  }

  Value read(const Decoded& one, size_t index) {
    const ZydisDecodedOperand& operand = one.operands[index];
    if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) return make_constant(operand.imm.value.u);
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      const int reg = find_register(operand.reg.value);
      if (reg < 0) return {};
      const bool high = operand.reg.value >= ZYDIS_REGISTER_AH && operand.reg.value <= ZYDIS_REGISTER_BH;
      return narrow(state_.registers[static_cast<size_t>(reg)], operand.size, high);
    }
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) return {};
    if (const auto place = find_place(one, operand)) {
      const Value value = read_place(*place);
      touch_place(operand, *place);
      return narrow(value, operand.size, false);
    }
    hand_over_base(operand);
    const auto slot = find_slot(operand);
    const auto found = slot ? state_.slots.find(*slot) : state_.slots.end();
    return found == state_.slots.end() ? Value{} : narrow(found->second, operand.size, false);
  }

  // Code reads the pointers at a place: it may use all that they lead to.
  void touch_place(const ZydisDecodedOperand& operand, uint64_t place) {
    const uint64_t bytes = operand.size / 8;
    touch(place, bytes);
    for (uint64_t at = 8; at < bytes; at += 8) hand_over(read_place(place + at), false);
  }

  // Code may read anything at the addresses in a base register, if an index or an unknown offset joins them.
  void hand_over_base(const ZydisDecodedOperand& operand) {
    for (const ZydisRegister name : {operand.mem.base, operand.mem.index}) {
      const int reg = find_register(name);
      if (reg >= 0 && state_.registers[static_cast<size_t>(reg)].kind == Kind::addresses)
        hand_over(state_.registers[static_cast<size_t>(reg)], false);
    }
  }

  void write(const Decoded& one, size_t index, Value value) {
    const ZydisDecodedOperand& operand = one.operands[index];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      if (const auto place = find_place(one, operand))
        touch(*place, operand.size / 8);
      else
        hand_over_base(operand);
      if (const auto slot = find_slot(operand); slot && !shared_.contains(*slot)) {
        state_.slots[*slot] = std::move(value);
      } else {
        hand_over(value, false);
      }
      return;
    }
    const int reg = find_register(operand.reg.value);
    if (reg >= 0) state_.registers[static_cast<size_t>(reg)] = std::move(value);
  }

  void run(size_t at) override { run(code_[at]); }
  void run(const Decoded& one);
  void run_other(const Decoded& one);
  void run_call(const Decoded& one);
  void run_cpuid();
  void run_lea(const Decoded& one);
  void run_bit_test(const Decoded& one);
  void run_xor(const Decoded& one);
  void run_logic(const Decoded& one, const Value& a, const Value& b, bool writes);
  void run_shift(const Decoded& one, bool right);
  bool run_conditional(const Decoded& one);

  const CpuModel& model_;
  uint64_t address_;
  std::vector<Decoded> code_;
  std::set<std::pair<int, int64_t>> shared_;  // slots whose address it takes
};

void Reader::run_logic(const Decoded& one, const Value& a, const Value& b, bool writes) {
  Value result = combine(a, b);
  state_.flags = make_flags(result);
  if (writes) write(one, 0, std::move(result));
}

void Reader::run_shift(const Decoded& one, bool right) {
  Value value = read(one, 0);
  const Value by = read(one, 1);
  if (value.kind == Kind::word && by.kind == Kind::constant && by.constant < 32) {
    value = shift_word(value, static_cast<int>(by.constant), right);
    state_.flags = make_flags(value);
    if (!right) {
      const int top = 31 + value.shift;
      if (top >= 0 && top < 32) state_.flags.sign = (*value.bits)[static_cast<size_t>(top)];
    }
  } else {
    hand_over(value, false);
    value = {};
    state_.flags = {};
  }
  write(one, 0, std::move(value));
}

bool Reader::run_conditional(const Decoded& one) {
  const auto conditional = find_conditional(one.instruction.mnemonic);
  if (!conditional || conditional->kind == Conditional::Kind::jump) return false;
  const bool known = state_.flags.known;
  const auto [holds, fails] = decide(state_.flags, conditional->condition);
  if (conditional->kind == Conditional::Kind::set) {
    write(one, 0, known ? make_decision(holds, fails) : Value{});
    return true;
  }
  const Value kept = read(one, 0);
  const Value moved = read(one, 1);
  if (kept.kind == Kind::addresses && moved.kind == Kind::addresses) {
    const FeatureSet has = state_.has;
    write(one, 0, merge(strengthen(kept, fails | has), has, strengthen(moved, holds | has), has));
    return true;
  }
  if (known) guards_.loose = true;
  hand_over(kept, false);
  hand_over(moved, false);
  write(one, 0, {});
  return true;
}

void Reader::run_call(const Decoded& one) {
  constexpr size_t kArguments[] = {7, 6, 2, 1, 8, 9};  // rdi, rsi, rdx, rcx, r8, r9
  if (const auto target = find_branch(one)) {
    reach(*target, state_.has);
  } else {
    hand_over(read(one, 0), false);
  }
  for (const size_t i : kArguments) hand_over_argument(state_.registers[i]);
  // The compiler knows which registers a callee of the same file leaves alone; it reads no other.
  for (const size_t i : {0, 2}) {  // rax, rdx: the result
    if (state_.registers[i].kind != Kind::addresses) state_.registers[i] = {};
  }
  state_.flags = {};
}

void Reader::run_cpuid() {
  constexpr uint32_t kNoFeatures[] = {0, 2, 3, 4, 5, 6, 0xB, 0x80000000};
  const Value leaf = state_.registers[0];
  const Value subleaf = state_.registers[1];
  const bool plain = leaf.kind == Kind::constant &&
                     std::find(std::begin(kNoFeatures), std::end(kNoFeatures), leaf.constant) != std::end(kNoFeatures);
  const bool single = leaf.kind == Kind::constant && leaf.constant != 7 && leaf.constant != 0xD;
  if (leaf.kind != Kind::constant || (!plain && !single && subleaf.kind != Kind::constant)) guards_.escapes = true;
  const uint32_t number = static_cast<uint32_t>(leaf.constant);
  const uint32_t part = single ? 0 : static_cast<uint32_t>(subleaf.constant);
  constexpr std::pair<size_t, CpuidRegister> kResults[] = {
      {0, CpuidRegister::eax}, {3, CpuidRegister::ebx}, {1, CpuidRegister::ecx}, {2, CpuidRegister::edx}};
  for (const auto& [reg, name] : kResults) state_.registers[reg] = make_word(get_cpuid_bits(number, part, name), 32);
}

void Reader::run_other(const Decoded& one) {
  const auto count = one.instruction.operand_count;
  for (size_t i = 0; i < count; ++i) {
    const ZydisDecodedOperand& operand = one.operands[i];
    const bool hidden = operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    if (!hidden && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0) hand_over(read(one, i), false);
  }
  for (size_t i = 0; i < count; ++i) {
    const ZydisDecodedOperand& operand = one.operands[i];
    const bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (writes && operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      if (operand.reg.value == ZYDIS_REGISTER_RSP)
        std::erase_if(state_.slots, [](const auto& slot) { return slot.first.first == ZYDIS_REGISTER_RSP; });
      write(one, i, {});
    }
    if (const auto slot = writes && operand.type == ZYDIS_OPERAND_TYPE_MEMORY ? find_slot(operand) : std::nullopt)
      state_.slots.erase(*slot);
  }
  if (one.instruction.cpu_flags != nullptr && one.instruction.cpu_flags->modified != 0) state_.flags = {};
}

void Reader::run_lea(const Decoded& one) {
  if (const auto slot = find_slot(one.operands[1])) {
    shared_.insert(*slot);
    state_.slots.erase(*slot);
    return write(one, 0, {});
  }
  const auto place = find_place(one, one.operands[1]);
  write(one, 0, place ? name_address(*place) : Value{});
}

void Reader::run_bit_test(const Decoded& one) {
  const Value value = read(one, 0);
  const Value bit = read(one, 1);
  state_.flags = {};
  if (value.kind != Kind::word || bit.kind != Kind::constant) return hand_over(value, false);
  tests_ = true;
  const auto position = static_cast<size_t>(value.shift) + static_cast<size_t>(bit.constant % 32);
  if (position >= 32) return;
  const FeatureSet feature = (*value.bits)[position];
  state_.flags = {.carry = value.inverted ? 0 : feature, .not_carry = value.inverted ? feature : 0, .known = true};
  return;
}

void Reader::run_xor(const Decoded& one) {
  const Value a = read(one, 0);
  const Value b = read(one, 1);
  const bool same = one.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                    one.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                    one.operands[0].reg.value == one.operands[1].reg.value;
  if (!same && !(a.kind == Kind::decision && b.kind == Kind::constant && b.constant == 1)) return run_other(one);
  Value result = same ? make_constant(0) : make_decision(a.if_false, a.if_true);
  state_.flags = make_flags(result);
  return write(one, 0, std::move(result));
}

void Reader::run(const Decoded& one) {
  if (run_conditional(one)) return;
  switch (one.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX: return write(one, 0, read(one, 1));
    case ZYDIS_MNEMONIC_LEA: return run_lea(one);
    case ZYDIS_MNEMONIC_XCHG: {
      Value first = read(one, 0);
      write(one, 0, read(one, 1));
      return write(one, 1, std::move(first));
    }
    case ZYDIS_MNEMONIC_AND: return run_logic(one, read(one, 0), read(one, 1), true);
    case ZYDIS_MNEMONIC_TEST: return run_logic(one, read(one, 0), read(one, 1), false);
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR: return run_shift(one, true);
    case ZYDIS_MNEMONIC_SHL: return run_shift(one, false);
    case ZYDIS_MNEMONIC_CMP: state_.flags = compare(read(one, 0), read(one, 1)); return;
    case ZYDIS_MNEMONIC_CALL: return run_call(one);
    case ZYDIS_MNEMONIC_CPUID: return run_cpuid();
    case ZYDIS_MNEMONIC_NOT: {
      Value value = read(one, 0);
      if (value.kind == Kind::word && is_whole(value)) {
        value.inverted = !value.inverted;
        return write(one, 0, std::move(value));
      }
      return run_other(one);
    }
    case ZYDIS_MNEMONIC_BT: return run_bit_test(one);
    case ZYDIS_MNEMONIC_XOR: return run_xor(one);
    default: return run_other(one);
  }
}

}  // namespace
}  // namespace pbprobe::guards

namespace pbprobe {

Guards read_guards_x86(std::span<const uint8_t> code, uint64_t address, const CpuModel& model) {
  return guards::Reader(code, address, model).read();
}

}  // namespace pbprobe
