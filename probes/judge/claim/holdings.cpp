// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Derives the claim that is true of an artifact.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "core/facts/environment.hpp"
#include "probes/judge/rows.hpp"

namespace pbprobe {
namespace {

// Orders by capability, then suffix: 80, 100, 100a.
bool chip_less(const std::string& a, const std::string& b) {
  return parse_sm(a) < parse_sm(b);
}

int64_t find_highest_count(const DeviceCode& code) {
  int64_t most = 0;
  for (const auto* cubins : {&code.cubin, &code.ptx}) {
    for (const auto& [name, count] : *cubins) most = std::max(most, count);
  }
  return most;
}

void take_device_code(Holdings& holdings, const DeviceCode& code) {
  const int64_t units = find_highest_count(code);
  for (const auto& [name, count] : code.cubin) (count * 2 >= units ? holdings.sms : holdings.few).push_back(name);
  for (const auto& [name, count] : code.ptx) {
    if (count * 2 >= units) holdings.ptx.push_back(name);
  }
  for (auto* names : {&holdings.sms, &holdings.few, &holdings.ptx}) std::sort(names->begin(), names->end(), chip_less);
}

// Takes the device code of all files of a package other than torch: any of them may be loaded.
void take_all_device_code(Holdings& holdings, const Inventory& inventory) {
  std::set<std::string> sms;
  std::set<std::string> ptx;
  for (const auto& file : inventory.files) {
    for (const auto* code : {&file.device_code, &file.self_loaded_code}) {
      if (!*code) continue;
      for (const auto& [name, count] : (*code)->cubin) sms.insert(name);
      for (const auto& [name, count] : (*code)->ptx) ptx.insert(name);
    }
  }
  holdings.sms.assign(sms.begin(), sms.end());
  holdings.ptx.assign(ptx.begin(), ptx.end());
  for (auto* names : {&holdings.sms, &holdings.ptx}) std::sort(names->begin(), names->end(), chip_less);
}

// Joins SM names with one prefix: "sm_75, 80, 100a".
std::string chips(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += text.empty() ? name : ", " + name.substr(3);
  return text;
}

using Counts = std::map<std::string, int64_t>;

// Takes the minimum CPU of a package other than torch, which may guard its code at run time.
void take_minimum_of_package(Holdings& holdings, const Inventory& inventory) {
  const auto cpu = find_minimum_cpu(inventory.files);
  if (!cpu || cpu->least == kUnknownCpu) return;
  holdings.minimum_cpu = cpu->least;
  holdings.minimum_cpu_at_most = cpu->most;
}

void take_host_code(Holdings& holdings, const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  std::string machine;
  std::set<std::string> needs;
  std::set<std::string> open;
  std::set<std::string> leaked;
  std::set<std::string> capabilities;
  for (const auto& file : inventory.files) {
    const bool asked = facts.other || is_own(inventory, file);
    if (!asked || !file.host_code || !file.machine || list_hwcaps_features(file.path)) continue;
    machine = *file.machine;
    const HostCode& code = *file.host_code;
    for (const auto& [name, count] : code.unguarded) needs.insert(name);
    for (const auto& [name, count] : code.unclassified) open.insert(name);
    for (const auto& [name, count] : code.leaked) leaked.insert(name);
    for (const auto& [name, capability] : code.cpu_capabilities) {
      if (name != "DEFAULT") capabilities.insert(name);
    }
  }
  if (machine.empty()) return;
  const std::vector<std::string> certain(needs.begin(), needs.end());
  holdings.cpu_capabilities.assign(capabilities.begin(), capabilities.end());
  holdings.leaks = missing_features(std::vector<std::string>(leaked.begin(), leaked.end()), certain);
  if (facts.other) return take_minimum_of_package(holdings, inventory);
  holdings.minimum_cpu = minimum_cpu(machine, certain);
  needs.merge(open);
  const auto most = minimum_cpu(machine, std::vector<std::string>(needs.begin(), needs.end()));
  if (most != *holdings.minimum_cpu) holdings.minimum_cpu_at_most = most;
}

// Returns " holds machine code for sm_75, 80 and PTX for sm_80".
std::string describe_device_code(const Holdings& holdings) {
  if (holdings.sms.empty() && holdings.ptx.empty()) return " holds no device code";
  std::string text = " holds ";
  if (!holdings.sms.empty()) text += "machine code for " + chips(holdings.sms);
  if (!holdings.sms.empty() && !holdings.ptx.empty()) text += " and ";
  if (!holdings.ptx.empty()) text += "PTX for " + chips(holdings.ptx);
  return text;
}

std::string describe_holdings(const Facts& facts, const Holdings& holdings) {
  const Inventory& inventory = *facts.inventory;
  std::string text = facts.torch;
  if (facts.other || is_other_library(facts)) {
    text += describe_device_code(holdings);
  } else if (!facts.cuda_build) {
    text += " is a CPU build";
  } else {
    text += fmt::format(" is a {} build", holdings.sms.empty() ? "CUDA" : chips(holdings.sms));
    if (!holdings.ptx.empty()) text += fmt::format(" with PTX for {}", chips(holdings.ptx));
    if (inventory.cuda_version) text += " of CUDA " + *inventory.cuda_version;
  }
  if (inventory.platform) text += (facts.other || is_other_library(facts) ? ", for " : " for ") + *inventory.platform;
  if (holdings.minimum_cpu_at_most == kUnknownCpu) {
    text += fmt::format(", from at least {} on", *holdings.minimum_cpu);
  } else if (holdings.minimum_cpu_at_most) {
    text += fmt::format(", from {} or at most {} on", *holdings.minimum_cpu, *holdings.minimum_cpu_at_most);
  } else if (holdings.minimum_cpu) {
    text += fmt::format(", from {} on", *holdings.minimum_cpu);
  }
  if (!holdings.cpu_capabilities.empty())
    text += fmt::format(", with CPU capabilities {}", fmt::join(holdings.cpu_capabilities, " and "));
  return text;
}

}  // namespace

std::optional<Holdings> find_holdings(const Facts& facts) {
  if (facts.inventory == nullptr) return std::nullopt;
  Holdings holdings;
  if (facts.other || is_other_library(facts)) {
    take_all_device_code(holdings, *facts.inventory);
  } else if (facts.main_file != nullptr) {
    take_device_code(holdings, *facts.main_file->device_code);
  }
  for (const auto& file : facts.inventory->files) holdings.size_bytes += file.size_bytes;
  take_host_code(holdings, facts);
  holdings.sentence = describe_holdings(facts, holdings);
  return holdings;
}

}  // namespace pbprobe
