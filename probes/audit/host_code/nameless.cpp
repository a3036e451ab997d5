// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <unordered_map>

#include "probes/audit/host_code/load_code.hpp"

namespace pbprobe {
namespace {

// One nameless function and its callers.
struct Open {
  std::vector<size_t> callers;
  bool exposed = false;  // data holds the address: some callers are unknown
  FeatureSet needs = 0;  // features that it needs, or that what it leads to needs
};

constexpr int kMostHelpers = 4;  // plain functions in a row between a guard and guarded code

class Nameless {
 public:
  Nameless(Census& census, LoadFollower& follower) : census_(census), follower_(follower) {}

  void decide() {
    const FeatureSet everywhere = list_base_features(census_);
    for (size_t i = 0; i < functions().size(); ++i) {
      const FeatureSet features = census_.counts[i].features;
      const bool more = (features & ~everywhere) != 0;
      if (is_nameless(i) ? features != 0 : (is_inner(i) || says_it_is_chosen(i)) && more)
        open_[i].needs = features & ~everywhere;
    }
    if (open_.empty()) return;
    find_callers();
    for (int step = 0; step < kMostHelpers && open_helpers(); ++step) find_callers();
    settle();
  }

 private:
  [[nodiscard]] const std::vector<Function>& functions() const { return census_.functions.all; }

  [[nodiscard]] bool is_nameless(size_t i) const { return census_.owners[i].code_class == CodeClass::unclassified; }

  // Reports whether only this file calls the function by name.
  [[nodiscard]] bool is_inner(size_t i) const {
    return census_.owners[i].code_class == CodeClass::unguarded && functions()[i].binding == Binding::local;
  }

  // Reports whether only the name states a CPU capability, for a function that other files may call.
  [[nodiscard]] bool says_it_is_chosen(size_t i) const {
    const CodeOwner& owner = census_.owners[i];
    return owner.code_class == CodeClass::dispatched && owner.label.empty() &&
           functions()[i].binding == Binding::global && !functions()[i].resolver;
  }

  // Plain functions between a guard and what it guards: their callers decide too.
  bool open_helpers() {
    std::vector<std::pair<size_t, FeatureSet>> helpers;
    for (const auto& [index, open] : open_) {
      for (const size_t caller : open.callers) {
        const bool new_helper = is_inner(caller) && !open_.contains(caller) && !follower_.asks(caller);
        const auto known = open_.find(caller);
        const bool needs_more = known != open_.end() && (open.needs & ~known->second.needs) != 0;
        if (new_helper || needs_more) helpers.emplace_back(caller, open.needs);
      }
    }
    for (const auto& [helper, needs] : helpers) open_[helper].needs |= needs;
    return !helpers.empty();
  }

  void find_callers() {
    for (auto& [index, open] : open_) open.callers.clear();
    for (size_t caller = 0; caller < functions().size(); ++caller) {
      if (census_.owners[caller].code_class == CodeClass::replaced) continue;
      for (const uint64_t target : census_.targets[caller]) {
        if (const auto index = find_open_function(target)) open_.at(*index).callers.push_back(caller);
      }
    }
    for (const auto& [place, pointer] : follower_.pointers().all()) {
      if (const auto index = find_open_function(pointer.target)) open_.at(*index).exposed = true;
    }
  }

  [[nodiscard]] std::optional<size_t> find_open_function(uint64_t address) const {
    const Function* function = find_function(census_.functions, address);
    if (function == nullptr) return std::nullopt;
    const auto index = static_cast<size_t>(function - functions().data());
    return open_.contains(index) ? std::optional(index) : std::nullopt;
  }

  [[nodiscard]] bool guards(size_t caller, size_t callee) {
    const CodeClass code_class = census_.owners[caller].code_class;
    const bool chosen = code_class == CodeClass::cpu_capability || code_class == CodeClass::dispatched;
    if (chosen && !functions()[caller].resolver && !census_.entered[caller]) return true;
    return follower_.asks(caller) && follower_.covers(caller, callee, open_.at(callee).needs);
  }

  // Functions that ask the CPU are guarded, as are functions that only guarded code calls. A claim in a name without
  // evidence counts as no name.
  void settle() {
    for (const auto& [index, open] : open_) {
      if (says_it_is_chosen(index) && open.callers.empty() && !open.exposed && !follower_.asks(index))
        census_.owners[index] = {CodeClass::unclassified, {}};
    }
    for (const auto& [index, open] : open_) {
      if (is_nameless(index) && follower_.asks(index)) census_.owners[index] = {CodeClass::dispatched, {}};
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [index, open] : open_) {
        if (census_.entered[index] || open.exposed || open.callers.empty() || !(is_nameless(index) || is_inner(index)))
          continue;
        if (!std::all_of(open.callers.begin(), open.callers.end(),
                         [this, callee = index](size_t caller) { return guards(caller, callee); }))
          continue;
        census_.owners[index] = {CodeClass::dispatched, {}};
        changed = true;
      }
    }
  }

  Census& census_;
  LoadFollower& follower_;
  std::unordered_map<size_t, Open> open_;
};

}  // namespace

void decide_nameless(Census& census, LoadFollower& follower) {
  Nameless(census, follower).decide();
}

}  // namespace pbprobe
