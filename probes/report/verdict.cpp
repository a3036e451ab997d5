// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The verdict first: one line, one reason, one fix; and the last line, which counts.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/facts/other_package.hpp"
#include "core/strings.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

// Returns the sign if the terminal shows Unicode: an ASCII sign would add nothing to the word.
std::string choose_sign(const Page& page, const std::optional<Verdict>& verdict) {
  if (!page.unicode() || !verdict) return "";
  return verdict->outcome == Outcome::pass ? "✓ " : verdict->outcome == Outcome::fail ? "✗ " : "? ";
}

std::string format_gpus(const Host& host) {
  const Gpu& first = host.gpus.front();
  const auto alike = [&](const Gpu& gpu) { return gpu.name == first.name && gpu.capability == first.capability; };
  const auto count = std::ranges::count_if(host.gpus, alike);
  std::string text = count > 1 ? fmt::format("{}{}×{}", count, kNoBreak, kNoBreak) : "";
  text += fmt::format("{} ({})", first.name, format_sm(first.capability));
  const auto others = static_cast<std::ptrdiff_t>(host.gpus.size()) - count;
  if (others > 0) text += fmt::format(" and {} other GPU{}", others, others == 1 ? "" : "s");
  return text;
}

// Returns "1 warning, 2 notes". Unknown checks have no finding.
std::string format_counts(const Verdict& verdict) {
  constexpr std::pair<Severity, std::string_view> kWords[] = {
      {Severity::fail, "fault"}, {Severity::warn, "warning"}, {Severity::note, "note"}};
  std::vector<std::string> parts;
  for (const auto& [severity, word] : kWords) {
    const auto count = std::ranges::count_if(
        verdict.findings, [of = severity](const Finding& one) { return one.severity == of && !one.waived; });
    if (count > 0) parts.push_back(plural(count, word));
  }
  const auto open =
      std::ranges::count_if(verdict.objections, [](const Objection& one) { return one.outcome == Outcome::unknown; });
  if (open > 0) parts.push_back(fmt::format("{} unanswered", plural(open, "question")));
  return parts.empty() ? "nothing to fix" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string level_or_dash(const std::optional<Level>& level) {
  return level ? std::string(name_of(*level)) : "-";
}

std::string plural(int64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string format_sm(std::string_view capability) {
  std::string text = fmt::format("sm_{}", capability);
  std::erase(text, '.');
  return text;
}

Colour choose_colour(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass: return Colour::good;
    case Outcome::fail: return Colour::bad;
    case Outcome::unknown: return Colour::doubt;
  }
  return Colour::none;
}

Colour choose_colour(Severity severity) {
  switch (severity) {
    case Severity::fail: return Colour::bad;
    case Severity::warn: return Colour::doubt;
    case Severity::note: return Colour::strong;
  }
  return Colour::none;
}

std::string format_subject(const Report& report) {
  const std::string subject = pbprobe::format_subject(report.inventory);
  if (!report.host) return subject;
  return subject + " on " + (report.host->gpus.empty() ? report.host->cpu.name : format_gpus(*report.host));
}

std::string verdict_line(const Page& page, const std::optional<Verdict>& verdict) {
  return choose_sign(page, verdict) + (verdict ? upper(std::string(name_of(verdict->outcome))) : "NO VERDICT");
}

void add_headline(Page& page, const std::optional<Verdict>& verdict, const std::string& subject) {
  const Colour colour = verdict ? choose_colour(verdict->outcome) : Colour::doubt;
  page.headed(verdict_line(page, verdict) + "  ", colour, subject, Colour::strong);
}

void add_verdict(Page& page, const Report& report) {
  const auto& verdict = report.verdict;
  add_headline(page, verdict, format_subject(report));
  if (!verdict) return;
  page.paragraph(strip_child_output(page, verdict->reason), 2);
  if (const Objection* first = leading_objection(*verdict)) {
    add_rest_of_block(page, first->id, first->where, first->remedy);
  } else if (verdict->fix) {
    page.entry("help:", *verdict->fix, 6);
  }
}

void add_summary(Page& page, const Report& report) {
  std::vector<std::string> parts;
  if (report.verdict) parts.push_back(format_counts(*report.verdict));
  const int64_t gpus = report.host ? static_cast<int64_t>(report.host->gpus.size()) : 0;
  if (report.verdict && gpus > 0)
    parts.push_back(fmt::format("{} of {} tested", tested_gpus(*report.verdict), plural(gpus, "GPU")));
  if (report.seconds) parts.push_back(fmt::format("{:.1f} s", *report.seconds));
  page.blank();
  page.paragraph(fmt::format("{}", fmt::join(parts, page.unicode() ? " · " : " | ")), 0, Colour::faint);
  // The text for an issue, and where to find the rest.
  page.paragraph(fmt::format("Markdown for an issue: `pbprobe report --format markdown`{}",
                             page.verbose() ? "" : "; --verbose has the inventory"),
                 0, Colour::faint);
}

}  // namespace pbprobe::text
