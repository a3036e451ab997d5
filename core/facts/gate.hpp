// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Gate: what a policy makes of a verdict. Whatever is not a pass is named as an objection.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/facts/policy.hpp"

namespace pbprobe {

// What became of a check.
enum class CheckState {
  passed,
  found,       // it has findings
  unanswered,  // it was asked, and a fact was missing
  not_asked,   // nothing claimed it, or no machine was looked at
};

enum class WaiverState { used, expired, unused, too_broad };

[[nodiscard]] std::span<const EnumName<CheckState>> enum_names(CheckState);
[[nodiscard]] std::span<const EnumName<WaiverState>> enum_names(WaiverState);

struct GateCheck {
  std::string id;
  Level level = Level::shipped;
  Severity severity = Severity::note;  // the policy's, where it has one
  bool required = false;               // without an answer to it there is no pass
  CheckState state = CheckState::not_asked;
  std::string asks;
  std::optional<std::string> why;  // why there is no answer, or why it was not asked
};

struct GateFinding {
  Finding finding;                    // with the policy's severity
  std::optional<std::string> waived;  // the waiver's reason
};

struct GateClaim {
  std::string claim;  // "SM"
  std::string claimed;
  Level required = Level::shipped;
  std::optional<Level> proven;  // the highest level up to which everything passed; null: none
  Outcome outcome = Outcome::unknown;
  std::string detail;
};

struct GateWaiver {
  Waiver waiver;
  WaiverState state = WaiverState::unused;
};

// Why this is no pass.
struct Objection {
  std::string id;  // of the check; else "claim", "waiver", "run"
  Outcome outcome = Outcome::unknown;
  std::string what;
  std::optional<std::string> where;
  std::optional<std::string> remedy;
};

struct Gate {
  Outcome outcome = Outcome::unknown;
  std::string reason;
  std::optional<std::string> fix;
  bool complete = false;         // every check that is required was made: it may be attested
  Policy policy;                 // as it was applied
  std::optional<Level> require;  // as it was asked for, in place of the policy's
  std::string date;              // on which waivers were judged: "2026-11-22"
  std::vector<GateClaim> claims;
  std::vector<Objection> objections;
  std::vector<GateWaiver> waivers;
  std::vector<GateFinding> findings;
  std::vector<GateCheck> checks;
};

template <class Visitor, SameAs<GateCheck> T>
void fields(Visitor& visit, T& check) {
  visit("id", check.id);
  visit("level", check.level);
  visit("severity", check.severity, "the policy's, where it has one");
  visit("required", check.required, "without an answer to it there is no pass");
  visit("state", check.state);
  visit("asks", check.asks);
  visit("why", check.why, "why there is no answer, or why it was not asked");
}

template <class Visitor, SameAs<GateFinding> T>
void fields(Visitor& visit, T& found) {
  visit("finding", found.finding, "with the policy's severity");
  visit("waived", found.waived, "the waiver's reason");
}

template <class Visitor, SameAs<GateClaim> T>
void fields(Visitor& visit, T& claim) {
  visit("claim", claim.claim);
  visit("claimed", claim.claimed);
  visit("required", claim.required, "the level that must be proved");
  visit("proven", claim.proven, "the highest level up to which everything passed");
  visit("outcome", claim.outcome);
  visit("detail", claim.detail);
}

template <class Visitor, SameAs<GateWaiver> T>
void fields(Visitor& visit, T& waiver) {
  visit("waiver", waiver.waiver);
  visit("state", waiver.state);
}

template <class Visitor, SameAs<Objection> T>
void fields(Visitor& visit, T& objection) {
  visit("id", objection.id, "of the check; else claim, waiver or run");
  visit("outcome", objection.outcome);
  visit("what", objection.what);
  visit("where", objection.where);
  visit("remedy", objection.remedy);
}

template <class Visitor, SameAs<Gate> T>
void fields(Visitor& visit, T& gate) {
  visit.constant("schema", "pbprobe.gate/1");
  visit("outcome", gate.outcome, "unknown is not pass");
  visit("reason", gate.reason);
  visit("fix", gate.fix);
  visit("complete", gate.complete, "every required check was made: it may be attested");
  visit("policy", gate.policy, "as it was applied");
  visit("require", gate.require, "the level that was asked for in place of the policy's");
  visit("date", gate.date, "on which waivers were judged");
  visit("claims", gate.claims);
  visit("objections", gate.objections, "why this is no pass");
  visit("waivers", gate.waivers);
  visit("findings", gate.findings);
  visit("checks", gate.checks);
}

}  // namespace pbprobe
