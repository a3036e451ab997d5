// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/gpu/code_holder.hpp"

#include <algorithm>

#include "core/strings.hpp"
#include "probes/judge/gpu/device_code.hpp"

namespace pbprobe {
namespace {

std::vector<const DeviceCode*> list_code(const File& file) {
  std::vector<const DeviceCode*> all;
  for (const auto* code : {&file.device_code, &file.self_loaded_code}) {
    if (*code && (!(*code)->cubin.empty() || !(*code)->ptx.empty())) all.push_back(&**code);
  }
  return all;
}

bool is_for(std::string_view cubin, const Sm& wanted) {
  const auto sm = parse_sm(cubin);
  return sm && (wanted.suffix == '\0' ? same_capability(*sm, wanted) : *sm == wanted);
}

// Reports whether a unit holds only code with a suffix for other chips. Such a unit is not meant for `wanted`.
bool is_only_for_others(const std::vector<std::string>& cubins, const Sm& wanted) {
  return !cubins.empty() && std::ranges::all_of(cubins, [&](const std::string& name) {
    const auto sm = parse_sm(name);
    return sm && sm->suffix != '\0' && !same_capability(*sm, wanted);
  });
}

// Counts the exceptions too if they are the majority. Otherwise the few other units would decide for the whole file.
HeldUnits without_exceptions(HeldUnits units, int64_t exceptions) {
  units.all += exceptions * 2 > units.all + exceptions ? exceptions : 0;
  return units;
}

// Counts translation units, each of which holds its kernels for all SMs.
HeldUnits translation_units(const DeviceCode& code, const Sm& wanted) {
  HeldUnits units{.all = code.units_without_code};
  int64_t exceptions = 0;
  for (const auto& [set, count] : code.unit_sets) {
    const auto cubins = list_unit_cubins(set);
    const bool with = std::ranges::any_of(cubins, [&](const std::string& name) { return is_for(name, wanted); });
    const bool exception = !with && is_only_for_others(cubins, wanted);
    units.with += with ? count : 0;
    units.all += exception ? 0 : count;
    exceptions += exception ? count : 0;
  }
  return without_exceptions(units, exceptions);
}

// Counts cubins that are separate files or constants. `all` is the largest count of any SM.
HeldUnits single_cubins(const std::map<std::string, int64_t>& cubins, const Sm& wanted) {
  HeldUnits units;
  std::map<Sm, int64_t> plain;  // count by capability
  for (const auto& [name, count] : cubins) {
    const auto sm = parse_sm(name);
    if (is_for(name, wanted)) units.with += count;
    if (sm && (sm->suffix == '\0' || same_capability(*sm, wanted))) plain[{sm->major, sm->minor}] += count;
  }
  for (const auto& [capability, count] : plain) units.all = std::max(units.all, count);
  return units;
}

void add(HeldUnits& sum, const HeldUnits& more) {
  sum.with += more.with;
  sum.all += more.all;
}

// Returns the path with "#" for the number of the only SM of the file: spam/sm90/ops.so becomes spam/sm#/ops.so.
std::string path_without_sm(const File& file) {
  std::set<std::string> own;
  for (const DeviceCode* code : list_code(file)) {
    for (const auto& [name, count] : code->cubin) {
      if (const auto sm = parse_sm(name)) own.insert(std::to_string(get_sm_number(*sm)));
    }
  }
  std::string text;
  for (size_t at = 0; at < file.path.size();) {
    size_t end = at;
    while (end < file.path.size() && is_digit(file.path[end])) ++end;
    if (end == at) {
      text += file.path[at++];
      continue;
    }
    const std::string number = file.path.substr(at, end - at);
    const bool of_code = own.size() == 1 && own.contains(number);
    text += of_code ? "#" : number;
    at = end;
    if (of_code && at < file.path.size() && (file.path[at] == 'a' || file.path[at] == 'f')) ++at;
  }
  return text;
}

}  // namespace

std::set<std::string> CodeHolder::cubins() const {
  std::set<std::string> names;
  for (const File* file : files) {
    for (const DeviceCode* code : list_code(*file)) {
      for (const auto& [name, count] : code->cubin) names.insert(name);
    }
  }
  return names;
}

std::set<std::string> CodeHolder::ptx() const {
  std::set<std::string> names;
  for (const File* file : files) {
    for (const DeviceCode* code : list_code(*file)) {
      for (const auto& [name, count] : code->ptx) names.insert(name);
    }
  }
  return names;
}

HeldUnits CodeHolder::count_units_for_sm(const Sm& sm) const {
  std::map<std::string, int64_t> raw;
  HeldUnits best;
  for (const File* file : files) {
    HeldUnits own;
    if (file->device_code && file->links && !file->device_code->unit_sets.empty()) {
      add(own, translation_units(*file->device_code, sm));
    } else if (file->device_code) {
      for (const auto& [name, count] : file->device_code->cubin) raw[name] += count;
    }
    if (file->self_loaded_code) add(own, single_cubins(file->self_loaded_code->cubin, sm));
    if (own.with * best.all > best.with * own.all || best.all == 0) best = own;
  }
  if (!raw.empty()) add(best, single_cubins(raw, sm));
  return best;
}

HeldUnits CodeHolder::units_with_ptx(const Sm& sm) const {
  HeldUnits units;
  for (const File* file : files) {
    for (const DeviceCode* code : list_code(*file)) {
      int64_t exceptions = 0;
      HeldUnits own{.all = code->units_without_code};
      for (const auto& [set, count] : code->unit_sets) {
        const bool exception = is_only_for_others(list_unit_cubins(set), sm);
        (exception ? exceptions : own.all) += count;
      }
      for (const auto& [name, count] : code->ptx) {
        const auto parsed = parse_sm(name);
        if (parsed && *parsed == sm) own.with += count;
      }
      own = without_exceptions(own, exceptions);
      own.all = std::max<int64_t>(own.all, 1);
      own.with = std::min(own.with, own.all);
      add(units, own);
    }
  }
  return units;
}

std::vector<CodeHolder> find_holders(const Inventory& inventory) {
  std::map<std::string, CodeHolder> holders;
  for (const auto& file : inventory.files) {
    if (list_code(file).empty()) continue;
    const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
    CodeHolder& holder = holders[file.links ? path_without_sm(file) : folder];
    if (holder.path.empty()) holder.path = file.path;
    holder.files.push_back(&file);
  }
  std::vector<CodeHolder> all;
  for (auto& [name, holder] : holders) all.push_back(std::move(holder));
  return all;
}

}  // namespace pbprobe
