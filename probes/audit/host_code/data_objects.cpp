// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/data_objects.hpp"

#include <algorithm>

#include "probes/audit/containers/elf.hpp"

namespace pbprobe {
namespace {

constexpr uint64_t kWord = 8;

// A vtable, a table of vtables, or a vtable during construction. Source: Itanium C++ ABI, 5.1.4.
bool names_vtable(std::string_view name) {
  return name.starts_with("_ZTV") || name.starts_with("_ZTT") || name.starts_with("_ZTC");
}

}  // namespace

Result<DataObjects> DataObjects::read(const Elf& elf, const Pointers& pointers, const Census& census) {
  DataObjects objects(pointers, census);
  PBPROBE_CHECK(objects.add_symbols(elf, ".symtab", false));
  PBPROBE_CHECK(objects.add_symbols(elf, ".dynsym", true));
  objects.merge_overlaps();
  return objects;
}

Result<void> DataObjects::add_symbols(const Elf& elf, const char* table, bool exported) {
  if (pointers_.all().empty()) return {};
  const uint64_t first = pointers_.all().front().first;
  const uint64_t last = pointers_.all().back().first;
  return visit_symbols(elf, table, [&](std::string_view name, const Elf64_Sym& symbol) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || type == STT_TLS || type == STT_SECTION || type == STT_FILE) return;
    const bool visible = exported && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
    if (!visible && (type != STT_OBJECT || symbol.st_size == 0)) return;
    const uint64_t end = symbol.st_value + std::max<uint64_t>(symbol.st_size, 1);
    if (end <= first || symbol.st_value > last || end < symbol.st_value) return;
    symbols_.push_back({symbol.st_value, end, visible, names_vtable(name)});
  });
}

void DataObjects::merge_overlaps() {
  std::ranges::sort(symbols_, [](const auto& a, const auto& b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const auto& symbol : symbols_) {
    if (kept > 0 && symbol.begin < symbols_[kept - 1].end) {
      DataObject& whole = symbols_[kept - 1];
      whole.end = std::max(whole.end, symbol.end);
      whole.exported = whole.exported || symbol.exported;
      whole.vtable = whole.vtable && symbol.vtable;
    } else {
      symbols_[kept++] = symbol;
    }
  }
  symbols_.resize(kept);
}

// Collects the addresses in data that code takes, and the targets of pointers in data.
void DataObjects::collect_references() {
  if (collected_) return;
  collected_ = true;
  const uint64_t first = pointers_.all().front().first;
  const uint64_t last = pointers_.all().back().first;
  for (const auto& targets : census_.targets) {
    for (const uint64_t target : targets) {
      if (target + 2 * kWord >= first && target <= last) taken_.push_back(target);
    }
  }
  for (const auto& [place, pointer] : pointers_.all()) {
    if (pointer.target >= first && pointer.target <= last) pointed_.push_back(pointer.target);
  }
  std::ranges::sort(taken_);
  std::ranges::sort(pointed_);
}

// Reports whether a type's description begins with this pointer: the vtable of its class is in the C++ library, and
// other data points to the description.
bool DataObjects::starts_type(uint64_t place, const Pointer& pointer) const {
  return !pointer.symbol.empty() && std::binary_search(pointed_.begin(), pointed_.end(), place);
}

const DataObjects::Run& DataObjects::find_run(uint64_t place, uint64_t low, uint64_t high) {
  const auto known = runs_.upper_bound(place);
  if (known != runs_.end() && known->second.begin <= place) return known->second;
  const auto& all = pointers_.all();
  const auto at = std::lower_bound(all.begin(), all.end(), place,
                                   [](const auto& entry, uint64_t value) { return entry.first < value; });
  Run run{.begin = place, .end = place + kWord};
  for (auto next = at; next != all.end() && next->first <= run.end && next->first + kWord <= high; ++next) {
    if (next->first > place && starts_type(next->first, next->second)) break;
    run.end = next->first + kWord;
  }
  for (auto before = at; before != all.begin();) {
    if (before->first == run.begin && starts_type(before->first, before->second)) break;
    --before;
    if (before->first + kWord < run.begin || before->first < low) break;
    run.begin = before->first;
  }
  // Code may refer to the words before: a vtable begins with an offset, which is no pointer.
  uint64_t from = run.begin;
  for (int i = 0; i < 2 && from >= low + kWord && pointers_.at(from - kWord) == nullptr; ++i) from -= kWord;
  run.begin = from;
  const auto taken = std::lower_bound(taken_.begin(), taken_.end(), run.begin);
  if (taken != taken_.end() && *taken < run.end) run.taken = *taken;
  return runs_.emplace(run.end, run).first->second;
}

std::optional<DataObject> DataObjects::find(uint64_t place) {
  const auto after = std::upper_bound(symbols_.begin(), symbols_.end(), place,
                                      [](uint64_t value, const DataObject& symbol) { return value < symbol.begin; });
  if (after != symbols_.begin() && place < std::prev(after)->end) return *std::prev(after);
  collect_references();
  const uint64_t low = after == symbols_.begin() ? 0 : std::prev(after)->end;
  const Run& run = find_run(place, low, after == symbols_.end() ? UINT64_MAX : after->begin);
  // Code reads a pointer in place if it takes no address near it: a constant, or a slot of the global offset table.
  if (!run.taken) return DataObject{.begin = place, .end = place + kWord};
  if (*run.taken > place) return std::nullopt;
  return DataObject{.begin = run.begin, .end = run.end};
}

}  // namespace pbprobe
