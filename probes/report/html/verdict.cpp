// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// First screen of a report, and the objections to a build.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/report/html/sections.hpp"
#include "probes/report/sections.hpp"
#include "probes/report/text.hpp"

namespace pbprobe::html {
namespace {

struct Answer {
  std::string text;
  Colour colour = Colour::none;
  std::string more;
};

// Returns "CPU, GPU 0", the devices whose `level` has this outcome.
std::string list_devices(const Verdict& verdict, std::optional<Outcome> ClaimRow::*level,
                         std::optional<Outcome> outcome) {
  std::vector<std::string> names;
  for (const auto& gpu : verdict.gpus) {
    const auto* row = text::find_device_row(verdict, fmt::format("GPU {} ", gpu.gpu));
    if (row != nullptr && row->*level == outcome) names.push_back(fmt::format("GPU {}", gpu.gpu));
  }
  const auto* cpu = text::find_device_row(verdict, "CPU ");
  if (cpu != nullptr && cpu->*level == outcome) names.emplace_back("CPU");
  if (names.size() > 4) return fmt::format("{}, {} and {} more", names[0], names[1], names.size() - 2);
  return fmt::format("{}", fmt::join(names, ", "));
}

Answer works(const Verdict& verdict) {
  const std::string wrong = list_devices(verdict, &ClaimRow::executed, Outcome::fail);
  const std::string right = list_devices(verdict, &ClaimRow::executed, Outcome::pass);
  const std::string open = list_devices(verdict, &ClaimRow::executed, Outcome::unknown);
  const std::string untried = list_devices(verdict, &ClaimRow::executed, std::nullopt);
  std::string more = right.empty() ? "" : "computed correctly: " + right;
  if (!open.empty()) more += fmt::format("{}no answer: {}", more.empty() ? "" : "; ", open);
  if (!untried.empty()) more += fmt::format("{}not tested: {}", more.empty() ? "" : "; ", untried);
  if (!wrong.empty()) return {"No: not on " + wrong, Colour::bad, more};
  if (right.empty()) return {untried.empty() || !open.empty() ? "Unknown" : "Not tested", Colour::doubt, more};
  return {open.empty() ? "Yes" : "In part", open.empty() ? Colour::good : Colour::doubt, more};
}

Answer native(const Verdict& verdict) {
  if (verdict.gpus.empty()) return {"No GPU here", Colour::faint, "for the CPU, see the minimum CPU below"};
  const auto worst =
      std::ranges::max_element(verdict.gpus, [](const auto& a, const auto& b) { return a.code < b.code; });
  const std::string more = worst->sentence;
  switch (worst->code) {
    case GpuCode::native: return {"Yes: " + worst->best.value_or("its own code"), Colour::good, more};
    case GpuCode::same_major:
      return {fmt::format("No: {}, compatible", worst->best.value_or("?")), Colour::doubt, more};
    case GpuCode::ptx: return {"No: PTX, compiled at start", Colour::doubt, more};
    case GpuCode::none: return {fmt::format("No code for GPU {}", worst->gpu), Colour::bad, more};
    case GpuCode::unknown: break;
  }
  return {"Unknown", Colour::doubt, more};
}

// Returns the fastest matrix product of libtorch, shown if there is no comparison.
std::string fastest(const Report& report) {
  if (!report.measurements || !report.measurements->libtorch) return "";
  const auto& figures = report.measurements->libtorch->figures;
  const auto most = std::ranges::max_element(figures, [](const auto& a, const auto& b) { return a.gflops < b.gflops; });
  if (most == figures.end()) return "";
  return fmt::format("{} in {} ({}×{}×{}) on {}", text::rate_with_unit(most->gflops), most->dtype, most->m, most->n,
                     most->k,
                     most->device == "cpu" ? "the CPU" : "GPU " + most->device.substr(most->device.find(':') + 1));
}

Answer fast(const Report& report, const Verdict& verdict) {
  const std::string slower = list_devices(verdict, &ClaimRow::measured, Outcome::fail);
  const std::string even = list_devices(verdict, &ClaimRow::measured, Outcome::pass);
  const std::string rate = fastest(report);
  if (!slower.empty()) return {"Slower than the generic build", Colour::bad, "on " + slower};
  if (!even.empty()) return {"Not slower than the generic build", Colour::good, "on " + even};
  const std::string how = "`pbprobe gate … --require measured --baseline TORCH` compares";
  return {"Not compared", Colour::faint, rate.empty() ? how : rate + "; " + how};
}

Answer describe_fix(const Verdict& verdict) {
  if (const Objection* first = text::leading_objection(verdict); first != nullptr && first->remedy)
    return {*first->remedy, Colour::none, first->id.starts_with("PB") ? "more: pbprobe explain " + first->id : ""};
  if (verdict.fix) return {*verdict.fix, Colour::none, ""};
  return {"Nothing", Colour::good, ""};
}

void add_answer(Writer& writer, const std::string& question, const Answer& answer) {
  constexpr size_t kFewWords = 40;  // a sentence would be too long a headline
  const auto box = writer.open("div");
  writer.add("dt", question);
  const std::string colour = get_css_class(answer.colour);
  writer.add("dd", {{"class", (answer.text.size() < kFewWords ? "big " : "") + colour}}, answer.text);
  if (!answer.more.empty()) writer.add("dd", {{"class", "faint"}}, answer.more);
}

std::string render_paste(const Report& report) {
  std::string text = render_quiet(report, {.unicode = true});
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void add_block(Writer& writer, const text::Block& block) {
  const auto box = writer.open("div", {{"class", "finding " + std::string(block.word)}});
  {
    const auto head = writer.open("h3");
    writer.add("span", {{"class", get_css_class(block.colour)}}, fmt::format("{} {}", block.word, block.id));
    writer.text(" ");
    writer.text(block.what);
  }
  const auto list = writer.open("dl");
  const auto entry = [&](std::string_view name, const std::string& value) {
    writer.add("dt", name);
    writer.add("dd", value);
  };
  if (block.where) entry("where", *block.where);
  if (block.remedy) entry("help", *block.remedy);
  entry("more", block.id.starts_with("PB") ? fmt::format("pbprobe explain {}", block.id)
                                           : "this block is about the claim, not about a check");
}

}  // namespace

void add_headline(Document& page, const std::optional<Verdict>& verdict, const std::string& subject) {
  Writer& writer = page.body();
  const std::string outcome = verdict ? std::string(name_of(verdict->outcome)) : "unknown";
  const auto box = writer.open("div", {{"class", "verdict " + outcome}});
  {
    const auto head = writer.open("h1");
    const text::Page words({.unicode = true});
    writer.add("span", {{"class", "word"}}, text::verdict_line(words, verdict));
    writer.text(subject);
  }
  if (verdict) writer.add("p", verdict->reason);
}

void add_answers(Document& page, const Report& report) {
  if (!report.verdict) return;
  Writer& writer = page.body();
  const auto list = writer.open("dl", {{"class", "answers"}});
  add_answer(writer, "Does it work?", works(*report.verdict));
  add_answer(writer, "Is it native?", native(*report.verdict));
  add_answer(writer, "Is it fast?", fast(report, *report.verdict));
  add_answer(writer, "What do I do?", describe_fix(*report.verdict));
  const auto box = writer.open("div", {{"class", "wide"}});
  writer.add("dt", "What do I paste?");
  const auto answer = writer.open("dd");
  writer.add("pre", render_paste(report));
}

void add_devices(Document& page, const Verdict& verdict) {
  Table table{.caption = "✓ yes, ✗ no, ~ compatible code or PTX; \"not tested\": not tried on this machine",
              .head = {"device", "name", "ships", "loads", "correct", "vs generic build"}};
  const text::Rows rows = text::device_rows(verdict);
  for (size_t i = 1; i < rows.size(); ++i) {
    table.rows.emplace_back();
    for (const auto& cell : rows[i]) table.rows.back().push_back({cell.text, cell.colour});
  }
  if (table.rows.empty()) return;
  const auto section = page.open_section("This machine's devices");
  page.add(table);
}

void add_claims(Document& page, const Verdict& verdict) {
  Table table{.caption = "Proved level of each part of the claim",
              .head = {"claim", "claimed", "required", "proven", "outcome", "detail"}};
  for (const auto& row : verdict.claims) {
    if (!row.claimed) continue;
    const Outcome outcome = row.outcome.value_or(Outcome::unknown);
    table.rows.push_back({{row.claim},
                          {*row.claimed},
                          {text::level_or_dash(row.required)},
                          {text::level_or_dash(row.proven)},
                          {row.outcome ? std::string(name_of(outcome)) : "-", text::choose_colour(outcome)},
                          {row.detail, Colour::faint}});
  }
  if (table.rows.empty()) return;
  const auto section = page.open_section("Claim");
  drop_empty_columns(table.head, table.rows);
  page.add(table);
}

void add_findings(Document& page, const Verdict& verdict) {
  const auto blocks = text::make_blocks(verdict, nullptr);
  if (blocks.empty()) return;
  constexpr size_t kMost = 100;
  const auto section = page.open_section("Findings");
  for (size_t i = 0; i < blocks.size() && i < kMost; ++i) add_block(page.body(), blocks[i]);
  if (blocks.size() > kMost)
    page.body().add("p", fmt::format("and {} more: --format json lists all", blocks.size() - kMost));
}

void add_checks(Document& page, const Verdict& verdict) {
  if (verdict.checks.empty()) return;
  Table table{.caption = "Every check of the policy",
              .head = {"check", "asks", "required", "state", "severity", "why"}};
  for (const auto& check : verdict.checks) {
    const Colour colour = check.state == CheckState::passed  ? Colour::good
                          : check.state == CheckState::found ? text::choose_colour(check.severity)
                          : check.required                   ? Colour::doubt
                                                             : Colour::faint;
    table.rows.push_back(
        {{check.id},
         {check.asks},
         {check.required ? "required" : "-"},
         {check.state == CheckState::not_asked ? "not asked" : std::string(name_of(check.state)), colour},
         {std::string(name_of(check.severity))},
         {check.why.value_or("-"), Colour::faint}});
  }
  const auto section = page.open_section("Checks", fmt::format("Policy {}", verdict.policy.name));
  const auto details = page.body().open("details");
  page.body().add("summary", fmt::format("{} checks with their states", verdict.checks.size()));
  page.add(table);
}

std::string format_origin(const Report& report) {
  return fmt::format("pbprobe {} ({}), {}", report.version, report.commit, report.created);
}

}  // namespace pbprobe::html
