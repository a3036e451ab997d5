// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Policy: requirements of a gate in addition to the claim.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/finding.hpp"

namespace pbprobe {

// Finding that the policy tolerates for a stated reason until a date.
struct Waiver {
  std::string id;                        // id of the check: "PB316"
  std::optional<std::string> component;  // location as the finding states it; null only for findings without a location
  std::string reason;
  std::string until;  // last day on which it is valid: "2027-01-31"
};

// Level up to which each part of a claim must be proved.
struct RequiredLevels {
  Level sm = Level::shipped;
  Level isa = Level::shipped;
  Level torch = Level::shipped;
  Level cuda = Level::shipped;
  Level python = Level::shipped;
  Level blas = Level::shipped;
};

// Severity that replaces the catalogue default, with its reason: a lower severity tolerates as much as a waiver
// does.
struct SeverityChange {
  Severity severity = Severity::fail;
  std::string reason;
};

// Effect of checks without an answer.
enum class Stance {
  lenient,  // reports: unknown if a check that decides the verdict has no answer
  strict,   // gates: unknown also if any check that could fail has no answer, a claim is not proved, or a step did not
            // run
};

struct Policy {
  std::string name;
  Stance stance = Stance::strict;
  RequiredLevels levels;
  std::map<std::string, SeverityChange> severity;  // keyed by check id
  std::vector<Waiver> waive;
};

void fields(auto& visit, SameAs<Waiver> auto& waiver) {
  visit("id", waiver.id, "id of one check: PB316");
  visit("component", waiver.component, "location as the finding states it; null only for findings without a location");
  visit("reason", waiver.reason, "reason");
  visit("until", waiver.until, "last day on which it is valid: 2027-01-31");
}

void fields(auto& visit, SameAs<RequiredLevels> auto& levels) {
  visit("sm", levels.sm, "level that SMs must reach");
  visit("isa", levels.isa, "level that CPU ISAs must reach");
  visit("torch", levels.torch, "level of the version");
  visit("cuda", levels.cuda, "level of the version");
  visit("python", levels.python, "level of the version");
  visit("blas", levels.blas, "level of the library");
}

void fields(auto& visit, SameAs<SeverityChange> auto& change) {
  visit("severity", change.severity, "replaces the severity in the catalogue");
  visit("reason", change.reason, "reason");
}

void fields(auto& visit, SameAs<Policy> auto& policy) {
  visit.constant("schema", "pbprobe.policy/1");
  visit("name", policy.name, "for the verdict");
  visit("stance", policy.stance, "strict: what is not answered or not proved does not pass, as a gate has it");
  visit("levels", policy.levels, "level up to which each part of a claim must be proved");
  visit("severity", policy.severity, "severities that replace the catalogue defaults, by check id, with the reason");
  visit("waive", policy.waive, "findings that the policy tolerates");
}

}  // namespace pbprobe
