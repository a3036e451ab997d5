// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Reports as text against committed ones, and some of them as JSON too. PBPROBE_UPDATE_GOLDEN=1 writes them again: read
// the diff.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/facts/json.hpp"
#include "paths.hpp"
#include "probes/report/text.hpp"
#include "tests/report/documents.hpp"

namespace pbprobe::test {
namespace {

constexpr int64_t kMaxLines = 41;  // with one GPU; each further one has a row

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

std::string make_test_name(const testing::TestParamInfo<Document>& document) {
  std::string name = document.param.first;
  std::erase(name, '-');
  return name;
}

class Golden : public testing::TestWithParam<Document> {};

// A machine with everything, and one with nothing to judge: what the others add shows in their text.
class GoldenJson : public testing::TestWithParam<Document> {};

TEST_P(Golden, MatchesCommittedText) {
  expect_golden(std::string(GetParam().first) + ".txt", render_report(GetParam().second()));
}

TEST_P(GoldenJson, MatchesCommittedJson) {
  Report report = GetParam().second();
  if (report.verdict)
    report.verdict->checks.clear();  // the catalogue: otherwise each new check would change every document
  // The other files have the same keys. tests/judge/recorded has all.
  if (report.inventory) {
    std::erase_if(report.inventory->files,
                  [](const File& file) { return !file.path.starts_with("torch/") && file.component != "NCCL"; });
  }
  const std::string json_name = std::string(GetParam().first) + ".json";
  if (std::getenv("PBPROBE_UPDATE_GOLDEN") != nullptr) expect_golden(json_name, to_json(report).dump(1) + "\n");
  // Read first: keys that were added since are null in it, and documents that others keep must stay readable.
  const auto kept = from_json<Report>(*parse_json(golden(json_name)));
  ASSERT_TRUE(kept.ok()) << json_name << ": " << kept.error().message;
  EXPECT_EQ(to_json(*kept), to_json(report)) << json_name;
}

TEST_P(Golden, MatchesCommittedVerboseText) {
  expect_golden(std::string(GetParam().first) + ".verbose.txt", render_report(GetParam().second(), {.verbose = true}));
}

TEST_P(Golden, PrintsShortNarrowAscii) {
  const Report report = GetParam().second();
  const std::string text = render_report(report);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kMaxLines + static_cast<int64_t>(report.host->gpus.size()));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
}

TEST_P(Golden, KeepsReportInJsonRoundTrip) {
  const Json json = to_json(GetParam().second());
  const auto again = from_json<Report>(*parse_json(json.dump()));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
}

// Answers on the first screen of each recorded report: does it work, is it native, is it fast, what do I do, what do I
// paste?
struct Answers {
  Document document;
  std::array<const char*, 5> words;
};

class FirstScreen : public testing::TestWithParam<Answers> {};

// A terminal of 100 columns and 30 lines, of which the shell takes one.
TEST_P(FirstScreen, AnswersFiveQuestions) {
  constexpr int64_t kLines = 29;
  const std::string text = render_report(GetParam().document.second(), {.width = 100});
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kLines) << text;
  std::string words;  // a sentence may go on in the next line
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words += (words.empty() ? "" : " ") + word;
  for (const char* answer : GetParam().words)
    EXPECT_NE(words.find(answer), std::string::npos) << answer << "\n" << text;
}

constexpr const char* kPaste = "Markdown for an issue: `pbprobe report --format markdown`";

INSTANTIATE_TEST_SUITE_P(
    Reports, FirstScreen,
    testing::Values(
        Answers{{"h200", &h200_document},
                {"PASS torch 2.11.0+cu130 on NVIDIA H200 (sm_90)", "GPU 0 runs sm_90, native",
                 "GPU 0 NVIDIA H200 ok sm_90 ok ok not compared", "nothing to fix", kPaste}},
        Answers{{"gb10", &gb10_document},
                {"PASS torch 2.11.0+cu130 on NVIDIA GB10 (sm_121)",
                 "not built for GPU 0, which runs sm_120 code (compatible)",
                 "GPU 0 NVIDIA GB10 ~ sm_120 ok ok not compared",
                 "help: none needed: `pbprobe recommend` names a build for exactly this GPU", kPaste}},
        Answers{{"slower", &slower_document},
                {"FAIL torch 2.11.0+cu130 on NVIDIA H200 (sm_90)", "GPU 0 NVIDIA H200 ok sm_90 ok ok not slower",
                 "slower than the baseline: sort on cpu: 0.85 times as fast (0.80 to 0.90)",
                 "help: compare the two builds' flags", kPaste}},
        Answers{{"wrong", &wrong_document},
                {"FAIL torch 2.11.0+cu130 on NVIDIA H200 (sm_90)", "GPU 0 NVIDIA H200 ok sm_90 unknown FAIL",
                 "CPU bf16 2048x2048x2048", "help: do not compute on this GPU with this build", kPaste}},
        Answers{{"no-gpu", &no_gpu_document},
                {"UNKNOWN torch 2.11.0+cu130 on Intel(R) Xeon(R) Processor", "GPU none here",
                 "CPU Intel(R) Xeon(R) Processor ok ok ok not compared",
                 "help: run `pbprobe report` on the machine with the GPU", kPaste}},
        Answers{{"pascal", &pascal_document},
                {"FAIL torch 2.11.0+cu130 on NVIDIA GeForce GTX 1080 Ti (sm_61)",
                 "no machine code or PTX that runs on 6.1", "CPU Intel(R) Xeon(R) Processor ok ok ok not compared",
                 "help: install a torch built for 6.1 with CUDA 12.9 or older", kPaste}},
        Answers{{"eight-gpus", &eight_gpus_document},
                {"computes correctly on this CPU and GPU 0", "which runs sm_100 code (compatible)",
                 "GPU 1-7 NVIDIA B300 (7 equal) ~ sm_100 not tested not tested",
                 "help: none needed: `pbprobe recommend` names a build for exactly this GPU", kPaste}},
        Answers{{"package", &package_document},
                {"FAIL torch 2.11.0+cu130 on NVIDIA H200 (sm_90)", "xformers 0.0.35: _C.so needs libcudart.so.12",
                 "GPU 0 NVIDIA H200 ok sm_90 ok ok", "CPU Intel(R) Xeon(R) Processor ok ok ok", kPaste}},
        Answers{{"no-torch", &no_torch_document},
                {"UNKNOWN torch on Intel(R) Xeon(R) Processor", "unknown", "not tested not tested",
                 "help: activate an environment that has a torch, or name it", kPaste}}),
    [](const auto& given) {
      return make_test_name(testing::TestParamInfo<Document>(given.param.document, given.index));
    });

INSTANTIATE_TEST_SUITE_P(Reports, Golden,
                         testing::Values(Document{"h200", &h200_document}, Document{"gb10", &gb10_document},
                                         Document{"no-gpu", &no_gpu_document}, Document{"pascal", &pascal_document},
                                         Document{"eight-gpus", &eight_gpus_document},
                                         Document{"wrong", &wrong_document}, Document{"slower", &slower_document},
                                         Document{"no-torch", &no_torch_document},
                                         Document{"package", &package_document}),
                         make_test_name);
INSTANTIATE_TEST_SUITE_P(Reports, GoldenJson,
                         testing::Values(Document{"h200", &h200_document}, Document{"no-torch", &no_torch_document}),
                         make_test_name);

}  // namespace
}  // namespace pbprobe::test
