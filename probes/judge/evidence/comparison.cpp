// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/evidence/comparison.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "core/demangle.hpp"
#include "core/facts/device_code.hpp"
#include "core/facts/environment.hpp"
#include "core/facts/other_package.hpp"
#include "core/targets.hpp"
#include "probes/judge/evidence/outliers.hpp"

namespace pbprobe {
namespace {

using NameList = std::vector<std::string>;

constexpr size_t kExamples = 5;
constexpr double kLeastShift = 1.03;
constexpr double kByChance = 0.05;

void add_set(std::vector<FactChange>& facts, const char* about, const NameList& before, const NameList& after) {
  const auto missing = [&](const NameList& from, const NameList& in, Change change) {
    for (const auto& name : from) {
      if (std::ranges::find(in, name) == in.end())
        facts.push_back({.about = about, .change = change, .what = name, .regressed = change == Change::lost});
    }
  };
  missing(before, after, Change::lost);
  missing(after, before, Change::gained);
}

void add_value(std::vector<FactChange>& facts, const char* about, const std::string& name,
               const std::optional<std::string>& before, const std::optional<std::string>& after) {
  if (before == after) return;
  const std::string label = name.empty() ? "" : name + " ";
  facts.push_back(
      {.about = about,
       .what = fmt::format("{}{} before, {} after", label, before.value_or("none"), after.value_or("none"))});
}

// Returns the Pythons in the names of a package's extension modules: "cp311, cp312".
std::optional<std::string> join_python(const Inventory& inventory) {
  const auto python = make_distribution(inventory).python;
  return python.empty() ? std::nullopt : std::optional(fmt::format("{}", fmt::join(python, ", ")));
}

// Compares packages other than torch: their version, the torch that their METADATA requires, and their Pythons.
void add_package(std::vector<FactChange>& facts, const Inventory& before, const Inventory& after) {
  const Package* const one = other_package(before);
  const Package* const other = other_package(after);
  if (one == nullptr || other == nullptr || one->name != other->name) return;
  add_value(facts, "version", one->name.value_or("package"), one->version, other->version);
  add_value(facts, "version", "required torch", one->torch, other->torch);
  add_value(facts, "version", "modules for Python", join_python(before), join_python(after));
}

// Returns the newest version of glibc that libtorch needs; for other packages, that any file needs.
std::optional<std::string> find_glibc(const Inventory& inventory) {
  if (other_package(inventory) != nullptr) return make_distribution(inventory).glibc;
  const auto floors = inventory.version_floors.value_or(std::map<std::string, std::string>());
  const auto found = floors.find("GLIBC");
  return found == floors.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> join_tags(const Inventory& inventory) {
  const auto tags = inventory.wheel_tags.value_or(NameList());
  return tags.empty() ? std::nullopt : std::optional(fmt::format("{}", fmt::join(tags, ", ")));
}

void add_versions(std::vector<FactChange>& facts, const Inventory& before, const Inventory& after) {
  add_package(facts, before, after);
  add_value(facts, "version", "torch", before.torch_version, after.torch_version);
  add_value(facts, "version", "CUDA", before.cuda_version, after.cuda_version);
  add_value(facts, "version", "platform", before.platform, after.platform);
  add_value(facts, "version", "Python ABI", before.python_abi, after.python_abi);
  add_value(facts, "version", "tags", join_tags(before), join_tags(after));
  add_value(facts, "version", "needed glibc", find_glibc(before), find_glibc(after));
  const auto one = before.component_versions.value_or(std::map<std::string, std::string>());
  const auto other = after.component_versions.value_or(std::map<std::string, std::string>());
  std::set<std::string> names;
  for (const auto& [name, version] : one) names.insert(name);
  for (const auto& [name, version] : other) names.insert(name);
  const auto in = [](const std::map<std::string, std::string>& versions, const std::string& name) {
    const auto found = versions.find(name);
    return found == versions.end() ? std::nullopt : std::optional(found->second);
  };
  names.erase("torch");
  for (const auto& name : names) add_value(facts, "version", name, in(one, name), in(other, name));
}

// Returns the index of the CPU target in the table, which is sorted from low to high; -1 for other names, which need
// only the base instruction set.
std::ptrdiff_t rank_cpu_target(const std::string& cpu) {
  const auto& all = all_targets();
  const auto found = std::ranges::find(all, cpu, &Target::id);
  return found == all.end() ? -1 : found - all.begin();
}

void add_minimum_cpu(std::vector<FactChange>& facts, const Holdings& before, const Holdings& after, bool comparable) {
  const auto most = [](const Holdings& holdings) {
    const auto& bound = holdings.minimum_cpu_at_most;
    return bound && *bound != kUnknownCpu ? bound : holdings.minimum_cpu;
  };
  const auto one = most(before);
  const auto other = most(after);
  if (!one || !other || one == other) return;
  add_value(facts, "minimum CPU", "", one, other);
  facts.back().regressed = comparable && rank_cpu_target(*other) > rank_cpu_target(*one);
}

// Kernel names by SM; the prefix "PTX for" marks PTX.
using KernelsBySm = std::map<std::string, std::set<std::string>>;

// Returns nullopt if the audit did not read the names.
std::optional<KernelsBySm> kernels_by_sm(const Inventory& inventory) {
  KernelsBySm kernels;
  for (const auto& file : inventory.files) {
    for (const auto* code : {&file.device_code, &file.self_loaded_code}) {
      if (!*code) continue;
      const auto& census = (*code)->census;
      const bool named =
          census ? std::all_of(census->begin(), census->end(),
                               [](const auto& of_sm) { return of_sm.second.names || of_sm.second.kernels == 0; })
                 : (*code)->cubin.empty();
      if (!named) return std::nullopt;
      visit_kernels(**code, [&](const std::string& name, const Sm& sm, bool is_ptx) {
        kernels[is_ptx ? "PTX for " + compute_name(sm) : sm_name(sm)].insert(name);
      });
    }
  }
  return kernels;
}

// Returns the first mangled names, one of each function: instances of one template look alike.
std::vector<std::string> choose_examples(const std::vector<std::string>& names) {
  std::vector<std::string> examples;
  std::set<std::string> functions;
  for (const auto& name : names) {
    if (examples.size() < kExamples && functions.insert(function_name(name)).second) examples.push_back(name);
  }
  return examples;
}

void add_missing(std::vector<FactChange>& facts, Change change, const KernelsBySm& from, const KernelsBySm& in) {
  for (const auto& [sm, names] : from) {
    const auto other = in.find(sm);
    if (other == in.end()) continue;  // the changed SMs show this
    std::vector<std::string> missing;
    std::set_difference(names.begin(), names.end(), other->second.begin(), other->second.end(),
                        std::back_inserter(missing));
    if (missing.empty()) continue;
    FactChange fact{.about = "kernels",
                    .change = change,
                    .what = fmt::format("{} of {}", missing.size(), sm),
                    .regressed = change == Change::lost};
    fact.examples = choose_examples(missing);
    facts.push_back(std::move(fact));
  }
}

void add_kernels(Comparison& comparison, const Inventory& before, const Inventory& after) {
  const auto one = kernels_by_sm(before);
  const auto other = kernels_by_sm(after);
  if (!one || !other) {
    comparison.not_compared.emplace_back(
        "kernels by their names: a JSON document does not contain them; compare the artifacts themselves");
    return;
  }
  add_missing(comparison.facts, Change::lost, *one, *other);
  add_missing(comparison.facts, Change::gained, *other, *one);
}

using SmsByComponent = std::map<std::string, std::set<std::string>>;

SmsByComponent sms_by_component(const Inventory& inventory) {
  SmsByComponent sms;
  for (const auto& file : inventory.files) {
    if (!file.component || !file.device_code) continue;
    for (const auto& [name, count] : file.device_code->cubin) sms[*file.component].insert(name);
  }
  return sms;
}

// Compares SMs that few units of libtorch have, such as cubins with an SM's tensor instructions, and SMs of other
// libraries. Omits the `stated` SMs of the whole build.
void add_other_sms(std::vector<FactChange>& facts, const Report& before, const Report& after, const NameList& stated) {
  const auto one = sms_by_component(*before.inventory);
  const auto other = sms_by_component(*after.inventory);
  const auto unstated = [&](const std::set<std::string>& names) {
    NameList left(names.begin(), names.end());
    std::erase_if(left, [&](const auto& name) { return std::ranges::find(stated, name) != stated.end(); });
    return left;
  };
  for (const auto& [component, names] : one) {
    const auto same = other.find(component);
    if (same == other.end()) continue;
    const bool own = component == "libtorch";
    const std::string about = own ? "SM of few units" : "SM of " + component;
    add_set(facts, about.c_str(), own ? unstated(names) : NameList(names.begin(), names.end()),
            own ? unstated(same->second) : NameList(same->second.begin(), same->second.end()));
  }
}

// Returns "GPU" or "2 threads".
std::string where_run(int64_t threads) {
  return threads == 0 ? "GPU" : fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

void add_files(std::vector<FactChange>& facts, const Inventory& before, const Inventory& after) {
  const auto libraries = [](const Inventory& inventory) {
    std::set<std::string> paths;
    for (const auto& file : inventory.files) {
      if (file.component == "libtorch") paths.insert(file.path);
    }
    return NameList(paths.begin(), paths.end());
  };
  add_set(facts, "file", libraries(before), libraries(after));
}

void add_machine(std::vector<FactChange>& facts, const Report& before, const Report& after) {
  if (!before.host || !after.host) return;
  const auto gpus = [](const Host& host) {
    std::string text;
    for (const auto& gpu : host.gpus) text += (text.empty() ? "" : ", ") + gpu.name;
    return text.empty() ? std::nullopt : std::optional(text);
  };
  add_value(facts, "machine", "CPU", before.host->cpu.name, after.host->cpu.name);
  add_value(facts, "machine", "GPUs", gpus(*before.host), gpus(*after.host));
  add_value(facts, "machine", "driver", before.host->driver.version, after.host->driver.version);
}

using Samples = std::map<std::string, std::vector<double>>;

Samples collect_samples(const Measurements& measurements) {
  Samples all;
  const auto add = [&](std::string name, const auto& figure) {
    if (!figure.disturbed && !figure.samples_us.empty()) all.emplace(std::move(name), figure.samples_us);
  };
  for (const auto& row : measurements.rows)
    add(fmt::format("{} {}x{}x{} {}, {}", row.kernel, row.m, row.n, row.k, row.layout, where_run(row.threads)), row);
  if (!measurements.libtorch) return all;
  for (const auto& figure : measurements.libtorch->figures)
    add(fmt::format("libtorch {} {}x{}x{} {} on {}{}", figure.dtype, figure.m, figure.n, figure.k, figure.layout,
                    figure.device, figure.threads == 0 ? "" : ", " + where_run(figure.threads)),
        figure);
  for (const auto& timing : measurements.libtorch->timings)
    add(fmt::format("libtorch {} on {}", timing.area, timing.device), timing);
  return all;
}

// Computes C(n + m, n).
double ways(size_t n, size_t m) {
  double count = 1;
  for (size_t i = 1; i <= n; ++i) count *= static_cast<double>(m + i) / static_cast<double>(i);
  return count;
}

FigureChange compare_figure(const std::string& name, const std::vector<double>& before,
                            const std::vector<double>& after, size_t figures) {
  const auto [least, most] = std::ranges::minmax_element(before);
  const auto [least_after, most_after] = std::ranges::minmax_element(after);
  FigureChange figure{.what = name,
                      .before_us = find_median(before),
                      .after_us = find_median(after),
                      .low = *least / *most_after,
                      .high = *most / *least_after};
  figure.times = figure.before_us / figure.after_us;
  const bool rare = 2.0 * static_cast<double>(figures) / ways(before.size(), after.size()) <= kByChance;
  if (rare && figure.low > 1 && figure.times >= kLeastShift) figure.shift = Shift::faster;
  if (rare && figure.high < 1 && figure.times <= 1 / kLeastShift) figure.shift = Shift::slower;
  return figure;
}

void add_figures(Comparison& comparison, const Report& before, const Report& after) {
  if (!before.measurements || !after.measurements) {
    comparison.not_compared.emplace_back(
        "measured figures: both inputs must be reports of `pbprobe report --format json`");
    return;
  }
  const Samples one = collect_samples(*before.measurements);
  const Samples other = collect_samples(*after.measurements);
  const auto both =
      static_cast<size_t>(std::ranges::count_if(one, [&](const auto& figure) { return other.contains(figure.first); }));
  for (const auto& [name, samples] : one) {
    const auto same = other.find(name);
    if (same != other.end()) comparison.figures.push_back(compare_figure(name, samples, same->second, both));
  }
}

using OperatorKey = std::pair<std::string, std::string>;  // name and type

std::set<OperatorKey> list_faults(const OperatorRun& run) {
  std::set<OperatorKey> keys;
  for (const auto& result : run.results) {
    if (result.state == OperatorState::wrong || result.state == OperatorState::crashed)
      keys.insert({result.name, result.type});
  }
  return keys;
}

// Reports whether the run compared the operator in this type.
bool has_compared(const OperatorRun& run, const OperatorKey& key) {
  const std::string &name = key.first, &type = key.second;  // clang 14 captures no structured binding
  const bool omitted = std::ranges::find(run.omitted, name) != run.omitted.end();
  return run.times_us.contains(name) && !omitted &&
         std::ranges::none_of(run.results, [&](const OperatorResult& result) {
           return result.name == name && result.type == type && result.state == OperatorState::not_run;
         });
}

void add_operator_run(std::vector<FactChange>& facts, const OperatorRun& before, const OperatorRun& after) {
  constexpr double kTimesSlower = 10;
  constexpr double kLeastSlowerUs = 1000;  // below, a busy machine explains it
  const std::string where = after.device + (after.compiled ? ", compiled" : "");
  const auto add_new = [&](const OperatorRun& one, const OperatorRun& other, Change change) {
    const auto known = list_faults(one);
    for (const auto& key : list_faults(other)) {
      if (known.contains(key) || !has_compared(one, key)) continue;
      const std::string what = fmt::format("{} in {} on {}: {}", key.first, key.second, where,
                                           change == Change::lost ? "right before, wrong after" : "wrong before");
      facts.push_back({.about = "operators", .change = change, .what = what, .regressed = change == Change::lost});
    }
  };
  add_new(before, after, Change::lost);
  add_new(after, before, Change::gained);
  for (const auto& [name, us] : after.times_us) {
    const auto found = before.times_us.find(name);
    if (found == before.times_us.end() || us < kTimesSlower * found->second || us < found->second + kLeastSlowerUs)
      continue;
    facts.push_back({.about = "operators",
                     .what = fmt::format("{} on {}: {:.0f} us before, {:.0f} us after", name, where, found->second, us),
                     .regressed = true});
  }
}

void add_operators(std::vector<FactChange>& facts, const Report& before, const Report& after) {
  if (!before.operators || !after.operators) return;
  for (const auto& run : *after.operators) {
    for (const auto& other : *before.operators) {
      if (other.device == run.device && other.compiled == run.compiled) add_operator_run(facts, other, run);
    }
  }
}

std::string format_size(int64_t bytes) {
  constexpr int64_t kMega = 1 << 20;
  constexpr int64_t kKilo = 1 << 10;
  if (bytes < 10 * kKilo) return fmt::format("{} bytes", bytes);
  return bytes < 10 * kMega ? fmt::format("{} KB", bytes / kKilo) : fmt::format("{} MB", bytes / kMega);
}

void add_size(std::vector<FactChange>& facts, const Holdings& before, const Holdings& after) {
  if (before.size_bytes == after.size_bytes || before.size_bytes == 0) return;
  facts.push_back({.about = "size",
                   .what = fmt::format(
                       "{} before, {} after ({:+.1f} %)", format_size(before.size_bytes), format_size(after.size_bytes),
                       100.0 * (static_cast<double>(after.size_bytes) / static_cast<double>(before.size_bytes) - 1))});
}

}  // namespace

Comparison compare_reports(const Report& before, const Report& after) {
  Comparison comparison{.before = before.inventory->artifact, .after = after.inventory->artifact};
  auto& facts = comparison.facts;
  const auto holdings_in = [](const Report& report) {
    return report.verdict && report.verdict->holdings ? *report.verdict->holdings : Holdings{};
  };
  const Holdings one = holdings_in(before);
  const Holdings other = holdings_in(after);
  add_set(facts, "SM", one.sms, other.sms);
  add_set(facts, "PTX", one.ptx, other.ptx);
  NameList stated = one.sms;
  stated.insert(stated.end(), other.sms.begin(), other.sms.end());
  add_other_sms(facts, before, after, stated);
  add_kernels(comparison, *before.inventory, *after.inventory);
  add_minimum_cpu(facts, one, other, before.inventory->platform == after.inventory->platform);
  add_set(facts, "CPU capability", one.cpu_capabilities, other.cpu_capabilities);
  add_files(facts, *before.inventory, *after.inventory);
  add_versions(facts, *before.inventory, *after.inventory);
  add_size(facts, one, other);
  add_machine(facts, before, after);
  add_operators(facts, before, after);
  add_figures(comparison, before, after);
  return comparison;
}

}  // namespace pbprobe
