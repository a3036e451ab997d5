// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Refutes names that state a choice by CPU, if the callers show that no code chooses.
#include <algorithm>
#include <set>

#include "probes/audit/host_code/census.hpp"
#include "probes/audit/host_code/load_code.hpp"

namespace pbprobe {
namespace {

class NameRefuter {
 public:
  NameRefuter(Census& census, LoadFollower& follower) : census_(census), follower_(follower) {}

  void refute_local() {
    if (code_asks()) return;
    for (size_t i = 0; i < count(); ++i) {
      if (is_excused(i) && function(i).binding == Binding::local) enter(i);
    }
  }

  void refute(const std::set<std::string_view>& capabilities) {
    enter_from_unguarded();
    distrust_strangers(capabilities);
    enter_fallbacks();
  }

 private:
  [[nodiscard]] const Function& function(size_t i) const { return census_.functions.all[i]; }
  [[nodiscard]] size_t count() const { return census_.functions.all.size(); }

  // Inline functions, of which the linker keeps one copy: leaks.cpp decides about them.
  [[nodiscard]] bool is_merged(size_t i) const {
    const Function& named = function(i);
    return named.binding == Binding::weak || (named.binding == Binding::local && named.source.empty());
  }

  // Reports whether only the name states that the function runs on better CPUs.
  [[nodiscard]] bool is_excused(size_t i) const {
    const CodeClass code_class = census_.owners[i].code_class;
    if (function(i).resolver || census_.counts[i].features == 0) return false;
    return code_class == CodeClass::dispatched || (code_class == CodeClass::cpu_capability && !is_merged(i));
  }

  [[nodiscard]] bool runs_everywhere(size_t i) const {
    const CodeClass code_class = census_.owners[i].code_class;
    return code_class == CodeClass::unguarded || code_class == CodeClass::default_capability ||
           code_class == CodeClass::static_initializer || function(i).resolver;
  }

  // Ignores names of CPU capabilities without a pointer of torch's dispatcher, and names of instruction sets if no code
  // of the file asks the CPU.
  void distrust_strangers(const std::set<std::string_view>& capabilities) {
    const bool file_asks = code_asks();
    for (size_t i = 0; i < count(); ++i) {
      if (!is_excused(i)) continue;
      const CodeOwner& owner = census_.owners[i];
      const bool known = owner.code_class == CodeClass::cpu_capability ? capabilities.contains(owner.label) : file_asks;
      if (!known && !follower_.asks(i)) census_.owners[i] = {CodeClass::unclassified, {}};
    }
  }

  [[nodiscard]] bool code_asks() {
    bool asks = follower_.file_asks(census_);
    for (size_t i = 0; i < count() && !asks; ++i) asks = function(i).resolver && follower_.asks(i);
    return asks;
  }

  void enter(size_t i) {
    if (census_.counts[i].features == 0 || follower_.asks(i)) return;
    census_.entered[i] = true;
    census_.owners[i] = {CodeClass::unguarded, {}};
  }

  void enter_from_unguarded() {
    const FeatureSet everywhere = list_base_features(census_);
    std::vector<size_t> callees;
    for (size_t caller = 0; caller < count(); ++caller) {
      if (!runs_everywhere(caller)) continue;
      callees.clear();
      for (const uint64_t target : census_.targets[caller]) {
        const Function* callee = find_function(census_.functions, target);
        if (callee == nullptr) continue;
        const auto i = static_cast<size_t>(callee - census_.functions.all.data());
        const bool leaks = census_.owners[i].code_class == CodeClass::cpu_capability && is_merged(caller);
        if (is_excused(i) && !leaks) callees.push_back(i);
      }
      if (function(caller).resolver) {
        for (const size_t held : follower_.held_functions(caller)) {
          if (is_excused(held)) callees.push_back(held);
        }
      }
      const bool asks = !callees.empty() && follower_.asks(caller);
      for (const size_t callee : callees) {
        if (!asks || !follower_.covers(caller, callee, census_.counts[callee].features & ~everywhere)) enter(callee);
      }
    }
  }

  // On CPUs without any tested feature, a resolver returns the candidate that needs least.
  void enter_fallbacks() {
    for (size_t i = 0; i < count(); ++i) {
      if (!function(i).resolver || !follower_.asks(i) || follower_.holds_imports(i)) continue;
      const auto candidates = follower_.held_functions(i);
      const auto features = [&](size_t candidate) { return census_.counts[candidate].features; };
      const auto least = std::ranges::find_if(candidates, [&](size_t candidate) {
        return std::ranges::all_of(candidates,
                                   [&](size_t other) { return (features(candidate) & ~features(other)) == 0; });
      });
      if (least != candidates.end()) enter(*least);
    }
  }

  Census& census_;
  LoadFollower& follower_;
};

}  // namespace

Result<void> refute_names(const Elf& elf, Census& census, LoadFollower& follower) {
  PBPROBE_TRY(const auto capabilities, list_rooted_capabilities(elf));
  NameRefuter(census, follower).refute(capabilities);
  return {};
}

void refute_local_names(Census& census, LoadFollower& follower) {
  NameRefuter(census, follower).refute_local();
}

}  // namespace pbprobe
