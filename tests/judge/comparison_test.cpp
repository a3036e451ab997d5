// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/evidence/comparison.hpp"

#include <gmock/gmock.h>

#include "probes/judge/judge.hpp"
#include "tests/judge/cases.hpp"

namespace pbprobe::test {
namespace {

using testing::Contains;
using testing::IsEmpty;

Report side() {
  Report report = audit_report();
  report.verdict = judge(report);
  return report;
}

std::vector<std::string> listed(const Comparison& comparison) {
  std::vector<std::string> all;
  for (const auto& fact : comparison.facts)
    all.push_back(std::string(name_of(fact.change)) + " " + fact.about + ": " + fact.what +
                  (fact.regressed ? " (regressed)" : ""));
  return all;
}

// Returns a report with one libtorch figure of these samples.
Report timed(std::vector<double> samples) {
  Report report = side();
  report.measurements = Measurements{};
  report.measurements->libtorch = LibtorchRun{.figures = {figure("cpu", "fp32", 205)}};
  report.measurements->libtorch->figures[0].samples_us = std::move(samples);
  return report;
}

Shift compute_shift(std::vector<double> before, std::vector<double> after) {
  const Comparison comparison = compare_reports(timed(std::move(before)), timed(std::move(after)));
  EXPECT_EQ(comparison.figures.size(), 1U);
  return comparison.figures.empty() ? Shift::not_shown : comparison.figures[0].shift;
}

Report compute(double us, std::optional<OperatorState> state) {
  Report report = side();
  OperatorRun run{.device = "cpu", .operators = 2, .times_us = {{"erf", us}, {"sigmoid", 20}}};
  if (state) run.results = {{.name = "sigmoid", .type = "bfloat16", .state = *state}};
  report.operators = {{run}};
  return report;
}

TEST(Comparison, NamesOperatorsThatBecameWrongOrSlow) {
  const Comparison worse = compare_reports(compute(40, std::nullopt), compute(4000, OperatorState::wrong));
  EXPECT_THAT(listed(worse),
              testing::ElementsAre("lost operators: sigmoid in bfloat16 on cpu: right before, wrong after (regressed)",
                                   "changed operators: erf on cpu: 40 us before, 4000 us after (regressed)"));
  EXPECT_TRUE(has_regressed(worse));
  EXPECT_THAT(listed(compare_reports(compute(40, OperatorState::crashed), compute(300, std::nullopt))),
              testing::ElementsAre("gained operators: sigmoid in bfloat16 on cpu: wrong before"));
  EXPECT_THAT(listed(compare_reports(compute(40, OperatorState::not_run), compute(40, OperatorState::wrong))),
              IsEmpty());
}

TEST(Comparison, FindsNoDifferenceInEqualReports) {
  const Comparison comparison = compare_reports(side(), side());
  EXPECT_THAT(listed(comparison), IsEmpty());
  EXPECT_FALSE(has_regressed(comparison));
}

// Tensor instructions may be in a handful of cubins, and cuBLAS chooses its own SMs.
TEST(Comparison, NamesSmallAndForeignLosses) {
  const Report before = side();
  Report after = side();
  for (auto& file : after.inventory->files) {
    if (file.path.ends_with("libtorch_cuda.so")) file.device_code->cubin.erase("sm_90a");
    if (file.component == "cuBLAS" && file.device_code) file.device_code->cubin.erase("sm_75");
  }
  after.verdict = judge(after);
  EXPECT_THAT(listed(compare_reports(before, after)),
              testing::ElementsAre("lost SM of cuBLAS: sm_75 (regressed)", "lost SM of few units: sm_90a (regressed)"));
  const Comparison gained = compare_reports(after, before);
  EXPECT_THAT(listed(gained), testing::ElementsAre("gained SM of cuBLAS: sm_75", "gained SM of few units: sm_90a"));
  EXPECT_FALSE(has_regressed(gained));
}

TEST(Comparison, CountsLossesAsRegressions) {
  const Report before = side();
  Report after = side();
  std::erase(after.verdict->holdings->sms, "sm_90");
  const Comparison lost = compare_reports(before, after);
  EXPECT_THAT(listed(lost), testing::ElementsAre("lost SM: sm_90 (regressed)"));
  EXPECT_TRUE(has_regressed(lost));
  const Comparison gained = compare_reports(after, before);
  EXPECT_THAT(listed(gained), testing::ElementsAre("gained SM: sm_90"));
  EXPECT_FALSE(has_regressed(gained));
}

TEST(Comparison, CountsHigherCpuNeedAsRegression) {
  Report before = side();
  Report after = side();
  before.verdict->holdings->minimum_cpu = "avx2";
  after.verdict->holdings->minimum_cpu = "avx512";
  EXPECT_THAT(listed(compare_reports(before, after)),
              Contains("changed minimum CPU: avx2 before, avx512 after (regressed)"));
  EXPECT_THAT(listed(compare_reports(after, before)), Contains("changed minimum CPU: avx512 before, avx2 after"));
}

TEST(Comparison, NamesVersionsAndFiles) {
  const Report before = side();
  Report after = side();
  (*after.inventory->component_versions)["cuDNN"] = "9.20.0";
  after.inventory->cuda_version = "13.2";
  std::erase_if(after.inventory->files, [](const File& file) { return file.path.ends_with("libtorch_cuda.so"); });
  const auto all = listed(compare_reports(before, after));
  EXPECT_THAT(all, Contains("changed version: cuDNN 9.19.0.56 before, 9.20.0 after"));
  EXPECT_THAT(all, Contains("changed version: CUDA 13.0 before, 13.2 after"));
  EXPECT_THAT(all, Contains("lost file: torch/lib/libtorch_cuda.so (regressed)"));
}

TEST(Comparison, NamesPythonAndGlibcOfPackages) {
  const auto make_side = [](const std::string& python, const char* glibc, int64_t size) {
    Report report = side();
    File file{.path = "ext/_C." + python + "-x86_64-linux-gnu.so", .size_bytes = size};
    file.links.emplace().version_floors = {{"GLIBC", glibc}};
    report.inventory = Inventory{.layout = "wheel", .files = {std::move(file)}};
    report.inventory->packages = {{.folder = "ext-1.0.dist-info", .name = "ext", .version = "1.0"}};
    report.inventory->wheel_tags = {{python + "-manylinux"}};
    report.verdict->holdings = Holdings{.size_bytes = size};
    return report;
  };
  const Report before = make_side("cpython-311", "2.17", 20000);
  EXPECT_THAT(listed(compare_reports(before, before)), testing::IsEmpty());
  const auto all = listed(compare_reports(before, make_side("cpython-312", "2.28", 40000)));
  EXPECT_THAT(all, Contains("changed version: modules for Python cp311 before, cp312 after"));
  EXPECT_THAT(all, Contains("changed version: needed glibc 2.17 before, 2.28 after"));
  EXPECT_THAT(all, Contains("changed version: tags cpython-311-manylinux before, cpython-312-manylinux after"));
  EXPECT_THAT(all, Contains("changed size: 19 KB before, 39 KB after (+100.0 %)"));
}

TEST(Comparison, ComparesKernelsIfBothHaveNames) {
  Report before = side();
  Report after = side();
  EXPECT_THAT(compare_reports(before, after).not_compared, Contains(testing::HasSubstr("kernels by their names")));
  for (Report* one : {&before, &after}) {
    for (auto& file : one->inventory->files) {
      file.self_loaded_code.reset();
      if (file.device_code) file.device_code.reset();
    }
    libtorch_cuda(*one).device_code = DeviceCode{.cubin = {{"sm_90", 1}, {"sm_80", 1}},
                                                 // A cubin without kernels has no names to compare.
                                                 .census = {{{"sm_90", {.kernels = 2}}, {"sm_80", {}}}}};
  }
  (*libtorch_cuda(before).device_code->census)["sm_90"].names = {"_Z1av", "_Z1bv"};
  (*libtorch_cuda(after).device_code->census)["sm_90"].names = {"_Z1av"};
  const Comparison comparison = compare_reports(before, after);
  EXPECT_THAT(listed(comparison), Contains("lost kernels: 1 of sm_90 (regressed)"));
  EXPECT_THAT(comparison.facts.front().examples, testing::ElementsAre("_Z1bv"));
}

TEST(Comparison, NamesEachFunctionOnce) {
  Report before = side();
  Report after = side();
  for (Report* one : {&before, &after}) {
    for (auto& file : one->inventory->files) {
      file.self_loaded_code.reset();
      if (file.device_code) file.device_code.reset();
    }
    libtorch_cuda(*one).device_code = DeviceCode{.cubin = {{"sm_90", 1}}, .census = {{{"sm_90", {.kernels = 4}}}}};
  }
  (*libtorch_cuda(before).device_code->census)["sm_90"].names = {"_Z1aIfEvv", "_Z1aIdEvv", "_Z1aIiEvv", "_Z1bv"};
  (*libtorch_cuda(after).device_code->census)["sm_90"].names = {"_Z1cv"};
  const Comparison comparison = compare_reports(before, after);
  EXPECT_THAT(comparison.facts.front().examples, testing::ElementsAre("_Z1aIdEvv", "_Z1bv"));
}

TEST(Comparison, NamesTheRequiredTorch) {
  const auto vision = [](const char* version, const char* torch) {
    Report report = side();
    report.inventory->layout = "wheel";
    report.inventory->artifact = "torchvision.whl";
    report.inventory->torch_version.reset();
    report.inventory->files.clear();
    report.inventory->packages = {{.folder = "x", .name = "torchvision", .version = version, .torch = torch}};
    return report;
  };
  const auto all = listed(compare_reports(vision("0.25.0", "==2.10.0"), vision("0.26.0", "==2.11.0")));
  EXPECT_THAT(all, Contains("changed version: torchvision 0.25.0 before, 0.26.0 after"));
  EXPECT_THAT(all, Contains("changed version: required torch ==2.10.0 before, ==2.11.0 after"));
  EXPECT_THAT(listed(compare_reports(vision("1", "==2"), vision("1", "==2"))), IsEmpty());
}

TEST(Comparison, ShowsSignificantDifference) {
  const std::vector<double> fast{100, 101, 102, 103, 104};
  const std::vector<double> slow{120, 121, 122, 123, 124};
  EXPECT_EQ(compute_shift(fast, slow), Shift::slower);
  EXPECT_EQ(compute_shift(slow, fast), Shift::faster);
  EXPECT_EQ(compute_shift(fast, {120, 121, 122, 123, 104}), Shift::not_shown)
      << "one slow sample is within the range of the fast samples";
  EXPECT_EQ(compute_shift(fast, {104.5, 104.5, 104.5, 104.5, 104.5}), Shift::not_shown) << "2.5 % count for nothing";
  EXPECT_EQ(compute_shift({100, 101, 102}, {120, 121, 122}), Shift::not_shown) << "1 in 10 by chance: too few samples";
}

TEST(Comparison, NeedsMoreSamplesForMoreFigures) {
  Report before = timed({100, 101, 102, 103, 104});
  Report after = timed({120, 121, 122, 123, 124});
  for (int i = 0; i < 12; ++i) {
    for (Report* one : {&before, &after}) {
      LibtorchFigure more = one->measurements->libtorch->figures[0];
      more.m = 10 + i;
      one->measurements->libtorch->figures.push_back(more);
    }
  }
  for (const auto& figure : compare_reports(before, after).figures) EXPECT_EQ(figure.shift, Shift::not_shown);
}

TEST(Comparison, SkipsDisturbedFigures) {
  Report before = timed({100, 101, 102, 103, 104});
  before.measurements->libtorch->figures[0].disturbed = "python on cuda:0";
  EXPECT_THAT(compare_reports(before, timed({120, 121, 122, 123, 124})).figures, IsEmpty());
}

}  // namespace
}  // namespace pbprobe::test
