// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Functions with the parts that compilers moved away ("f.cold"), their landing pads, and the effects of their
// calls.
#include <algorithm>
#include <cstring>

#include "probes/audit/host_code/load_code.hpp"
#include "probes/audit/host_code/x86_jumps.hpp"

namespace pbprobe {
namespace {

// Functions of the run time of C and C++ that never return. Code behind such a call belongs to other paths.
constexpr std::string_view kNeverReturn[] = {
    "_Unwind_Resume",  "__cxa_throw",      "__cxa_rethrow", "__cxa_bad_cast", "__cxa_throw_bad_array_new_length",
    "_ZSt9terminatev", "__stack_chk_fail", "abort",         "__assert_fail",  "__clang_call_terminate",
};

bool never_returns(std::string_view name) {
  const bool throws = name.starts_with("_ZSt") && name.find("__throw_") != std::string_view::npos;
  return throws || std::find(std::begin(kNeverReturn), std::end(kNeverReturn), name) != std::end(kNeverReturn);
}

bool contains(const Function& function, uint64_t address) {
  return address - function.address < function.size;
}

}  // namespace

void LoadFollower::index_parts() {
  const auto& all = functions_.all;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string_view name = find_whole_name(all[i].name);
    if (name.size() != all[i].name.size()) splits_[name].parts.push_back(i);
  }
  if (splits_.empty()) return;
  is_split_.resize(all.size());
  for (const auto& [name, split] : splits_) {
    for (const size_t part : split.parts) is_split_[part] = true;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name.empty() || all[i].data) continue;
    const auto found = splits_.find(all[i].name);
    if (found == splits_.end()) continue;
    found->second.mains.push_back(i);
    is_split_[i] = true;
  }
}

size_t LoadFollower::find_main(size_t function) {
  const auto known = mains_.find(function);
  if (known != mains_.end()) return known->second;
  if (is_split_.empty() || !is_split_[function]) return function;
  const Function& self = functions_.all[function];
  const std::string_view name = find_whole_name(self.name);
  if (name.size() == self.name.size() || entered_parts_.contains(function)) return function;
  std::vector<size_t> mains;
  for (const size_t main : splits_.at(name).mains) {
    const Function& whole = functions_.all[main];
    if (whole.binding == Binding::local && !whole.source.empty() && whole.source != self.source) continue;
    const auto& calls = trace(main).calls;
    if (std::ranges::any_of(calls, [&](uint64_t target) { return contains(self, target); })) mains.push_back(main);
  }
  return mains_[function] = mains.size() == 1 ? mains.front() : function;
}

std::vector<size_t> LoadFollower::list_parts(size_t function) {
  const size_t main = find_main(function);
  std::vector<size_t> parts{main};
  if (const auto found = nameless_parts_.find(main); found != nameless_parts_.end())
    parts.insert(parts.end(), found->second.begin(), found->second.end());
  if (is_split_.empty() || !is_split_[main]) return parts;
  const auto split = splits_.find(functions_.all[main].name);
  if (split == splits_.end()) return parts;
  for (const size_t part : split->second.parts) {
    if (part != main && find_main(part) == main) parts.push_back(part);
  }
  return parts;
}

// Reports whether some bytes of the function are a direct call of the address.
bool LoadFollower::calls(size_t function, uint64_t target) const {
  const Function& self = functions_.all[function];
  const auto code = get_code(elf_, self);
  const bool arm = elf_.header.e_machine == EM_AARCH64;
  const size_t length = arm ? 4 : 5;
  for (size_t at = 0; at + length <= code.size(); at += arm ? 4 : 1) {
    const auto* call = arm ? &code[at] : static_cast<const uint8_t*>(std::memchr(&code[at], 0xE8, code.size() - at));
    if (call == nullptr || code.size() - (at = static_cast<size_t>(call - code.data())) < length) return false;
    const uint64_t words = (target - self.address - at) / 4;
    uint32_t word = 0;
    std::memcpy(&word, call, sizeof word);
    if (arm && word == (0x94000000 | (words & 0x3FFFFFF))) return true;
    if (!arm && relative_target(call, length, self.address + at) == target) return true;
  }
  return false;
}

// Joins nameless code that only one function enters with this function, if the function's exceptions lead there, or if
// one of them jumps behind the start of the other.
void LoadFollower::join_nameless_parts(const Census& census) {
  const auto& all = functions_.all;
  if (functions_.source == FunctionSource::symtab) return;
  constexpr size_t kNone = SIZE_MAX;
  constexpr size_t kMany = SIZE_MAX - 1;
  std::vector<size_t> entering(all.size(), kNone);
  std::vector<std::pair<size_t, size_t>> pairs;    // a part, and the only function that enters it
  std::vector<std::pair<size_t, uint64_t>> inner;  // a function, and an address behind the start of another
  const auto enter = [&](uint64_t target, size_t from) {
    const auto to = index_at(target);
    if (!to || *to == from) return;
    entering[*to] = entering[*to] == kNone || entering[*to] == from ? from : kMany;
    if (all[*to].address != target && from != kMany && all[*to].section == all[from].section)
      inner.emplace_back(from, target);
  };
  for (const auto& [place, pointer] : pointers_.all()) enter(pointer.target, kMany);
  for (size_t i = 0; i < all.size(); ++i) {
    for (const uint64_t target : census.targets[i]) enter(target, i);
  }
  for (const auto& [from, target] : inner) {
    const size_t to = *index_at(target);
    for (const auto& [part, main] : {std::pair(to, from), std::pair(from, to)}) {
      if (entering[part] == main && all[part].name.empty() && !calls(from, target)) pairs.emplace_back(part, main);
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (const auto& site : read_sites(all[i].address)) {
      const auto part = index_at(site.pad);
      if (part && *part != i && (entering[*part] == kNone || entering[*part] == i)) pairs.emplace_back(*part, i);
    }
  }
  for (const auto& [part, main] : pairs) {
    if (all[part].name.empty() && mains_.emplace(part, main).second) nameless_parts_[main].push_back(part);
  }
  if (nameless_parts_.empty()) return;
  guards_.clear();
  asking_.clear();
}

// A part that other functions enter too, as the linker folds identical code, is a function of its own.
void LoadFollower::separate_shared_parts(const Census& census) {
  join_nameless_parts(census);
  std::vector<size_t> parts;
  for (const auto& [name, split] : splits_) parts.insert(parts.end(), split.parts.begin(), split.parts.end());
  if (parts.empty()) return;
  std::ranges::sort(parts);
  const uint64_t begin = functions_.all[parts.front()].address;
  const uint64_t end = functions_.all[parts.back()].address + functions_.all[parts.back()].size;
  for (size_t caller = 0; caller < census.targets.size(); ++caller) {
    for (const uint64_t target : census.targets[caller]) {
      if (target < begin || target >= end) continue;
      const auto part = index_at(target);
      if (!part || *part == caller || !std::binary_search(parts.begin(), parts.end(), *part)) continue;
      if (find_whole_name(functions_.all[caller].name) != find_whole_name(functions_.all[*part].name))
        entered_parts_.insert(*part);
    }
  }
  if (entered_parts_.empty()) return;
  guards_.clear();
  asking_.clear();
}

uint16_t LoadFollower::find_overwritten(uint64_t address, int depth) {
  constexpr uint64_t kMostBytes = 4096;  // a longer function may overwrite all
  const auto function = index_at(address);
  if (!function || depth == 0) return kCallerSaved;
  const Function& self = functions_.all[*function];
  if (self.address != address || self.size > kMostBytes) return kCallerSaved;
  const auto [found, fresh] = overwritten_.try_emplace(*function, kCallerSaved);
  if (!fresh) return found->second;
  const CallEffects effects = read_call_effects(get_code(elf_, self), address);
  if (effects.unknown) return kCallerSaved;
  uint16_t overwritten = effects.overwritten & kCallerSaved;
  for (const uint64_t target : effects.calls) overwritten |= find_overwritten(target, depth - 1);
  return overwritten_[*function] = overwritten;
}

// A landing pad without a known call site counts as entered with nothing known.
std::vector<CallSite> LoadFollower::read_sites(uint64_t start) {
  if (!pads_) {
    auto pads = LandingPads::make(elf_);
    pads_.emplace(pads.ok() ? std::move(*pads) : LandingPads());
  }
  auto sites = pads_->read(elf_, start);
  return sites.ok() ? std::move(*sites) : std::vector<CallSite>();
}

std::vector<CodePart> LoadFollower::read_parts(size_t function) {
  std::vector<CodePart> parts;
  for (const size_t i : list_parts(function)) {
    const Function& part = functions_.all[i];
    parts.push_back({.code = get_code(elf_, part), .address = part.address, .sites = read_sites(part.address)});
  }
  return parts;
}

CpuModel LoadFollower::make_model() {
  constexpr int kMostCalls = 3;
  CpuModel model = model_;
  model.read_pointer = [this](uint64_t place) -> std::optional<uint64_t> {
    const Pointer* pointer = pointers_.at(place);
    if (pointer == nullptr) return std::nullopt;
    if (is_cpu_model(pointer->symbol)) return model_.first;
    if (is_cpu_features(pointer->symbol)) return model_.second;
    return pointer->symbol.empty() ? std::optional(pointer->target) : std::nullopt;
  };
  model.read_memory = [this](uint64_t place, uint64_t bytes) -> std::optional<uint64_t> {
    if (const Pointer* pointer = pointers_.at(place); pointer != nullptr && bytes == 8) return pointer->target;
    const auto memory = bytes_at_address(elf_, place, "table of a switch");
    const auto entry = memory.ok() ? memory->part(0, bytes, "table of a switch") : memory;
    if (!entry.ok()) return std::nullopt;
    uint64_t number = 0;
    std::memcpy(&number, entry->span().data(), bytes);
    const auto unused = static_cast<unsigned>(64 - bytes * 8);
    return static_cast<uint64_t>(static_cast<int64_t>(number << unused) >> unused);
  };
  model.find_overwritten = [this](uint64_t address) { return find_overwritten(address, kMostCalls); };
  model.never_returns = [this](uint64_t address) {
    const std::string_view import = find_import(address);
    const auto function = import.empty() ? index_at(address) : std::nullopt;
    return never_returns(function ? functions_.all[*function].name : import);
  };
  return model;
}

}  // namespace pbprobe
