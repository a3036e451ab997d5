// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include "probes/audit/containers/elf.hpp"
#include "probes/audit/host_code/census.hpp"

namespace pbprobe {
namespace {

// Kernels of each CPU capability, by the pointers that torch's dispatcher reads at run time.
using Roots = std::map<std::string_view, std::vector<uint64_t>>;  // addresses, by CPU capability

Result<Roots> read_roots(const Elf& elf) {
  std::map<uint64_t, std::string_view> pointers;  // CPU capability, by the address of its pointer
  PBPROBE_CHECK(visit_symbols(elf, ".dynsym", [&](std::string_view name, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) return;
    if (name.find("12DispatchStub") == std::string_view::npos) return;
    if (const auto capability = parse_cpu_capability(name); !capability.empty())
      pointers.emplace(symbol.st_value, capability);
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
  explicit Walk(const Census& census) : census_(census) {}

  // Returns the nameless functions that the roots reach, including the roots.
  [[nodiscard]] std::vector<bool> reach(const std::vector<uint64_t>& roots) const {
    std::vector<bool> reached(census_.functions.all.size());
    std::vector<size_t> next;
    for (const uint64_t root : roots) enter(root, reached, next);
    while (!next.empty()) {
      const size_t function = next.back();
      next.pop_back();
      for (const uint64_t target : census_.targets[function]) enter(target, reached, next);
    }
    return reached;
  }

 private:
  void enter(uint64_t address, std::vector<bool>& reached, std::vector<size_t>& next) const {
    const Function* function = find_function(census_.functions, address);
    if (function == nullptr || function->data) return;
    const auto index = static_cast<size_t>(function - census_.functions.all.data());
    if (reached[index] || census_.owners[index].code_class != CodeClass::unclassified) return;
    reached[index] = true;
    next.push_back(index);
  }

  const Census& census_;
};

}  // namespace

Result<std::set<std::string_view>> list_rooted_capabilities(const Elf& elf) {
  PBPROBE_TRY(const Roots roots, read_roots(elf));
  std::set<std::string_view> capabilities;
  for (const auto& [capability, addresses] : roots) capabilities.insert(capability);
  return capabilities;
}

Result<void> follow_capability_roots(const Elf& elf, Census& census) {
  const Functions& functions = census.functions;
  const auto& owners = census.owners;
  const bool any =
      std::ranges::any_of(owners, [](const CodeOwner& owner) { return owner.code_class == CodeClass::unclassified; });
  if (!any || functions.source == FunctionSource::symtab) return {};
  PBPROBE_TRY(const Roots roots, read_roots(elf));
  const Walk walk(census);
  std::vector<bool> default_reached(functions.all.size());
  if (const auto found = roots.find(kDefaultCapability); found != roots.end())
    default_reached = walk.reach(found->second);
  std::vector<CodeOwner> decided = owners;
  for (const auto& [capability, addresses] : roots) {
    if (capability == kDefaultCapability) continue;
    const auto reached = walk.reach(addresses);
    for (size_t i = 0; i < reached.size(); ++i) {
      // A function that the default CPU capability reaches too may be guarded on that way, or not: its owner stays.
      if (reached[i] && !default_reached[i]) decided[i] = {CodeClass::cpu_capability, capability};
    }
  }
  if (const auto found = roots.find(kDefaultCapability); found != roots.end()) {
    for (const uint64_t address : found->second) {
      const Function* function = find_function(functions, address);
      if (function == nullptr) continue;
      const auto index = static_cast<size_t>(function - functions.all.data());
      if (owners[index].code_class == CodeClass::unclassified)
        decided[index] = {CodeClass::default_capability, kDefaultCapability};
    }
  }
  census.owners = std::move(decided);
  return {};
}

}  // namespace pbprobe
