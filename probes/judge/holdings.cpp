// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What claim would be true of an artifact.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/rows.hpp"

namespace pbprobe {
namespace {

// By capability, then suffix: 80, 100, 100a.
bool chip_less(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& name) {
    const auto image = parse_image(name).value_or(Image{});
    return std::tuple(image.made_for.major, image.made_for.minor, image.suffix);
  };
  return key(a) < key(b);
}

int64_t most_of(const DeviceCode& code) {
  int64_t most = 0;
  for (const auto* images : {&code.cubin, &code.ptx}) {
    for (const auto& [name, count] : *images) most = std::max(most, count);
  }
  return most;
}

void take_device_code(Holdings& holdings, const DeviceCode& code) {
  const int64_t units = most_of(code);
  for (const auto& [name, count] : code.cubin) (count * 2 >= units ? holdings.sms : holdings.few).push_back(name);
  for (const auto& [name, count] : code.ptx) {
    if (count * 2 >= units) holdings.ptx.push_back(name);
  }
  for (auto* names : {&holdings.sms, &holdings.few, &holdings.ptx}) std::sort(names->begin(), names->end(), chip_less);
}

// "sm_75, 80, 100a": the prefix once.
std::string chips(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += text.empty() ? name : ", " + name.substr(3);
  return text;
}

void take_host_code(Holdings& holdings, const Inventory& inventory) {
  for (const auto& file : inventory.files) {
    if (!base_name(file.path).starts_with("libtorch_cpu.so") || !file.host_code) continue;
    holdings.least_cpu = file.host_code->least_cpu;
    holdings.least_cpu_most = file.host_code->least_cpu_at_most;
    for (const auto& [name, tier] : file.host_code->tiers) {
      if (name != "DEFAULT") holdings.tiers.push_back(name);
    }
  }
}

std::string sentence_for(const Facts& facts, const Holdings& holdings) {
  const Inventory& inventory = *facts.inventory;
  std::string text = facts.torch;
  if (!facts.cuda_build) {
    text += " is a CPU build";
  } else {
    text += fmt::format(" is a {} build", holdings.sms.empty() ? "CUDA" : chips(holdings.sms));
    if (!holdings.ptx.empty()) text += fmt::format(" with PTX for {}", chips(holdings.ptx));
    if (inventory.cuda_version) text += " of CUDA " + *inventory.cuda_version;
  }
  if (inventory.platform) text += " for " + *inventory.platform;
  if (holdings.least_cpu) text += fmt::format(", from {} on", *holdings.least_cpu);
  if (!holdings.tiers.empty()) text += fmt::format(", with tiers {}", fmt::join(holdings.tiers, " and "));
  return text;
}

}  // namespace

std::optional<Holdings> holdings_of(const Facts& facts) {
  if (facts.inventory == nullptr) return std::nullopt;
  Holdings holdings;
  if (facts.main_file != nullptr) take_device_code(holdings, *facts.main_file->device_code);
  for (const auto& file : facts.inventory->files) holdings.size_bytes += file.size_bytes;
  take_host_code(holdings, *facts.inventory);
  holdings.sentence = sentence_for(facts, holdings);
  return holdings;
}

}  // namespace pbprobe
