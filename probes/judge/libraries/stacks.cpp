// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that the C library loads a library in spite of the stack that it asks for.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/cpu_needs.hpp"
#include "core/major_minor.hpp"
#include "core/targets.hpp"
#include "probes/judge/asking.hpp"
#include "probes/judge/libraries/needed_files.hpp"
#include "probes/judge/libraries/package_rows.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

constexpr MajorMinor kFirstThatRefuses{2, 41};  // NEWS of glibc 2.41: dlopen() makes no stack executable

constexpr std::string_view kRemedy =
    "install a build of the library that is linked with -z noexecstack; or clear the mark: patchelf --clear-execstack "
    "FILE";

// Returns the path of a library without a folder glibc-hwcaps/LEVEL: ld.so takes one of the files with this path.
std::string strip_level(const std::string& path) {
  constexpr std::string_view kFolder = "glibc-hwcaps/";
  const size_t at = path.find(kFolder);
  const size_t end = at == path.npos ? path.npos : path.find('/', at + kFolder.size());
  return end == path.npos ? path : path.substr(0, at) + path.substr(end + 1);
}

// Reports whether a CPU has the features of a level. Ignores features that no target requires: detection does not read
// them, as every CPU with the other features has them.
bool has_all(const std::vector<std::string>& features, const std::vector<std::string>& needed) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  return std::ranges::all_of(needed, [&](const std::string& name) {
    return has(features, name) || std::ranges::none_of(all_targets(), [&](const Target& target) {
             return has(target.requires_features, name) || has(target.recipe_requires, name);
           });
  });
}

// Reports whether this CPU gets the file, not a copy for another level. Requires a host.
bool has_its_level(const Facts& facts, const File& file) {
  const auto& here = facts.host->cpu.features;
  const auto own = list_hwcaps_features(file.path).value_or(std::vector<std::string>());
  if (!has_all(here, own)) return false;
  return std::ranges::none_of(facts.inventory->files, [&](const File& other) {
    const auto level = list_hwcaps_features(other.path);
    return level && level->size() > own.size() && strip_level(other.path) == strip_level(file.path) &&
           has_all(here, *level);
  });
}

// Reports whether a process takes this file. If several files have one name, the loader takes those that a dependency
// leads to; if copies exist for several CPU levels, it takes the copy for this CPU.
bool is_taken(const Facts& facts, const File& file) {
  const auto& files = facts.inventory->files;
  const std::string own = strip_level(file.path);
  std::set<std::string> led_to;
  for (const auto& each : files) {
    for (const auto& dependency : list_dependencies(each)) {
      if (dependency.path && base_name(*dependency.path) == base_name(file.path))
        led_to.insert(strip_level(*dependency.path));
    }
  }
  if (!led_to.empty() && !led_to.contains(own)) return false;
  return facts.host == nullptr || has_its_level(facts, file);
}

std::vector<const File*> find_executable_stacks(const Facts& facts) {
  std::vector<const File*> found;
  for (const auto& file : facts.inventory->files) {
    if (file.links && file.links->executable_stack.value_or(false) && is_taken(facts, file)) found.push_back(&file);
  }
  return found;
}

Answer stacks_stay_plain(const Facts& facts) {
  Answer answer;
  for (const File* file : find_executable_stacks(facts)) {
    answer.seen.push_back({.what = say("{}: {} asks for an executable stack, which glibc refuses from 2.41 on",
                                       facts.torch, base_name(file->path)),
                           .where = file->path});
  }
  return answer;
}

// The rows of the packages have what files alone show: libraries that a new glibc refuses.
Answer glibc_takes_the_stacks(const Facts& facts) {
  Answer answer;
  if (!is_decided_by_glibc(facts) || glibc_takes_all_stacks(facts)) return answer;
  for (const File* file : find_executable_stacks(facts)) {
    answer.seen.push_back({.what = say("{}: {} asks for an executable stack, and glibc {} of this machine refuses it",
                                       facts.torch, base_name(file->path), *facts.host->glibc),
                           .where = file->path});
  }
  if (!facts.report.environment) return answer;
  for (const auto& row : facts.report.environment->distributions) {
    if (is_torch(row) || !matters(row)) continue;
    for (const auto& finding : row.findings) {
      const Check* check = find_check(finding.id);
      if (check == nullptr || !check->by_glibc) continue;
      answer.seen.push_back(
          {.what = say("{}: {} asks for an executable stack, and glibc {} of this machine refuses it",
                       format_row_label(row), base_name(finding.where.value_or(row.folder)), *facts.host->glibc),
           .where = finding.where,
           .distribution = row.name});
    }
  }
  return answer;
}

}  // namespace

bool glibc_takes_all_stacks(const Facts& facts) {
  return is_decided_by_glibc(facts) && *parse_major_minor(*facts.host->glibc) < kFirstThatRefuses;
}

std::vector<Check> stacks_checks() {
  using enum Need;
  return {
      {.id = "PB181",
       .severity = Severity::warn,
       .needs = {inventory},
       .of_any = true,
       .by_glibc = true,
       .remedy = kRemedy,
       .ask = stacks_stay_plain},
      {.id = "PB185",
       .needs = {host, inventory},
       .of_any = true,
       .is_cause = true,
       .remedy = kRemedy,
       .ask = glibc_takes_the_stacks},
  };
}

}  // namespace pbprobe
