// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/join.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace pbprobe {
namespace {

bool is_target(const GateClaim& claim) {
  return claim.claim == "SM" || claim.claim == "ISA";
}

// The gates are of the same claim, and so have the same rows.
GateClaim joined(const std::vector<Gate>& gates, size_t row, std::optional<Level> require) {
  GateClaim claim = gates.front().claims[row];
  for (const auto& gate : gates) {
    const GateClaim& other = gate.claims[row];
    claim.required = std::max(claim.required, other.required);
    if (other.proven > claim.proven) {  // nothing is less than any level
      claim.proven = other.proven;
      claim.detail = other.detail;
    }
  }
  if (require && is_target(claim)) claim.required = *require;
  const bool failed = std::any_of(gates.begin(), gates.end(),
                                  [&](const Gate& gate) { return gate.claims[row].outcome == Outcome::fail; });
  claim.outcome = failed ? Outcome::fail : claim.proven >= claim.required ? Outcome::pass : Outcome::unknown;
  return claim;
}

// What one run could not ask, another may have answered; what one found is found.
int rank_of(CheckState state) {
  switch (state) {
    case CheckState::found: return 3;
    case CheckState::passed: return 2;
    case CheckState::unanswered: return 1;
    case CheckState::not_asked: return 0;
  }
  return 0;
}

// Each gate has the whole catalogue, by the same order.
void add_checks(std::vector<GateCheck>& checks, const std::vector<GateCheck>& more) {
  for (const auto& other : more) {
    const auto same =
        std::find_if(checks.begin(), checks.end(), [&](const GateCheck& check) { return check.id == other.id; });
    if (same == checks.end()) {
      checks.push_back(other);
      continue;
    }
    const GateCheck before = *same;
    if (rank_of(other.state) > rank_of(before.state)) *same = other;
    same->required = before.required || other.required;
    same->severity = std::min(before.severity, other.severity);
  }
}

void add_findings(std::vector<GateFinding>& findings, const std::vector<GateFinding>& more) {
  for (const auto& other : more) {
    const bool told = std::any_of(findings.begin(), findings.end(), [&](const GateFinding& one) {
      return one.waived == other.waived && one.finding.id == other.finding.id &&
             one.finding.severity == other.finding.severity && one.finding.what == other.finding.what &&
             one.finding.where == other.finding.where;
    });
    if (!told) findings.push_back(other);
  }
}

}  // namespace

Gate join_gates(const std::vector<Gate>& gates, std::optional<Level> require) {
  Gate gate = gates.front();
  gate.require = require;
  gate.claims.clear();
  for (size_t i = 1; i < gates.size(); ++i) {
    gate.objections.insert(gate.objections.end(), gates[i].objections.begin(), gates[i].objections.end());
    gate.waivers.insert(gate.waivers.end(), gates[i].waivers.begin(), gates[i].waivers.end());
    add_findings(gate.findings, gates[i].findings);
    add_checks(gate.checks, gates[i].checks);
  }
  for (size_t row = 0; row < gates.front().claims.size(); ++row) {
    const GateClaim& claim = gate.claims.emplace_back(joined(gates, row, require));
    if (claim.outcome == Outcome::pass) continue;
    gate.objections.push_back(
        {.id = "claim",
         .outcome = claim.outcome,
         .what = fmt::format("{} {} must be {}, and together they prove {}", claim.claim, claim.claimed,
                             name_of(claim.required), claim.proven ? name_of(*claim.proven) : "nothing"),
         .where = std::nullopt,
         .remedy = "join the evidence of a machine that proves it"});
  }
  std::stable_sort(gate.objections.begin(), gate.objections.end(), [](const Objection& a, const Objection& b) {
    return (a.outcome == Outcome::fail) > (b.outcome == Outcome::fail);
  });
  const auto is_known = [](const Objection& objection) { return objection.outcome != Outcome::unknown; };
  gate.complete = std::all_of(gates.begin(), gates.end(), [](const Gate& one) { return one.complete; }) &&
                  std::all_of(gate.objections.begin(), gate.objections.end(), is_known);
  gate.outcome = gate.objections.empty() ? Outcome::pass : gate.objections.front().outcome;
  gate.reason = gate.objections.empty() ? fmt::format("{} runs together prove what is claimed", gates.size())
                                        : gate.objections.front().what;
  gate.fix = gate.objections.empty() ? std::nullopt : gate.objections.front().remedy;
  return gate;
}

}  // namespace pbprobe
