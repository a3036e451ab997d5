// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "probes/judge/questions.hpp"

namespace pbprobe::ask {
namespace {

Answer unreadable(const Inventory& inventory, bool of_libtorch) {
  Answer answer;
  for (const auto& file : inventory.files) {
    if (file.problem && is_own(inventory, file) == of_libtorch) answer.seen.push_back({*file.problem, file.path});
  }
  return answer;
}

}  // namespace

Answer libtorch_readable(const Facts& facts) {
  return unreadable(*facts.inventory, true);
}

Answer rest_readable(const Facts& facts) {
  Answer answer = unreadable(*facts.inventory, false);
  for (const auto& problem : facts.inventory->problems) answer.seen.push_back({problem});
  return answer;
}

Answer links_lead_somewhere(const Facts& facts) {
  Answer answer;
  for (const auto& link : facts.inventory->broken_links.value_or(std::vector<std::string>{}))
    answer.seen.push_back({.what = "it links to a shared object that is not there", .where = link});
  return answer;
}

Answer libtorch_present(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  if (file_named(inventory, "libtorch_cpu.so") != nullptr) return {};
  return {.seen = {{.what = say("{} holds no libtorch_cpu.so", inventory.artifact)}}};
}

Answer right_platform(const Facts& facts) {
  if (!facts.wrong_platform) return {};
  return {.seen = {{.what = say("{} is built for {}, and this machine is {}", facts.torch,
                                facts.inventory->platform.value_or("another processor"), facts.host->cpu.architecture),
                    .remedy = fmt::format("install the torch for {}-linux", facts.host->cpu.architecture)}}};
}

}  // namespace pbprobe::ask
