// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Follows values through all paths of one function, up to a fixed point. Each processor adds its instructions.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "probes/audit/host_code/guard_values.hpp"

namespace pbprobe::guards {

inline constexpr size_t kMostInstructions = 20'000;
inline constexpr size_t kMostVisits = 200'000;  // limit for blocks

// Follows all paths of one function, with the features that the CPU has on each. Subclasses know the instructions.
template <size_t kRegisters>
class PathFollower {
 public:
  virtual ~PathFollower() = default;
  PathFollower(const PathFollower&) = delete;
  PathFollower& operator=(const PathFollower&) = delete;

 protected:
  using Kind = Value::Kind;
  using Next = std::vector<std::pair<size_t, FeatureSet>>;  // instruction, and what the CPU has on the way there

  PathFollower() = default;

  // Returns where a jump or a return leads; nullopt for another instruction.
  virtual std::optional<Next> leave(size_t at) = 0;
  virtual void run(size_t at) = 0;

  virtual bool is_padding(size_t at) const = 0;

  // Adds the landing pads of a part, and its end: `count` instructions are known now.
  void end_part(const CodePart& part, size_t count) {
    if (count > 0) ends_.insert(count - 1);
    sites_.insert(sites_.end(), part.sites.begin(), part.sites.end());
  }

  void add_start(uint64_t address) {
    if (const auto found = index_.find(address); found != index_.end()) starts_.insert(found->second);
  }

  // Call once, with the state at the first of `count` instructions.
  Guards follow(State<kRegisters> entry, size_t count) {
    if (count == 0) return std::move(guards_);
    visited_.resize(count);
    for (const auto& site : sites_) add_start(site.pad);
    size_t visits = 0;
    for (std::optional<size_t> first = 0; first; first = find_unreached()) {
      starts_.insert(*first);
      states_.insert_or_assign(*first, std::exchange(entry, {}));
      if (!follow_paths(*first, count, visits)) {
        guards_.escapes = true;
        return std::move(guards_);
      }
    }
    if (guards_.asked == 0 && may_escape_ && !tests_) guards_.escapes = true;
    guards_.ensured.merge(arguments_);  // keeps what is known of calls
    guards_.ensured.merge(named_);
    return std::move(guards_);
  }

  // Follows a branch. A part that is a function of its own counts as called.
  Next follow_branch(size_t at, uint64_t target, FeatureSet has) {
    const auto found = index_.find(target);
    const bool inside = found != index_.end();
    if (!inside || ends_.lower_bound(at) != ends_.lower_bound(found->second)) reach(target, state_.has | has);
    return inside ? Next{{found->second, has}} : Next{};
  }

  // Follows a call with the last byte `last`. Returns nullopt if only the next instruction follows the call.
  std::optional<Next> leave_call(size_t at, uint64_t last, bool returns) {
    const bool ends = !returns || ends_.contains(at);
    const auto site =
        std::ranges::find_if(sites_, [&](const CallSite& range) { return last >= range.begin && last < range.end; });
    if (!ends && site == sites_.end()) return std::nullopt;
    run(at);
    Next next = site == sites_.end() ? Next{} : follow_branch(at, site->pad, 0);
    if (!ends) next.emplace_back(at + 1, 0);
    return next;
  }

  // Reads the table of a switch, up to `count` cases or the first entry that leads out of the function.
  Next read_cases(const Value& to, std::optional<uint64_t> count, const ReadMemory& read) {
    Next cases;
    const uint64_t bytes = static_cast<uint64_t>(to.width) / 8;
    for (uint64_t i = 0; !count || i < *count; ++i) {
      const uint64_t place = to.constant + i * bytes;
      if (i > 0 && !count && named_.contains(place)) break;  // another table
      const auto entry = read ? read(place, bytes) : std::nullopt;
      if (!entry) break;
      const uint64_t offset = (to.mask == 0 ? *entry : *entry & to.mask) << to.shift;
      const auto found = index_.find(to.addresses.empty() ? *entry : to.addresses.begin()->first + offset);
      if (found == index_.end()) break;
      starts_.insert(found->second);
      cases.emplace_back(found->second, 0);
    }
    return cases;
  }

  void reach(uint64_t target, FeatureSet has) { keep_least(guards_.ensured, target, has); }

  static void keep_least(std::map<uint64_t, FeatureSet>& ensured, uint64_t target, FeatureSet has) {
    const auto [found, fresh] = ensured.try_emplace(target, has);
    if (!fresh) found->second &= has;
  }

  // Makes the address that an instruction forms. An address that is lost later counts from here on.
  Value name_address(uint64_t address) {
    keep_least(named_, address, state_.has);
    return make_address(address, state_.has);
  }

  // Records what the CPU has when code reads or writes `bytes` of a known place.
  void touch(uint64_t place, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += 8) reach(place + at, state_.has);
  }

  // Returns what the CPU has if the condition holds, and if it does not.
  std::pair<FeatureSet, FeatureSet> decide(const Flags& flags, Condition condition) {
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
    if (value.kind == Kind::addresses) {
      for (const auto& [address, has] : value.addresses) reach(address, has | state_.has);
    } else if (value.kept && perhaps) {
      return;
    } else if (value.kind == Kind::mixed) {
      guards_.escapes = guards_.escapes || (!perhaps && mixed_escapes_);
    } else if (value.kind == Kind::decision) {
      guards_.loose = guards_.loose || (value.if_true | value.if_false) != 0;
    } else if (is_relevant(value)) {
      const bool single = !is_whole(value) && is_single_bit(value);
      if (single) guards_.asked |= list_features(value);
      if (single) guards_.loose = true;
      (perhaps ? may_escape_ : guards_.escapes) |= !single;
    }
  }

  // The caller may get the value as a result. A decision in it does not change the paths of this function.
  void hand_over_result(const Value& value) {
    const bool single = is_relevant(value) && !is_whole(value) && is_single_bit(value);
    if (single) guards_.asked |= list_features(value);
    if (!single && value.kind != Kind::decision) hand_over(value, true);
  }

  void hand_over_argument(const Value& value) {
    if (value.kind != Kind::addresses) hand_over(value, true);
    for (const auto& [address, has] : value.addresses) keep_least(arguments_, address, has | state_.has);
  }

  // Combines two values bit by bit with AND.
  Value combine(const Value& a, const Value& b) {
    const Value& word = a.kind == Kind::word ? a : b;
    const Value& other = a.kind == Kind::word ? b : a;
    if (a.kind == Kind::constant && b.kind == Kind::constant) return make_constant(a.constant & b.constant);
    if (a == b && a.kind != Kind::addresses && a.kind != Kind::mixed) return a;
    if (word.kind == Kind::word && other.kind == Kind::constant) {
      tests_ = true;
      return mask_word(word, other.constant);
    }
    if (a.kind == Kind::decision && b.kind == Kind::decision)
      return make_decision(a.if_true | b.if_true, a.if_false & b.if_false);
    if (a.kind == Kind::decision && b.kind == Kind::constant) return a;
    hand_over(a, false);
    hand_over(b, false);
    return {};
  }

  // Returns the flags of a subtraction: a - b.
  Flags compare(const Value& a, const Value& b) {
    if (a.kind == Kind::mixed || b.kind == Kind::mixed) {
      guards_.escapes = guards_.escapes || mixed_escapes_;
      return {};
    }
    if (b.kind == Kind::constant && b.constant == 0) return make_flags(a);
    if (is_relevant(a) && b.kind == Kind::constant) {
      const FeatureSet all = list_features(a);
      const bool each =
          !a.inverted && a.flipped == 0 && a.shift >= 0 && a.mask >> a.shift == (b.constant & make_ones(a.width));
      return {.zero = each ? all : 0, .all = all, .known = true};
    }
    if (a.kind == Kind::decision && b.kind == Kind::constant)
      return {.zero = a.if_true, .not_zero = a.if_false, .all = a.if_true | a.if_false, .known = true};
    hand_over(a, false);
    hand_over(b, false);
    return {};
  }

  std::map<uint64_t, size_t> index_;  // instructions by address
  std::set<size_t> starts_;           // instructions that a branch leads to
  std::set<size_t> ends_;             // last instruction of each part
  State<kRegisters> state_;
  Guards guards_;
  std::map<uint64_t, FeatureSet> arguments_;  // like ensured, for addresses in registers that a callee may read
  std::map<uint64_t, FeatureSet> named_;      // like ensured, for addresses that the code forms
  bool may_escape_ = false;
  bool tests_ = false;          // bits of an answer, with or without a feature
  bool mixed_escapes_ = false;  // true: code may test a mixed value in ways that this class does not follow

 private:
  // Follows all paths from an instruction on. Returns false after too many visits.
  bool follow_paths(size_t first, size_t count, size_t& visits) {
    std::set<size_t> open{first};
    for (; !open.empty(); ++visits) {
      if (visits == kMostVisits) return false;
      const size_t start = *open.begin();
      open.erase(open.begin());
      state_ = states_.at(start);
      for (const auto& [next, has] : run_block(start, count)) {
        State<kRegisters> reached = state_;
        reached.has |= has;
        const auto [found, fresh] = states_.try_emplace(next, reached);
        if (fresh || merge(found->second, reached)) open.insert(next);
      }
    }
    return true;
  }

  // Returns an instruction that no path reached yet and that unknown code may enter; nullopt if all are reached.
  std::optional<size_t> find_unreached() {
    for (; !guards_.escapes && unreached_ < visited_.size(); ++unreached_) {
      if (!visited_[unreached_] && !is_padding(unreached_)) return unreached_;
    }
    return std::nullopt;
  }

  Next run_block(size_t at, size_t count) {
    for (;; ++at) {
      visited_[at] = true;
      if (auto next = leave(at)) return std::move(*next);
      run(at);
      if (at + 1 == count || ends_.contains(at)) return {};
      if (starts_.contains(at + 1)) return {{at + 1, 0}};
    }
  }

  std::map<size_t, State<kRegisters>> states_;  // states at the starts of blocks
  std::vector<CallSite> sites_;
  std::vector<bool> visited_;  // instructions that some path leads to
  size_t unreached_ = 0;       // paths lead to all instructions before
};

}  // namespace pbprobe::guards
