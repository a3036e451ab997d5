// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/demangle.hpp"
#include "core/json.hpp"
#include "core/sm.hpp"
#include "core/version.hpp"
#include "probes/report/html/chart.hpp"
#include "probes/report/html/sections.hpp"
#include "probes/report/sections.hpp"
#include "probes/report/text.hpp"

namespace pbprobe {
namespace {

using html::Cell;
using html::Document;
using html::Table;
using text::Colour;

void add_problems(Document& page, const std::vector<std::string>& problems) {
  if (problems.empty()) return;
  const auto section = page.open_section("Steps that could not run");
  const auto list = page.body().open("ul");
  for (const auto& problem : problems) page.body().add("li", problem);
}

void add_measurements(Document& page, const Measurements& measurements, const Host* host) {
  html::add_rooflines(page, measurements, host);
  if (measurements.libtorch) html::add_libtorch(page, *measurements.libtorch);
  html::add_kernels(page, measurements);
  html::add_probes(page, measurements);
  html::add_traces(page, measurements);
  html::add_what_did_not_run(page, measurements);
}

std::string own_version() {
  return fmt::format("pbprobe {} ({})", version(), commit());
}

void add_title(Document& page, const std::string& word, const std::string& subject, const std::string& tone = "") {
  const auto box = page.body().open("div", {{"class", "verdict " + tone}});
  const auto head = page.body().open("h1");
  page.body().add("span", {{"class", "word"}}, word);
  page.body().text(subject);
}

void add_changes(Document& page, const Comparison& comparison) {
  Table table{.caption = "Facts that differ", .head = {"about", "change", "what", "regressed"}};
  for (const auto& fact : comparison.facts) {
    std::string what = fact.what;
    for (const auto& name : fact.examples) what += "; " + function_name(name);
    table.rows.push_back(
        {{fact.about}, {std::string(name_of(fact.change))}, {what}, {fact.regressed ? "regressed" : "-", Colour::bad}});
  }
  html::drop_empty_columns(table.head, table.rows);
  if (table.rows.empty()) page.body().add("p", "No fact differs.");
  if (!table.rows.empty()) page.add(table);
}

void add_shifts(Document& page, const Comparison& comparison) {
  if (comparison.figures.empty()) return;
  constexpr size_t kMaxBars = 60;
  std::vector<html::RatioBar> bars;
  Table table{.caption = "Every figure of both",
              .head = {"figure", "before", "after", "speedup", "at least", "at most", "shown"}};
  for (const auto& figure : comparison.figures) {
    const bool slower = figure.shift == Shift::slower;
    const bool faster = figure.shift == Shift::faster;
    if ((slower || faster) && bars.size() < kMaxBars)
      bars.push_back({figure.what, figure.times, figure.low, figure.high, slower ? "sbad" : "sgood"});
    table.rows.push_back(
        {{figure.what},
         {fmt::format("{:.1f} us", figure.before_us), Colour::none, figure.before_us},
         {fmt::format("{:.1f} us", figure.after_us), Colour::none, figure.after_us},
         {fmt::format("{:.2f}×", figure.times), Colour::none, figure.times},
         {fmt::format("{:.2f}", figure.low), Colour::none, figure.low},
         {fmt::format("{:.2f}", figure.high), Colour::none, figure.high},
         {slower || faster ? std::string(name_of(figure.shift)) : "no difference shown", slower   ? Colour::bad
                                                                                         : faster ? Colour::good
                                                                                                  : Colour::faint}});
  }
  page.body().add("h3", "Figures");
  if (bars.empty()) page.body().add("p", "No figure shows a difference.");
  if (!bars.empty()) {
    const auto scroll = page.body().open_scroll("Figures that differ");
    html::add_ratios(page.body(), "Figures that differ: speedup", bars);
  }
  page.add(table);
}

Cell served_cell(const ServedGpu& gpu) {
  std::vector<std::string> parts;
  const auto add = [&](int64_t count, const char* word) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, word));
  };
  add(gpu.native, "native");
  add(gpu.same_major, "same family");
  add(gpu.ptx, "PTX");
  add(gpu.none, "none");
  if (parts.empty()) return {"-", Colour::faint};
  const Colour colour = gpu.code == GpuCode::none         ? Colour::bad
                        : gpu.none > 0 || gpu.native == 0 ? Colour::doubt
                                                          : Colour::good;
  return {fmt::format("{}", fmt::join(parts, ", ")), colour};
}

void add_served(Document& page, const Environment& environment) {
  if (environment.sms.empty()) return;
  Table table{.caption = "Kernels of each package, by best code for a GPU", .head = {"package"}, .heat = true};
  table.head.insert(table.head.end(), environment.sms.begin(), environment.sms.end());
  for (const auto& row : environment.distributions) {
    if (!row.gpus) continue;
    table.rows.push_back({{row.name}});
    for (const auto& gpu : *row.gpus) table.rows.back().push_back(served_cell(gpu));
  }
  const auto section = page.open_section("Code for each GPU");
  page.add(table);
}

void add_packages(Document& page, const Environment& environment) {
  std::set<Sm> sms;
  for (const auto& row : environment.distributions) {
    for (const auto& [name, count] : row.cubin) {
      if (const auto sm = parse_sm(name)) sms.insert(*sm);
    }
  }
  Table table{.caption = "Packages with shared objects or device code, and their cubins for each SM",
              .head = {"package", "version", "worst finding"},
              .heat = true};
  for (const auto& sm : sms) table.head.push_back(sm_name(sm));
  for (const auto& row : environment.distributions) {
    const Colour worst = row.worst ? text::choose_colour(*row.worst) : Colour::faint;
    table.rows.push_back(
        {{row.name},
         {row.version.value_or("-")},
         {row.worst ? fmt::format("{} {}", name_of(*row.worst), row.findings.front().id) : "-", worst, {}}});
    for (const auto& sm : sms) {
      const auto count = row.cubin.find(sm_name(sm));
      table.rows.back().push_back(count == row.cubin.end() ? Cell{"-", Colour::faint}
                                                           : Cell{fmt::format("{}", count->second), Colour::good,
                                                                  static_cast<double>(count->second)});
    }
  }
  const auto section = page.open_section("Packages and SMs");
  page.add(table);
}

}  // namespace

std::string render_html(const Report& report) {
  const std::string subject = text::format_subject(report);
  const std::string word = report.verdict ? std::string(name_of(report.verdict->outcome)) : "no verdict";
  Document page(fmt::format("{}: {}", word, subject));
  html::add_headline(page, report.verdict, subject);
  html::add_answers(page, report);
  if (report.verdict) {
    html::add_devices(page, *report.verdict);
    html::add_claims(page, *report.verdict);
    html::add_findings(page, *report.verdict);
  }
  if (report.baseline) html::add_baseline(page, *report.baseline);
  if (report.environment) add_packages(page, *report.environment);
  html::add_device_code(page, report);
  if (report.measurements) add_measurements(page, *report.measurements, report.host ? &*report.host : nullptr);
  if (report.operators) html::add_operators(page, *report.operators);
  if (report.host) {
    const auto section = page.open_section("Environment");
    page.add(text::describe_host(*report.host));
  }
  add_problems(page, report.problems);
  if (report.verdict) html::add_checks(page, *report.verdict);
  return std::move(page).finish(to_json(report),
                                {"/inventory/files", "/environment/distributions", "/joined", "/emulated_loads",
                                 "/measurements/rows", "/measurements/notes"},
                                html::format_origin(report));
}

std::string render_html(const Measurements& measurements) {
  Document page("pbprobe bench");
  add_title(page, "Bench",
            fmt::format("{} kernels and shapes, each verified before it was timed", measurements.rows.size()));
  add_measurements(page, measurements, nullptr);
  return std::move(page).finish(to_json(measurements), {"/rows", "/notes"}, own_version());
}

std::string render_html(const ComparisonList& list) {
  Document page("pbprobe compare");
  const size_t count = list.comparisons.size();
  const auto regressed = std::ranges::count_if(list.comparisons, has_regressed);
  add_title(page, regressed > 0 ? "Regressed" : "Not regressed",
            count == 1
                ? fmt::format("{} against {}", list.comparisons[0].after, list.comparisons[0].before)
                : fmt::format("{} of {} against {}", regressed, count, count > 0 ? list.comparisons[0].before : ""),
            regressed > 0 ? "fail" : "pass");
  for (const auto& comparison : list.comparisons) {
    const auto section = page.open_section(comparison.after, "against " + comparison.before);
    add_changes(page, comparison);
    add_shifts(page, comparison);
    for (const auto& sentence : comparison.not_compared) page.body().add("p", "not compared: " + sentence);
  }
  return std::move(page).finish(to_json(list), {"/comparisons"}, own_version());
}

std::string render_html(const Environment& environment) {
  Document page("pbprobe audit");
  add_title(page, "Packages", fmt::format("{}", fmt::join(environment.artifacts, ", ")));
  add_packages(page, environment);
  add_served(page, environment);
  Table findings{.caption = "Findings", .head = {"check", "package", "finding", "help"}};
  for (const auto& row : environment.distributions) {
    for (const auto& finding : row.findings)
      findings.rows.push_back(
          {{fmt::format("{} {}", name_of(finding.severity), finding.id), text::choose_colour(finding.severity)},
           {row.name},
           {finding.what},
           {finding.remedy, Colour::faint}});
  }
  if (!findings.rows.empty()) {
    const auto section = page.open_section("Findings");
    page.add(findings);
  }
  std::vector<std::string> problems = environment.problems;
  for (const auto& row : environment.distributions)
    problems.insert(problems.end(), row.problems.begin(), row.problems.end());
  add_problems(page, problems);
  return std::move(page).finish(to_json(environment), {"/distributions"}, own_version());
}

}  // namespace pbprobe
