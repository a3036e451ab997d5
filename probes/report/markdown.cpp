// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/attest.hpp"

#include <fmt/format.h>

#include "core/printable.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe {
namespace {

constexpr size_t kMaxFindings = 50;  // limit for a job summary; JSON has all findings

std::string render_claims(const Verdict& verdict) {
  std::string rows;
  for (const auto& claim : verdict.claims) {
    if (!claim.claimed) continue;
    rows += fmt::format("| {} | {} | {} | {} | {} |\n", claim.claim, printable_markdown(*claim.claimed),
                        text::level_or_dash(claim.required), text::level_or_dash(claim.proven),
                        claim.outcome ? name_of(*claim.outcome) : "-");
  }
  if (rows.empty()) return "";
  return "\n| claim | claimed | required | proven | outcome |\n|---|---|---|---|---|\n" + rows;
}

std::string render_findings(const Verdict& verdict) {
  std::string rows;
  size_t shown = 0;
  for (const auto& finding : verdict.findings) {
    if (shown == kMaxFindings) break;
    ++shown;
    const std::string where = finding.where ? fmt::format(" ({})", *finding.where) : "";
    const std::string waived = finding.waived ? "waived: " + *finding.waived : finding.remedy;
    rows += fmt::format("| {} | {} | {} | {} |\n", finding.waived ? "waived" : name_of(finding.severity), finding.id,
                        printable_markdown(finding.what + where), printable_markdown(waived));
  }
  if (rows.empty()) return "";
  if (shown < verdict.findings.size()) rows += fmt::format("\nand {} more\n", verdict.findings.size() - shown);
  return "\n| | check | finding | fix |\n|---|---|---|---|\n" + rows;
}

// Renders the device table with the signs that Markdown can show.
std::string render_devices(const Verdict& verdict) {
  const text::Rows rows = text::without_empty_columns(text::device_rows(verdict));
  if (rows.size() < 2) return "";
  std::string table = "\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < rows.front().size(); ++i)
      table += fmt::format("| {} ", i < rows[r].size() ? printable_markdown(rows[r][i].text) : "");
    table += "|\n";
    if (r > 0) continue;
    for (size_t i = 0; i < rows.front().size(); ++i) table += "|---";
    table += "|\n";
  }
  return table;
}

// Renders the environment for a bug report, without the host name.
std::string render_environment_list(const Report& report) {
  Host host = *report.host;
  host.hostname.reset();
  std::string list = "\n";
  for (const auto& [about, what] : text::describe_host(host))
    list += fmt::format("- {}: {}\n", printable_markdown(about), printable_markdown(what));
  return list;
}

std::string unanswered(const Verdict& verdict) {
  std::string rows;
  for (const auto& objection : verdict.objections) {
    if (objection.outcome == Outcome::unknown)
      rows += fmt::format("- {}: {}\n", printable_markdown(objection.id), printable_markdown(objection.what));
  }
  return rows.empty() ? "" : "\nNot decided:\n\n" + rows;
}

}  // namespace

std::string render_markdown(const Report& report) {
  if (!report.verdict) return "";
  const Verdict& verdict = *report.verdict;
  const bool known = report.inventory && (report.inventory->torch_version || report.inventory->layout == "file");
  const std::string subject = known              ? text::format_subject(report)
                              : report.inventory ? report.inventory->artifact
                                                 : "this machine";
  std::string page = fmt::format("### pbprobe: {} for {}\n\n{}\n", name_of(verdict.outcome),
                                 printable_markdown(subject), printable_markdown(verdict.reason));
  if (verdict.fix) page += fmt::format("\n**Fix:** {}\n", printable_markdown(*verdict.fix));
  page += render_claims(verdict) + render_devices(verdict) + render_findings(verdict) + unanswered(verdict);
  if (report.host) page += render_environment_list(report);
  return page + fmt::format("\npbprobe {} ({}), {}\n", report.version, report.commit, report.created);
}

std::string render_markdown(const ComparisonList& list) {
  std::string page;
  for (const auto& comparison : list.comparisons) {
    page += fmt::format("{}### pbprobe: {} against {}\n\n", page.empty() ? "" : "\n",
                        printable_markdown(comparison.after), printable_markdown(comparison.before));
    if (comparison.facts.empty()) page += "No fact differs.\n";
    if (!comparison.facts.empty()) page += "| about | change | what | |\n|---|---|---|---|\n";
    for (const auto& fact : comparison.facts)
      page += fmt::format("| {} | {} | {} | {} |\n", printable_markdown(fact.about), name_of(fact.change),
                          printable_markdown(fact.what), fact.regressed ? "regressed" : "");
    std::string rows;
    size_t shown = 0;
    for (const auto& figure : comparison.figures) {
      if (figure.shift == Shift::not_shown) continue;
      ++shown;
      rows += fmt::format("| {} | {:.2f} | {:.2f} to {:.2f} | {} |\n", printable_markdown(figure.what), figure.times,
                          figure.low, figure.high, name_of(figure.shift));
    }
    if (!rows.empty()) page += "\n| figure | speedup | range | |\n|---|---|---|---|\n" + rows;
    if (!comparison.figures.empty())
      page += fmt::format("\nNo difference shown in {} of {} figures.\n", comparison.figures.size() - shown,
                          comparison.figures.size());
    for (const auto& sentence : comparison.not_compared)
      page += fmt::format("\nNot compared: {}\n", printable_markdown(sentence));
  }
  return page;
}

}  // namespace pbprobe
