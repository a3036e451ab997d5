// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Finding: a fault found by a check, with its severity and the level of truth that it affects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

enum class Outcome { pass, fail, unknown };
enum class Severity { fail, warn, note };

// Subject of a check. Policies require answers by subject.
enum class Subject {
  reading,   // complete reading of files; unread parts may hide any fault
  artifact,  // files: names, versions, packages, libraries that are found
  closure,   // closure in a Nix store
  cpu,       // host code, and the CPU that runs it
  gpu,       // device code, and the GPU and driver that run it
  running,   // started processes and computed results
  baseline,  // comparison with another libtorch
  recipe,    // a recipe's text
};

// Levels of truth about a claim, lowest first.
enum class Level { claimed, shipped, loaded, executed, measured };

struct Finding {
  std::string id;  // "PB301": stable, and never used again for another check
  Subject subject = Subject::artifact;
  Severity severity = Severity::note;  // changed by the policy if it sets one
  Level level = Level::shipped;
  std::string what;                   // observation
  std::optional<std::string> where;   // file, section or symbol
  std::vector<std::string> operands;  // data in `what`: "12", "libtorch_cuda.so"
  std::string remedy;
  std::optional<std::string> waived;  // the waiver's reason
  std::optional<std::string> distribution =
      std::nullopt;  // package beside torch; null if the finding is about the artifact
};

void fields(auto& visit, SameAs<Finding> auto& finding) {
  visit("id", finding.id, "stable identifier of the check");
  visit("subject", finding.subject, "subject of the check");
  visit("severity", finding.severity, "changed by the policy if it sets one");
  visit("level", finding.level, "level of truth that the check tests");
  visit("what", finding.what, "observation");
  visit("where", finding.where, "file, section or symbol");
  visit("operands", finding.operands, "data in the observation");
  visit("remedy", finding.remedy, "fix");
  visit("waived", finding.waived, "the waiver's reason");
  visit("distribution", finding.distribution,
        "package beside torch that the finding is about; null if it is about torch or the artifact");
}

}  // namespace pbprobe
