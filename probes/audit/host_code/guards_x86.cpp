// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Follows the bits of CPUID and of libgcc's copy of them through all paths of one function, up to a fixed point.
#include <algorithm>

#include "probes/audit/host_code/guard_follower.hpp"
#include "probes/audit/host_code/x86_instruction.hpp"

namespace pbprobe::guards {
namespace {

class Reader : public PathFollower<16> {
 public:
  Reader(std::span<const CodePart> parts, const CpuModel& model) : model_(model) {
    mixed_escapes_ = true;
    for (const auto& part : parts) add(part);
    for (const auto& one : code_) {
      if (const auto target = find_branch(one)) add_start(*target);
    }
  }

  Guards read() { return follow({}, code_.size()); }

 private:
  void add(const CodePart& part) {
    const size_t first = code_.size();
    if (!decode_into(code_, part.code, part.address, kMostInstructions)) guards_.escapes = true;
    for (size_t i = first; i < code_.size(); ++i) index_.emplace(code_[i].address, i);
    end_part(part, code_.size());
  }

  bool is_padding(size_t at) const override {
    const ZydisMnemonic mnemonic = code_[at].instruction.mnemonic;
    return mnemonic == ZYDIS_MNEMONIC_NOP || mnemonic == ZYDIS_MNEMONIC_INT3 || mnemonic == ZYDIS_MNEMONIC_UD2;
  }

  std::optional<Next> leave(size_t at) override {
    const Decoded& one = code_[at];
    switch (one.instruction.mnemonic) {
      case ZYDIS_MNEMONIC_RET: hand_over_result(state_.registers[0]); return Next{};
      case ZYDIS_MNEMONIC_UD2:
      case ZYDIS_MNEMONIC_HLT:
      case ZYDIS_MNEMONIC_INT3: return Next{};
      case ZYDIS_MNEMONIC_JMP: return leave_jump(at);
      case ZYDIS_MNEMONIC_CALL: {
        const auto target = find_branch(one);
        const bool returns = !target || !model_.never_returns || !model_.never_returns(*target);
        return leave_call(at, one.address + one.instruction.length - 1, returns);
      }
      default: break;
    }
    const auto target = find_branch(one);
    if (one.instruction.meta.category != ZYDIS_CATEGORY_COND_BR || !target) return std::nullopt;
    const auto conditional = find_conditional(one.instruction.mnemonic);
    const auto [taken, passed] = decide(state_.flags, conditional ? conditional->condition : Condition::other);
    Next next = follow_branch(at, *target, taken);
    if (!ends_.contains(at)) next.emplace_back(at + 1, passed);
    return next;
  }

  std::optional<Next> leave_jump(size_t at) {
    const Decoded& one = code_[at];
    if (const auto target = find_branch(one)) return follow_branch(at, *target, 0);
    const Value to = read(one, 0);
    if (to.kind == Kind::case_address) {
      Next cases = read_cases(to, count_cases(code_, at), model_.read_memory);
      if (!cases.empty()) return cases;
    }
    // A tail call through a pointer.
    hand_over(to, true);
    hand_over_arguments();
    return Next{};
  }

  // Returns the address of the table from which an operand with an index reads an entry.
  std::optional<uint64_t> find_table(const ZydisDecodedOperand& operand) const {
    const auto& memory = operand.mem;
    if (memory.index == ZYDIS_REGISTER_NONE) return std::nullopt;
    const auto displacement = static_cast<uint64_t>(memory.disp.has_displacement ? memory.disp.value : 0);
    if (memory.base == ZYDIS_REGISTER_NONE) return displacement == 0 ? std::nullopt : std::optional(displacement);
    for (const ZydisRegister name : {memory.base, memory.index}) {
      const int reg = find_register(name);
      if (reg < 0 || (name == memory.index && memory.scale != 1)) continue;
      const Value& value = state_.registers[static_cast<size_t>(reg)];
      if (value.kind == Kind::addresses && value.addresses.size() == 1)
        return value.addresses.begin()->first + displacement;
    }
    return std::nullopt;
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
    if (const auto table = find_table(operand); table && operand.size == 32)
      return make_entry(Kind::offset, *table, operand.size);
    if (const auto table = find_table(operand); table && operand.size == 64)
      return make_entry(Kind::case_address, *table, operand.size);
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
  void run_add(const Decoded& one);
  void run_extension(const Decoded& one, size_t from);
  void hand_over_arguments();
  void run_logic(const Decoded& one, const Value& a, const Value& b, bool writes);
  void run_shift(const Decoded& one, bool right);
  bool run_conditional(const Decoded& one);

  const CpuModel& model_;
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

void Reader::hand_over_arguments() {
  for (const size_t i : {7, 6, 2, 1, 8, 9}) hand_over_argument(state_.registers[i]);  // rdi, rsi, rdx, rcx, r8, r9
}

void Reader::run_call(const Decoded& one) {
  const auto target = find_branch(one);
  if (target)
    reach(*target, state_.has);
  else
    hand_over(read(one, 0), false);
  hand_over_arguments();
  // The compiler knows which registers a callee of the same file leaves alone.
  const uint16_t overwritten = target && model_.find_overwritten ? model_.find_overwritten(*target) : kCallerSaved;
  for (size_t i = 0; i < state_.registers.size(); ++i) {
    const bool kept = ((overwritten >> i) & 1U) == 0 && i != 0;  // rax: the result
    if (!kept) state_.registers[i] = {};
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

// Adds the address of a table to an entry.
void Reader::run_add(const Decoded& one) {
  const Value a = read(one, 0);
  const Value b = read(one, 1);
  const Value& entry = a.kind == Kind::offset ? a : b;
  const Value& table = a.kind == Kind::offset ? b : a;
  if (entry.kind != Kind::offset || table.kind != Kind::addresses || !table.addresses.contains(entry.constant))
    return run_other(one);
  state_.flags = {};
  Value address = make_entry(Kind::case_address, entry.constant, entry.width);
  address.addresses.emplace(entry.constant, 0);
  write(one, 0, std::move(address));
}

// Extends the sign of an entry to 64 bits.
void Reader::run_extension(const Decoded& one, size_t from) {
  Value value = read(one, from);
  if (value.kind == Kind::offset) return write(one, 0, std::move(value));
  run_other(one);
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
    case ZYDIS_MNEMONIC_ADD: return run_add(one);
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_CDQE: return run_extension(one, 1);
    default: return run_other(one);
  }
}

}  // namespace
}  // namespace pbprobe::guards

namespace pbprobe {

Guards read_guards_x86(std::span<const CodePart> parts, const CpuModel& model) {
  return guards::Reader(parts, model).read();
}

CallEffects read_call_effects(std::span<const uint8_t> code, uint64_t address) {
  constexpr size_t kMostInstructions = 1000;  // a longer function calls others, which may overwrite all
  std::vector<guards::Decoded> instructions;
  CallEffects effects;
  effects.unknown = !guards::decode_into(instructions, code, address, kMostInstructions);
  for (const auto& one : instructions) {
    const bool call = one.instruction.meta.category == ZYDIS_CATEGORY_CALL;
    const auto target = guards::find_branch(one);
    if (target && (call || *target - address >= code.size())) effects.calls.push_back(*target);
    const bool jump = one.instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
    const bool system = one.instruction.meta.category == ZYDIS_CATEGORY_SYSCALL;
    effects.unknown = effects.unknown || system || (!target && (call || jump));
    for (size_t i = 0; i < one.instruction.operand_count; ++i) {
      const ZydisDecodedOperand& operand = one.operands[i];
      const bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
      const int reg =
          writes && operand.type == ZYDIS_OPERAND_TYPE_REGISTER ? guards::find_register(operand.reg.value) : -1;
      if (reg >= 0) effects.overwritten |= static_cast<uint16_t>(1U << static_cast<unsigned>(reg));
    }
  }
  return effects;
}

}  // namespace pbprobe
