// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "core/statuses.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Changing permissions or installing again does not repair a damaged wheel.
std::optional<std::string> choose_remedy(const Inventory& inventory) {
  if (inventory.layout != "wheel") return std::nullopt;
  return "build this wheel again, or download it again from its publisher";
}

Answer unreadable(const Inventory& inventory, bool of_libtorch) {
  Answer answer;
  std::optional<Seen> not_read;  // this process failed to read: the file may be sound
  for (const auto& file : inventory.files) {
    if (!file.problem || is_own(inventory, file) != of_libtorch) continue;
    if (classify_message(*file.problem)) {
      not_read =
          Seen{.what = *file.problem,
               .where = file.path,
               .remedy = "free memory, or raise the limit of this process (`ulimit -v`, `ulimit -n`) or of its cgroup"};
    } else {
      answer.seen.push_back({*file.problem, file.path, choose_remedy(inventory)});
    }
  }
  if (answer.seen.empty()) answer.unknown = std::move(not_read);
  return answer;
}

Answer libtorch_readable(const Facts& facts) {
  return unreadable(*facts.inventory, true);
}

Answer rest_readable(const Facts& facts) {
  Answer answer = unreadable(*facts.inventory, false);
  for (const auto& file : facts.inventory->files) {
    const bool theirs = !is_own(*facts.inventory, file) && !has_own_sms(file);  // PB330 judges the rest
    const FalseEntry* first = file.device_code ? first_false_entry(*file.device_code) : nullptr;
    if (!theirs || file.problem || first == nullptr) continue;
    answer.seen.push_back({say("{}: {} of its fatbin entries {}: the {} at 0x{:x} is {}", base_name(file.path),
                               *file.device_code->false_entries,
                               select_by_number(*file.device_code->false_entries, "does not match its header",
                                                "do not match their headers"),
                               first->label, first->offset, first->seen),
                           file.path});
  }
  for (const auto& problem : facts.inventory->problems)
    answer.seen.push_back({problem, std::nullopt, choose_remedy(*facts.inventory)});
  return answer;
}

Answer links_lead_somewhere(const Facts& facts) {
  Answer answer;
  for (const auto& link : facts.inventory->broken_links.value_or(std::vector<std::string>{}))
    answer.seen.push_back({.what = "the symbolic link leads to a missing shared object", .where = link});
  return answer;
}

Answer libtorch_present(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  if (file_named(inventory, kLibtorchCpu) != nullptr) return {};
  return {.seen = {{.what = say("{} holds no libtorch_cpu.so", inventory.artifact)}}};
}

Answer right_platform(const Facts& facts) {
  if (!facts.wrong_platform) return {};
  return {.seen = {{.what = say("{} is built for {}, and this machine is {}", facts.torch,
                                facts.inventory->platform.value_or("another processor"), facts.host->cpu.architecture),
                    .remedy = fmt::format("install the torch for {}-linux", facts.host->cpu.architecture)}}};
}

}  // namespace

std::vector<Check> files_checks() {
  using enum Need;
  return {
      {.id = "PB101",
       .subject = Subject::reading,
       .needs = {inventory},
       .decides = true,
       .integrity = true,
       .remedy = "install this torch again: the file is damaged or unreadable",
       .ask = libtorch_readable},
      {.id = "PB102",
       .subject = Subject::reading,
       .severity = Severity::warn,
       .needs = {inventory},
       .integrity = true,
       .of_any = true,
       .remedy = "check the file's permissions, or install its package again",
       .ask = rest_readable},
      {.id = "PB103",
       .subject = Subject::artifact,
       .needs = {inventory, whole},
       .decides = true,
       .remedy = "name the folder that holds torch/ (site-packages), a libtorch folder or a wheel",
       .ask = libtorch_present},
      {.id = "PB104",
       .subject = Subject::artifact,
       .needs = {host, inventory},
       .decides = true,
       .of_processor = true,
       .remedy = "install the torch for this machine's processor",
       .ask = right_platform},
      {.id = "PB128",
       .subject = Subject::artifact,
       .severity = Severity::note,
       .needs = {inventory, whole},
       .of_any = true,
       .remedy = "leave the link out of the package, or ship what it names",
       .ask = links_lead_somewhere},
  };
}

}  // namespace pbprobe
