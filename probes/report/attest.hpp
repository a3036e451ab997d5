// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Decision of a gate in the formats of other programs. Contains only facts of the report.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/facts/comparison.hpp"
#include "core/facts/inventory.hpp"
#include "core/facts/report.hpp"

namespace pbprobe {

// Renders JUnit XML with one case per claim and per check. A required check without an answer is an error; a check that
// was not asked is skipped.
[[nodiscard]] std::string render_junit(const Report& report);

// Renders SARIF 2.1.0 with one rule per check and one result per finding. Waived findings are suppressed; checks
// without an answer have kind "open".
[[nodiscard]] std::string render_sarif(const Report& report);

// Subject of an in-toto statement.
struct StatementSubject {
  std::string name;                           // path of a shared object, or store path
  std::map<std::string, std::string> digest;  // "sha256" to hexadecimal digits
  std::map<std::string, std::string> annotations;
};

// Renders an in-toto Statement v1 with the test-result predicate v0.1. `files` has the digests of the other evidence
// files.
[[nodiscard]] std::string render_statement(const Report& report, const std::vector<StatementSubject>& subjects,
                                           const std::map<std::string, std::string>& files);

// Returns the wheel and the shared objects of the report's inventory, with their digests.
[[nodiscard]] std::vector<StatementSubject> list_subjects(const Report& report);

// Renders verdict, reason, fix, claims and objections. Escapes names from the artifact, so that they cannot become
// markup. Returns "" without a verdict.
[[nodiscard]] std::string render_markdown(const Report& report);

// Renders the changes of each comparison, then the figures that differ.
[[nodiscard]] std::string render_markdown(const ComparisonList& list);

// Removes data that identifies a machine or its owner from the whole document: host name, GPU UUIDs, and user names in
// home folders ("/home/ada/x" becomes "~/x").
[[nodiscard]] Report redact(Report report);

}  // namespace pbprobe
