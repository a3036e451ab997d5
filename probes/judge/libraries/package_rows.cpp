// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/libraries/package_rows.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/pep440.hpp"
#include "probes/judge/libraries/changed_libraries.hpp"

namespace pbprobe {
namespace {

bool links_torch(const Distribution& row) {
  return row.torch_abi == TorchAbi::cxx || row.torch_abi == TorchAbi::stable;
}

// Reports whether another package overwrote the file of this finding: this other package has the fault.
bool concerns_changed_file(const Distribution& row, const Finding& finding) {
  if (!row.recorded || !finding.where) return false;
  const auto& changed = row.recorded->changed_libraries;
  return std::ranges::any_of(
      changed, [&](const ChangedLibrary& library) { return library.other_owner && library.path == *finding.where; });
}

}  // namespace

bool is_torch(const Distribution& row) {
  return package_name(row.name) == "torch";
}

bool is_record(const Report& report) {
  return std::ranges::any_of(report.problems,
                             [](const std::string& problem) { return problem.starts_with(kRecordedMachine); });
}

bool is_cuda_row(const Distribution& row) {
  return row.name.starts_with("nvidia-");
}

std::optional<std::string> package_beside_torch(const Distribution& row) {
  return is_torch(row) ? std::nullopt : std::optional(row.name);
}

bool matters(const Distribution& row) {
  return links_torch(row) || !row.cubin.empty() || !row.ptx.empty() || !row.self_loaded.empty();
}

std::string format_row_label(const Distribution& row) {
  return row.version ? fmt::format("{} {}", row.name, *row.version) : row.name;
}

// Takes only load faults of torch: the report's own inventory answers the other checks. PB168 reports changed files.
// Includes CUDA's libraries for the processor check, because a wrong processor keeps torch from loading.
std::vector<Seen> seen_in_rows(const Check& check, const Report& report) {
  std::vector<Seen> all;
  if (!report.environment || !check.of_any) return all;
  const bool of_loading = needs(check, Need::environment);
  const bool of_processors = needs(check, Need::processors);
  for (const auto& row : report.environment->distributions) {
    const bool asked = is_torch(row) ? of_loading : matters(row) || (of_processors && is_cuda_row(row));
    if (!asked || (!of_loading && row.recorded && row.recorded->reinstall)) continue;
    for (const auto& finding : row.findings) {
      if (finding.id != check.id || concerns_changed_file(row, finding)) continue;
      if (of_loading && is_explained_by_change(report, row, finding)) continue;
      Seen seen{.what = finding.what,
                .where = finding.where,
                .remedy = finding.remedy,
                .distribution = package_beside_torch(row)};
      seen.what.operands = finding.operands;
      all.push_back(std::move(seen));
    }
  }
  return all;
}

RowCode find_row_code(const Distribution& row, const Sm& gpu) {
  RowCode code;
  const auto take = [&](const std::map<std::string, int64_t>& counts, bool is_ptx) {
    for (const auto& [name, count] : counts) {
      const auto sm = parse_sm(name);
      if (!sm || count == 0) continue;
      code.any = true;
      const auto runs = [&](const Sm& one) { return is_ptx ? ptx_runs_on(one, gpu) : cubin_runs_on(one, gpu); };
      if (!runs(*sm)) {
        if (sm->suffix != '\0' && runs({sm->major, sm->minor})) code.kept = sm;
        continue;
      }
      const GpuCode kind = is_ptx ? GpuCode::ptx : same_capability(*sm, gpu) ? GpuCode::native : GpuCode::same_major;
      constexpr std::array kBestFirst{GpuCode::native, GpuCode::same_major, GpuCode::ptx, GpuCode::none};
      code.best = *std::ranges::find_if(kBestFirst, [&](GpuCode one) { return one == kind || one == code.best; });
    }
  };
  take(row.cubin, false);
  take(row.self_loaded, false);
  take(row.ptx, true);
  return code;
}

std::optional<MajorMinor> cuda_of_ptx(const MajorMinor& version) {
  if (version.major < 7) return MajorMinor{0, 0};
  if (version.major == 7) return MajorMinor{11, version.minor};
  if (version.major == 9) return MajorMinor{13, version.minor};
  if (version.major > 9) return std::nullopt;
  return MajorMinor{12, version.minor <= 5 ? version.minor : version.minor + 1};  // CUDA 12.6 added no PTX ISA version
}

}  // namespace pbprobe
