// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "core/facts/other_package.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

constexpr size_t kMostFindings = 10;

Colour colour_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass: return Colour::good;
    case Outcome::fail: return Colour::bad;
    case Outcome::unknown: return Colour::doubt;
  }
  return Colour::none;
}

Colour colour_of(Severity severity) {
  switch (severity) {
    case Severity::fail: return Colour::bad;
    case Severity::warn: return Colour::doubt;
    case Severity::note: return Colour::none;
  }
  return Colour::none;
}

std::string_view headline_of(const std::optional<Verdict>& verdict) {
  if (!verdict) return "NO VERDICT";
  switch (verdict->outcome) {
    case Outcome::pass: return "PASS";
    case Outcome::fail: return "FAIL";
    case Outcome::unknown: return "UNKNOWN";
  }
  return "";
}

std::string subject_of(const Report& report) {
  const std::string subject = pbprobe::subject_of(report.inventory);
  if (!report.host) return subject;
  const bool has_gpu = !report.host->gpus.empty();
  return subject + " on " + (has_gpu ? report.host->gpus.front().name : report.host->cpu.name);
}

Cell level_cell(const std::optional<Outcome>& outcome) {
  if (!outcome) return {"-", Colour::faint};
  return {std::string(name_of(*outcome)), colour_of(*outcome)};
}

std::string_view words_for(GpuCode code) {
  switch (code) {
    case GpuCode::native: return "native cubin";
    case GpuCode::same_major: return "same-major cubin";
    case GpuCode::ptx: return "PTX compiled at load";
    case GpuCode::none: return "none";
    case GpuCode::unknown: return "unknown";
  }
  return "";
}

bool alike(const GpuOutcome& a, const GpuOutcome& b) {
  return a.name == b.name && a.capability == b.capability && a.code == b.code && a.best == b.best;
}

}  // namespace

void add_verdict(Page& page, const Report& report) {
  const auto& verdict = report.verdict;
  const Colour colour = verdict ? colour_of(verdict->outcome) : Colour::doubt;
  page.line({{std::string(headline_of(verdict)), colour}, {"  "}, {subject_of(report), Colour::strong}});
  if (!verdict) return;
  page.entry("reason", verdict->reason, 8);
  if (verdict->fix) page.entry("fix", *verdict->fix, 8);
}

void add_levels(Page& page, const Verdict& verdict) {
  if (verdict.claims.empty()) return;
  page.blank();
  std::vector<std::vector<Cell>> rows{{{""}}};
  for (const Level level : {Level::claimed, Level::shipped, Level::loaded, Level::executed, Level::measured})
    rows.front().push_back({std::string(name_of(level)), Colour::strong});
  std::vector<std::string> details{""};
  for (const auto& row : verdict.claims) {
    rows.push_back({{row.claim},
                    {row.claimed.value_or("-"), row.claimed ? Colour::none : Colour::faint},
                    level_cell(row.shipped),
                    level_cell(row.loaded),
                    level_cell(row.executed),
                    level_cell(row.measured)});
    details.push_back(row.detail);
  }
  page.table(rows, details);
}

void add_gpu_outcomes(Page& page, const Verdict& verdict) {
  if (verdict.gpus.empty()) return;
  page.heading("What each GPU gets from this torch");
  for (size_t i = 0; i < verdict.gpus.size();) {
    size_t next = i + 1;
    while (next < verdict.gpus.size() && alike(verdict.gpus[i], verdict.gpus[next])) ++next;
    const GpuOutcome& gpu = verdict.gpus[i];
    const std::string which =
        next - i == 1 ? fmt::format("GPU {}", gpu.gpu) : fmt::format("GPU {}-{}", gpu.gpu, verdict.gpus[next - 1].gpu);
    page.entry(which, fmt::format("{}: {}", words_for(gpu.code), gpu.sentence));
    i = next;
  }
}

void add_findings(Page& page, const Verdict& verdict) {
  if (verdict.findings.empty()) return;
  page.heading("Findings");
  size_t shown = 0;
  for (const auto& finding : verdict.findings) {
    if (shown++ == kMostFindings) break;
    const std::string where = finding.where ? fmt::format(" [{}]", *finding.where) : "";
    page.entry(fmt::format("{}  {}", name_of(finding.severity), finding.id), finding.what + where, 13,
               colour_of(finding.severity));
    if (finding.severity != Severity::note) page.entry("", "fix: " + finding.remedy, 13);
  }
  if (verdict.findings.size() > kMostFindings)
    page.entry("", fmt::format("and {} more: --format json has them all", verdict.findings.size() - kMostFindings), 13);
}

}  // namespace pbprobe::text
