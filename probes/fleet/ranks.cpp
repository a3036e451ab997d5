// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/fleet/ranks.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace pbprobe {
namespace {

constexpr const char* kRunAgain =
    "run pbprobe.fleet again on this node only; if the fault repeats, take the node out of service";

std::string describe_wrong_result(const WrongResult& wrong) {
  std::string text = fmt::format("{} differs from {}", wrong.what, wrong.how);
  if (wrong.row && wrong.column) text += fmt::format(" at [{}, {}]", *wrong.row, *wrong.column);
  if (wrong.expected && wrong.got) text += fmt::format(": {} instead of {}", *wrong.got, *wrong.expected);
  if (wrong.count > 1) text += fmt::format(", {} elements", wrong.count);
  if (wrong.seed) text += fmt::format(" (operands: seed {})", *wrong.seed);
  return text;
}

std::string last_phase(const RankReport& report) {
  return report.phases.empty() ? "before its first phase" : "in " + report.phases.back().name;
}

void judge_state(JudgedRank& rank) {
  const RankReport& report = *rank.report;
  const std::string why = report.state_why ? ": " + *report.state_why : "";
  switch (report.state) {
    case RankState::finished: return;
    case RankState::died:
      return add_finding(
          rank.row, FleetFault::died, Outcome::unknown, fmt::format("its process died {}{}", last_phase(report), why),
          "look for the cause in the node's kernel log (out of memory, Xid), then run pbprobe.fleet again");
    case RankState::hung:
      return add_finding(rank.row, FleetFault::hung, Outcome::unknown,
                         fmt::format("it did not answer {}{}", last_phase(report), why),
                         "see whether the rank's GPU still answers (nvidia-smi) and what its process waits for");
    case RankState::running:
      return add_finding(
          rank.row, FleetFault::died, Outcome::unknown,
          fmt::format("the rank stopped reporting {}, and did not report its end{}", last_phase(report), why),
          "the rank's process was killed, or its node was lost: look into the node's log");
  }
}

// Judges wrong results, except data of another rank: judge_fleet() attributes it to the other rank.
void judge_wrong(JudgedRank& rank) {
  for (const auto& wrong : rank.report->wrong) {
    if (!wrong.by_rank || *wrong.by_rank == rank.row.rank)
      add_finding(rank.row, FleetFault::wrong, Outcome::fail, describe_wrong_result(wrong), kRunAgain);
  }
}

}  // namespace

double find_upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string get_fact(const JudgedRank& rank, const std::string& name) {
  if (rank.report == nullptr) return "";
  const auto found = rank.report->facts.find(name);
  return found == rank.report->facts.end() ? "" : found->second;
}

void add_finding(FleetRank& rank, FleetFault fault, Outcome outcome, std::string what, std::string fix) {
  rank.findings.push_back({fault, outcome, std::move(what), std::move(fix)});
}

std::string describe_rank(const JudgedRank& rank) {
  const bool job = rank.document == nullptr || rank.document->world;
  return job ? fmt::format("rank {} ({})", rank.row.rank, rank.host)
             : fmt::format("{} device {}", rank.host, rank.row.local_rank);
}

void judge_own_results(JudgedRank& rank) {
  if (rank.report == nullptr) return;
  const RankReport& report = *rank.report;
  judge_state(rank);
  judge_wrong(rank);
  bool verified = false;
  for (const auto& [name, figure] : report.figures) {
    verified = verified || figure.verified == true;
    if (figure.verified == false && report.wrong.empty())
      add_finding(rank.row, FleetFault::wrong, Outcome::fail, name + ": its result is wrong", kRunAgain);
  }
  for (const auto& phase : report.phases) {
    if (phase.state == PhaseState::failed)
      add_finding(rank.row, FleetFault::error, Outcome::unknown,
                  fmt::format("{} could not run: {}", phase.name, phase.why.value_or("no reason was written")),
                  "fix the reported cause, and run it again");
  }
  for (const auto& error : report.errors)
    add_finding(rank.row, FleetFault::error, Outcome::unknown, error, "fix the reported cause, and run it again");
  if (!verified && report.state == RankState::finished && rank.row.findings.empty())
    add_finding(rank.row, FleetFault::error, Outcome::unknown, "no result of this rank was verified",
                "give it more time (--minutes)");
}

}  // namespace pbprobe
