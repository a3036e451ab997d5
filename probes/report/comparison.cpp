// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Facts first, then figures: those that differ, and how many do not.
#include <algorithm>

#include <fmt/format.h>

#include "core/demangle.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe {
namespace {

using text::Colour;
using text::Page;

constexpr size_t kBesideNames = 40;  // columns of "times as fast", its interval and the word

void add_facts(Page& page, const Comparison& comparison) {
  if (comparison.facts.empty()) page.paragraph("no fact differs", 2);
  for (const auto& fact : comparison.facts) {
    const Colour colour = fact.regressed ? Colour::bad : Colour::none;
    page.entry(fmt::format("{} {}", name_of(fact.change), fact.about), fact.what, 24, colour);
    for (const auto& name : fact.examples) page.entry("", function_name(name), 26, Colour::faint);
  }
}

void add_figures(Page& page, const Comparison& comparison) {
  text::Rows rows{{{"speedup", Colour::faint}, {"range", Colour::faint}, {"", Colour::faint}, {"", Colour::faint}}};
  for (const auto& figure : comparison.figures) {
    if (figure.shift == Shift::not_shown) continue;
    rows.push_back({{fmt::format("{:.2f}", figure.times), Colour::none, true},
                    {fmt::format("{:.2f} to {:.2f}", figure.low, figure.high)},
                    {std::string(name_of(figure.shift)), figure.shift == Shift::slower ? Colour::bad : Colour::good},
                    {figure.what}});
  }
  const size_t shown = rows.size() - 1;
  if (comparison.figures.empty()) return;
  page.heading("Figures");
  // If the names do not fit next to their figures, prints them below, without truncation.
  std::vector<std::string> below;
  size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, text::columns(row.back().text));
  if (kBesideNames + longest > static_cast<size_t>(page.width())) {
    for (auto& row : rows) {
      below.push_back(row.back().text);
      row.pop_back();
    }
  }
  if (shown > 0) page.table(rows, below);
  page.paragraph(fmt::format("no difference shown in {} of {} figures", comparison.figures.size() - shown,
                             comparison.figures.size()),
                 2);
}

}  // namespace

std::string render_comparisons(const ComparisonList& list, const TextOptions& options) {
  Page page(options);
  for (const auto& comparison : list.comparisons) {
    if (&comparison != &list.comparisons.front()) page.blank();
    page.line({{comparison.after, Colour::strong}, {" against "}, {comparison.before, Colour::strong}});
    add_facts(page, comparison);
    add_figures(page, comparison);
    for (const auto& sentence : comparison.not_compared) page.entry("not compared", sentence, 24, Colour::doubt);
  }
  return std::move(page).take();
}

}  // namespace pbprobe
