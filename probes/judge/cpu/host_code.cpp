// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "probes/judge/cpu/marks.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

using Names = std::vector<std::string>;

constexpr size_t kMostFiles = 4;  // a fault of the build repeats in each file

bool was_counted(const Inventory& inventory) {
  return std::ranges::any_of(inventory.files, [&](const File& file) { return is_libtorch(inventory, file); });
}

std::optional<Seen> not_counted(const Facts& facts) {
  return Seen{.what = "the machine code of " + facts.torch + " was not counted",
              .remedy = "run `pbprobe audit` on the artifact itself"};
}

// Names the first offender of `classes` that needs one of `features`: "f (.text)".
std::string example(const HostCode& code, const Names& features, const std::set<CodeClass>& classes) {
  for (const auto& offender : code.offenders) {
    if (!classes.contains(offender.code_class)) continue;
    const bool needs = std::ranges::any_of(
        offender.features, [&](const auto& name) { return std::ranges::find(features, name) != features.end(); });
    if (needs) return fmt::format("{} ({})", offender.function, offender.section);
  }
  return {};
}

Seen make_seen(const File& file, Sentence what, const std::string& function) {
  if (!function.empty()) {
    what.text += ": " + function;
    what.operands.push_back(function);
  }
  return {.what = std::move(what), .where = file.path};
}

// Returns the features of unguarded code, without features that only static initializers use (PB204).
Names needed_past_loading(const HostCode& code) {
  Names names;
  for (const auto& [name, count] : code.unguarded) {
    const auto at_load = code.at_load.find(name);
    if (at_load != code.at_load.end() && at_load->second >= count) continue;
    names.push_back(name);
  }
  return names;
}

Names certain_needs(const HostCode& code) {
  std::set<std::string> names;
  for (const auto& [name, count] : code.at_load) names.insert(name);
  if (const auto capability = code.cpu_capabilities.find("DEFAULT"); capability != code.cpu_capabilities.end()) {
    for (const auto& [name, count] : capability->second.features) names.insert(name);
  }
  return {names.begin(), names.end()};
}

// Reports whether functions of the CPU capability use marks of its targets.
bool has_cpu_capability(const Inventory& inventory, const std::string& capability) {
  for (const auto& file : inventory.files) {
    if (!is_libtorch(inventory, file)) continue;
    const auto found = file.host_code->cpu_capabilities.find(capability);
    if (found == file.host_code->cpu_capabilities.end()) continue;
    for (const auto& target : all_targets()) {
      if (target.torch_cpu_capability == capability && target.marks &&
          shares(list_names(found->second.features), *target.marks))
        return true;
    }
  }
  return false;
}

// Returns the features that code of a CPU capability may use: those that the least target with this capability has,
// and the claimed ones. The best capability may hold code for any target, which it chooses at run time.
Names list_allowed_features(const std::string& capability, const Facts& facts) {
  const Target* least = nullptr;
  bool best = false;
  for (const auto& row : all_targets()) {
    if (!row.torch_cpu_capability) continue;
    if (row.torch_cpu_capability == capability && least == nullptr) least = &row;
    best = row.torch_cpu_capability == capability;  // the last row of the table has the best
  }
  Names allowed;
  if (least == nullptr) return allowed;
  for (const auto& row : all_targets()) {
    const auto& claims = facts.claimed_cpus;
    const bool claimed = std::ranges::find(claims, &row) != claims.end();
    const bool beyond = best && row.kind == TargetKind::cpu && row.architecture == least->architecture;
    if (&row != least && !claimed && !beyond) continue;
    const Names more = list_target_features(row);
    allowed.insert(allowed.end(), row.requires_features.begin(), row.requires_features.end());
    allowed.insert(allowed.end(), more.begin(), more.end());
  }
  return allowed;
}

Answer capabilities_suffice(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file)) continue;
    for (const auto& [capability, code] : file.host_code->cpu_capabilities) {
      const Names allowed = list_allowed_features(capability, facts);
      if (allowed.empty() || answer.seen.size() >= kMostFiles) continue;
      const auto more = missing_features(list_names(code.features), allowed);
      if (more.empty()) continue;
      answer.seen.push_back({.what = say("the code for torch's CPU capability {} needs {}, and torch selects this code "
                                         "on some CPUs that lack that",
                                         capability, fmt::join(more, ", ")),
                             .where = file.path});
    }
  }
  return answer;
}

// Judges code that certainly runs: at load, or if torch's dispatcher takes its default CPU capability.
Answer cpu_loads_libtorch(const Facts& facts) {
  if (!was_counted(*facts.inventory)) return {.seen = {}, .unknown = not_counted(facts)};
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file) || answer.seen.size() >= kMostFiles) continue;
    if (!is_loaded_with(file, facts.host->cpu.features)) continue;
    const auto lacking =
        lacking_features(facts.host->cpu.architecture, certain_needs(*file.host_code), facts.host->cpu.features);
    if (lacking.empty()) continue;
    answer.seen.push_back(
        make_seen(file,
                  say("this library needs {}, which {} lacks, as soon as the library is loaded or uses its default CPU "
                      "capability",
                      fmt::join(lacking, ", "), facts.host->cpu.name),
                  example(*file.host_code, lacking, {CodeClass::static_initializer, CodeClass::default_capability})));
  }
  return answer;
}

// A guard may be inside a function or in its caller. PB210 reports code that certainly runs.
Answer cpu_runs_unguarded_code(const Facts& facts) {
  if (!was_counted(*facts.inventory)) return {.seen = {}, .unknown = not_counted(facts)};
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file) || answer.seen.size() >= kMostFiles) continue;
    if (!is_loaded_with(file, facts.host->cpu.features)) continue;
    const auto needs = missing_features(list_names(file.host_code->unguarded), certain_needs(*file.host_code));
    const auto lacking = lacking_features(facts.host->cpu.architecture, needs, facts.host->cpu.features);
    if (lacking.empty()) continue;
    answer.seen.push_back(make_seen(file,
                                    say("unguarded code needs {}, which {} lacks (minimum CPU: {})",
                                        fmt::join(lacking, ", "), facts.host->cpu.name, file.host_code->minimum_cpu),
                                    example(*file.host_code, lacking, {CodeClass::unguarded})));
  }
  return answer;
}

// Ignores features that unguarded code of the file also uses: the initializer is then not a separate fault.
Answer initializers_are_plain(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file)) continue;
    const Names promised = list_hwcaps_features(file.path).value_or(Names{});
    std::set<std::string> elsewhere(promised.begin(), promised.end());
    for (const auto& offender : file.host_code->offenders) {
      if (offender.code_class == CodeClass::unguarded || offender.code_class == CodeClass::default_capability)
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

// GCC before 13 and Clang before 19 link crtfastmath.o into libraries built with -ffast-math or -Ofast.
Answer subnormals_are_kept(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file) || !file.load_code || !file.load_code->flushes) continue;
    answer.seen.push_back(
        {.what = say("{} makes the CPU flush subnormal numbers to zero as soon as the library is loaded",
                     *file.load_code->flushes),
         .where = file.path});
  }
  return answer;
}

// A machine that has the features of the copy can run it. Reports one leak for each file.
Answer no_capability_leaks(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(*facts.inventory, file)) continue;
    const auto& offenders = file.host_code->offenders;
    const auto first = std::ranges::find_if(offenders, [&](const CodeOffender& offender) {
      return offender.code_class == CodeClass::capability_leak &&
             (facts.host == nullptr || !missing_features(offender.features, facts.host->cpu.features).empty());
    });
    if (first == offenders.end()) continue;
    const auto& functions = file.host_code->functions;
    const auto leaks = functions.find("capability_leak");
    const int64_t more = leaks == functions.end() ? 0 : leaks->second - 1;
    answer.seen.push_back(
        {.what = say(
             "{} runs on every CPU, and the linker kept the copy of it that was compiled for one CPU capability and "
             "needs {}{}",
             first->function, fmt::join(first->features, ", "),
             make_words(more < 1 ? "" : fmt::format("; so it is with {} more function{}", more, more == 1 ? "" : "s"))),
         .where = fmt::format("{} {}", file.path, first->section)});
  }
  return answer;
}

// ld.so loads a file below glibc-hwcaps on each CPU with the level of the folder.
Answer hwcaps_keep_their_level(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    const auto promised = list_hwcaps_features(file.path);
    if (!promised || !is_libtorch(*facts.inventory, file) || answer.seen.size() >= kMostFiles) continue;
    std::set<std::string> used;
    for (const auto& name : list_names(file.host_code->unguarded)) used.insert(name);
    for (const auto& name : certain_needs(*file.host_code)) used.insert(name);
    const auto more = missing_features(Names(used.begin(), used.end()), *promised);
    if (more.empty()) continue;
    answer.seen.push_back(make_seen(
        file,
        fmt::format("unguarded code needs {}, which the level of its folder does not promise", fmt::join(more, ", ")),
        example(*file.host_code, more,
                {CodeClass::unguarded, CodeClass::default_capability, CodeClass::static_initializer})));
  }
  return answer;
}

Answer has_its_cpu_capabilities(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const auto has_names = [&](const File& file) {
    return is_libtorch(inventory, file) && base_name(file.path).starts_with(kLibtorchCpu) &&
           !file.host_code->cpu_capabilities.empty();
  };
  const auto cpu = std::ranges::find_if(inventory.files, has_names);
  if (cpu == inventory.files.end()) return {};  // the audit counted no code, or found no names of CPU capabilities
  Answer answer;
  std::set<std::string> asked;
  for (const auto& target : all_targets()) {
    if (!target.torch_cpu_capability || target.architecture != cpu->machine ||
        !asked.insert(*target.torch_cpu_capability).second)
      continue;
    if (has_cpu_capability(inventory, *target.torch_cpu_capability)) continue;
    const bool listed = cpu->host_code->cpu_capabilities.contains(*target.torch_cpu_capability);
    answer.seen.push_back({.what = say("the {} CPU capability {}", *target.torch_cpu_capability,
                                       make_words(listed ? "holds no such instruction" : "is missing")),
                           .where = cpu->path});
  }
  return answer;
}

Answer claimed_cpu_suffices(const Facts& facts) {
  if (!was_counted(*facts.inventory)) return {.seen = {}, .unknown = not_counted(facts)};
  Answer answer = capabilities_suffice(facts);
  for (const Target* target : facts.claimed_cpus) {
    const Names there = list_target_features(*target);
    for (const auto& file : facts.inventory->files) {
      if (!is_libtorch(*facts.inventory, file) || file.machine != target->architecture ||
          answer.seen.size() >= kMostFiles)
        continue;
      const auto beyond = missing_features(needed_past_loading(*file.host_code), there);
      const auto more = missing_features(beyond, list_hwcaps_features(file.path).value_or(Names{}));
      if (more.empty()) continue;
      answer.seen.push_back(
          make_seen(file, say("unguarded code needs {}, which {} lacks", fmt::join(more, ", "), target->id),
                    example(*file.host_code, more, {CodeClass::unguarded, CodeClass::default_capability})));
    }
  }
  return answer;
}

Answer claimed_cpu_is_delivered(const Facts& facts) {
  if (!was_counted(*facts.inventory)) return {.seen = {}, .unknown = not_counted(facts)};
  Answer answer;
  if (!processor_matches_claim(facts)) return answer;  // reported already
  for (const Target* target : facts.claimed_cpus) {
    const Names used = used_by_libtorch(*facts.inventory, *target);
    const bool built = is_built_for(*facts.inventory, *target);
    const bool capability = !facts.claim->exact && target->torch_cpu_capability &&
                            has_cpu_capability(*facts.inventory, *target->torch_cpu_capability);
    const auto few = built && !capability ? too_few_marks(*facts.inventory, *target) : std::nullopt;
    const Names absent = built && facts.claim->exact ? unused_marks_of_flags(*facts.inventory, *target, used) : Names{};
    if (few) answer.seen.push_back({.what = *few});
    if (!few && !absent.empty())
      answer.seen.push_back(
          {.what = say("{} is claimed with `only`, and unguarded code of libtorch never uses {}: the build "
                       "lacked a compiler flag of that target",
                       target->id, fmt::join(absent, ", "))});
    if (built || capability) continue;
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
    answer.seen.push_back(
        {.what = say("{} is claimed, and no unguarded instruction needs {}: the build is the same as for {}",
                     target->id, fmt::join(own, ", "), base != nullptr ? base->id : "a lower CPU baseline")});
  }
  return answer;
}

}  // namespace

std::vector<Check> host_code_checks() {
  using enum Need;
  return {
      {.id = "PB150",
       .needs = {inventory},
       .remedy = "build the library with that level's flags (-march=x86-64-v3 in x86-64-v3), or move it to the level "
                 "that it needs",
       .ask = hwcaps_keep_their_level},
      {.id = "PB203",
       .severity = Severity::warn,  // names do not show every guard; PB210 reports code that certainly runs
       .needs = {host, inventory},
       .remedy = "use a build for a lower CPU baseline: `pbprobe host` names this machine's targets",
       .ask = cpu_runs_unguarded_code},
      {.id = "PB204",
       .needs = {inventory},
       .remedy =
           "compile what is initialized statically without the CPU capability's flags, or initialize it on first use",
       .ask = initializers_are_plain},
      {.id = "PB217",
       .needs = {inventory},
       .remedy = "link it without -ffast-math and -Ofast: look at CFLAGS, CXXFLAGS and LDFLAGS as the build saw them",
       .ask = subnormals_are_kept},
      {.id = "PB205",
       .severity = Severity::warn,
       .needs = {inventory},
       .remedy =
           "use another release of torch on CPUs without these features; if you build it, give inline functions of a "
           "CPU capability's source file internal linkage, or link the default CPU capability's objects first",
       .ask = no_capability_leaks},
      {.id = "PB206",
       .severity = Severity::warn,
       .needs = {inventory},
       .remedy = "build with a compiler that knows them, and without options that leave kernels out",
       .ask = has_its_cpu_capabilities},
      {.id = "PB207",
       .level = Level::claimed,
       .needs = {cpu_claim, inventory},
       .decides = true,
       .proves = ClaimPart::isa,
       .remedy = "build the whole library with the claimed target's flags, or claim the CPU that it needs",
       .ask = claimed_cpu_suffices},
      {.id = "PB208",
       .level = Level::claimed,
       .needs = {cpu_claim, inventory},
       .decides = true,
       .proves = ClaimPart::isa,
       .remedy = "build it with the claimed target's flags, or claim no such CPU",
       .ask = claimed_cpu_is_delivered},
      {.id = "PB209",
       .level = Level::claimed,
       .severity = Severity::warn,
       .needs = {cpu_claim, inventory},
       .proves = ClaimPart::isa,
       .remedy = "nothing to fix if compilers emit no such instructions: then this build is no faster than a build for "
                 "the previous CPU",
       .ask = claimed_sub_row_differs},
      {.id = "PB210",
       .level = Level::loaded,
       .needs = {host, inventory},
       .remedy = "use a build for a lower CPU baseline: `pbprobe host` names this machine's targets",
       .ask = cpu_loads_libtorch},
  };
}

}  // namespace pbprobe
