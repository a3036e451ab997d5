// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/libraries/changed_libraries.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "core/strings.hpp"
#include "probes/judge/libraries/package_rows.hpp"

namespace pbprobe {
namespace {

struct ChangedNames {
  std::set<std::string, std::less<>> changed;  // "libcudnn.so.9"
  std::set<std::string, std::less<>> missing;
  bool of_torch = false;  // a changed library belongs to torch itself
};

ChangedNames find_changed_names(const Environment& environment) {
  ChangedNames names;
  for (const auto& row : environment.distributions) {
    if (!row.recorded || !row.recorded->reinstall) continue;
    for (const auto& library : row.recorded->changed_libraries) names.changed.emplace(base_name(library.path));
    for (const auto& path : row.recorded->first_missing) names.missing.emplace(base_name(path));
    names.of_torch = names.of_torch || (is_torch(row) && !row.recorded->changed_libraries.empty());
  }
  return names;
}

// Reports whether the file that needs a symbol links a changed library.
bool links_changed(const Report& report, const std::string& needed_by, const ChangedNames& names) {
  if (!report.inventory) return false;
  return std::ranges::any_of(report.inventory->files, [&](const File& file) {
    return needed_by.ends_with("/" + file.path) &&
           std::ranges::any_of(file.needed, [&](const std::string& name) { return names.changed.contains(name); });
  });
}

bool is_explained(const Report& report, const UnresolvedSymbol& symbol, const ChangedNames& names) {
  // NVIDIA names the version of a symbol after its library.
  if (symbol.version) return names.changed.contains(*symbol.version);
  if (!symbol.releases.empty()) return names.of_torch;
  return links_changed(report, symbol.needed_by, names);
}

bool is_explained(const Report& report, const Loading& loading, const ChangedNames& names) {
  if (!loading.missing_libraries.empty()) return names.missing.contains(loading.missing_libraries.front().name);
  if (!loading.missing_versions.empty())
    return names.changed.contains(base_name(loading.missing_versions.front().library));
  return !loading.unresolved.empty() && is_explained(report, loading.unresolved.front(), names);
}

}  // namespace

bool is_explained_by_change(const Report& report, const Distribution& row, const Finding& finding) {
  if (!report.environment || !row.loading || !finding.where) return false;
  const auto loading = std::find_if(row.loading->begin(), row.loading->end(),
                                    [&](const Loading& one) { return one.path == *finding.where; });
  if (loading == row.loading->end() || loading->loads()) return false;
  return is_explained(report, *loading, find_changed_names(*report.environment));
}

}  // namespace pbprobe
