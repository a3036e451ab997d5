// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "probes/judge/questions.hpp"

namespace pbprobe::ask {
namespace {

using Names = std::vector<std::string>;

constexpr size_t kMostFiles = 4;  // a build with one fault has it in every file: the first ones are enough

bool is_libtorch(const Inventory& inventory, const File& file) {
  return is_own(inventory, file) && file.host_code.has_value();
}

bool was_counted(const Inventory& inventory) {
  return std::any_of(inventory.files.begin(), inventory.files.end(),
                     [&](const File& file) { return is_libtorch(inventory, file); });
}

std::optional<Seen> not_counted(const Facts& facts) {
  return Seen{.what = "the machine code of " + facts.torch + " was not counted",
              .remedy = "run `pbprobe audit` on the artifact itself"};
}

Names keys(const std::map<std::string, int64_t>& counts) {
  Names names;
  for (const auto& [name, count] : counts) names.push_back(name);
  return names;
}

// The first offender of these classes that needs one of these features: "f (.text)".
std::string example(const HostCode& code, const Names& features, const std::set<CodeClass>& classes) {
  for (const auto& offender : code.offenders) {
    if (!classes.contains(offender.code_class)) continue;
    const bool needs = std::any_of(offender.features.begin(), offender.features.end(), [&](const auto& name) {
      return std::find(features.begin(), features.end(), name) != features.end();
    });
    if (needs) return fmt::format("{} ({})", offender.function, offender.section);
  }
  return {};
}

Seen seen_in(const File& file, Said what, const std::string& function) {
  if (!function.empty()) {
    what.text += ": " + function;
    what.operands.push_back(function);
  }
  return {.what = std::move(what), .where = file.path};
}

Names promised_to(const File& file) {
  return promised_by_loader(file.path).value_or(Names{});
}

// Whether ld.so takes this file on a CPU with these features.
bool is_loaded_with(const File& file, const Names& features) {
  return missing_features(promised_to(file), features).empty();
}

// What unguarded code of those of libtorch's files uses that are loaded on the target's CPUs, all together.
Names used_by_libtorch(const Inventory& inventory, const Target& target) {
  const Names there = features_for(target);
  std::set<std::string> used;
  for (const auto& file : inventory.files) {
    if (!is_libtorch(inventory, file) || !is_loaded_with(file, there)) continue;
    for (const auto& [name, count] : file.host_code->unguarded) used.insert(name);
  }
  return {used.begin(), used.end()};
}

// What unguarded code uses, but for what static initializers alone use: that is another check's.
Names needed_past_loading(const HostCode& code) {
  Names names;
  for (const auto& [name, count] : code.unguarded) {
    const auto at_load = code.at_load ? code.at_load->find(name) : std::map<std::string, int64_t>::const_iterator{};
    if (code.at_load && at_load != code.at_load->end() && at_load->second >= count) continue;
    names.push_back(name);
  }
  return names;
}

Names certain_needs(const HostCode& code) {
  std::set<std::string> names;
  if (code.at_load) {
    for (const auto& [name, count] : *code.at_load) names.insert(name);
  }
  if (const auto tier = code.tiers.find("DEFAULT"); tier != code.tiers.end()) {
    for (const auto& [name, count] : tier->second.features) names.insert(name);
  }
  return {names.begin(), names.end()};
}

bool shares(const Names& a, const Names& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const auto& name) { return std::find(b.begin(), b.end(), name) != b.end(); });
}

// Functions of a tier that use what its targets are made of.
bool has_tier(const Inventory& inventory, const std::string& tier) {
  for (const auto& file : inventory.files) {
    if (!is_libtorch(inventory, file)) continue;
    const auto found = file.host_code->tiers.find(tier);
    if (found == file.host_code->tiers.end()) continue;
    for (const auto& target : all_targets()) {
      if (target.torch_tier == tier && target.marks && shares(keys(found->second.features), *target.marks)) return true;
    }
  }
  return false;
}

}  // namespace

// Runs for certain: when the file is loaded, or where torch's dispatcher takes its default tier.
Answer cpu_loads_libtorch(const Facts& facts) {
  if (facts.wrong_platform) return {};
  if (!was_counted(*facts.inventory)) return {.seen = {}, .unknown = not_counted(facts)};
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file) || answer.seen.size() >= kMostFiles) continue;
    if (!is_loaded_with(file, facts.host->cpu.features)) continue;
    const auto lacking =
        lacking_features(facts.host->cpu.architecture, certain_needs(*file.host_code), facts.host->cpu.features);
    if (lacking.empty()) continue;
    answer.seen.push_back(
        seen_in(file,
                say("it needs {}, which {} lacks, as soon as it is loaded or takes its default tier",
                    fmt::join(lacking, ", "), facts.host->cpu.name),
                example(*file.host_code, lacking, {CodeClass::static_initializer, CodeClass::default_tier})));
  }
  return answer;
}

// A guard may lie inside a function, or in one that calls it: what loads or runs for certain is PB210's.
Answer cpu_runs_unguarded_code(const Facts& facts) {
  if (facts.wrong_platform) return {};
  if (!was_counted(*facts.inventory)) return {.seen = {}, .unknown = not_counted(facts)};
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file) || answer.seen.size() >= kMostFiles) continue;
    if (!is_loaded_with(file, facts.host->cpu.features)) continue;
    const auto needs = missing_features(keys(file.host_code->unguarded), certain_needs(*file.host_code));
    const auto lacking = lacking_features(facts.host->cpu.architecture, needs, facts.host->cpu.features);
    if (lacking.empty()) continue;
    answer.seen.push_back(seen_in(file,
                                  say("unguarded code needs {}, which {} lacks (least CPU: {})",
                                      fmt::join(lacking, ", "), facts.host->cpu.name, file.host_code->least_cpu),
                                  example(*file.host_code, lacking, {CodeClass::unguarded})));
  }
  return answer;
}

// Where everything is built with these instructions, an initializer with them is no fault of its own.
Answer initializers_are_plain(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file)) continue;
    const Names promised = promised_to(file);
    std::set<std::string> elsewhere(promised.begin(), promised.end());
    for (const auto& offender : file.host_code->offenders) {
      if (offender.code_class == CodeClass::unguarded || offender.code_class == CodeClass::default_tier)
        elsewhere.insert(offender.features.begin(), offender.features.end());
    }
    const Names plain(elsewhere.begin(), elsewhere.end());
    for (const auto& offender : file.host_code->offenders) {
      if (offender.code_class != CodeClass::static_initializer || answer.seen.size() >= kMostFiles) continue;
      const auto more = missing_features(offender.features, plain);
      if (more.empty()) continue;
      answer.seen.push_back(
          {.what = say("{} needs {} as soon as the library is loaded", offender.function, fmt::join(more, ", ")),
           .where = fmt::format("{} {}", file.path, offender.section)});
    }
  }
  return answer;
}

// On a machine that has what the copy needs, it is no fault. One finding for each file, however many there are.
Answer no_tier_code_leaks(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file)) continue;
    const auto& offenders = file.host_code->offenders;
    const auto first = std::find_if(offenders.begin(), offenders.end(), [&](const CodeOffender& offender) {
      return offender.code_class == CodeClass::tier_leak &&
             (facts.host == nullptr || !missing_features(offender.features, facts.host->cpu.features).empty());
    });
    if (first == offenders.end()) continue;
    const auto& functions = file.host_code->functions;
    const auto leaks = functions.find("tier_leak");
    const int64_t more = leaks == functions.end() ? 0 : leaks->second - 1;
    answer.seen.push_back(
        {.what = say("{} runs everywhere, and the linker took a tier's copy of it, which needs {}{}", first->function,
                     fmt::join(first->features, ", "),
                     in_words(more < 1 ? "" : fmt::format("; so it is with {} more functions", more))),
         .where = fmt::format("{} {}", file.path, first->section)});
  }
  return answer;
}

// On a CPU that has no more than the folder's level, ld.so takes the file all the same.
Answer hwcaps_keep_their_level(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    const auto promised = promised_by_loader(file.path);
    if (!promised || !is_libtorch(*facts.inventory, file) || answer.seen.size() >= kMostFiles) continue;
    std::set<std::string> used;
    for (const auto& name : keys(file.host_code->unguarded)) used.insert(name);
    for (const auto& name : certain_needs(*file.host_code)) used.insert(name);
    const auto more = missing_features(Names(used.begin(), used.end()), *promised);
    if (more.empty()) continue;
    answer.seen.push_back(seen_in(
        file,
        fmt::format("unguarded code needs {}, which the level of its folder does not promise", fmt::join(more, ", ")),
        example(*file.host_code, more,
                {CodeClass::unguarded, CodeClass::default_tier, CodeClass::static_initializer})));
  }
  return answer;
}

Answer has_its_tiers(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const auto has_names = [&](const File& file) {
    return is_libtorch(inventory, file) && base_name(file.path).starts_with("libtorch_cpu.so") &&
           !file.host_code->tiers.empty();
  };
  const auto cpu = std::find_if(inventory.files.begin(), inventory.files.end(), has_names);
  if (cpu == inventory.files.end()) return {};  // counted without names, or not at all: nothing is known of tiers
  Answer answer;
  std::set<std::string> asked;
  for (const auto& target : all_targets()) {
    if (!target.torch_tier || target.architecture != cpu->machine || !asked.insert(*target.torch_tier).second) continue;
    if (has_tier(inventory, *target.torch_tier)) continue;
    const bool listed = cpu->host_code->tiers.contains(*target.torch_tier);
    answer.seen.push_back({.what = say("the {} tier {}", *target.torch_tier,
                                       in_words(listed ? "holds no such instruction" : "is missing")),
                           .where = cpu->path});
  }
  return answer;
}

Answer claimed_cpu_suffices(const Facts& facts) {
  if (!facts.claim->exact) return {};
  if (!was_counted(*facts.inventory)) return {.seen = {}, .unknown = not_counted(facts)};
  Answer answer;
  for (const Target* target : facts.claimed_cpus) {
    const Names there = features_for(*target);
    for (const auto& file : facts.inventory->files) {
      if (!is_libtorch(*facts.inventory, file) || file.machine != target->architecture ||
          answer.seen.size() >= kMostFiles)
        continue;
      const auto beyond = missing_features(needed_past_loading(*file.host_code), there);
      const auto more = missing_features(beyond, promised_to(file));
      if (more.empty()) continue;
      answer.seen.push_back(seen_in(file,
                                    say("unguarded code needs {}, which {} has not", fmt::join(more, ", "), target->id),
                                    example(*file.host_code, more, {CodeClass::unguarded, CodeClass::default_tier})));
    }
  }
  return answer;
}

Answer claimed_cpu_is_delivered(const Facts& facts) {
  if (!was_counted(*facts.inventory)) return {.seen = {}, .unknown = not_counted(facts)};
  Answer answer;
  if (!processor_is_claimed(facts).seen.empty()) return answer;  // said already
  for (const Target* target : facts.claimed_cpus) {
    const bool built = target->marks && shares(used_by_libtorch(*facts.inventory, *target), *target->marks);
    const bool tier = !facts.claim->exact && target->torch_tier && has_tier(*facts.inventory, *target->torch_tier);
    if (built || tier) continue;
    answer.seen.push_back({.what = say("{} is claimed, and no unguarded code of libtorch uses {}", target->id,
                                       fmt::join(target->marks.value_or(Names{}), ", "))});
  }
  return answer;
}

Answer claimed_sub_row_differs(const Facts& facts) {
  Answer answer;
  if (!was_counted(*facts.inventory)) return answer;
  for (const Target* target : facts.claimed_cpus) {
    const Names used = used_by_libtorch(*facts.inventory, *target);
    const Names own = own_features(*target);
    const bool built = target->marks && shares(used, *target->marks);
    if (!built || own.empty() || shares(used, own)) continue;
    const Target* base = base_target(*target);
    answer.seen.push_back({.what = say("{}: 0 unguarded instructions need {}: the same code as {}", target->id,
                                       fmt::join(own, ", "), base != nullptr ? base->id : "for a lesser CPU")});
  }
  return answer;
}

}  // namespace pbprobe::ask
