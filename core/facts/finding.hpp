// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Finding: a fault that a check saw, and the words that tell how bad it is and how far it was proved.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

enum class Outcome { pass, fail, unknown };
enum class Severity { fail, warn, note };

// What a check is about, and so what its answer is needed for.
enum class Subject {
  reading,   // whether files could be opened and read whole: what was not read may hide anything
  artifact,  // its files: names, versions, packages, the libraries that it finds
  closure,   // its closure in a Nix store
  cpu,       // host code, and the CPU that runs it
  gpu,       // device code, and the GPU and driver that run it
  running,   // what was started and computed
  baseline,  // another libtorch beside it
  recipe,    // a recipe's text
};

// Levels of truth about a claim, lowest first.
enum class Level { claimed, shipped, loaded, executed, measured };

[[nodiscard]] std::span<const EnumName<Outcome>> enum_names(Outcome);
[[nodiscard]] std::span<const EnumName<Severity>> enum_names(Severity);
[[nodiscard]] std::span<const EnumName<Subject>> enum_names(Subject);
[[nodiscard]] std::span<const EnumName<Level>> enum_names(Level);

struct Finding {
  std::string id;  // "PB301": stable, and never used again for another check
  Subject subject = Subject::artifact;
  Severity severity = Severity::note;  // the policy's, where it has one
  Level level = Level::shipped;
  std::string what;                   // what was seen
  std::optional<std::string> where;   // file, section or symbol
  std::vector<std::string> operands;  // the data in that sentence: "12", "libtorch_cuda.so"
  std::string remedy;
  std::optional<std::string> waived;                       // the waiver's reason
  std::optional<std::string> distribution = std::nullopt;  // of a package beside torch; null: not of one
};

template <class Visitor, SameAs<Finding> T>
void fields(Visitor& visit, T& finding) {
  visit("id", finding.id, "stable identifier of the check");
  visit("subject", finding.subject, "what the check is about");
  visit("severity", finding.severity, "the policy's, where it has one");
  visit("level", finding.level, "which level it is about");
  visit("what", finding.what, "what was seen");
  visit("where", finding.where, "file, section or symbol");
  visit("operands", finding.operands, "the data in what was seen");
  visit("remedy", finding.remedy, "what to do");
  visit("waived", finding.waived, "the waiver's reason");
  visit("distribution", finding.distribution,
        "name of the package beside torch that it is about; null: torch, or what was given");
}

}  // namespace pbprobe
