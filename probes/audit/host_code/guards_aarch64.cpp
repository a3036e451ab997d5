// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Follows AT_HWCAP and AT_HWCAP2 through all paths of one function.
#include <sys/auxv.h>

#include <cstring>

#include "probes/audit/host_code/aarch64_anchor.hpp"
#include "probes/audit/host_code/aarch64_fields.hpp"
#include "probes/audit/host_code/guard_follower.hpp"

namespace pbprobe::guards {
namespace {

class Aarch64Reader : public PathFollower<32> {
 public:
  Aarch64Reader(std::span<const CodePart> parts, bool resolver, const HwcapSources& sources)
      : sources_(sources), resolver_(resolver) {
    for (const auto& part : parts) {
      for (size_t i = 0; i + 4 <= part.code.size() && words_.size() < kMostInstructions; i += 4) {
        index_.emplace(part.address + i, words_.size());
        addresses_.push_back(part.address + i);
        std::memcpy(&words_.emplace_back(), part.code.data() + i, 4);
      }
      end_part(part, words_.size());
    }
    guards_.escapes = words_.size() == kMostInstructions;
    for (size_t at = 0; at < words_.size(); ++at) {
      if (const auto target = find_branch(words_[at], addresses_[at])) add_start(*target);
    }
  }

  Guards read() {
    State<32> entry;
    entry.registers[kStackPointer].kind = Kind::stack;
    if (resolver_) {
      entry.registers[0] = make_word(get_hwcap_bits(AT_HWCAP), 64);
      entry.registers[1].kind = Kind::argument;
    }
    return follow(std::move(entry), words_.size());
  }

 private:
  bool is_padding(size_t at) const override {
    constexpr uint32_t kNop = 0xD503201F;
    return words_[at] == kNop || is_trap(words_[at]);
  }

  std::optional<Next> leave(size_t at) override {
    const uint32_t word = words_[at];
    const uint64_t address = addresses_[at];
    if (is_call(word)) {
      const bool direct = is_in(word, 0xFC000000, 0x94000000);
      const bool returns = !direct || !sources_.never_returns(address + read_signed(word, 0, 26) * 4);
      return leave_call(at, address + 3, returns);
    }
    if (is_in(word, 0xFE000000, 0xD6000000)) return leave_by_register(at);
    if (is_trap(word)) return Next{};
    const auto target = find_branch(word, address);
    if (!target) return std::nullopt;
    if (is_in(word, 0xFC000000, 0x14000000)) {
      if (sources_.calls_getauxval(*target)) guards_.escapes = true;
      return follow_branch(at, *target, 0);
    }
    const auto [taken, passed] = decide_branch(word);
    Next next = follow_branch(at, *target, taken);
    if (!ends_.contains(at)) next.emplace_back(at + 1, passed);
    return next;
  }

  // br, ret.
  Next leave_by_register(size_t at) {
    const Value& to = state_.registers[read_bits(words_[at], 5, 5)];
    if (read_bits(words_[at], 21, 2) == 2) {
      hand_over_result(state_.registers[0]);
      return {};
    }
    if (to.kind == Kind::case_address) {
      Next cases = read_cases(to, count_cases(words_, at), sources_.read_memory);
      if (!cases.empty()) return cases;
    }
    // A tail call through a pointer.
    hand_over(to, true);
    for (uint32_t i = 0; i < 8; ++i) hand_over_argument(state_.registers[i]);
    return {};
  }

  std::pair<FeatureSet, FeatureSet> decide_branch(uint32_t word) {
    const bool inverse = read_bits(word, 24, 1) != 0;
    const Value value = get(read_bits(word, 0, 5), read_bits(word, 31, 1) != 0);
    const auto is_not_zero = inverse ? Condition::not_zero : Condition::zero;
    if (is_in(word, 0x7E000000, 0x34000000)) return decide(make_flags(value), is_not_zero);
    if (is_in(word, 0x7E000000, 0x36000000)) {
      const uint32_t bit = read_bits(word, 31, 1) << 5U | read_bits(word, 19, 5);
      const Value tested = get(read_bits(word, 0, 5), true);
      if (tested.kind == Kind::decision && bit != 0) return {0, 0};
      return decide(make_flags(combine(tested, make_constant(uint64_t{1} << bit))), is_not_zero);
    }
    return decide(state_.flags, decode_condition(word));
  }

  // Returns the register's value as an operand; number 31 is zero.
  [[nodiscard]] Value get(uint32_t number, bool wide) const {
    if (number == 31) return make_constant(0);
    const Value& value = state_.registers[number];
    return wide ? value : narrow(value, 32, false);
  }

  void set(uint32_t number, Value value) {
    if (number != 31) state_.registers[number] = std::move(value);
  }

  void run(size_t at) override;
  void run_immediate(uint32_t word, uint64_t address);
  void run_add(uint32_t word);
  void run_bits(uint32_t word);
  void run_register(uint32_t word);
  void run_logic(uint32_t word, Value a, Value b);
  void run_select(uint32_t word);
  void run_compare_again(uint32_t word);
  void run_call(uint32_t word, uint64_t address);
  void run_access(const Access& access, uint32_t word);
  void run_vector(uint32_t word);
  void load(uint32_t to, const Access& access, const Value& base, uint64_t offset);
  void store(const Value& value, const Access& access, const Value& base, uint64_t offset);
  Value load_place(uint64_t place, const Access& access);

  const HwcapSources& sources_;
  bool resolver_;
  std::vector<uint32_t> words_;
  std::vector<uint64_t> addresses_;  // one for each word
  size_t at_ = 0;                    // word that runs
  bool kept_ = false;                // the last store keeps an answer at a known place
  std::set<int64_t> shared_;         // stack slots whose address it takes
};

void Aarch64Reader::run(size_t at) {
  const uint32_t word = words_[at];
  at_ = at;
  if (is_call(word)) return run_call(word, addresses_[at]);
  if (is_in(word, 0x1C000000, 0x10000000)) return run_immediate(word, addresses_[at]);
  if (is_in(word, 0x0E000000, 0x0A000000)) return run_register(word);
  if (is_in(word, 0x0A000000, 0x08000000)) {
    if (const auto access = decode_access(word)) return run_access(*access, word);
    if (read_bits(word, 26, 1) != 0) return;
    // Exclusive and ordered accesses: the registers that they may write are unknown.
    hand_over(get(read_bits(word, 0, 5), true), false);
    hand_over(get(read_bits(word, 5, 5), true), false);
    set(read_bits(word, 0, 5), {});
    set(read_bits(word, 16, 5), {});
  } else if (is_in(word, 0x0E000000, 0x0E000000) || is_in(word, 0x1E000000, 0x04000000)) {
    run_vector(word);
  } else if (is_in(word, 0xFFF00000, 0xD5300000)) {  // mrs
    set(read_bits(word, 0, 5), {});
  }
}

void Aarch64Reader::run_immediate(uint32_t word, uint64_t address) {
  const uint32_t to = read_bits(word, 0, 5);
  const bool wide = read_bits(word, 31, 1) != 0;
  const uint64_t near = read_signed(word, 5, 19) << 2U | read_bits(word, 29, 2);
  const uint32_t kind = read_bits(word, 23, 3);
  if (is_in(word, 0x9F000000, 0x10000000)) return set(to, name_address(address + near));
  if (is_in(word, 0x9F000000, 0x90000000)) {
    Value page;
    page.kind = Kind::page;
    page.constant = (address & ~uint64_t{0xFFF}) + (near << 12U);
    return set(to, std::move(page));
  }
  if (kind == 2) return run_add(word);
  if (kind == 4) return run_logic(word, get(read_bits(word, 5, 5), wide), make_constant(decode_mask(word)));
  if (kind == 5) return set(to, move_constant(word, get(to, wide)));
  if (kind == 6) return run_bits(word);
  hand_over(get(read_bits(word, 5, 5), wide), false);  // extr, tags
  hand_over(get(read_bits(word, 16, 5), wide), false);
  set(to, {});
}

// add, sub, cmp, cmn with a constant.
void Aarch64Reader::run_add(uint32_t word) {
  const uint32_t to = read_bits(word, 0, 5);
  const uint32_t from = read_bits(word, 5, 5);
  const bool wide = read_bits(word, 31, 1) != 0;
  const bool subtracts = read_bits(word, 30, 1) != 0;
  const bool sets_flags = read_bits(word, 29, 1) != 0;
  const uint64_t number = uint64_t{read_bits(word, 10, 12)} << (read_bits(word, 22, 1) * 12);
  const uint64_t change = subtracts ? ~number + 1 : number;
  const Value value = from == kStackPointer ? state_.registers[from] : get(from, wide);
  if (sets_flags) state_.flags = subtracts ? compare(value, make_constant(number)) : Flags{};
  if (sets_flags && to == 31) return;
  Value result;
  if (value.kind == Kind::stack) {
    result = value;
    result.constant += change;
    // Another register may pass on the address of a slot.
    const bool frame = to == kStackPointer || to == 29;
    if (!frame) {
      shared_.insert(static_cast<int64_t>(result.constant));
      state_.slots.erase({0, static_cast<int64_t>(result.constant)});
    }
  } else if (value.kind == Kind::constant) {
    result = make_constant((value.constant + change) & make_ones(wide ? 64 : 32));
  } else if (value.kind == Kind::page) {
    result = make_address(value.constant + change, state_.has);
  } else if (value.kind == Kind::addresses) {
    for (const auto& [target, has] : value.addresses) result.addresses.emplace(target + change, has);
    result.kind = Kind::addresses;
  } else if (number == 0) {
    result = value;
  } else {
    hand_over(value, false);
  }
  const std::span<const uint32_t> rest = std::span(words_).subspan(at_ + 1);
  const auto* bytes = reinterpret_cast<const uint8_t*>(rest.data());
  if (result.kind == Kind::addresses && !is_anchor({bytes, rest.size_bytes()}, to)) {
    for (const auto& [target, has] : result.addresses) keep_least(named_, target, has);
  }
  state_.registers[to] = std::move(result);
}

// ubfm: lsr, lsl, ubfx, uxtb. sbfm and bfm are not followed.
void Aarch64Reader::run_bits(uint32_t word) {
  const uint32_t to = read_bits(word, 0, 5);
  const bool wide = read_bits(word, 31, 1) != 0;
  const int size = wide ? 64 : 32;
  const auto low = static_cast<int>(read_bits(word, 16, 6));
  const auto high = static_cast<int>(read_bits(word, 10, 6));
  Value value = get(read_bits(word, 5, 5), wide);
  const bool sign = is_in(word, 0x60000000, 0);
  if (value.kind == Kind::decision && low == 0 && (sign || is_in(word, 0x60000000, 0x40000000)))
    return set(to, std::move(value));
  if (!is_in(word, 0x60000000, 0x40000000) || (value.kind != Kind::word && value.kind != Kind::constant)) {
    hand_over(value, false);
    return set(to, {});
  }
  const uint64_t bits = make_ones(high + 1) & ~make_ones(high >= low ? low : 0);
  const int by = high >= low ? low : size - low;
  if (value.kind == Kind::constant) {
    value.constant = move_bits(value.constant & bits, high >= low ? -by : by) & make_ones(size);
  } else {
    tests_ = tests_ || high - low < 31;
    value = shift_word(mask_word(value, bits), by, high >= low);
  }
  set(to, std::move(value));
}

void Aarch64Reader::run_register(uint32_t word) {
  const bool wide = read_bits(word, 31, 1) != 0;
  const Value a = get(read_bits(word, 5, 5), wide);
  Value b = get(read_bits(word, 16, 5), wide);
  const uint32_t to = read_bits(word, 0, 5);
  if (is_in(word, 0x1F000000, 0x0A000000) && read_bits(word, 10, 6) == 0) return run_logic(word, a, std::move(b));
  if (is_in(word, 0x1FE00000, 0x1A800000)) return run_select(word);
  if (is_in(word, 0x3FE00000, 0x3A400000)) return run_compare_again(word);
  if (is_in(word, 0x7F20FC1F, 0x6B00001F)) {  // cmp
    state_.flags = compare(a, b);
    return;
  }
  const bool adds = is_in(word, 0x1F000000, 0x0B000000);
  if (auto address = add_entry(word, a, b)) return set(to, std::move(*address));
  hand_over(a, false);
  hand_over(b, false);
  if (is_in(word, 0x1F000000, 0x1B000000)) hand_over(get(read_bits(word, 10, 5), wide), false);
  const bool logic = is_in(word, 0x1F000000, 0x0A000000) && is_in(word, 0x60000000, 0x60000000);
  if (logic || (adds && read_bits(word, 29, 1) != 0)) state_.flags = {};
  if (is_in(word, 0x3F20001F, 0x0B20001F)) state_.registers[kStackPointer] = {};  // alloca()
  if (is_in(word, 0x1FE00000, 0x1A000000)) state_.flags = {};                     // adc, sbc, rmif, setf
  set(to, {});
}

// and, orr, eor, ands, and with the second operand inverted: bic, orn, eon, bics.
void Aarch64Reader::run_logic(uint32_t word, Value a, Value b) {
  const bool wide = read_bits(word, 31, 1) != 0;
  const bool immediate = is_in(word, 0x1C000000, 0x10000000);
  const uint32_t to = read_bits(word, 0, 5);
  const uint32_t kind = read_bits(word, 29, 2);
  const uint64_t ones = make_ones(wide ? 64 : 32);
  if (b.kind == Kind::constant) b.constant &= ones;
  if (!immediate && read_bits(word, 21, 1) != 0) {  // inverts b
    auto inverted = invert(b, ones);
    if (!inverted) hand_over(b, false);
    b = inverted.value_or(Value{});
  }
  const bool zero = a.kind == Kind::constant && a.constant == 0;
  Value result;
  if (kind == 0 || kind == 3) {
    result = combine(a, b);
  } else if (zero) {
    result = b;  // mov, mvn
  } else if (b.kind == Kind::constant && b.constant == 0) {
    result = a;
  } else if (a.kind == Kind::constant && b.kind == Kind::constant) {
    result = make_constant(kind == 1 ? a.constant | b.constant : a.constant ^ b.constant);
  } else if (kind == 1 && a.kind == Kind::decision && b.kind == Kind::decision) {
    result = make_decision(a.if_true & b.if_true, a.if_false | b.if_false);
  } else if (kind == 2 && a.kind == Kind::word && b.kind == Kind::constant) {
    result = flip_word(a, b.constant);
  } else if (kind == 2 && a.kind == Kind::decision && b.kind == Kind::constant && b.constant == 1) {
    result = make_decision(a.if_false, a.if_true);
  } else {
    hand_over(a, false);
    hand_over(b, false);
  }
  if (kind == 3) state_.flags = make_flags(result);
  if (immediate && kind != 3 && to == kStackPointer) return;  // aligns the stack
  set(to, std::move(result));
}

// csel, csinc, csinv, csneg.
void Aarch64Reader::run_select(uint32_t word) {
  const bool wide = read_bits(word, 31, 1) != 0;
  const bool known = state_.flags.known;
  const uint64_t ones = make_ones(wide ? 64 : 32);
  const auto [holds, fails] = decide(state_.flags, decode_condition(read_bits(word, 12, 4)));
  const Value first = get(read_bits(word, 5, 5), wide);
  Value second = get(read_bits(word, 16, 5), wide);
  const bool inverts = read_bits(word, 30, 1) != 0;
  const bool increments = read_bits(word, 10, 1) != 0;
  if (inverts || increments) {
    const uint64_t changed = (inverts ? ~second.constant : second.constant) + (increments ? 1 : 0);
    if (second.kind != Kind::constant) hand_over(second, false);
    second = second.kind == Kind::constant ? make_constant(changed & ones) : Value{};
  }
  const FeatureSet has = state_.has;
  Value result = merge(strengthen(first, holds | has), holds | has, strengthen(second, fails | has), fails | has);
  const bool lost = result.kind == Kind::unknown || result.kind == Kind::mixed;
  if (lost) {
    if (known) guards_.loose = true;
    hand_over(first, false);
    hand_over(second, false);
  }
  set(read_bits(word, 0, 5), std::move(result));
}

// ccmp, ccmn: compares if the condition holds, and else sets the flags to a constant.
void Aarch64Reader::run_compare_again(uint32_t word) {
  const bool wide = read_bits(word, 31, 1) != 0;
  const auto [holds, fails] = decide(state_.flags, decode_condition(read_bits(word, 12, 4)));
  const Value a = get(read_bits(word, 5, 5), wide);
  const Value b =
      read_bits(word, 11, 1) != 0 ? make_constant(read_bits(word, 16, 5)) : get(read_bits(word, 16, 5), wide);
  const bool known = state_.flags.known;
  const bool negated = read_bits(word, 30, 1) == 0;  // ccmn
  if (negated) hand_over(a, false);
  const Flags compared = negated && !(b.kind == Kind::constant && b.constant == 0) ? Flags{} : compare(a, b);
  const FeatureSet zero = compared.known ? compared.zero : 0;
  const FeatureSet not_zero = compared.known ? compared.not_zero : 0;
  const bool else_zero = (word & 4U) != 0;
  state_.flags = {.zero = else_zero ? fails & (zero | holds) : zero | holds,
                  .not_zero = else_zero ? not_zero | holds : fails & (not_zero | holds),
                  .all = compared.all,
                  .known = known || compared.known};
}

void Aarch64Reader::run_call(uint32_t word, uint64_t address) {
  bool asks = false;
  if (is_in(word, 0xFC000000, 0x94000000)) {
    const uint64_t target = address + read_signed(word, 0, 26) * 4;
    asks = sources_.calls_getauxval(target);
    reach(target, state_.has);
  } else {
    hand_over(state_.registers[read_bits(word, 5, 5)], false);
  }
  const Value entry = state_.registers[0];
  for (uint32_t i = 0; i < 8; ++i) hand_over_argument(state_.registers[i]);
  // The compiler knows which registers a callee of the same file leaves alone; it reads no other.
  for (const size_t i : {0, 1}) state_.registers[i] = {};
  state_.flags = {};
  if (!asks) return;
  if (entry.kind != Kind::constant)
    guards_.escapes = true;
  else if (entry.constant == AT_HWCAP || entry.constant == AT_HWCAP2)
    state_.registers[0] = make_word(get_hwcap_bits(entry.constant), 64);
}

// Moves between vector registers and others.
void Aarch64Reader::run_vector(uint32_t word) {
  const uint32_t to = read_bits(word, 0, 5);
  const bool converts = is_in(word, 0x5F20FC00, 0x1E200000);
  const bool inserts = is_in(word, 0xBFE0FC00, 0x0E000C00) || is_in(word, 0xFFE0FC00, 0x4E001C00);  // dup, ins
  const bool extracts = is_in(word, 0xBFE0F400, 0x0E002400);                                        // umov, smov
  const bool scalable = is_in(word, 0x1E000000, 0x04000000);
  if (scalable) state_.flags = {};
  if (converts || inserts || scalable) hand_over(get(read_bits(word, 5, 5), true), false);
  const bool to_vector = converts && ((word >> 16U) & 7U) == 7 && (word & 0x00180000) == 0;
  if (extracts || scalable || (converts && !to_vector)) set(to, {});
  if (is_in(word, 0x5F200C00, 0x1E200400) || is_in(word, 0xFF20FC07, 0x1E202000)) state_.flags = {};  // fccmp, fcmp
}

void Aarch64Reader::run_access(const Access& access, uint32_t word) {
  Value base = state_.registers[access.base];
  const bool moves = access.writes_back && access.offset;
  if (!access.offset) {
    hand_over(base, false);
    hand_over(get(read_bits(word, 16, 5), true), false);
    if (auto entry = read_entry(word, access, base)) return set(read_bits(word, 0, 5), std::move(*entry));
    base = {};
  }
  const uint64_t offset = access.after ? 0 : access.offset.value_or(0);
  if (moves) {
    Value moved = base;
    if (moved.kind == Kind::stack) {
      moved.constant += *access.offset;
    } else {
      hand_over(moved, false);
      moved = {};
    }
    state_.registers[access.base] = std::move(moved);
  }
  const uint32_t registers[] = {read_bits(word, 0, 5), read_bits(word, 10, 5)};
  for (uint32_t i = 0; i < access.registers; ++i) {
    const uint64_t at = offset + i * access.bytes;
    if (access.loads) {
      load(registers[i], access, base, at);
    } else {
      kept_ = false;
      store(access.vector ? Value{} : get(registers[i], access.bytes == 8), access, base, at);
      if (kept_ && registers[i] != 31) state_.registers[registers[i]].kept = true;
    }
  }
  if (!access.plain && !access.loads) set(registers[0], {});
}

void Aarch64Reader::load(uint32_t to, const Access& access, const Value& base, uint64_t offset) {
  Value value;
  if (base.kind == Kind::stack) {
    const auto slot = state_.slots.find({0, static_cast<int64_t>(base.constant + offset)});
    if (slot != state_.slots.end()) value = narrow(slot->second, static_cast<int>(access.bytes * 8), false);
  } else if (base.kind == Kind::argument) {
    constexpr uint64_t kFirst = 8;  // __ifunc_arg_t: size, AT_HWCAP, AT_HWCAP2
    if (offset == kFirst || offset == 2 * kFirst)
      value = make_word(get_hwcap_bits(offset == kFirst ? AT_HWCAP : AT_HWCAP2), 64);
    else if (offset != 0)
      guards_.escapes = true;
  } else if (base.kind == Kind::page) {
    value = load_place(base.constant + offset, access);
  } else if (base.kind == Kind::addresses && base.addresses.size() == 1) {
    value = load_place(base.addresses.begin()->first + offset, access);
  } else {
    hand_over(base, false);
  }
  if (access.vector) return hand_over(value, false);
  set(to, access.plain ? std::move(value) : Value{});
}

Value Aarch64Reader::load_place(uint64_t place, const Access& access) {
  touch(place, access.bytes);
  for (uint64_t at = 8; at < access.bytes; at += 8) {
    if (const auto pointer = sources_.read_pointer(place + at)) reach(*pointer, state_.has);
  }
  if (access.bytes >= 8) {
    if (const auto pointer = sources_.read_pointer(place)) return make_address(*pointer, state_.has);
  }
  const auto answer = sources_.read_answer(place);
  if (!answer) return {};
  if (!answer->known || access.bytes > answer->bytes) {
    guards_.loose = true;
    return {};
  }
  guards_.reads_answer = true;
  return narrow(load_answer(*answer), static_cast<int>(access.bytes * 8), false);
}

void Aarch64Reader::store(const Value& value, const Access& access, const Value& base, uint64_t offset) {
  if (base.kind == Kind::stack) {
    const auto slot = static_cast<int64_t>(base.constant + offset);
    for (uint64_t at = 0; at < access.bytes; ++at) state_.slots.erase({0, slot + static_cast<int64_t>(at)});
    if (access.vector || shared_.contains(slot)) return hand_over(value, false);
    state_.slots[{0, slot}] = value;
    return;
  }
  const bool single = base.kind == Kind::addresses && base.addresses.size() == 1;
  if (base.kind != Kind::page && !single) {
    hand_over(base, false);
    return hand_over(value, false);
  }
  const uint64_t place = (single ? base.addresses.begin()->first : base.constant) + offset;
  touch(place, access.bytes);
  if (value.kind == Kind::constant && value.constant == 0) return;  // proves no feature
  if (value.kind == Kind::addresses) return hand_over(value, false);
  const StoredAnswer answer = store_answer(value, access.bytes);
  guards_.asked |= answer.if_true | answer.if_false;
  guards_.keeps_answer = guards_.keeps_answer || answer.bits != nullptr;
  if (!answer.known) hand_over(value, false);
  kept_ = answer.known;
  const auto [found, fresh] = guards_.stored.try_emplace(place, answer);
  if (!fresh && !(found->second == answer)) found->second.known = false;
}

}  // namespace
}  // namespace pbprobe::guards

namespace pbprobe {

Guards read_guards_aarch64(std::span<const CodePart> parts, bool resolver, const HwcapSources& sources) {
  return guards::Aarch64Reader(parts, resolver, sources).read();
}

}  // namespace pbprobe
