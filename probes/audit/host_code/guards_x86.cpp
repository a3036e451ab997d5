// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Follows the bits of CPUID and of libgcc's copy of them through all paths of one function, up to a fixed point.
#include <Zydis/Zydis.h>

#include <algorithm>
#include <set>
#include <vector>

#include "probes/audit/host_code/guard_values.hpp"

namespace pbprobe::guards {
namespace {

constexpr size_t kMostInstructions = 20'000;
constexpr size_t kMostVisits = 200'000;  // limit for blocks

class Reader {
 public:
  Reader(std::span<const uint8_t> code, uint64_t address, const CpuModel& model)
      : model_(model), begin_(address), end_(address + code.size()) {
    decode(code);
  }

  Guards read() {
    if (code_.empty()) return guards_;
    std::map<size_t, State> states{{0, State{}}};
    std::set<size_t> open{0};
    for (size_t visits = 0; !open.empty(); ++visits) {
      if (visits == kMostVisits) return give_up();
      const size_t start = *open.begin();
      open.erase(open.begin());
      state_ = states.at(start);
      for (const auto& [next, has] : run_block(start)) {
        State reached = state_;
        reached.has |= has;
        const auto [found, fresh] = states.try_emplace(next, reached);
        if (fresh || merge(found->second, reached)) open.insert(next);
      }
    }
    if (guards_.asked == 0 && may_escape_ && !tests_) guards_.escapes = true;
    guards_.ensured.merge(arguments_);  // keeps what is known of calls
    return guards_;
  }

 private:
  using Next = std::vector<std::pair<size_t, FeatureSet>>;  // instruction, and what the CPU has on the way there

  Guards give_up() {
    guards_.escapes = true;
    return guards_;
  }

  void decode(std::span<const uint8_t> code) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t at = 0; at < code.size();) {
      Decoded one{.address = begin_ + at};
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

  Next run_block(size_t at) {
    for (;; ++at) {
      const Decoded& one = code_[at];
      if (auto next = leave(one, at)) return std::move(*next);
      run(one);
      if (at + 1 == code_.size()) return {};
      if (starts_.contains(at + 1)) return {{at + 1, 0}};
    }
  }

  // Returns where a jump or a return leads; nullopt for another instruction.
  std::optional<Next> leave(const Decoded& one, size_t at) {
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
        if (to.kind != Value::Kind::addresses && one.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) give_up();
        hand_over(to, true);
        return Next{};
      }
      return follow(*target, 0);
    }
    const auto conditional = find_conditional(mnemonic);
    if (one.instruction.meta.category != ZYDIS_CATEGORY_COND_BR || !target) return std::nullopt;
    const auto [taken, passed] = decide(conditional ? conditional->condition : Condition::other);
    Next next = follow(*target, taken);
    if (at + 1 < code_.size()) next.emplace_back(at + 1, passed);
    return next;
  }

  Next follow(uint64_t target, FeatureSet has) {
    if (const auto found = index_.find(target); found != index_.end()) return {{found->second, has}};
    reach(target, state_.has | has);
    return {};
  }

  void reach(uint64_t target, FeatureSet has) { reach(guards_.ensured, target, has); }

  static void reach(std::map<uint64_t, FeatureSet>& ensured, uint64_t target, FeatureSet has) {
    const auto [found, fresh] = ensured.try_emplace(target, has);
    if (!fresh) found->second &= has;
  }

  // Returns what the CPU has if the condition holds, and if it does not.
  std::pair<FeatureSet, FeatureSet> decide(Condition condition) {
    const Flags& flags = state_.flags;
    if (!flags.known) return {0, 0};
    const auto ask = [&](FeatureSet features, FeatureSet taken, FeatureSet passed) {
      guards_.asked |= features;
      return std::pair(taken, passed);
    };
    switch (condition) {
      case Condition::zero: return ask(flags.all, flags.zero, flags.not_zero);
      case Condition::not_zero: return ask(flags.all, flags.not_zero, flags.zero);
      case Condition::carry: return ask(flags.carry | flags.not_carry, flags.carry, flags.not_carry);
      case Condition::not_carry: return ask(flags.carry | flags.not_carry, flags.not_carry, flags.carry);
      case Condition::sign: return ask(flags.sign, flags.sign, 0);
      case Condition::not_sign: return ask(flags.sign, 0, flags.sign);
      case Condition::other: break;
    }
    guards_.asked |= flags.all;
    guards_.loose = true;
    return {0, 0};
  }

  // Another function, or a later part of this one, gets the value. A register may hold it only because nothing else was
  // written there.
  void hand_over(const Value& value, bool perhaps) {
    if (value.kind == Value::Kind::addresses) {
      for (const auto& [address, has] : value.addresses) reach(address, has | state_.has);
    } else if (value.kind == Value::Kind::mixed) {
      guards_.escapes = guards_.escapes || !perhaps;
    } else if (value.kind == Value::Kind::decision) {
      guards_.loose = guards_.loose || (value.if_true | value.if_false) != 0;
    } else if (is_relevant(value)) {
      const bool single = value.mask != kAll && (value.mask & (value.mask - 1)) == 0;
      if (single) guards_.asked |= list_features(value);
      if (single) guards_.loose = true;
      (perhaps ? may_escape_ : guards_.escapes) |= !single;
    }
  }

  std::optional<uint64_t> find_place(const Decoded& one, const ZydisDecodedOperand& operand) const {
    const auto& memory = operand.mem;
    if (memory.index != ZYDIS_REGISTER_NONE) return std::nullopt;
    const auto displacement = static_cast<uint64_t>(memory.disp.has_displacement ? memory.disp.value : 0);
    if (memory.base == ZYDIS_REGISTER_RIP) return one.address + one.instruction.length + displacement;
    const int base = find_register(memory.base);
    if (base < 0) return std::nullopt;
    const Value& value = state_.registers[static_cast<size_t>(base)];
    if (value.kind != Value::Kind::addresses || value.addresses.size() != 1) return std::nullopt;
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
      Value word = make_word(get_model_bits(first + offset / 4));
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
    if (const auto place = find_place(one, operand)) return narrow(read_place(*place), operand.size, false);
    const auto slot = find_slot(operand);
    const auto found = slot ? state_.slots.find(*slot) : state_.slots.end();
    return found == state_.slots.end() ? Value{} : narrow(found->second, operand.size, false);
  }

  void write(const Decoded& one, size_t index, Value value) {
    const ZydisDecodedOperand& operand = one.operands[index];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
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

  void run(const Decoded& one);
  void run_other(const Decoded& one);
  void run_call(const Decoded& one);
  void run_cpuid();
  void run_lea(const Decoded& one);
  void run_bit_test(const Decoded& one);
  void run_xor(const Decoded& one);
  void run_logic(const Decoded& one, const Value& a, const Value& b, bool writes);
  void run_shift(const Decoded& one, bool right);
  void run_compare(const Value& a, const Value& b);
  bool run_conditional(const Decoded& one);

  const CpuModel& model_;
  uint64_t begin_;
  uint64_t end_;
  std::vector<Decoded> code_;
  std::map<uint64_t, size_t> index_;
  std::set<size_t> starts_;                   // instructions that a branch leads to
  std::set<std::pair<int, int64_t>> shared_;  // slots whose address it takes
  State state_;
  Guards guards_;
  std::map<uint64_t, FeatureSet> arguments_;  // like ensured, for addresses in registers that a callee may read
  bool may_escape_ = false;
  bool tests_ = false;  // bits of an answer, with or without a feature
};

void Reader::run_logic(const Decoded& one, const Value& a, const Value& b, bool writes) {
  using Kind = Value::Kind;
  Value result;
  const Value& word = a.kind == Kind::word ? a : b;
  const Value& other = a.kind == Kind::word ? b : a;
  if (a.kind == Kind::constant && b.kind == Kind::constant) {
    result = make_constant(a.constant & b.constant);
  } else if (a == b && a.kind != Kind::addresses && a.kind != Kind::mixed) {
    result = a;
  } else if (word.kind == Kind::word && other.kind == Kind::constant) {
    result = word;
    tests_ = true;
    const auto bits = static_cast<uint32_t>(other.constant);
    result.mask &= word.shift >= 0 ? bits << word.shift : bits >> -word.shift;
  } else if (a.kind == Kind::decision && b.kind == Kind::decision) {
    result = make_decision(a.if_true | b.if_true, a.if_false & b.if_false);
  } else if (a.kind == Kind::decision && b.kind == Kind::constant) {
    result = a;
  } else {
    hand_over(a, false);
    hand_over(b, false);
  }
  state_.flags = make_flags(result);
  if (writes) write(one, 0, std::move(result));
}

void Reader::run_shift(const Decoded& one, bool right) {
  Value value = read(one, 0);
  const Value by = read(one, 1);
  if (value.kind == Value::Kind::word && by.kind == Value::Kind::constant && by.constant < 32) {
    const auto bits = static_cast<int>(by.constant);
    value.shift += right ? bits : -bits;
    if (right) value.mask &= value.shift < 32 ? kAll << value.shift : 0;
    if (!right && value.shift < 0) value.mask &= kAll >> -value.shift;
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

void Reader::run_compare(const Value& a, const Value& b) {
  using Kind = Value::Kind;
  state_.flags = {};
  if (a.kind == Kind::mixed || b.kind == Kind::mixed) {
    guards_.escapes = true;
  } else if (b.kind == Kind::constant && b.constant == 0) {
    state_.flags = make_flags(a);
  } else if (is_relevant(a) && b.kind == Kind::constant) {
    const FeatureSet all = list_features(a);
    const auto wanted = static_cast<uint32_t>(b.constant);
    const bool each = !a.inverted && a.shift >= 0 && a.mask >> a.shift == wanted;
    state_.flags = {.zero = each ? all : 0, .all = all, .known = true};
  } else if (a.kind == Kind::decision && b.kind == Kind::constant) {
    state_.flags = {.zero = a.if_true, .not_zero = a.if_false, .all = a.if_true | a.if_false, .known = true};
  } else {
    hand_over(a, false);
    hand_over(b, false);
  }
}

bool Reader::run_conditional(const Decoded& one) {
  const auto conditional = find_conditional(one.instruction.mnemonic);
  if (!conditional || conditional->kind == Conditional::Kind::jump) return false;
  const bool known = state_.flags.known;
  const auto [holds, fails] = decide(conditional->condition);
  if (conditional->kind == Conditional::Kind::set) {
    write(one, 0, known ? make_decision(holds, fails) : Value{});
    return true;
  }
  Value kept = read(one, 0);
  Value moved = read(one, 1);
  const bool both = kept.kind == Value::Kind::addresses && moved.kind == Value::Kind::addresses;
  if (!both) {
    if (known) guards_.loose = true;
    hand_over(kept, false);
    hand_over(moved, false);
    write(one, 0, {});
    return true;
  }
  for (auto& [address, has] : kept.addresses) has |= fails | state_.has;
  for (auto& [address, has] : moved.addresses) has |= holds | state_.has;
  merge_addresses(kept.addresses, moved.addresses);
  write(one, 0, std::move(kept));
  return true;
}

void Reader::run_call(const Decoded& one) {
  constexpr size_t kArguments[] = {7, 6, 2, 1, 8, 9};  // rdi, rsi, rdx, rcx, r8, r9
  if (const auto target = find_branch(one)) {
    reach(*target, state_.has);
  } else {
    hand_over(read(one, 0), false);
  }
  for (const size_t i : kArguments) {
    if (state_.registers[i].kind != Value::Kind::addresses) hand_over(state_.registers[i], true);
    for (const auto& [address, has] : state_.registers[i].addresses) reach(arguments_, address, has | state_.has);
  }
  // The compiler knows which registers a callee of the same file leaves alone; it reads no other.
  for (const size_t i : {0, 2}) {  // rax, rdx: the result
    if (state_.registers[i].kind != Value::Kind::addresses) state_.registers[i] = {};
  }
  state_.flags = {};
}

void Reader::run_cpuid() {
  constexpr uint32_t kNoFeatures[] = {0, 2, 3, 4, 5, 6, 0xB, 0x80000000};
  const Value leaf = state_.registers[0];
  const Value subleaf = state_.registers[1];
  const bool plain = leaf.kind == Value::Kind::constant &&
                     std::find(std::begin(kNoFeatures), std::end(kNoFeatures), leaf.constant) != std::end(kNoFeatures);
  const bool single = leaf.kind == Value::Kind::constant && leaf.constant != 7 && leaf.constant != 0xD;
  if (leaf.kind != Value::Kind::constant || (!plain && !single && subleaf.kind != Value::Kind::constant))
    guards_.escapes = true;
  const uint32_t number = static_cast<uint32_t>(leaf.constant);
  const uint32_t part = single ? 0 : static_cast<uint32_t>(subleaf.constant);
  constexpr std::pair<size_t, CpuidRegister> kResults[] = {
      {0, CpuidRegister::eax}, {3, CpuidRegister::ebx}, {1, CpuidRegister::ecx}, {2, CpuidRegister::edx}};
  for (const auto& [reg, name] : kResults) state_.registers[reg] = make_word(get_cpuid_bits(number, part, name));
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
  write(one, 0, place ? make_address(*place, state_.has) : Value{});
}

void Reader::run_bit_test(const Decoded& one) {
  const Value value = read(one, 0);
  const Value bit = read(one, 1);
  state_.flags = {};
  if (value.kind != Value::Kind::word || bit.kind != Value::Kind::constant) return hand_over(value, false);
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
  if (!same && !(a.kind == Value::Kind::decision && b.kind == Value::Kind::constant && b.constant == 1))
    return run_other(one);
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
    case ZYDIS_MNEMONIC_CMP: return run_compare(read(one, 0), read(one, 1));
    case ZYDIS_MNEMONIC_CALL: return run_call(one);
    case ZYDIS_MNEMONIC_CPUID: return run_cpuid();
    case ZYDIS_MNEMONIC_NOT: {
      Value value = read(one, 0);
      if (value.kind == Value::Kind::word && value.mask == kAll) {
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
