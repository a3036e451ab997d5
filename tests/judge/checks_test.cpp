// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests that only the check itself finds its planted fault, and that its sound twin has no finding.
#include "probes/judge/checks.hpp"
#include "core/check_pages.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>

#include "paths.hpp"
#include "probes/judge/judge.hpp"
#include "tests/check_pages.hpp"
#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> built;
    add_file_cases(built);
    add_loading_cases(built);
    add_part_cases(built);
    add_environment_cases(built);
    add_other_machine_cases(built);
    add_claims_of_other_cases(built);
    add_unit_cases(built);
    add_version_cases(built);
    add_whole_cases(built);
    add_claim_cases(built);
    add_device_cases(built);
    add_machine_cases(built);
    add_preflight_cases(built);
    add_import_cases(built);
    add_operator_cases(built);
    return built;
  }();
  return all;
}

const Check& find_catalogue_check(const std::string& id) {
  const auto checks = all_checks();
  const auto found = std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.id == id; });
  EXPECT_NE(found, checks.end()) << id << " is not in the catalogue";
  return *found;
}

TEST(Catalogue, HasPlantedFaultForEachCheck) {
  std::set<std::string> planted, known;
  for (const auto& c : cases()) planted.insert(c.id);
  for (const auto& check : all_checks()) known.insert(std::string(check.id));
  EXPECT_EQ(planted, known);
}

TEST(Catalogue, HasUniqueSortedIdsAndCompleteRows) {
  std::string last;
  for (const auto& check : all_checks()) {
    EXPECT_LT(last, check.id);
    last = check.id;
    EXPECT_THAT(last, testing::MatchesRegex("PB[1-5][0-9][0-9]"));
    EXPECT_TRUE(check_question(check.id).ends_with("?")) << check.id;
    EXPECT_GT(check.remedy.size(), 10U) << check.id;
    EXPECT_NE(check.ask, nullptr) << check.id;
  }
}

// The row of a check states its properties. Code that tests an id would ignore checks that are added later.
TEST(Catalogue, NamesNoCheckInCode) {
  const std::regex named(R"("PB[0-9])");
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(PBPROBE_SOURCE_DIR) + "/probes")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".cpp")) continue;
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::istringstream lines(text.str());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("// ") != std::string::npos) line.resize(line.find("// "));
      if (line.find("{.id = ") != std::string::npos) continue;  // the row itself
      EXPECT_FALSE(std::regex_search(line, named)) << path << ": " << line;
    }
    ++files;
  }
  EXPECT_GT(files, 50U);
}

TEST(Catalogue, MarksReadingChecksAsIntegrity) {
  for (const auto& check : all_checks()) {
    EXPECT_TRUE(check.integrity || check.subject != Subject::reading) << check.id;
  }
}

TEST(Catalogue, WritesMarkdownRowForEachCheck) {
  const std::string text = checks_markdown();
  for (const auto& check : all_checks()) EXPECT_THAT(text, testing::HasSubstr("| " + std::string(check.id) + " |"));
}

TEST(Checks, FindOnlyTheirPlantedFault) {
  for (const auto& c : cases()) {
    SCOPED_TRACE(c.id);
    const Check& check = find_catalogue_check(c.id);
    const Verdict verdict = judge(c.planted);
    bool found = false;
    for (const auto& finding : verdict.findings) {
      if (finding.id == c.id) {
        found = true;
        EXPECT_EQ(finding.severity, check.severity);
        EXPECT_THAT(finding.what, testing::HasSubstr(c.says));
        EXPECT_FALSE(finding.remedy.empty());
      } else {
        const bool expected = c.beside.count(finding.id) == 1 && finding.severity != Severity::fail;
        EXPECT_TRUE(expected) << finding.id << ": " << finding.what;
      }
    }
    EXPECT_TRUE(found) << "verdict: " << verdict.reason;
    EXPECT_EQ(verdict.outcome == Outcome::fail, check.severity == Severity::fail) << verdict.reason;
    if (check.severity == Severity::fail) {
      EXPECT_THAT(verdict.reason, testing::HasSubstr(c.says));
      EXPECT_TRUE(verdict.fix && !verdict.fix->empty());
    }
  }
}

TEST(Checks, FindNothingInSoundTwin) {
  for (const auto& c : cases()) {
    SCOPED_TRACE(c.id);
    const Verdict verdict = judge(c.twin);
    for (const auto& finding : verdict.findings) {
      EXPECT_NE(finding.id, c.id) << finding.what;
      EXPECT_NE(finding.severity, Severity::fail) << finding.id << ": " << finding.what;
    }
    EXPECT_NE(verdict.outcome, Outcome::fail);
  }
}

// Planted faults of checks that compare the artifact with this machine, and PB115, which searches its system folders.
TEST(Checks, SkipBuildsForOtherProcessor) {
  const std::set<std::string> of_machine{
      "PB114", "PB115", "PB169", "PB170", "PB184", "PB185", "PB203", "PB210", "PB218", "PB301", "PB302",
      "PB303", "PB304", "PB305", "PB306", "PB307", "PB309", "PB311", "PB313", "PB338", "PB501", "PB502",
      "PB503", "PB506", "PB508", "PB509", "PB510", "PB511", "PB512", "PB531", "PB532", "PB533", "PB534",
      "PB535", "PB541", "PB542", "PB543", "PB544", "PB551", "PB552", "PB553"};
  std::set<std::string> tried;
  for (Case c : cases()) {
    if (!of_machine.contains(c.id)) continue;
    SCOPED_TRACE(c.id);
    c.planted.host = h200().host;
    c.planted.inventory->platform = "aarch64-linux";
    const Verdict verdict = judge(c.planted);
    for (const auto& finding : verdict.findings) EXPECT_FALSE(of_machine.contains(finding.id)) << finding.what;
    EXPECT_THAT(verdict.reason, testing::HasSubstr("is built for aarch64-linux, and this machine is x86_64"));
    for (const auto& row : verdict.checks) {
      if (row.id != c.id) continue;
      EXPECT_EQ(row.state, CheckState::not_asked);
      EXPECT_FALSE(row.required);
    }
    tried.insert(c.id);
  }
  EXPECT_EQ(tried, of_machine);
}

// The example of each page in docs/checks is the finding of a planted fault.
TEST(Pages, ShowFindingsOfPlantedFaults) {
  std::map<std::string, std::vector<Finding>> planted;
  for (const auto& c : cases()) {
    for (const auto& finding : judge(c.planted).findings) {
      if (finding.id == c.id) planted[c.id].push_back(finding);
    }
  }
  for (const auto& check : all_checks()) {
    const std::string id(check.id), example = read_example(id);
    const auto& findings = planted[id];
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [&](const auto& f) { return is_shown(example, f); }))
        << id << " shows: " << example << "\nplanted: " << (findings.empty() ? "" : shown(findings.front()));
  }
}

}  // namespace
}  // namespace pbprobe::test
