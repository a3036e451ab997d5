// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests that a changed library is the only finding for modules that do not load because of it.
#include <gmock/gmock.h>

#include "probes/judge/judge.hpp"
#include "tests/judge/cases.hpp"

namespace pbprobe::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kCudnn = "nvidia/cudnn/lib/libcudnn.so.9";

Distribution cudnn(bool missing) {
  Distribution row{.name = "nvidia-cudnn-cu13", .version = "9.19.0.56", .folder = "nvidia_cudnn_cu13.dist-info"};
  row.recorded.emplace().files = 3;
  row.recorded->reinstall = true;
  if (missing) {
    row.recorded->missing = 1;
    row.recorded->first_missing = {kCudnn};
  } else {
    row.recorded->changed_libraries = {{kCudnn, "another size", "nvidia_cudnn_cu12.dist-info"}};
  }
  return row;
}

Distribution broken(Loading loading, const char* id) {
  Distribution row{.name = "ext", .version = "1.0", .folder = "ext-1.0.dist-info", .torch_abi = TorchAbi::cxx};
  row.findings = {{.id = id, .severity = Severity::fail, .what = "it does not load", .where = loading.path}};
  row.loading = {{std::move(loading)}};
  return row;
}

std::vector<std::string> failed(const Verdict& verdict) {
  std::vector<std::string> ids;
  for (const auto& finding : verdict.findings) {
    if (finding.severity == Severity::fail) ids.push_back(finding.id);
  }
  return ids;
}

Verdict judged(Distribution one, Distribution other) {
  Report report = cpu_report();
  report.environment.emplace().distributions = {std::move(one), std::move(other)};
  return judge(report);
}

Loading unresolved(const char* version) {
  return {.path = "ext/_C.so", .unresolved = {{.name = "f", .version = version, .needed_by = "/env/ext/_C.so"}}};
}

TEST(ChangedLibraries, ReportsOnlyTheCause) {
  const Verdict of_symbol = judged(broken(unresolved("libcudnn.so.9"), "PB163"), cudnn(false));
  EXPECT_THAT(failed(of_symbol), ElementsAre("PB168"));
  EXPECT_THAT(of_symbol.reason, HasSubstr("wrote the same path; because of it ext does not load"));
  const Loading lacks{.path = "ext/_C.so", .missing_libraries = {{"libcudnn.so.9", "/env/ext/_C.so"}}};
  EXPECT_THAT(failed(judged(broken(lacks, "PB161"), cudnn(true))), ElementsAre("PB168"));
}

TEST(ChangedLibraries, KeepsUnrelatedFindings) {
  const Verdict verdict = judged(broken(unresolved("libother.so.1"), "PB163"), cudnn(false));
  EXPECT_THAT(failed(verdict), ElementsAre("PB168", "PB163")) << "the cause of the environment comes first";
  EXPECT_THAT(verdict.reason, HasSubstr("nvidia-cudnn-cu13"));
  EXPECT_THAT(verdict.reason, testing::Not(HasSubstr("because of it")));
}

}  // namespace
}  // namespace pbprobe::test
