// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// HTML page of a merged fleet: nodes by measurements, links as a matrix, late ranks. For a large fleet it shows the
// worst nodes.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/json.hpp"
#include "probes/fleet/ranks.hpp"
#include "probes/fleet/render.hpp"
#include "probes/report/html/chart.hpp"
#include "probes/report/html/document.hpp"
#include "probes/report/sections.hpp"
#include "probes/report/text.hpp"

namespace pbprobe {
namespace {

using html::Cell;
using html::Document;
using html::Table;
using html::Writer;
using text::Colour;

constexpr size_t kMaxNodes = 150;      // rows of the heat map
constexpr size_t kMaxWorst = 50;       // findings that are written out
constexpr size_t kMaxEnds = 32;        // rows and columns of the matrix
constexpr size_t kMaxLines = 5;        // ranks whose lateness is drawn
constexpr size_t kMaxEmbedded = 2000;  // ranks in the data of the page

struct RankOfNode {
  const FleetNode* node = nullptr;
  const FleetRank* rank = nullptr;
};

std::vector<const FleetNode*> worst_first(const Fleet& fleet) {
  std::vector<const FleetNode*> nodes;
  for (const auto& node : fleet.nodes) nodes.push_back(&node);
  std::ranges::stable_sort(
      nodes, [](const auto* a, const auto* b) { return rank_severity(a->outcome) < rank_severity(b->outcome); });
  return nodes;
}

void add_headline(Document& page, const Fleet& fleet) {
  int64_t ranks = 0;
  for (const auto& node : fleet.nodes) ranks += static_cast<int64_t>(node.ranks.size());
  Writer& writer = page.body();
  const auto box = writer.open("div", {{"class", "verdict " + std::string(name_of(fleet.outcome))}});
  {
    const auto head = writer.open("h1");
    const char* const word = fleet.outcome == Outcome::pass   ? "✓ PASS"
                             : fleet.outcome == Outcome::fail ? "✗ FAIL"
                                                              : "? UNKNOWN";
    writer.add("span", {{"class", "word"}}, word);
    writer.text(fmt::format("{}, {}", text::plural(static_cast<int64_t>(fleet.nodes.size()), "node"),
                            text::plural(ranks, "rank")));
  }
  writer.add("p", fleet.reason);
  if (fleet.fix) writer.add("p", "Fix: " + *fleet.fix);
}

void add_list(Document& page, const std::string& title, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return;
  const auto section = page.open_section(title);
  const auto list = page.body().open("ul");
  for (size_t i = 0; i < std::min(sentences.size(), kMaxWorst); ++i) page.body().add("li", sentences[i]);
  if (sentences.size() > kMaxWorst)
    page.body().add("li", fmt::format("and {} more: --format json lists all", sentences.size() - kMaxWorst));
}

void add_worst(Document& page, const Fleet& fleet) {
  Table table{.caption = "Ranks that did not pass, failed ones first",
              .head = {"node", "rank", "fault", "what", "help"},
              .most_rows = kMaxWorst};
  for (const auto* node : worst_first(fleet)) {
    for (const auto& rank : node->ranks) {
      for (const auto& finding : rank.findings)
        table.rows.push_back({{node->host},
                              {rank.rank < 0 ? "-" : std::to_string(rank.rank)},
                              {std::string(name_of(finding.fault)), text::choose_colour(finding.outcome)},
                              {finding.what},
                              {finding.fix, Colour::faint}});
    }
  }
  if (table.rows.empty()) return;
  const auto section = page.open_section("The worst");
  page.add(table);
}

// The rule by which a rank's figure was judged.
using Rules = std::map<std::pair<std::string, std::string>, const FleetRule*>;

// Returns the deviation of the slowest rank of a node from the median, as a share; red if the rank has a finding.
Cell heat_cell(const FleetNode& node, const std::string& figure, const Rules& rules) {
  const FleetRule* rule = nullptr;
  double worst = 0;
  double value = 0;
  for (const auto& rank : node.ranks) {
    const auto own = rank.figures.find(figure);
    const auto found = rules.find({figure, rank.device});
    if (own == rank.figures.end() || found == rules.end() || found->second->median <= 0) continue;
    const double sign = found->second->lower_is_better ? 1 : -1;
    const double slower = sign * (own->second - found->second->median) / found->second->median;
    if (rule != nullptr && slower <= worst) continue;
    rule = found->second;
    worst = slower;
    value = own->second;
  }
  if (rule == nullptr) return {"-", Colour::faint};
  const double allowed = rule->threshold / rule->median;
  const Colour colour = worst > allowed ? Colour::bad : worst > allowed / 2 ? Colour::doubt : Colour::good;
  return {fmt::format("{:+.1f} %", worst == 0 ? 0 : -100 * worst), colour, value};
}

Cell late_cell(const FleetNode& node) {
  std::vector<double> medians;
  bool late = false;
  for (const auto& rank : node.ranks) {
    for (const auto& finding : rank.findings) late = late || finding.fault == FleetFault::late;
    if (!rank.late_ms.empty()) medians.push_back(find_upper_median(rank.late_ms));
  }
  if (medians.empty()) return {"-", Colour::faint};
  const double most = *std::ranges::max_element(medians);
  return {fmt::format("{:.3g} ms", most), late ? Colour::bad : Colour::good, most};
}

void add_heat_map(Document& page, const Fleet& fleet) {
  Rules rules;
  std::set<std::string> figures;
  for (const auto& rule : fleet.rules) {
    rules[{rule.figure, rule.device}] = &rule;
    figures.insert(rule.figure);
  }
  Table table{.caption = "Nodes by measurements: deviation of the slowest rank from the median of equal devices",
              .head = {"node", "outcome"},
              .heat = true,
              .most_rows = kMaxNodes};
  table.head.insert(table.head.end(), figures.begin(), figures.end());
  table.head.emplace_back("late");
  for (const auto* node : worst_first(fleet)) {
    table.rows.push_back({{node->host}, {std::string(name_of(node->outcome)), text::choose_colour(node->outcome)}});
    if (table.rows.size() > kMaxNodes) continue;  // counted, not shown
    for (const auto& figure : figures) table.rows.back().push_back(heat_cell(*node, figure, rules));
    table.rows.back().push_back(late_cell(*node));
  }
  const auto section = page.open_section("Nodes",
                                         "Red: beyond the allowed deviation. Yellow: beyond half of it. Late: delay "
                                         "after the first rank, median of the rounds.");
  page.add(table);
}

// Between two ends the slowest link, since a matrix has one field for it.
struct Field {
  double gb_per_s = 0;
  double resent = 0;
  Outcome outcome = Outcome::pass;
};
using Fields = std::map<std::pair<std::string, std::string>, Field>;

Fields collect_fields(const Fleet& fleet, bool by_rank) {
  std::map<int64_t, std::string> ends;
  for (const auto& node : fleet.nodes) {
    for (const auto& rank : node.ranks)
      ends[rank.rank] = by_rank ? fmt::format("{:02} {}", rank.rank, node.host) : node.host;
  }
  Fields fields;
  for (const auto& link : fleet.links) {
    const auto [place, is_new] = fields.try_emplace({ends[link.from], ends[link.to]});
    Field& field = place->second;
    if (is_new || link.gb_per_s < field.gb_per_s) field.gb_per_s = link.gb_per_s;
    field.resent = std::max(field.resent, link.resent.value_or(0));
    if (rank_severity(link.outcome) < rank_severity(field.outcome)) field.outcome = link.outcome;
  }
  return fields;
}

// Sorts ends with failed links first, then by their slowest link.
std::vector<std::string> sort_ends(const Fields& fields) {
  std::map<std::string, std::pair<int, double>> worst;
  for (const auto& [pair, field] : fields) {
    for (const auto& end : {pair.first, pair.second}) {
      const std::pair<int, double> rating(rank_severity(field.outcome), field.gb_per_s);
      const auto [place, is_new] = worst.try_emplace(end, rating);
      if (!is_new) place->second = std::min(place->second, rating);
    }
  }
  std::vector<std::string> ends;
  for (const auto& [end, rating] : worst) ends.push_back(end);
  if (ends.size() > kMaxEnds) {
    std::ranges::stable_sort(ends, [&](const auto& a, const auto& b) { return worst[a] < worst[b]; });
    ends.resize(kMaxEnds);
  }
  return ends;
}

Cell link_cell(const Fields& fields, const std::string& from, const std::string& to) {
  const auto found = fields.find({from, to});
  if (found == fields.end()) return {"-", Colour::faint};
  const Field& field = found->second;
  std::string text = fmt::format("{:.3g}", field.gb_per_s);
  if (field.resent >= 0.001) text += fmt::format(" ({:.1f} % lost)", 100 * field.resent);
  return {text, text::choose_colour(field.outcome), field.gb_per_s};
}

void add_links(Document& page, const Fleet& fleet) {
  if (fleet.links.empty()) return;
  size_t ranks = 0;
  for (const auto& node : fleet.nodes) ranks += node.ranks.size();
  const bool by_rank = ranks <= kMaxEnds;
  const Fields fields = collect_fields(fleet, by_rank);
  const auto ends = sort_ends(fields);
  Table table{.caption = "GB/s from row to column; for nodes, the slowest of their links",
              .head = {by_rank ? "rank" : "node"},
              .heat = true};
  for (const auto& end : ends) table.head.push_back(by_rank ? end.substr(0, end.find(' ')) : end);
  for (const auto& from : ends) {
    table.rows.push_back({{from}});
    for (const auto& to : ends) table.rows.back().push_back(link_cell(fields, from, to));
  }
  const auto failed =
      std::ranges::count_if(fleet.links, [](const auto& link) { return link.outcome == Outcome::fail; });
  const auto section = page.open_section(
      "Links", fmt::format("{} links were measured, {} failed. \"-\" marks a link that was not measured: pbprobe "
                           "measures only a sample of the links between nodes.{}",
                           fleet.links.size(), failed,
                           ends.size() == kMaxEnds ? " The table shows the ends with the worst links." : ""));
  page.add(table);
}

html::TimeLine make_line(const RankOfNode& late, size_t place) {
  constexpr std::array<std::string_view, kMaxLines> kSeries{"s1", "s2", "s3", "s4", "s5"};
  return {fmt::format("{} rank {}", late.node->host, late.rank->rank), kSeries.at(place), late.rank->late_ms};
}

void add_lateness(Document& page, const Fleet& fleet) {
  std::vector<std::pair<double, RankOfNode>> ranks;
  size_t rounds = 0;
  for (const auto& node : fleet.nodes) {
    for (const auto& rank : node.ranks) {
      if (rank.late_ms.empty()) continue;
      ranks.push_back({find_upper_median(rank.late_ms), {&node, &rank}});
      rounds = std::max(rounds, rank.late_ms.size());
    }
  }
  if (ranks.empty()) return;
  std::ranges::stable_sort(ranks, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<html::TimeLine> lines;
  html::TimeLine usual{"median of all", "snone", {}};
  for (size_t i = 0; i < rounds; ++i) {
    std::vector<double> round;
    for (const auto& [late, rank] : ranks) {
      if (i < rank.rank->late_ms.size()) round.push_back(rank.rank->late_ms[i]);
    }
    usual.values.push_back(find_upper_median(std::move(round)));
  }
  lines.push_back(std::move(usual));
  for (size_t i = 0; i < std::min(ranks.size(), kMaxLines); ++i) lines.push_back(make_line(ranks[i].second, i));
  const auto section =
      page.open_section("Late arrivals", "In each round of lockstep, all ranks wait for the last one.");
  const auto scroll = page.body().open_scroll("Late arrivals over time");
  html::add_time_lines(page.body(), "Delay of each rank after the first one, by round of lockstep", "ms", lines);
}

void add_collectives(Document& page, const Fleet& fleet) {
  if (fleet.collectives.empty()) return;
  Table table{.caption = "As nccl-tests define them; median over ranks",
              .head = {"collective", "bytes", "ranks", "algbw GB/s", "busbw GB/s", "verified"}};
  for (const auto& row : fleet.collectives) {
    const char* const verified = row.verified == Outcome::pass ? "yes" : row.verified == Outcome::fail ? "WRONG" : "no";
    table.rows.push_back({{row.operation},
                          {std::to_string(row.bytes), Colour::none, static_cast<double>(row.bytes)},
                          {std::to_string(row.ranks), Colour::none, static_cast<double>(row.ranks)},
                          {fmt::format("{:.3g}", row.algbw_gb_per_s), Colour::none, row.algbw_gb_per_s},
                          {fmt::format("{:.3g}", row.busbw_gb_per_s), Colour::none, row.busbw_gb_per_s},
                          {verified, text::choose_colour(row.verified)}});
  }
  const auto section = page.open_section("Collectives");
  page.add(table);
}

void add_rules(Document& page, const Fleet& fleet) {
  Table table{.caption = "Slow: on the slow side of the median by more than the column \"allowed\"",
              .head = {"figure", "device", "ranks", "median", "MAD", "k", "allowed", "slow"}};
  for (const auto& rule : fleet.rules) {
    const double share = rule.median > 0 ? 100 * rule.threshold / rule.median : 0;
    table.rows.push_back(
        {{rule.figure},
         {rule.device},
         {std::to_string(rule.count), Colour::none, static_cast<double>(rule.count)},
         {fmt::format("{:.4g}", rule.median), Colour::none, rule.median},
         {fmt::format("{:.2g}", rule.mad), Colour::none, rule.mad},
         {rule.k > 0 ? fmt::format("{:.1f}", rule.k) : "-"},
         {fmt::format("{:.1f} %", share), Colour::none, rule.threshold},
         {std::to_string(rule.slow), rule.slow > 0 ? Colour::bad : Colour::none, static_cast<double>(rule.slow)}});
  }
  if (table.rows.empty()) return;
  const auto section = page.open_section("How figures were judged");
  page.add(table);
}

// Returns a reduced fleet for embedding if the fleet is too large for a page.
Fleet embeddable(const Fleet& fleet) {
  size_t ranks = 0;
  for (const auto& node : fleet.nodes) ranks += node.ranks.size();
  if (ranks <= kMaxEmbedded) return fleet;
  Fleet small = fleet;
  small.links.clear();
  small.nodes.clear();
  for (const auto* node : worst_first(fleet)) {
    if (small.nodes.size() < kMaxNodes && node->outcome != Outcome::pass) small.nodes.push_back(*node);
  }
  return small;
}

}  // namespace

std::string render_html(const Fleet& fleet) {
  Document page(fmt::format("{}: fleet of {} nodes", name_of(fleet.outcome), fleet.nodes.size()));
  add_headline(page, fleet);
  std::vector<std::string> differences;
  for (const auto& difference : fleet.differences) differences.push_back(difference.sentence);
  add_list(page, "Different", differences);
  add_list(page, "Problems", fleet.problems);
  add_worst(page, fleet);
  add_heat_map(page, fleet);
  add_links(page, fleet);
  add_lateness(page, fleet);
  add_collectives(page, fleet);
  add_rules(page, fleet);
  std::string foot = fmt::format("pbprobe {}, {}", fleet.pbprobe_version, fleet.created);
  Fleet data = embeddable(fleet);
  if (data.nodes.size() < fleet.nodes.size())
    foot +=
        fmt::format(". This page contains data of the {} worst nodes: --format json has all data", data.nodes.size());
  return std::move(page).finish(to_json(data), {"/links", "/nodes", "/problems", "/differences"}, foot);
}

}  // namespace pbprobe
