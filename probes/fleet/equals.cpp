// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that nodes are equal: versions and files of libraries, and the bits of results on equal devices.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/fleet/ranks.hpp"
#include "probes/judge/evidence/outliers.hpp"

namespace pbprobe {
namespace {

constexpr size_t kMostHosts = 4;          // hosts in one sentence
constexpr double kMostClockSeconds = 60;  // Kerberos allows five minutes, and logs are compared by the minute

// Holders of a value: host, and the first rank of the document with the value.
using Having = std::set<std::pair<std::string, int64_t>>;
using ByValue = std::map<std::string, Having>;

// Sorts by number of holders; on a tie, the larger value comes first: it is usually the newer version.
std::vector<std::pair<std::string, Having>> sort_by_holders(const ByValue& values) {
  std::vector<std::pair<std::string, Having>> rows(values.rbegin(), values.rend());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return rows;
}

// Returns the hosts whose processes have different values: only their sentences name ranks.
std::set<std::string> divided_hosts(const ByValue& values) {
  std::map<std::string, std::set<std::string>> by_host;
  for (const auto& [value, having] : values) {
    for (const auto& [host, rank] : having) by_host[host].insert(value);
  }
  std::set<std::string> divided;
  for (const auto& [host, seen] : by_host) {
    if (seen.size() > 1) divided.insert(host);
  }
  return divided;
}

std::set<std::string> list_labels(const Having& having, const std::set<std::string>& divided) {
  std::set<std::string> labels;
  for (const auto& [host, rank] : having)
    labels.insert(divided.contains(host) ? fmt::format("{} rank {}", host, rank) : host);
  return labels;
}

std::string join_labels(const std::set<std::string>& labels) {
  std::vector<std::string> first(labels.begin(), labels.end());
  const size_t more = first.size() > kMostHosts ? first.size() - kMostHosts : 0;
  first.resize(first.size() - more);
  const std::string text = fmt::format("{}", fmt::join(first, ", "));
  return more == 0 ? text : fmt::format("{} and {} more", text, more);
}

struct Difference {
  FleetDifference row;
  Having having;  // holders of a minority value
};

// "node17: nccl 2.27.3; 31 others 2.28.9".
std::optional<Difference> describe_difference(const std::string& about, const ByValue& values, const char* unit) {
  if (values.size() < 2) return std::nullopt;
  const auto rows = sort_by_holders(values);
  const auto divided = divided_hosts(values);
  Difference difference{.row = {.about = about, .most = rows.front().first}};
  std::vector<std::string> parts;
  std::set<std::string> hosts;
  for (size_t i = 1; i < rows.size(); ++i) {
    parts.push_back(
        fmt::format("{}: {} {}{}", join_labels(list_labels(rows[i].second, divided)), about, unit, rows[i].first));
    difference.having.insert(rows[i].second.begin(), rows[i].second.end());
    for (const auto& [host, rank] : rows[i].second) hosts.insert(host);
  }
  const size_t others = list_labels(rows.front().second, divided).size();
  difference.row.sentence = fmt::format("{}; {} {} {}{}", fmt::join(parts, "; "), others,
                                        others == 1 ? "other" : "others", unit, rows.front().first);
  difference.row.hosts.assign(hosts.begin(), hosts.end());
  return difference;
}

struct LibraryValues {
  ByValue versions;
  std::map<std::string, ByValue> files;  // files by version
};

std::vector<Difference> find_differences(const JudgedRanks& ranks) {
  std::map<std::string, LibraryValues> libraries;
  ByValue programs;
  const NodeReport* last = nullptr;
  for (const auto& rank : ranks) {
    if (rank.document == nullptr || rank.document == last) continue;
    last = rank.document;
    const std::pair<std::string, int64_t> who(rank.host, rank.row.rank);
    programs[last->pbprobe_version].insert(who);
    for (const auto& [name, library] : last->libraries) {
      const std::string version = library.version.value_or("");
      if (library.version) libraries[name].versions[version].insert(who);
      if (library.sha256) libraries[name].files[version][library.sha256->substr(0, 12)].insert(who);
    }
  }
  std::vector<Difference> differences;
  const auto add = [&](std::optional<Difference> difference) {
    if (difference) differences.push_back(std::move(*difference));
  };
  add(describe_difference("pbprobe", programs, ""));
  for (const auto& [name, values] : libraries) {
    add(describe_difference(name, values.versions, ""));
    for (const auto& [version, files] : values.files)
      add(describe_difference(version.empty() ? name : name + " " + version, files, "file "));
  }
  return differences;
}

// "2 h 0 min", "75 s".
std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(seconds));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200 - 30) return fmt::format("{} min", (whole + 30) / 60);
  return fmt::format("{} h {} min", (whole + 30) / 3600, (whole + 30) % 3600 / 60);
}

}  // namespace

void judge_clocks(Fleet& fleet, JudgedRanks& ranks) {
  std::vector<double> offsets;
  for (const auto& rank : ranks) {
    if (rank.document != nullptr && rank.document->clock_offset_s) offsets.push_back(*rank.document->clock_offset_s);
  }
  if (offsets.size() < 2) return;
  const double usual = find_median(offsets);
  std::map<std::string, FleetDifference> rows;  // one per host, since a host has one clock
  for (auto& rank : ranks) {
    if (rank.document == nullptr || !rank.document->clock_offset_s) continue;
    const double off = *rank.document->clock_offset_s - usual;
    if (std::abs(off) <= kMostClockSeconds) continue;
    auto [row, is_new] = rows.try_emplace(rank.host);
    if (is_new)
      row->second = {.about = "clock",
                     .sentence = fmt::format("{}: the system clock is {} {} the clocks of most nodes", rank.host,
                                             duration(std::abs(off)), off > 0 ? "ahead of" : "behind"),
                     .most = "one time",
                     .hosts = {rank.host}};
    add_finding(rank.row, FleetFault::different, Outcome::fail, row->second.sentence,
                "set the node's clock (timedatectl, chronyc makestep)");
  }
  for (auto& [host, row] : rows) fleet.differences.push_back(std::move(row));
}

void judge_differences(Fleet& fleet, JudgedRanks& ranks) {
  const auto differences = find_differences(ranks);
  for (const auto& difference : differences) fleet.differences.push_back(difference.row);
  if (differences.empty()) return;
  std::map<const NodeReport*, std::vector<const Difference*>> of_document;
  for (auto& rank : ranks) {
    if (rank.document == nullptr) continue;
    const auto [found, is_new] = of_document.try_emplace(rank.document);
    for (const auto& difference : differences) {
      if (is_new && difference.having.contains({rank.host, rank.row.rank})) found->second.push_back(&difference);
    }
    for (const auto* difference : found->second)
      add_finding(rank.row, FleetFault::different, Outcome::fail, difference->row.sentence,
                  "install the version and the files that most of the nodes have");
  }
}

void judge_digests(JudgedRanks& ranks) {
  std::map<std::string, std::map<std::string, std::vector<JudgedRank*>>> results;
  for (auto& rank : ranks) {
    if (rank.report == nullptr) continue;
    const auto torch = rank.document->libraries.find("torch");
    const std::string build = torch == rank.document->libraries.end() ? "" : torch->second.version.value_or("");
    for (const auto& [name, digest] : rank.report->digests)
      results[fmt::format("{}\n{}\n{}", name, rank.row.device, build)][digest].push_back(&rank);
  }
  for (const auto& [key, by_digest] : results) {
    if (by_digest.size() < 2) continue;
    const std::string name = key.substr(0, key.find('\n'));
    size_t most = 0;
    size_t all = 0;
    for (const auto& [digest, having] : by_digest) {
      most = std::max(most, having.size());
      all += having.size();
    }
    const bool majority = 2 * most > all;
    for (const auto& [digest, having] : by_digest) {
      if (majority && having.size() == most) continue;
      for (auto* rank : having)
        add_finding(rank->row, FleetFault::wrong, majority ? Outcome::fail : Outcome::unknown,
                    fmt::format("{}: the result is not bit-identical to the result on {} of {} equal devices", name,
                                majority ? most : all - having.size(), all),
                    "run pbprobe.fleet again on this node only; if the fault repeats, take the node out of service");
    }
  }
}

}  // namespace pbprobe
