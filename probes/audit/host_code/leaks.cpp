// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Weak and inline functions that need more than other unguarded code. Their place in the file shows their object file,
// and their callers show whether they run unguarded.
#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <unordered_map>

#include "probes/audit/host_code/census.hpp"
#include "probes/audit/host_code/loaded.hpp"

namespace pbprobe {
namespace {

bool runs_unguarded(CodeClass code_class) {
  return code_class == CodeClass::unguarded || code_class == CodeClass::default_capability ||
         code_class == CodeClass::static_initializer;
}

// The linker keeps one copy of these. Hidden ones become local, after the symbols of the last source file.
bool is_merged(const Function& function) {
  if (!function.name.starts_with("_Z")) return false;
  return function.binding == Binding::weak || (function.binding == Binding::local && function.source.empty());
}

// One function with all its parts.
struct Family {
  std::vector<size_t> parts;    // parts that run
  std::vector<size_t> callers;  // other functions that lead to one of them
  size_t home = SIZE_MAX;       // function at the place before BOLT moved this one
  FeatureSet features = 0;
  std::string_view capability;  // CPU capability of the object file that contains the function
  bool exposed = false;         // exported, or data holds its address: callers may be invisible
};

class Leaks {
 public:
  Leaks(const Elf& elf, Census& census) : elf_(elf), census_(census) {}

  Result<void> find() {
    gather();
    std::erase_if(families_, [](const Family& family) { return family.capability.empty(); });
    if (families_.empty()) return {};
    PBPROBE_CHECK(find_callers());
    decide();
    return {};
  }

 private:
  [[nodiscard]] const std::vector<Function>& functions() const { return census_.functions.all; }

  // Collects merged functions that need more than all other unguarded functions.
  void gather() {
    FeatureSet elsewhere = 0;
    const auto is_candidate = [&](size_t i) {
      return census_.owners[i].code_class == CodeClass::unguarded && is_merged(functions()[i]);
    };
    for (size_t i = 0; i < functions().size(); ++i) {
      if (runs_unguarded(census_.owners[i].code_class) && !is_candidate(i)) elsewhere |= census_.counts[i].features;
    }
    std::unordered_map<std::string_view, size_t> by_name;
    for (size_t i = 0; i < functions().size(); ++i) {
      if (is_candidate(i) && (census_.counts[i].features & ~elsewhere) != 0)
        by_name.emplace(find_whole_name(functions()[i].name), by_name.size());
    }
    families_.resize(by_name.size());
    if (by_name.empty()) return;
    for (size_t i = 0; i < functions().size(); ++i) {
      if (!functions()[i].name.starts_with("_Z") || functions()[i].data) continue;
      const auto found = by_name.find(find_whole_name(functions()[i].name));
      if (found == by_name.end()) continue;
      Family& family = families_[found->second];
      const bool replaced = census_.owners[i].code_class == CodeClass::replaced;
      if (replaced || family.home == SIZE_MAX) family.home = i;
      if (replaced) continue;
      family.parts.push_back(i);
      family.features |= census_.counts[i].features;
    }
    find_objects();
  }

  // A function belongs to the object file of the last function before it with a known owner: inline functions follow
  // the file's own functions.
  void find_objects() {
    std::unordered_map<size_t, Family*> at_home;
    for (auto& family : families_) at_home.emplace(family.home, &family);
    std::string_view capability;
    for (size_t i = 0; i < functions().size(); ++i) {
      if (i == 0 || functions()[i].section != functions()[i - 1].section) capability = {};
      if (const auto found = at_home.find(i); found != at_home.end()) found->second->capability = capability;
      const CodeOwner& owner = census_.owners[i];
      if (owner.code_class == CodeClass::cpu_capability) {
        capability = owner.label;
      } else if (owner.code_class == CodeClass::replaced) {
        const auto named = parse_cpu_capability(functions()[i].name);
        if (!named.empty()) capability = named == kDefaultCapability ? std::string_view() : named;
      } else if (runs_unguarded(owner.code_class) ? !is_merged(functions()[i]) : !owner.label.empty()) {
        capability = {};
      }
    }
  }

  Result<void> find_callers() {
    struct Part {
      uint64_t address;
      uint64_t size;
      size_t family;
    };
    std::vector<Part> parts;
    for (size_t f = 0; f < families_.size(); ++f) {
      for (const size_t i : families_[f].parts) parts.push_back({functions()[i].address, functions()[i].size, f});
    }
    std::ranges::sort(parts, {}, &Part::address);
    const auto family_at = [&](uint64_t address) -> Family* {
      const auto after = std::upper_bound(parts.begin(), parts.end(), address,
                                          [](uint64_t value, const Part& part) { return value < part.address; });
      if (after == parts.begin()) return nullptr;
      const Part& part = *std::prev(after);
      return address - part.address < part.size ? &families_[part.family] : nullptr;
    };
    for (size_t caller = 0; caller < functions().size(); ++caller) {
      if (census_.owners[caller].code_class == CodeClass::replaced) continue;
      for (const uint64_t target : census_.targets[caller]) {
        Family* family = family_at(target);
        if (family == nullptr) continue;
        if (std::ranges::find(family->parts, caller) == family->parts.end()) family->callers.push_back(caller);
      }
    }
    PBPROBE_TRY(const auto relocations, read_own_relocations(elf_));
    for (const auto& relocation : relocations) {
      if (Family* family = family_at(relocation.target); family != nullptr) family->exposed = true;
    }
    for (auto& family : families_) {
      family.exposed = family.exposed || std::ranges::any_of(family.parts, [&](size_t i) {
                         return functions()[i].binding != Binding::local;
                       });
    }
    return {};
  }

  // Reports whether the caller may run on CPUs that lack features of the family.
  [[nodiscard]] bool runs_anywhere(const Family& family, size_t caller) const {
    const CodeClass code_class = census_.owners[caller].code_class;
    if (code_class == CodeClass::cpu_capability) return false;
    if (code_class != CodeClass::dispatched) return true;
    return (family.features & ~census_.counts[caller].features) != 0;
  }

  // Gives each family to its CPU capability; takes back families with other callers, until none changes.
  void decide() {
    const auto own = [&](const Family& family, CodeOwner owner) {
      for (const size_t i : family.parts) census_.owners[i] = owner;
    };
    for (const auto& family : families_) own(family, {CodeClass::cpu_capability, family.capability});
    std::vector<bool> leaks(families_.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t f = 0; f < families_.size(); ++f) {
        const Family& family = families_[f];
        if (leaks[f]) continue;
        leaks[f] = family.exposed ||
                   std::ranges::any_of(family.callers, [&](size_t caller) { return runs_anywhere(family, caller); });
        if (leaks[f]) own(family, {CodeClass::capability_leak, {}});
        changed = changed || leaks[f];
      }
    }
  }

  const Elf& elf_;
  Census& census_;
  std::vector<Family> families_;
};

}  // namespace

namespace {

// Reports whether code ends in a jump to a fixed address: on x86-64 E9 and a displacement, on aarch64 b, or adrp, add
// and br. A jump through a register otherwise may lead back, like the jump of a switch.
bool ends_in_fixed_jump(uint16_t machine, std::span<const uint8_t> code) {
  constexpr size_t kJump = 5;
  if (machine != EM_AARCH64) return code.size() >= kJump && code[code.size() - kJump] == 0xE9;
  uint32_t words[3] = {};
  if (code.size() > sizeof words) return false;
  std::memcpy(words, code.data(), code.size());
  if (code.size() == 4) return (words[0] & 0xFC000000) == 0x14000000;
  return (words[0] & 0x9F000000) == 0x90000000 && (words[1] & 0xFF800000) == 0x91000000;
}

// BOLT overwrites the start of a function whose callers it cannot change with a jump to the moved function. Returns
// the targets of the code before the jump, and of the jump; nullopt if more of the copy may run from its start.
std::optional<CodeTargets> find_way_out(const Elf& elf, const Function& copy) {
  const uint16_t machine = elf.header.e_machine;
  const auto code = get_code(elf, copy);
  const auto flow = code.first(measure_flow(machine, code));
  CodeTargets targets;
  if (flow.size() == code.size() || !ends_in_fixed_jump(machine, flow)) return std::nullopt;
  if (find_code_counter(elf)(flow, copy.address, &targets).features != 0) return std::nullopt;
  return targets;
}

}  // namespace

void set_aside_replaced(const Elf& elf, const Pointers& pointers, Census& census) {
  const ElfSection* before = find_section(elf, ".bolt.org.text");
  if (before == nullptr) return;
  const auto section = static_cast<uint32_t>(before - elf.sections.data());
  const auto& all = census.functions.all;
  std::vector<bool> unused(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t mark = all[i].name.rfind(".org.");
    unused[i] = all[i].section == section && mark != std::string_view::npos &&
                all[i].name.find_first_not_of("0123456789", mark + 5) == std::string_view::npos;
  }
  std::vector<uint64_t> reached;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!unused[i]) reached.insert(reached.end(), census.targets[i].begin(), census.targets[i].end());
  }
  for (const auto& [place, pointer] : pointers.all()) reached.push_back(pointer.target);
  std::set<uint64_t> left;  // copies that are entered only to leave them
  while (!reached.empty()) {
    const uint64_t target = reached.back();
    reached.pop_back();
    const Function* copy = find_function(census.functions, target);
    const size_t i = copy == nullptr ? all.size() : static_cast<size_t>(copy - all.data());
    if (copy == nullptr || !unused[i] || (target == copy->address && left.contains(target))) continue;
    const auto way_out = target == copy->address ? find_way_out(elf, *copy) : std::nullopt;
    const CodeTargets& more = way_out ? *way_out : census.targets[i];
    if (way_out)
      left.insert(target);
    else
      unused[i] = false;
    reached.insert(reached.end(), more.begin(), more.end());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (unused[i]) census.owners[i] = {CodeClass::replaced, {}};
  }
}

Result<void> find_capability_leaks(const Elf& elf, Census& census) {
  const bool has_capabilities = std::ranges::any_of(
      census.owners, [](const CodeOwner& owner) { return owner.code_class == CodeClass::cpu_capability; });
  if (!has_capabilities) return {};
  return Leaks(elf, census).find();
}

}  // namespace pbprobe
