// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>

#include "probes/audit/census.hpp"
#include "probes/audit/symbols.hpp"

namespace pbprobe {
namespace {

// Kernels of one tier, as the pointers that torch's dispatcher reads at run time hold them.
using Roots = std::map<std::string_view, std::vector<uint64_t>>;  // addresses, by tier

Result<Roots> read_roots(const Elf& elf) {
  std::map<uint64_t, std::string_view> pointers;  // where a tier's pointer lies
  PBPROBE_CHECK(visit_symbols(elf, ".dynsym", [&](std::string_view name, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) return;
    if (name.find("12DispatchStub") == std::string_view::npos) return;
    if (const auto tier = tier_in(name); !tier.empty()) pointers.emplace(symbol.st_value, tier);
  }));
  Roots roots;
  if (pointers.empty()) return roots;
  PBPROBE_TRY(const auto relocations, read_own_relocations(elf));
  for (const auto& relocation : relocations) {
    const auto pointer = pointers.find(relocation.place);
    if (pointer != pointers.end()) roots[pointer->second].push_back(relocation.target);
  }
  return roots;
}

class Walk {
 public:
  Walk(const Elf& elf, const Functions& functions, const std::vector<CodeOwner>& owners)
      : elf_(elf), functions_(functions), owners_(owners), count_(counter_for(elf)) {}

  // The nameless functions that these roots reach, themselves included.
  [[nodiscard]] std::vector<bool> reach(const std::vector<uint64_t>& roots) const {
    std::vector<bool> reached(functions_.all.size());
    std::vector<size_t> next;
    for (const uint64_t root : roots) enter(root, reached, next);
    CodeTargets targets;
    while (!next.empty()) {
      const Function& function = functions_.all[next.back()];
      next.pop_back();
      targets.clear();
      static_cast<void>(count_(code_of(elf_, function), function.address, &targets));
      for (const uint64_t target : targets) {
        if (target - function.address >= function.size) enter(target, reached, next);
      }
    }
    return reached;
  }

 private:
  void enter(uint64_t address, std::vector<bool>& reached, std::vector<size_t>& next) const {
    const Function* function = function_at(functions_, address);
    if (function == nullptr || function->data) return;
    const auto index = static_cast<size_t>(function - functions_.all.data());
    if (reached[index] || owners_[index].code_class != CodeClass::unclassified) return;
    reached[index] = true;
    next.push_back(index);
  }

  const Elf& elf_;
  const Functions& functions_;
  const std::vector<CodeOwner>& owners_;
  CountCode count_;
};

}  // namespace

Result<void> follow_tier_roots(const Elf& elf, const Functions& functions, std::vector<CodeOwner>& owners) {
  const bool any = std::any_of(owners.begin(), owners.end(),
                               [](const CodeOwner& owner) { return owner.code_class == CodeClass::unclassified; });
  if (!any || functions.source == FunctionSource::symtab) return {};
  PBPROBE_TRY(const Roots roots, read_roots(elf));
  const Walk walk(elf, functions, owners);
  std::vector<bool> by_default(functions.all.size());
  if (const auto found = roots.find(kDefaultTier); found != roots.end()) by_default = walk.reach(found->second);
  std::vector<CodeOwner> decided = owners;
  for (const auto& [tier, addresses] : roots) {
    if (tier == kDefaultTier) continue;
    const auto reached = walk.reach(addresses);
    for (size_t i = 0; i < reached.size(); ++i) {
      // What the default tier reaches too may be guarded on that way, or not: it stays open.
      if (reached[i] && !by_default[i]) decided[i] = {CodeClass::tier, tier};
    }
  }
  if (const auto found = roots.find(kDefaultTier); found != roots.end()) {
    for (const uint64_t address : found->second) {
      const Function* function = function_at(functions, address);
      if (function == nullptr) continue;
      const auto index = static_cast<size_t>(function - functions.all.data());
      if (owners[index].code_class == CodeClass::unclassified) decided[index] = {CodeClass::default_tier, kDefaultTier};
    }
  }
  owners = std::move(decided);
  return {};
}

}  // namespace pbprobe
