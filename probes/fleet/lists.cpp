// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The fleet for schedulers and for node_exporter.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "probes/fleet/render.hpp"
#include "probes/report/junit.hpp"

namespace pbprobe {
namespace {

// Conversion to the base units and name suffixes that Prometheus requires.
struct Unit {
  std::string_view ours;
  std::string_view theirs;
  double times = 1;
};

constexpr std::array<Unit, 5> kUnits{{
    {"_tflops", "_operations_per_second", 1e12},
    {"_tops", "_operations_per_second", 1e12},
    {"_gb_per_s", "_bytes_per_second", 1e9},
    {"_ms", "_seconds", 1e-3},
    {"_us", "_seconds", 1e-6},
}};

std::pair<std::string, double> convert_metric(const std::string& figure) {
  std::string name = "pbprobe_rank_" + figure;
  double times = 1;
  for (const auto& unit : kUnits) {
    if (!name.ends_with(unit.ours)) continue;
    name = name.substr(0, name.size() - unit.ours.size()) + std::string(unit.theirs);
    times = unit.times;
    break;
  }
  for (char& c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!allowed) c = '_';
  }
  return {name, times};
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string format_labels(const FleetNode& node, const FleetRank& rank) {
  return fmt::format("host=\"{}\",rank=\"{}\",gpu=\"{}\",device=\"{}\"", label_value(node.host), rank.rank,
                     rank.local_rank, label_value(rank.device));
}

std::string head(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
}

void add_outcomes(std::string& text, const Fleet& fleet) {
  text += head("pbprobe_fleet_nodes", "Nodes by outcome.");
  for (const auto& [outcome, name] : enum_names(Outcome{})) {
    const auto count = std::ranges::count_if(
        fleet.nodes, [&, wanted = outcome](const FleetNode& node) { return node.outcome == wanted; });
    text += fmt::format("pbprobe_fleet_nodes{{outcome=\"{}\"}} {}\n", name, count);
  }
  text += head("pbprobe_node_excluded", "1 if jobs should exclude the node.");
  for (const auto& node : fleet.nodes)
    text += fmt::format("pbprobe_node_excluded{{host=\"{}\"}} {}\n", label_value(node.host), node.excluded ? 1 : 0);
  text += head("pbprobe_rank_outcome", "1 for the outcome of this rank, 0 for the others.");
  for (const auto& node : fleet.nodes) {
    for (const auto& rank : node.ranks) {
      for (const auto& [outcome, name] : enum_names(Outcome{}))
        text += fmt::format("pbprobe_rank_outcome{{{},outcome=\"{}\"}} {}\n", format_labels(node, rank), name,
                            rank.outcome == outcome ? 1 : 0);
    }
  }
}

}  // namespace

std::string exclude_list(const Fleet& fleet) {
  std::string text;
  for (const auto& node : fleet.nodes) {
    if (node.excluded) text += node.host + "\n";
  }
  return text;
}

std::string render_prometheus(const Fleet& fleet) {
  std::string text;
  add_outcomes(text, fleet);
  std::map<std::string, std::string>
      metrics;  // grouped, because Prometheus requires the lines of a metric to be adjacent
  for (const auto& node : fleet.nodes) {
    for (const auto& rank : node.ranks) {
      for (const auto& [figure, value] : rank.figures) {
        const auto [name, times] = convert_metric(figure);
        metrics[name] += fmt::format("{}{{{}}} {}\n", name, format_labels(node, rank), value * times);
      }
    }
  }
  for (const auto& [name, lines] : metrics) text += head(name, "Measured by this rank.") + lines;
  return text;
}

std::string render_junit(const Fleet& fleet) {
  JunitCases cases;
  for (const auto& node : fleet.nodes) {
    for (const auto& rank : node.ranks) {
      std::string all;
      for (const auto& finding : rank.findings)
        all += fmt::format("{}: {}; fix: {} ", name_of(finding.fault), finding.what, finding.fix);
      std::string inside;
      if (rank.outcome == Outcome::fail) inside = cases.failure(rank.findings.front().what, all);
      if (rank.outcome == Outcome::unknown) inside = cases.error(all);
      cases.add("fleet", fmt::format("{} rank {}", node.host, rank.rank), inside);
    }
  }
  for (const auto& problem : fleet.problems) cases.add("fleet", "document", cases.error(problem));
  return cases.document("pbprobe fleet", fleet.created);
}

}  // namespace pbprobe
