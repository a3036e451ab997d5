// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Policy: what a gate asks of a build, beside its claim.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/finding.hpp"

namespace pbprobe {

// A finding that was looked at and is let through, for a reason and for a time.
struct Waiver {
  std::string id;                        // of the check: "PB316"
  std::optional<std::string> component;  // where the finding is, as it says so; null only where it names no place
  std::string reason;
  std::string until;  // the last day that it holds: "2027-01-31"
};

// Up to which level each thing that is claimed must be proved.
struct RequiredLevels {
  Level sm = Level::shipped;
  Level isa = Level::shipped;
  Level torch = Level::shipped;
  Level cuda = Level::shipped;
  Level python = Level::shipped;
  Level blas = Level::shipped;
};

// Another severity than the catalogue's, and why: making less of a check lets through as much as a waiver does.
struct SeverityChange {
  Severity severity = Severity::fail;
  std::string reason;
};

// What a policy makes of questions without an answer.
enum class Stance {
  lenient,  // a report's: where a deciding one has none, the verdict is unknown
  strict,   // a gate's: so it is where one has none whose fault would fail, where a claim is not proved, a step not run
};

[[nodiscard]] std::span<const EnumName<Stance>> enum_names(Stance);

struct Policy {
  std::string name;
  Stance stance = Stance::strict;
  RequiredLevels levels;
  std::map<std::string, SeverityChange> severity;  // by the check's id
  std::vector<Waiver> waive;
};

template <class Visitor, SameAs<Waiver> T>
void fields(Visitor& visit, T& waiver) {
  visit("id", waiver.id, "of one check: PB316");
  visit("component", waiver.component, "where the finding is, as it says so; null only where it names no place");
  visit("reason", waiver.reason, "why");
  visit("until", waiver.until, "the last day that it holds: 2027-01-31");
}

template <class Visitor, SameAs<RequiredLevels> T>
void fields(Visitor& visit, T& levels) {
  visit("sm", levels.sm, "level that SMs must reach");
  visit("isa", levels.isa, "level that CPU ISAs must reach");
  visit("torch", levels.torch, "level of the version");
  visit("cuda", levels.cuda, "level of the version");
  visit("python", levels.python, "level of the version");
  visit("blas", levels.blas, "level of the library");
}

template <class Visitor, SameAs<SeverityChange> T>
void fields(Visitor& visit, T& change) {
  visit("severity", change.severity, "in place of the catalogue's");
  visit("reason", change.reason, "why");
}

template <class Visitor, SameAs<Policy> T>
void fields(Visitor& visit, T& policy) {
  visit.constant("schema", "pbprobe.policy/1");
  visit("name", policy.name, "for the verdict");
  visit("stance", policy.stance, "strict: what is not answered or not proved does not pass, as a gate has it");
  visit("levels", policy.levels, "up to which level each claimed thing must be proved");
  visit("severity", policy.severity, "by the check's id: another severity than the catalogue's, and why");
  visit("waive", policy.waive, "findings that are let through");
}

}  // namespace pbprobe
