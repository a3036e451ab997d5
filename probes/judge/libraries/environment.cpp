// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that the packages beside torch are complete, and have code for the GPUs of this machine.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/libraries/changed_libraries.hpp"
#include "probes/judge/libraries/package_rows.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

const std::vector<Distribution>& rows_of(const Facts& facts) {
  return facts.report.environment->distributions;
}

std::string sms_of(const Distribution& row) {
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
    const bool broken = std::any_of(row.findings.begin(), row.findings.end(), [&](const Finding& finding) {
      return is_explained_by_change(report, row, finding);
    });
    if (broken) names.push_back(row.name);
  }
  if (names.empty()) return "";
  return fmt::format("; because of it {} {} not load", fmt::join(names, ", "), names.size() == 1 ? "does" : "do");
}

Answer libraries_are_as_installed(const Facts& facts) {
  Answer answer;
  const std::string broken = name_broken_packages(facts.report);
  const auto& reinstall = facts.report.environment->reinstall;
  for (const auto& row : rows_of(facts)) {
    if (!row.recorded || !row.recorded->reinstall) continue;
    const RecordedFiles& recorded = *row.recorded;
    if (recorded.changed_libraries.empty()) {
      const std::string first = recorded.first_missing.empty() ? "a library" : recorded.first_missing.front();
      answer.seen.push_back({.what = say("{}: {} of the {} files of its RECORD are not there, the first {}{}",
                                         label_of(row), recorded.missing, recorded.files, first, in_words(broken)),
                             .where = first,
                             .remedy = reinstall,
                             .distribution = package_beside_torch(row)});
      continue;
    }
    const ChangedLibrary& first = recorded.changed_libraries.front();
    const size_t more = recorded.changed_libraries.size() - 1;
    const std::string whose = first.other_owner ? fmt::format(": {} wrote the same path", *first.other_owner) : "";
    const std::string others = more > 0 ? fmt::format("; {} more of its libraries", more) : "";
    answer.seen.push_back({.what = say("{}: {} has {} than its RECORD{}{}{}", label_of(row), first.path,
                                       in_words(first.how), in_words(whose), in_words(others), in_words(broken)),
                           .where = first.path,
                           .remedy = reinstall,
                           .distribution = package_beside_torch(row)});
  }
  return answer;
}

// Skips GPUs that torch itself cannot use: these need another torch, and packages built for that torch.
template <class Look>
void for_each_gpu(const Facts& facts, Look look) {
  for (const auto& group : gpu_groups(facts)) {
    const GpuOutcome& gpu = facts.gpus[group.first];
    const auto sm = parse_sm(gpu.capability);
    if (!sm || gpu.code == GpuCode::none || gpu.code == GpuCode::unknown) continue;
    for (const auto& row : rows_of(facts)) {
      if (!is_torch(row) && !is_of_cuda(row)) look(group, *sm, row);
    }
  }
}

Answer packages_serve_the_gpus(const Facts& facts) {
  Answer answer;
  for_each_gpu(facts, [&](const GpuGroup& group, const Sm& gpu, const Distribution& row) {
    const RowCode code = code_for(row, gpu);
    if (!code.any || code.best != GpuCode::none) return;
    const std::string kept =
        code.kept ? fmt::format("; the suffix of {} binds it to other chips", sm_name(*code.kept)) : "";
    answer.seen.push_back(
        {.what = say("{} holds nothing for {}: its device code is {}{}", label_of(row), group.label, sms_of(row),
                     in_words(kept)),
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
  for_each_gpu(facts, [&](const GpuGroup& group, const Sm& gpu, const Distribution& row) {
    if (code_for(row, gpu).best != GpuCode::ptx) return;
    std::optional<MajorMinor> least;
    for (const auto& [name, text] : row.ptx_versions) {
      const auto sm = parse_sm(name);
      const auto version = parse_major_minor(text);
      if (sm && version && ptx_runs_on(*sm, gpu) && (!least || *version < *least)) least = version;
    }
    const auto cuda = least ? cuda_of_ptx(*least) : std::nullopt;
    if (!cuda || *cuda <= *driver) return;
    answer.seen.push_back(
        {.what = say("{} has only PTX for {}, of ISA {}.{}, and the driver supports CUDA {}", label_of(row),
                     group.label, least->major, least->minor, *facts.host->driver.cuda_version),
         .where = row.folder,
         .remedy = fmt::format("install a driver with CUDA {}.{} or newer, or a build of {} with {}", cuda->major,
                               cuda->minor, row.name, sm_name(gpu)),
         .distribution = row.name});
  });
  return answer;
}

Answer the_rest_loads(const Facts& facts) {
  Answer answer;
  for (const auto& row : rows_of(facts)) {
    if (matters(row) || is_torch(row) || row.findings.empty()) continue;
    const Finding& first = row.findings.front();
    if (first.severity == Severity::note || (row.recorded && row.recorded->reinstall)) continue;
    if (is_explained_by_change(facts.report, row, first)) continue;
    const Check* check = find_check(first.id);
    if (is_of_cuda(row) && check != nullptr && needs(*check, Need::processors)) continue;  // torch does not load
    Seen seen{.what = first.what, .where = first.where, .remedy = first.remedy, .distribution = row.name};
    seen.what.operands = first.operands;
    answer.seen.push_back(std::move(seen));
  }
  return answer;
}

Check of_rows(Check check) {
  check.subject = Subject::artifact;
  check.level = Level::shipped;
  check.needs.push_back(Need::rows);
  return check;
}

}  // namespace

std::vector<Check> environment_checks() {
  using enum Need;
  return {
      of_rows({.id = "PB167",
               .severity = Severity::note,
               .question = "Are packages in order that neither link torch nor hold device code?",
               .remedy = "install the package again, or the build of it for what is here",
               .ask = the_rest_loads}),
      of_rows({.id = "PB168",
               .severity = Severity::fail,
               .is_cause = true,
               .question = "Are the libraries of all packages those that were installed?",
               .remedy = "install the package again",
               .ask = libraries_are_as_installed}),
      of_rows({.id = "PB169",
               .severity = Severity::fail,
               .needs = {host},
               .question = "Has each package with device code something for these GPUs?",
               .remedy = "install a build of the package for this GPU",
               .ask = packages_serve_the_gpus}),
      of_rows({.id = "PB170",
               .severity = Severity::warn,
               .needs = {host},
               .question = "Does the driver compile the PTX of packages that have nothing else for these GPUs?",
               .remedy = "install a newer driver, or a build of the package for this GPU",
               .ask = driver_takes_their_ptx}),
  };
}

}  // namespace pbprobe
