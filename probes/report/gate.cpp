// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/facts/other_package.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe {
namespace {

using text::Cell;
using text::choose_colour;
using text::Colour;
using text::Page;

constexpr size_t kLabel = 15;

std::string at(const std::optional<std::string>& where) {
  return where ? fmt::format(" [{}]", *where) : "";
}

void add_claims(Page& page, const Verdict& gate) {
  const auto is_claimed = [](const ClaimRow& row) { return row.claimed.has_value(); };
  if (std::ranges::none_of(gate.claims, is_claimed)) return;
  page.blank();
  text::Rows rows{{{""}}};
  for (const char* title : {"claimed", "required", "proven", "outcome"})
    rows.front().push_back({title, Colour::strong});
  std::vector<std::string> details{""};
  const auto level = [](const std::optional<Level>& value) { return value ? std::string(name_of(*value)) : "-"; };
  for (const auto& claim : gate.claims) {
    if (!is_claimed(claim)) continue;
    const Outcome outcome = claim.outcome.value_or(Outcome::unknown);
    rows.push_back({{claim.claim},
                    {*claim.claimed},
                    {level(claim.required)},
                    {level(claim.proven)},
                    {std::string(name_of(outcome)), choose_colour(outcome)}});
    details.push_back(claim.detail);
  }
  page.table(rows, details);
}

Cell make_gain_cell(const AreaGain& gain) {
  switch (classify_gain(gain)) {
    case GainClass::more: return {"gain", Colour::good};
    case GainClass::less: return {"slower", Colour::bad};
    case GainClass::not_shown: return {"no gain shown", Colour::doubt};
  }
  return {""};
}

void add_baseline(Page& page, const BaselineComparison& beside) {
  page.heading("Beside " + beside.path);
  page.entry("size", fmt::format("{} MB against {} MB", beside.bytes >> 20, beside.baseline_bytes >> 20), kLabel);
  for (const auto& difference : beside.differences) page.entry("not comparable", difference, kLabel, Colour::doubt);
  if (beside.problem) page.entry("not measured", *beside.problem, kLabel, Colour::doubt);
  if (beside.gains.empty()) return;
  page.paragraph(
      "Each area is a small program of libtorch's own operators. Build and baseline run it in processes of their own, "
      "which alternate, with the same number of threads.",
      2);
  text::Rows rows{{{""}}};
  for (const char* title : {"device", "speedup", "95 %", ""}) rows.front().push_back({title, Colour::strong});
  for (const auto& gain : beside.gains) {
    rows.push_back({{gain.area},
                    {gain.device},
                    {fmt::format("{:.2f}", gain.gain)},
                    {fmt::format("{:.2f} to {:.2f}", gain.low, gain.high)},
                    make_gain_cell(gain)});
  }
  page.table(rows);
}

void add_policy(Page& page, const Verdict& gate) {
  page.heading("Policy");
  std::string line = gate.policy.name;
  if (gate.require) line += fmt::format(", {} required for SMs and ISAs", name_of(*gate.require));
  page.entry("policy", line, kLabel);
  for (const auto& [id, change] : gate.policy.severity)
    page.entry(id, fmt::format("counts as {}: {}", name_of(change.severity), change.reason), kLabel, Colour::doubt);
  for (const auto& [waiver, state] : gate.waivers) {
    page.entry("waived",
               fmt::format("{}{} until {} ({}): {}", waiver.id, at(waiver.component), waiver.until, name_of(state),
                           waiver.reason),
               kLabel, state == WaiverState::used ? Colour::doubt : Colour::bad);
  }
}

void add_checks(Page& page, const Verdict& gate) {
  page.heading("Checks");
  text::Rows rows;
  for (const char* title : {"check", "required", "state", "level", "severity", "asks"}) {
    if (rows.empty()) rows.emplace_back();
    rows.front().push_back({title, Colour::strong});
  }
  std::vector<std::string> below{""};
  for (const auto& check : gate.checks) {
    rows.push_back({{check.id},
                    {check.required ? "required" : "-"},
                    {check.state == CheckState::not_asked ? "not asked" : std::string(name_of(check.state)),
                     check.state == CheckState::passed ? Colour::good : Colour::doubt},
                    {std::string(name_of(check.level))},
                    {std::string(name_of(check.severity))},
                    {check.asks}});
    below.push_back(check.why.value_or(""));
  }
  page.table(rows, below);
}

}  // namespace

std::string render_gate(const Report& report, bool explain, const TextOptions& options) {
  if (!report.verdict) return {};
  const Verdict& gate = *report.verdict;
  Page page(options);
  text::add_headline(page, gate, format_subject(report.inventory));
  if (report.claim) page.paragraph("claimed: " + report.claim->text, 2);
  page.paragraph(gate.reason, 2);
  add_claims(page, gate);
  text::add_findings(page, gate, text::Blocks::of_gate);
  if (report.baseline) add_baseline(page, *report.baseline);
  add_policy(page, gate);
  if (explain) add_checks(page, gate);
  return std::move(page).take();
}

}  // namespace pbprobe
