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
  FIELD(std::string, id, "id of one check: PB316");
  FIELD(std::optional<std::string>, component,
        "location as the finding states it; null only for findings without a location");
  FIELD(std::string, reason, "reason");
  FIELD(std::string, until, "last day on which it is valid: 2027-01-31");
};

// Level up to which each part of a claim must be proved.
struct RequiredLevels {
  FIELD(Level, sm, "level that SMs must reach") = Level::shipped;
  FIELD(Level, isa, "level that CPU ISAs must reach") = Level::shipped;
  FIELD(Level, torch, "level of the version") = Level::shipped;
  FIELD(Level, cuda, "level of the version") = Level::shipped;
  FIELD(Level, python, "level of the version") = Level::shipped;
  FIELD(Level, blas, "level of the library") = Level::shipped;
};

// Severity that replaces the catalogue default, with its reason: a lower severity tolerates as much as a waiver
// does.
struct SeverityChange {
  FIELD(Severity, severity, "replaces the severity in the catalogue") = Severity::fail;
  FIELD(std::string, reason, "reason");
};

// Effect of checks without an answer.
enum class Stance {
  lenient,  // reports: unknown if a check that decides the verdict has no answer
  strict,   // gates: unknown also if any check that could fail has no answer, a claim is not proved, or a step did not
            // run
};

// Rules of a gate: required levels, changed severities, and tolerated findings. Read from --policy.
struct Policy {
  SCHEMA("pbprobe.policy/1");
  FIELD(std::string, name, "for the verdict");
  FIELD(Stance, stance, "strict: what is not answered or not proved does not pass, as a gate has it") = Stance::strict;
  FIELD(RequiredLevels, levels, "level up to which each part of a claim must be proved");
  FIELD(ByName<SeverityChange>, severity,
        "severities that replace the catalogue defaults, by check id, with the reason");
  FIELD(std::vector<Waiver>, waive, "findings that the policy tolerates");
};

}  // namespace pbprobe
