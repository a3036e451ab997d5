// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A gate's decision in the formats that others read. They say what the report says, and compute nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/facts/report.hpp"

namespace pbprobe {

// JUnit XML: a case for each claim and each check. A required check without an answer is an error, one that nobody
// asked is skipped.
[[nodiscard]] std::string junit_of(const Report& report);

// SARIF 2.1.0: a rule for each check, a result for each finding; what is waived is suppressed, what has no answer open.
[[nodiscard]] std::string sarif_of(const Report& report);

// What a statement speaks of.
struct StatementSubject {
  std::string name;                           // a shared object's path, a store path
  std::map<std::string, std::string> digest;  // "sha256" to hexadecimal digits
  std::map<std::string, std::string> annotations;
};

// in-toto Statement v1 with the test-result predicate v0.1; `files` are the digests of what lies beside it.
[[nodiscard]] std::string statement_of(const Report& report, const std::vector<StatementSubject>& subjects,
                                       const std::map<std::string, std::string>& files);

// A wheel, and the shared objects of the report's inventory, with their digests.
[[nodiscard]] std::vector<StatementSubject> subjects_of(const Report& report);

}  // namespace pbprobe
