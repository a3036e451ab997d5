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
  FIELD(std::string, id, "stable identifier of the check");  // "PB301": stable, and never used again for another check
  FIELD(Subject, subject, "subject of the check") = Subject::artifact;
  FIELD(Severity, severity, "changed by the policy if it sets one") = Severity::note;
  FIELD(Level, level, "level of truth that the check tests") = Level::shipped;
  FIELD(std::string, what, "observation");
  FIELD(std::optional<std::string>, where, "file, section or symbol");
  FIELD(std::vector<std::string>, operands, "data in the observation");  // data in `what`: "12", "libtorch_cuda.so"
  FIELD(std::string, remedy, "fix");
  FIELD(std::optional<std::string>, waived, "the waiver's reason");
  FIELD(std::optional<std::string>, distribution,
        "package beside torch that the finding is about; null if it is about torch or the artifact") = std::nullopt;
};

}  // namespace pbprobe
