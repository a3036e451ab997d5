// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Reports as text against committed ones, and two of them as JSON too. PBPROBE_UPDATE_GOLDEN=1 writes them again: read
// the diff.
#include <algorithm>
#include <cstdlib>

#include "core/facts/json.hpp"
#include "paths.hpp"
#include "probes/report/text.hpp"
#include "tests/report/documents.hpp"

namespace pbprobe::test {
namespace {

constexpr int64_t kMostLines = 41;  // with one GPU; each further one has a row

std::string golden_path(const std::string& name) {
  return std::string(PBPROBE_SOURCE_DIR) + "/tests/report/golden/" + name;
}

std::string golden(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(golden_path(name)).rdbuf();
  return text.str();
}

void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("PBPROBE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden_path(name)) << text;
    return;
  }
  EXPECT_EQ(text, golden(name)) << name;
}

using Document = std::pair<const char*, Report (*)()>;

std::string name_of(const testing::TestParamInfo<Document>& document) {
  std::string name = document.param.first;
  std::erase(name, '-');
  return name;
}

class Golden : public testing::TestWithParam<Document> {};

// A machine with everything, and one with nothing to judge: what the others add shows in their text.
class GoldenJson : public testing::TestWithParam<Document> {};

TEST_P(Golden, TextIsAsCommitted) {
  expect_golden(std::string(GetParam().first) + ".txt", render_report(GetParam().second()));
}

TEST_P(GoldenJson, IsAsCommitted) {
  Report report = GetParam().second();
  if (report.verdict) report.verdict->checks.clear();  // the catalogue: each new check would stand in every document
  const std::string json_name = std::string(GetParam().first) + ".json";
  if (std::getenv("PBPROBE_UPDATE_GOLDEN") != nullptr) expect_golden(json_name, to_json(report).dump(1) + "\n");
  // Read first: keys that were added since are null in it, and documents that others keep must stay readable.
  const auto kept = from_json<Report>(*parse_json(golden(json_name)));
  ASSERT_TRUE(kept.ok()) << json_name << ": " << kept.error().message;
  EXPECT_EQ(to_json(*kept), to_json(report)) << json_name;
}

TEST_P(Golden, VerboseTextIsAsCommitted) {
  expect_golden(std::string(GetParam().first) + ".verbose.txt", render_report(GetParam().second(), {.verbose = true}));
}

TEST_P(Golden, TextIsShortNarrowPlainAscii) {
  const Report report = GetParam().second();
  const std::string text = render_report(report);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kMostLines + static_cast<int64_t>(report.host->gpus.size()));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
}

TEST_P(Golden, JsonIsReadBackWhole) {
  const Json json = to_json(GetParam().second());
  const auto again = from_json<Report>(*parse_json(json.dump()));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
}

INSTANTIATE_TEST_SUITE_P(Reports, Golden,
                         testing::Values(Document{"h200", &h200_document}, Document{"gb10", &gb10_document},
                                         Document{"no-gpu", &no_gpu_document}, Document{"pascal", &pascal_document},
                                         Document{"eight-gpus", &eight_gpus_document},
                                         Document{"no-torch", &no_torch_document}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Reports, GoldenJson,
                         testing::Values(Document{"h200", &h200_document}, Document{"no-torch", &no_torch_document}),
                         name_of);

}  // namespace
}  // namespace pbprobe::test
