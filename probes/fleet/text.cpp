// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/fleet/render.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/strings.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe {
namespace {

using text::Colour;
using text::Page;

constexpr size_t kWorstRanks = 10;
constexpr size_t kMaxSoundNodes = 16;  // a line each; more are counted

struct NamedRank {
  const FleetNode* node = nullptr;
  const FleetRank* rank = nullptr;
};

std::string format_label(const NamedRank& named) {
  return named.rank->rank < 0 ? named.node->host : fmt::format("{} rank {}", named.node->host, named.rank->rank);
}

// Sorts failed ranks before unknown ones, then by number of findings.
std::vector<NamedRank> worst_ranks(const Fleet& fleet) {
  std::vector<NamedRank> ranks;
  for (const auto& node : fleet.nodes) {
    for (const auto& rank : node.ranks) {
      if (rank.outcome != Outcome::pass) ranks.push_back({&node, &rank});
    }
  }
  const auto failed = [](const NamedRank& named) {
    return std::ranges::count_if(named.rank->findings,
                                 [](const FleetFinding& finding) { return finding.outcome == Outcome::fail; });
  };
  std::ranges::stable_sort(ranks, [&](const auto& a, const auto& b) { return failed(a) > failed(b); });
  return ranks;
}

void add_worst(Page& page, const Fleet& fleet) {
  const auto ranks = worst_ranks(fleet);
  if (ranks.empty()) return;
  page.heading(ranks.size() > kWorstRanks ? fmt::format("The worst {} of {}", kWorstRanks, ranks.size())
                                          : "Failed or unknown");
  std::set<std::pair<std::string, std::string>> reported;  // ranks of a node may all have the same finding
  for (size_t i = 0; i < std::min(ranks.size(), kWorstRanks); ++i) {
    const auto& findings = ranks[i].rank->findings;
    if (!reported.emplace(ranks[i].node->host, findings.front().what).second) continue;
    page.entry(format_label(ranks[i]), fmt::format("{}: {}", name_of(findings.front().fault), findings.front().what),
               18, text::choose_colour(ranks[i].rank->outcome));
    if (findings.size() > 1) page.entry("", fmt::format("and {} more", findings.size() - 1), 18, Colour::faint);
    page.entry("", "help: " + findings.front().fix, 18);
  }
}

void add_nodes(Page& page, const Fleet& fleet) {
  const auto sound = static_cast<size_t>(
      std::ranges::count_if(fleet.nodes, [](const FleetNode& node) { return node.outcome == Outcome::pass; }));
  const bool all = page.verbose() || sound <= kMaxSoundNodes;
  text::Rows rows{{{"node", Colour::faint}, {"", Colour::faint}, {"ranks", Colour::faint}, {"", Colour::faint}}};
  for (const auto& node : fleet.nodes) {
    if (!all && node.outcome == Outcome::pass) continue;
    rows.push_back({{node.host},
                    {upper(std::string(name_of(node.outcome))), text::choose_colour(node.outcome)},
                    {std::to_string(node.ranks.size()), Colour::none, true},
                    {node.reason}});
  }
  page.heading("Nodes");
  if (rows.size() > 1) page.fitted_table(std::move(rows), 3);
  if (!all) page.paragraph(fmt::format("{} more pass", sound), 2, Colour::good);
}

void add_collectives(Page& page, const Fleet& fleet) {
  if (fleet.collectives.empty()) return;
  text::Rows rows{{{"collective", Colour::faint},
                   {"bytes", Colour::faint, true},
                   {"ranks", Colour::faint, true},
                   {"algbw GB/s", Colour::faint, true},
                   {"busbw GB/s", Colour::faint, true},
                   {"verified", Colour::faint}}};
  for (const auto& row : fleet.collectives) {
    const char* const verified = row.verified == Outcome::pass ? "yes" : row.verified == Outcome::fail ? "WRONG" : "no";
    rows.push_back({{row.operation},
                    {std::to_string(row.bytes), Colour::none, true},
                    {std::to_string(row.ranks), Colour::none, true},
                    {fmt::format("{:.2f}", row.algbw_gb_per_s), Colour::none, true},
                    {fmt::format("{:.2f}", row.busbw_gb_per_s), Colour::none, true},
                    {verified, text::choose_colour(row.verified)}});
  }
  page.heading("Collectives");
  page.fitted_table(std::move(rows), 0);
}

void add_rules(Page& page, const Fleet& fleet) {
  text::Rows rows{{{"figure", Colour::faint},
                   {"device", Colour::faint},
                   {"ranks", Colour::faint, true},
                   {"median", Colour::faint, true},
                   {"MAD", Colour::faint, true},
                   {"k", Colour::faint, true},
                   {"slow beyond", Colour::faint, true},
                   {"slow", Colour::faint, true}}};
  for (const auto& rule : fleet.rules) {
    const double share = rule.median > 0 ? 100 * rule.threshold / rule.median : 0;
    rows.push_back({{rule.figure},
                    {rule.device},
                    {std::to_string(rule.count), Colour::none, true},
                    {fmt::format("{:.4g}", rule.median), Colour::none, true},
                    {fmt::format("{:.2g}", rule.mad), Colour::none, true},
                    {rule.k > 0 ? fmt::format("{:.1f}", rule.k) : "-", Colour::none, true},
                    {fmt::format("{:.1f} %", share), Colour::none, true},
                    {std::to_string(rule.slow), Colour::none, true}});
  }
  page.heading("Figures");
  if (rows.size() > 1) page.fitted_table(std::move(rows), 1);
}

}  // namespace

std::string render_fleet(const Fleet& fleet, const TextOptions& options) {
  Page page(options);
  int64_t ranks = 0;
  for (const auto& node : fleet.nodes) ranks += static_cast<int64_t>(node.ranks.size());
  page.headed(upper(std::string(name_of(fleet.outcome))) + "  ", text::choose_colour(fleet.outcome),
              fmt::format("{}, {}", text::plural(static_cast<int64_t>(fleet.nodes.size()), "node"),
                          text::plural(ranks, "rank")),
              Colour::strong);
  page.paragraph(fleet.reason, 2);
  if (fleet.fix) page.entry("help:", *fleet.fix, 6);
  if (!fleet.differences.empty()) page.heading("Different");
  for (const auto& difference : fleet.differences) page.paragraph(difference.sentence, 2, Colour::bad);
  if (!fleet.problems.empty()) page.heading("Problems");
  for (const auto& problem : fleet.problems) page.paragraph(problem, 2, Colour::doubt);
  add_worst(page, fleet);
  add_nodes(page, fleet);
  add_collectives(page, fleet);
  if (page.verbose()) add_rules(page, fleet);
  return std::move(page).take();
}

std::string render_fleet_quiet(const Fleet& fleet, const TextOptions& options) {
  Page page(options);
  page.line({{upper(std::string(name_of(fleet.outcome))), text::choose_colour(fleet.outcome)}, {"  " + fleet.reason}});
  return std::move(page).take();
}

}  // namespace pbprobe
