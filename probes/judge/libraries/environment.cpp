// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that the packages beside torch are complete, and have code for the GPUs of this machine.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "core/facts/host.hpp"
#include "probes/judge/libraries/changed_libraries.hpp"
#include "probes/judge/libraries/package_rows.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

const std::vector<Distribution>& get_rows(const Facts& facts) {
  return facts.report.environment->distributions;
}

std::string describe_sms(const Distribution& row) {
  std::set<Sm> cubins, ptx;
  for (const auto* counts : {&row.cubin, &row.self_loaded}) {
    for (const auto& [name, count] : *counts) {
      if (const auto sm = parse_sm(name)) cubins.insert(*sm);
    }
  }
  for (const auto& [name, count] : row.ptx) {
    if (const auto sm = parse_sm(name)) ptx.insert(*sm);
  }
  std::vector<std::string> names;
  for (const auto& sm : cubins) names.push_back(sm_name(sm));
  for (const auto& sm : ptx) names.push_back(compute_name(sm));
  return fmt::format("{}", fmt::join(names, ", "));
}

// Returns "; because of it torch and xformers do not load"; "" if all packages load.
std::string name_broken_packages(const Report& report) {
  std::vector<std::string> names;
  for (const auto& row : report.environment->distributions) {
    const bool broken = std::ranges::any_of(
        row.findings, [&](const Finding& finding) { return is_explained_by_change(report, row, finding); });
    if (broken) names.push_back(row.name);
  }
  if (names.empty()) return "";
  return fmt::format("; because of it {} {} not load", fmt::join(names, ", "), names.size() == 1 ? "does" : "do");
}

Answer libraries_are_as_installed(const Facts& facts) {
  Answer answer;
  const std::string broken = name_broken_packages(facts.report);
  const auto& reinstall = facts.report.environment->reinstall;
  for (const auto& row : get_rows(facts)) {
    if (!row.recorded || !row.recorded->reinstall) continue;
    const RecordedFiles& recorded = *row.recorded;
    if (recorded.changed_libraries.empty()) {
      const std::string first = recorded.first_missing.empty() ? "a library" : recorded.first_missing.front();
      answer.seen.push_back(
          {.what = say("{}: {} of the {} files that its RECORD lists are missing, the first is {}{}",
                       format_row_label(row), recorded.missing, recorded.files, first, make_words(broken)),
           .where = first,
           .remedy = reinstall,
           .distribution = package_beside_torch(row)});
      continue;
    }
    const ChangedLibrary& first = recorded.changed_libraries.front();
    const size_t more = recorded.changed_libraries.size() - 1;
    const std::string whose = first.other_owner ? fmt::format(": {} wrote the same path", *first.other_owner) : "";
    const std::string others = more > 0 ? fmt::format("; {} more of its libraries", more) : "";
    answer.seen.push_back(
        {.what = say("{}: {} has {} than its RECORD{}{}{}", format_row_label(row), first.path, make_words(first.how),
                     make_words(whose), make_words(others), make_words(broken)),
         .where = first.path,
         .remedy = reinstall,
         .distribution = package_beside_torch(row)});
  }
  return answer;
}

// Skips GPUs that torch itself cannot use: these need another torch, and packages built for that torch.
template <class Look>
void visit_gpus(const Facts& facts, Look look) {
  for (const auto& group : gpu_groups(facts)) {
    const GpuOutcome& gpu = facts.gpus[group.first];
    const auto sm = parse_sm(gpu.capability);
    if (!sm || gpu.code == GpuCode::none || gpu.code == GpuCode::unknown) continue;
    for (const auto& row : get_rows(facts)) {
      if (!is_torch(row) && !is_cuda_row(row)) look(group, *sm, row);
    }
  }
}

Answer packages_serve_the_gpus(const Facts& facts) {
  Answer answer;
  visit_gpus(facts, [&](const GpuGroup& group, const Sm& gpu, const Distribution& row) {
    const RowCode code = find_row_code(row, gpu);
    if (!code.any || code.best != GpuCode::none) return;
    const std::string kept =
        code.kept ? fmt::format("; the suffix of {} binds it to other chips", sm_name(*code.kept)) : "";
    answer.seen.push_back(
        {.what = say("{} holds no device code that runs on {}: its device code is {}{}", format_row_label(row),
                     group.label, describe_sms(row), make_words(kept)),
         .where = row.folder,
         .remedy = fmt::format("install a build of {} with {}, which `pbprobe recommend` looks for, or build it with "
                               "TORCH_CUDA_ARCH_LIST={}",
                               row.name, sm_name(gpu), format_capability(gpu)),
         .distribution = row.name});
  });
  return answer;
}

Answer driver_takes_their_ptx(const Facts& facts) {
  Answer answer;
  const auto driver = parse_major_minor(facts.host->driver.cuda_version.value_or(""));
  if (!driver) return answer;
  visit_gpus(facts, [&](const GpuGroup& group, const Sm& gpu, const Distribution& row) {
    if (find_row_code(row, gpu).best != GpuCode::ptx) return;
    std::optional<MajorMinor> least;
    for (const auto& [name, text] : row.ptx_versions) {
      const auto sm = parse_sm(name);
      const auto version = parse_major_minor(text);
      if (sm && version && ptx_runs_on(*sm, gpu) && (!least || *version < *least)) least = version;
    }
    const auto cuda = least ? cuda_of_ptx(*least) : std::nullopt;
    if (!cuda || *cuda <= *driver) return;
    answer.seen.push_back(
        {.what = say("{} has only PTX for {}, of ISA {}.{}, and the driver supports CUDA {}", format_row_label(row),
                     group.label, least->major, least->minor, *facts.host->driver.cuda_version),
         .where = row.folder,
         .remedy = fmt::format("install a driver with CUDA {}.{} or newer, or a build of {} with {}", cuda->major,
                               cuda->minor, row.name, sm_name(gpu)),
         .distribution = row.name});
  });
  return answer;
}

// Returns "torch 2.11.0, numpy 2.4.6 and 30 other packages".
std::string join_labels(const std::vector<std::string>& labels) {
  constexpr size_t kNamed = 3;
  if (labels.size() == 1) return labels.front();
  const size_t named = labels.size() <= kNamed ? labels.size() - 1 : kNamed;
  const std::vector<std::string> first(labels.begin(), labels.begin() + static_cast<ptrdiff_t>(named));
  const size_t rest = labels.size() - named;
  return fmt::format("{} and {}", fmt::join(first, ", "),
                     rest == 1 ? labels.back() : fmt::format("{} other packages", rest));
}

// On this machine, the loader's rules decide (PB162). A Nix result and a system's folder have their own C library.
Answer glibc_is_new_enough(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const auto there = parse_major_minor(facts.host->glibc.value_or(""));
  if (!there || inventory.layout == "nix" || inventory.layout == "debian") return {};
  const auto& environment = facts.report.environment;
  if (environment && environment->interpreter && !is_record(facts.report)) return {};
  std::vector<std::string> labels;
  std::optional<MajorMinor> most;
  const auto add = [&](const std::string& label, const std::string& version) {
    const auto needed = parse_major_minor(version);
    if (!needed || *needed <= *there) return;
    labels.push_back(label);
    if (!most || *most < *needed) most = needed;
  };
  const auto floors = inventory.version_floors.value_or(std::map<std::string, std::string>());
  if (floors.contains("GLIBC")) add(facts.torch, floors.at("GLIBC"));
  for (const auto& row : environment ? environment->distributions : std::vector<Distribution>()) {
    if (!is_torch(row)) add(format_row_label(row), row.glibc.value_or(""));
  }
  if (labels.empty()) return {};
  return {.seen = {{.what = say("{} {} {}.{}, and this machine has {}", join_labels(labels),
                                labels.size() == 1 ? "needs glibc" : "need glibc up to", most->major, most->minor,
                                *facts.host->glibc),
                    .remedy = fmt::format("use a system or a container with glibc {}.{} or newer, or builds for an "
                                          "older one (manylinux_{}_{})",
                                          most->major, most->minor, there->major, there->minor)}}};
}

Answer cpu_runs_the_packages(const Facts& facts) {
  Answer answer;
  for (const auto& row : get_rows(facts)) {
    if (is_torch(row) || !row.cpu_needs) continue;
    const auto lacking = lacking_features(facts.host->cpu.architecture, *row.cpu_needs, facts.host->cpu.features);
    if (lacking.empty()) continue;
    answer.seen.push_back({.what = say("{} is built for CPUs with {}, which {} lacks", format_row_label(row),
                                       fmt::join(lacking, ", "), facts.host->cpu.name),
                           .where = row.folder,
                           .distribution = row.name});
  }
  return answer;
}

Answer the_rest_loads(const Facts& facts) {
  Answer answer;
  for (const auto& row : get_rows(facts)) {
    if (matters(row) || is_torch(row) || row.findings.empty()) continue;
    const Finding& first = row.findings.front();
    if (first.severity == Severity::note || (row.recorded && row.recorded->reinstall)) continue;
    if (is_explained_by_change(facts.report, row, first)) continue;
    const Check* check = find_check(first.id);
    if (check != nullptr && check->by_glibc && glibc_takes_all_stacks(facts)) continue;
    if (is_cuda_row(row) && check != nullptr && needs(*check, Need::processors)) continue;  // torch does not load
    Seen seen{.what = first.what, .where = first.where, .remedy = first.remedy, .distribution = row.name};
    seen.what.operands = first.operands;
    answer.seen.push_back(std::move(seen));
  }
  return answer;
}

Check make_rows_check(Check check) {
  check.needs.push_back(Need::rows);
  return check;
}

}  // namespace

std::vector<Check> environment_checks() {
  using enum Need;
  return {
      make_rows_check({.id = "PB167",
                       .severity = Severity::note,
                       .remedy = "install the package again, or a build of it for this environment",
                       .ask = the_rest_loads}),
      make_rows_check(
          {.id = "PB168", .is_cause = true, .remedy = "install the package again", .ask = libraries_are_as_installed}),
      make_rows_check({.id = "PB169",
                       .needs = {host},
                       .remedy = "install a build of the package for this GPU",
                       .ask = packages_serve_the_gpus}),
      make_rows_check({.id = "PB170",
                       .severity = Severity::warn,
                       .needs = {host},
                       .remedy = "install a newer driver, or a build of the package for this GPU",
                       .ask = driver_takes_their_ptx}),
      {.id = "PB184",
       .needs = {host, inventory},
       .is_cause = true,
       .remedy = "use a system or a container with a newer glibc, or builds for an older one",
       .ask = glibc_is_new_enough},
      make_rows_check({.id = "PB218",
                       .needs = {host},
                       .remedy = "install a build of the package for this CPU, or build it from source here",
                       .ask = cpu_runs_the_packages}),
  };
}

}  // namespace pbprobe
