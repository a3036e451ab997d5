// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that all host code that a claimed CPU would run needs only features of that CPU.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

using Names = std::vector<std::string>;

constexpr size_t kMostFiles = 4;

// Returns the features of the target, and of the glibc-hwcaps folder of `file`, which ld.so checks before it loads the
// file.
Names list_expected_features(const Target& target, const File& file) {
  Names there = list_target_features(target);
  const Names promised = list_hwcaps_features(file.path).value_or(Names{});
  there.insert(there.end(), promised.begin(), promised.end());
  return there;
}

Names keys(const std::map<std::string, int64_t>& counts) {
  Names names;
  for (const auto& [name, count] : counts) names.push_back(name);
  return names;
}

// Returns the first offender of `code_class` (nullopt: any class) that needs a feature outside `there`, or nullptr.
const CodeOffender* beyond(const std::vector<CodeOffender>& offenders, std::optional<CodeClass> code_class,
                           const Names& there) {
  const auto found = std::ranges::find_if(offenders, [&](const CodeOffender& offender) {
    return (!code_class || offender.code_class == *code_class) && !missing_features(offender.features, there).empty();
  });
  return found == offenders.end() ? nullptr : &*found;
}

// Collects the faults that `tell` finds in libtorch's files for each claimed CPU target, at most kMostFiles.
template <class Tell>
std::vector<Seen> check_libtorch_files(const Facts& facts, const Tell& tell) {
  std::vector<Seen> known;
  for (const Target* target : facts.claimed_cpus) {
    for (const auto& file : facts.inventory->files) {
      if (!is_own(*facts.inventory, file) || file.machine != target->architecture || known.size() >= kMostFiles)
        continue;
      if (auto seen = tell(*target, file)) known.push_back(std::move(*seen));
    }
  }
  return known;
}

Answer unknown_if_any(std::vector<Seen> known) {
  if (known.empty()) return {};
  const size_t more = known.size() - 1;
  if (more > 0) known.front().what.text += fmt::format("; {} more file{}", more, more == 1 ? "" : "s");
  return {.seen = {}, .unknown = std::move(known.front())};
}

std::optional<Seen> find_undecided_code(const Target& target, const File& file) {
  const Names there = list_expected_features(target, file);
  if (file.host_code) {
    const auto more = missing_features(keys(file.host_code->unclassified), there);
    const CodeOffender* first = beyond(file.host_code->offenders, CodeClass::unclassified, there);
    if (!more.empty())
      return Seen{.what = say("it is unknown which CPUs run code of this file that needs {}, which {} lacks: {} ({})",
                              fmt::join(more, ", "), target.id, first == nullptr ? "" : first->function,
                              first == nullptr ? "" : first->section),
                  .where = file.path};
    if (file.host_code->undecided_length)
      return Seen{.what = say("it is unknown whether SVE code of this file works with each vector length of {}: {}",
                              target.id, *file.host_code->undecided_length),
                  .where = file.path};
  }
  return std::nullopt;
}

// Load-time code holds the address of the function and makes indirect calls. The audit cannot tell their targets.
std::optional<Seen> may_run_at_load(const Target& target, const File& file) {
  const Names there = list_expected_features(target, file);
  if (!file.load_code) return std::nullopt;
  const CodeOffender* held = beyond(file.load_code->open, std::nullopt, there);
  if (held == nullptr) return std::nullopt;
  return Seen{.what = say("code that runs while this file is loaded may call {}, which needs {}, and {} lacks that",
                          held->function, fmt::join(missing_features(held->features, there), ", "), target.id),
              .where = file.path};
}

int64_t count_functions(const HostCode& code) {
  int64_t functions = 0;
  for (const auto& [code_class, count] : code.functions) functions += count;
  return functions;
}

// Returns the artifact's files that libtorch needs, directly or through others, without libtorch's own files.
std::vector<const File*> needed_by_libtorch(const Inventory& inventory) {
  std::vector<const File*> next;
  std::set<std::string_view> seen;
  const auto enter = [&](const File& file) {
    if (seen.insert(file.path).second) next.push_back(&file);
  };
  for (const auto& file : inventory.files) {
    if (is_own(inventory, file)) enter(file);
  }
  const size_t own = next.size();
  for (size_t i = 0; i < next.size(); ++i) {
    for (const auto& name : next[i]->needed) {
      for (const auto& file : inventory.files) {
        if (file.soname == name || base_name(file.path) == name) enter(file);
      }
    }
  }
  next.erase(next.begin(), next.begin() + static_cast<ptrdiff_t>(own));
  return next;
}

Answer all_code_is_decided(const Facts& facts) {
  Answer answer = unknown_if_any(check_libtorch_files(facts, find_undecided_code));
  answer.seen = check_libtorch_files(facts, may_run_at_load);
  return answer;
}

// Returns the features of all CPU targets of this architecture, and the length of vectors, which no row has. Libraries
// check other features at run time.
Names names_of_rows(const Target& target) {
  Names names;
  for (const auto& row : all_targets()) {
    if (row.kind != TargetKind::cpu || row.architecture != target.architecture) continue;
    const Names more = list_target_features(row);
    names.insert(names.end(), more.begin(), more.end());
    names.insert(names.end(), row.requires_features.begin(), row.requires_features.end());
  }
  names.emplace_back("sve256");
  return names;
}

// Returns a fault if unguarded code of a library needs a feature that the claimed CPU lacks.
std::optional<Seen> runs_beyond(const Target& target, const File& file) {
  const Names there = list_expected_features(target, file);
  const Names more = missing_features(keys(file.host_code->unguarded), there);
  const Names others = missing_features(more, names_of_rows(target));
  const Names known = missing_features(more, others);
  if (known.empty()) return std::nullopt;
  const CodeOffender* first = beyond(file.host_code->offenders, CodeClass::unguarded, there);
  return Seen{.what = say("unguarded code needs {}, which {} lacks: {}", fmt::join(known, ", "), target.id,
                          first == nullptr ? "" : first->function),
              .where = file.path};
}

Answer bundled_libraries_run(const Facts& facts) {
  Answer answer;
  for (const Target* target : facts.claimed_cpus) {
    for (const auto& file : facts.inventory->files) {
      const bool asked = file.host_code && file.machine == target->architecture && !is_own(*facts.inventory, file);
      if (!asked || answer.seen.size() >= kMostFiles) continue;
      if (auto seen = runs_beyond(*target, file)) answer.seen.push_back(std::move(*seen));
    }
  }
  return answer;
}

Answer needed_libraries_load(const Facts& facts) {
  Answer answer = bundled_libraries_run(facts);
  for (const Target* target : facts.claimed_cpus) {
    for (const File* file : needed_by_libtorch(*facts.inventory)) {
      if (!file->load_code || file->machine != target->architecture || answer.seen.size() >= kMostFiles) continue;
      const Names there = list_expected_features(*target, *file);
      const auto more = missing_features(keys(file->load_code->features), there);
      if (more.empty()) continue;
      const CodeOffender* first = beyond(file->load_code->offenders, std::nullopt, there);
      answer.seen.push_back({.what = say("this library needs {} while it is loaded, which {} lacks: {}",
                                         fmt::join(more, ", "), target->id, first == nullptr ? "" : first->function),
                             .where = file->path});
    }
  }
  return answer;
}

// Python imports a module only by a name for its own processor and C library.
void check_module_names(const Inventory& inventory, Answer& answer) {
  for (const auto& file : inventory.files) {
    const auto name = base_name(file.path);
    if (!is_own(inventory, file) || !file.machine || name.find(".cpython-") == name.npos) continue;
    const bool other = name.find("-linux-") != name.npos && name.find("-" + *file.machine + "-linux-") == name.npos;
    const bool glibc = std::ranges::find(file.needed, "libc.so.6") != file.needed.end();
    const bool musl = name.find("-linux-musl") != name.npos;
    if (!other && !(glibc && musl)) continue;
    answer.seen.push_back(
        {.what = say(
             "this extension module is for {}{}, and its file name states another platform: Python does not import it",
             *file.machine, make_words(glibc && musl ? " with glibc" : "")),
         .where = file.path});
  }
}

Answer files_are_of_one_processor(const Facts& facts) {
  Answer answer;
  const Inventory& inventory = *facts.inventory;
  check_module_names(inventory, answer);
  const File* first = file_named(inventory, "libc10.so");
  if (first == nullptr || !first->machine) first = file_named(inventory, kLibtorchCpu);
  if (first == nullptr || !first->machine) return answer;
  std::vector<const File*> files = needed_by_libtorch(inventory);
  for (const auto& file : inventory.files) {
    if (is_own(inventory, file)) files.push_back(&file);
  }
  for (const File* file : files) {
    if (!file->machine || *file->machine == *first->machine || *file->machine == "cuda") continue;
    if (answer.seen.size() >= kMostFiles) break;
    answer.seen.push_back({.what = say("this file is for the processor {}, and {} is for {}", *file->machine,
                                       base_name(first->path), *first->machine),
                           .where = file->path});
  }
  return answer;
}

Answer opcodes_are_known(const Facts& facts) {
  const auto unknown_in = [](const Target& target, const File& file) -> std::optional<Seen> {
    if (!file.host_code || !file.host_code->unknown_opcode) return std::nullopt;
    return Seen{.what = say("code that CPUs of {} would run contains an instruction that pbprobe does not know: {}",
                            target.id, *file.host_code->unknown_opcode),
                .where = file.path};
  };
  const auto at_load = [](const Target& target, const File& file) -> std::optional<Seen> {
    if (!file.load_code || !file.load_code->unknown_opcode) return std::nullopt;
    return Seen{
        .what = say(
            "code that CPUs of {} run while the file is loaded contains an instruction that pbprobe does not know: {}",
            target.id, *file.load_code->unknown_opcode),
        .where = file.path};
  };
  Answer answer = unknown_if_any(check_libtorch_files(facts, unknown_in));
  answer.seen = check_libtorch_files(facts, at_load);
  return answer;
}

Answer emulated_cpu_loads_it(const Facts& facts) {
  Answer answer;
  if (!facts.report.emulated_loads) return answer;
  for (const auto& load : *facts.report.emulated_loads) {
    if (load.outcome != LoadOutcome::died) continue;
    answer.seen.push_back(
        {.what = say("the process on an emulated CPU of {} ({}) died while it loaded this library: {}", load.target,
                     load.cpu.value_or("?"), load.what),
         .where = load.library});
  }
  return answer;
}

Answer libtorch_cpu_is_no_stub(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_own(*facts.inventory, file) || !base_name(file.path).starts_with(kLibtorchCpu)) continue;
    if (!file.host_code || file.host_code->code_bytes == 0 || file.host_code->cpu_capabilities.contains("DEFAULT"))
      continue;
    answer.seen.push_back({.what = say("this library holds none of torch's CPU kernels (capability DEFAULT), like a "
                                       "stub to link against: all its code is {} functions in {} bytes",
                                       count_functions(*file.host_code), file.host_code->code_bytes),
                           .where = file.path});
  }
  return answer;
}

}  // namespace

std::vector<Check> claimed_cpus_checks() {
  using enum Need;
  return {
      {.id = "PB211",
       .needs = {cpu_claim, inventory},
       .decides = true,
       .proves = ClaimPart::isa,
       .remedy = "leave the symbols in libtorch's own files (no strip), or build them without code for better CPUs and "
                 "without -msve-vector-bits",
       .ask = all_code_is_decided},
      {.id = "PB212",
       .needs = {cpu_claim, inventory},
       .proves = ClaimPart::isa,
       .remedy = "ship a build of the library that runs on the claimed CPU, or on every CPU",
       .ask = needed_libraries_load},
      {.id = "PB213",
       .needs = {inventory},
       .remedy = "find out which package installed the file, and remove it: ld.so does not load libraries of two "
                 "processors into one process",
       .ask = files_are_of_one_processor},
      {.id = "PB214",
       .needs = {cpu_claim, inventory},
       .decides = true,
       .proves = ClaimPart::isa,
       .remedy = "build the file without newer instruction sets, or judge it with a newer pbprobe",
       .ask = opcodes_are_known},
      {.id = "PB215",
       .needs = {cpu_claim, inventory, emulated},
       .remedy = "build the whole library with the claimed target's flags, or claim the CPU that it needs",
       .ask = emulated_cpu_loads_it},
      {.id = "PB216",
       .needs = {cpu_claim, inventory},
       .remedy = "ship the library that was built, and not a stub to link against",
       .ask = libtorch_cpu_is_no_stub},
  };
}

}  // namespace pbprobe
