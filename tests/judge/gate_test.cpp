// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests the gate on recorded facts: unproved claims, unanswered checks, unreadable files and wrong waivers do not pass.
#include "probes/judge/judge.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "probes/judge/checks.hpp"
#include "probes/judge/evidence/join.hpp"
#include "probes/judge/policy/policy.hpp"
#include "tests/judge/cases.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;

Terms terms(std::string_view name = "builder", std::optional<Level> require = std::nullopt) {
  auto policy = built_in_policy(name);
  EXPECT_TRUE(policy.ok()) << (policy.ok() ? "" : policy.error().message);
  return {.policy = policy.ok() ? *policy : Policy{}, .require = require, .date = "2026-11-22", .asked = std::nullopt};
}

Claim claim_of_list(std::vector<std::string> targets, bool exact = false) {
  return {.text = "the claim", .exact = exact, .targets = std::move(targets), .cuda = "13.0"};
}

// The recorded torch holds machine code for sm_90 throughout.
Report true_claim() {
  return audit_report(claim_of_list({"sm90"}));
}

Report false_claim() {
  return audit_report(claim_of_list({"sm90"}, true));  // the build has other SMs too
}

Report ran_on_h200() {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.claim = claim_of_list({"sm90"});
  report.measurements->libtorch->areas = {{.area = "softmax", .device = "cpu"},
                                          {.area = "softmax", .device = "cuda:0"}};
  return report;
}

bool objects(const Verdict& gate, const std::string& id, Outcome outcome, const std::string& says = "") {
  return std::any_of(gate.objections.begin(), gate.objections.end(), [&](const Objection& objection) {
    return objection.id == id && objection.outcome == outcome && objection.what.find(says) != std::string::npos;
  });
}

std::string listed(const Verdict& gate) {
  std::string text = gate.reason;
  for (const auto& objection : gate.objections) text += "\n  " + objection.id + ": " + objection.what;
  return text;
}

TEST(Gate, PassesTrueClaimAsShipped) {
  const Verdict gate = judge(true_claim(), terms());
  EXPECT_EQ(gate.outcome, Outcome::pass) << listed(gate);
  EXPECT_TRUE(gate.complete);
  ASSERT_FALSE(gate.claims.empty());
  EXPECT_EQ(gate.claims[0].proven, Level::shipped);
  for (const auto& check : gate.checks) {
    if (!check.required) continue;
    EXPECT_EQ(check.state, CheckState::passed) << check.id;
  }
}

TEST(Gate, FailsFalseClaimAndNamesCheck) {
  const Verdict gate = judge(false_claim(), terms());
  EXPECT_EQ(gate.outcome, Outcome::fail);
  EXPECT_TRUE(gate.complete) << listed(gate);
  EXPECT_TRUE(objects(gate, "PB316", Outcome::fail)) << listed(gate);
  EXPECT_EQ(gate.claims[0].outcome, Outcome::fail);
}

TEST(Gate, FailsSmClaimWithoutCuda) {
  Report report = true_claim();
  make_cpu_build(report);
  const Verdict gate = judge(report, terms());
  EXPECT_TRUE(objects(gate, "PB106", Outcome::fail)) << listed(gate);
  ASSERT_FALSE(gate.claims.empty());
  EXPECT_EQ(gate.claims[0].claim, "SM");
  EXPECT_EQ(gate.claims[0].shipped, Outcome::fail);
  EXPECT_EQ(gate.claims[0].proven, Level::claimed);
}

TEST(Gate, ReturnsUnknownIfFilesProveNothing) {
  for (const Level level : {Level::loaded, Level::executed, Level::measured}) {
    const Verdict gate = judge(true_claim(), terms("builder", level));
    EXPECT_EQ(gate.outcome, Outcome::unknown) << name_of(level);
    EXPECT_FALSE(gate.complete);
    EXPECT_TRUE(objects(gate, "PB501", Outcome::unknown, "only files were read: no machine was inspected"))
        << listed(gate);
    EXPECT_TRUE(objects(gate, "claim", Outcome::unknown, std::string(name_of(level)))) << listed(gate);
  }
}

// A report does not open the libraries beside libtorch.
TEST(Gate, ReturnsUnknownForUnopenedDeviceCode) {
  Report report = true_claim();
  for (auto& file : report.inventory->files) {
    if (file.component == "NCCL" && file.device_code) file.device_code->false_entries.reset();
  }
  const Verdict gate = judge(report, terms());
  EXPECT_EQ(gate.outcome, Outcome::unknown) << listed(gate);
  EXPECT_TRUE(objects(gate, "PB330", Outcome::unknown, "the device code of libnccl.so.2 was not opened"))
      << listed(gate);
  report.claim = Claim{.text = "avx2", .targets = {"avx2"}};
  EXPECT_FALSE(objects(judge(report, terms()), "PB330", Outcome::unknown)) << "no SM is claimed";
}

// A file whose CPU code was counted does not answer for a file whose code was not.
TEST(Gate, ReturnsUnknownForUncountedFileOfVariant) {
  Report report;
  report.claim = Claim{.text = "python=3.11", .python = "3.11"};
  Inventory& inventory = report.inventory.emplace();
  inventory.artifact = "ext-1.0-cp311-cp311-linux_x86_64.whl";
  inventory.layout = "wheel";
  inventory.packages = {{.folder = "ext-1.0.dist-info", .name = "ext", .version = "1.0"}};
  inventory.variant = {.label = "x", .properties = {{"x86_64", "level", "v3"}}};
  for (const char* module : {"_C", "_D"}) {
    File& file = inventory.files.emplace_back();
    file.path = std::string("ext/") + module + ".cpython-311-x86_64-linux-gnu.so";
    file.machine = "x86_64";
    file.links.emplace();
    file.host_code.emplace().unguarded = {{"avx2", 7}};
  }
  EXPECT_FALSE(objects(judge(report, terms()), "PB177", Outcome::unknown)) << listed(judge(report, terms()));
  inventory.files.back().host_code.reset();
  EXPECT_TRUE(objects(judge(report, terms()), "PB177", Outcome::unknown, "the host code of _D."))
      << listed(judge(report, terms()));
}

// A limit on the memory or files of this process proves no fault of the file.
TEST(Gate, ReturnsUnknownForUnreadableFile) {
  Report report = true_claim();
  auto& files = report.inventory->files;
  File& file = *std::find_if(files.begin(), files.end(), [](const File& one) { return one.component == "libtorch"; });
  const auto found = [&](const std::string& problem) {
    file.problem = problem;
    const Verdict verdict = judge(report, terms("report"));
    return std::count_if(verdict.findings.begin(), verdict.findings.end(),
                         [](const Finding& finding) { return finding.id == "PB101"; });
  };
  EXPECT_EQ(found("cannot map the 4096 bytes of libc10.so: Cannot allocate memory"), 0);
  EXPECT_EQ(found("cannot open libc10.so: Too many open files"), 0);
  EXPECT_EQ(found("header needs 64 bytes, 12 left"), 1);
  file.problem = "cannot open libc10.so: Too many open files";
  EXPECT_TRUE(objects(judge(report, terms()), "PB101", Outcome::unknown, "Too many open files"));
}

TEST(Gate, ReturnsExecutedAfterRunOnClaimedChip) {
  const Verdict executed = judge(ran_on_h200(), terms("hardware"));
  EXPECT_EQ(executed.outcome, Outcome::pass) << listed(executed);
  EXPECT_EQ(executed.claims[0].proven, Level::executed);
  const Verdict measured = judge(ran_on_h200(), terms("hardware", Level::measured));
  EXPECT_EQ(measured.outcome, Outcome::unknown);
  EXPECT_TRUE(objects(measured, "claim", Outcome::unknown, "no baseline was measured: give --baseline LIBTORCH"))
      << listed(measured);
}

Verdict judge_with_baseline(BaselineComparison comparison) {
  Report report = ran_on_h200();
  report.baseline = std::move(comparison);
  return judge(report, terms("hardware", Level::measured));
}

TEST(Gate, ReturnsMeasuredIfNotSlowerThanBaseline) {
  const Verdict gate =
      judge_with_baseline(beside({area_gain("softmax", "cuda:0", 1.2, 1.3), area_gain("sort", "cuda:0", 0.99, 1.01),
                                  area_gain("sort", "cpu", 1.1, 1.2)}));
  EXPECT_EQ(gate.outcome, Outcome::pass) << listed(gate);
  EXPECT_EQ(gate.claims[0].proven, Level::measured);
  EXPECT_NE(gate.claims[0].detail.find("gains: softmax 1.25"), std::string::npos) << gate.claims[0].detail;
}

TEST(Gate, FailsIfSlowerThanBaseline) {
  const Verdict gate =
      judge_with_baseline(beside({area_gain("softmax", "cuda:0", 1.2, 1.3), area_gain("sort", "cuda:0", 0.80, 0.90)}));
  EXPECT_EQ(gate.outcome, Outcome::fail);
  EXPECT_TRUE(objects(gate, "PB520", Outcome::fail, "sort on cuda:0: 0.85")) << listed(gate);
  EXPECT_TRUE(objects(gate, "claim", Outcome::fail, "slower than the baseline: sort 0.85")) << listed(gate);
}

TEST(Gate, ReturnsUnknownWithoutComparison) {
  BaselineComparison other = beside({});
  other.differences = {"BLAS MKL against OpenBLAS"};
  EXPECT_TRUE(objects(judge_with_baseline(other), "claim", Outcome::unknown, "MKL against OpenBLAS"));
  EXPECT_TRUE(objects(judge_with_baseline(other), "PB520", Outcome::unknown, "not comparable"));
  BaselineComparison failed = beside({});
  failed.problem = "the baseline: it crashed";
  EXPECT_TRUE(objects(judge_with_baseline(failed), "claim", Outcome::unknown, "the baseline: it crashed"));
  const BaselineComparison on_cpu = beside({area_gain("sort", "cpu", 1.1, 1.2)});
  EXPECT_TRUE(objects(judge_with_baseline(on_cpu), "claim", Outcome::unknown, "nothing was measured on cuda:0"));
}

TEST(Gate, IgnoresRunOnAnotherChip) {
  Report report = ran_on_h200();
  report.host->gpus[0].capability = "12.0";
  const Verdict gate = judge(report, terms("hardware"));
  EXPECT_NE(gate.outcome, Outcome::pass);
  EXPECT_TRUE(objects(gate, "claim", Outcome::unknown, "which is not the claimed sm90")) << listed(gate);
  report.host->gpus.clear();
  EXPECT_TRUE(objects(judge(report, terms("hardware")), "claim", Outcome::unknown, "no GPU here"));
}

TEST(Gate, RequiresCorrectRunOfEachArea) {
  Report report = ran_on_h200();
  report.measurements->libtorch->areas.pop_back();
  EXPECT_TRUE(objects(judge(report, terms("hardware")), "claim", Outcome::unknown, "were not run on cuda:0"));
  report = ran_on_h200();
  report.measurements->libtorch->areas[1].problem = "element 3 is wrong";
  const Verdict gate = judge(report, terms("hardware"));
  EXPECT_TRUE(objects(gate, "PB508", Outcome::fail)) << listed(gate);
  EXPECT_TRUE(objects(gate, "claim", Outcome::fail, "element 3 is wrong")) << listed(gate);
}

TEST(Gate, ProvesOnlyCapabilityOfThisCpu) {
  Report report = ran_on_h200();
  report.claim = claim_of_list({"avx2"});
  EXPECT_TRUE(
      objects(judge(report, terms("hardware")), "claim", Outcome::unknown, "its code for CPU capability AVX512"));
  report.measurements->libtorch->cpu_capability = "AVX2";
  const Verdict gate = judge(report, terms("hardware"));
  EXPECT_EQ(gate.claims[0].proven.value_or(Level::claimed) >= Level::executed, gate.claims[0].outcome == Outcome::pass);
  report.host->cpu.targets = {"avx"};
  EXPECT_TRUE(objects(judge(report, terms("hardware")), "claim", Outcome::unknown, "is not avx2"));
}

TEST(Gate, DoesNotPassIfStepDidNotRun) {
  Report report = true_claim();
  report.problems = {"the driver's library could not be asked"};
  const Verdict gate = judge(report, terms());
  EXPECT_EQ(gate.outcome, Outcome::unknown);
  EXPECT_TRUE(objects(gate, "run", Outcome::unknown, "could not be asked"));
  report = ran_on_h200();
  report.measurements->libtorch->problem = "softmax ended its process by SIGSEGV";
  EXPECT_TRUE(objects(judge(report, terms("hardware")), "run", Outcome::unknown, "SIGSEGV"));
}

TEST(Gate, DoesNotPassWithoutFactsOrClaim) {
  EXPECT_TRUE(objects(judge(Report{}, terms()), "run", Outcome::unknown, "no artifact"));
  Report report = true_claim();
  report.claim.reset();
  const Verdict gate = judge(report, terms());
  EXPECT_EQ(gate.outcome, Outcome::unknown);
  EXPECT_TRUE(objects(gate, "run", Outcome::unknown, "nothing is claimed")) << listed(gate);
}

TEST(Gate, NeverPassesUnreadableFile) {
  Report report = true_claim();
  report.inventory->files.push_back({.path = "torch/lib/libbroken.so", .problem = "truncated"});
  Terms given = terms();
  given.policy.severity["PB102"] = {Severity::note, "known"};
  const Verdict gate = judge(report, given);
  EXPECT_EQ(gate.outcome, Outcome::unknown);
  EXPECT_TRUE(objects(gate, "PB102", Outcome::unknown, "truncated")) << listed(gate);
}

TEST(Gate, DoesNotPassChecksWithoutSubject) {
  Report report = true_claim();
  report.claim = Claim{.text = "avx2", .targets = {"avx2"}};
  make_cpu_build(report);
  file_named(report, "libtorch_cpu.so").host_code = HostCode{.functions_from = ".symtab", .unguarded = {{"avx2", 9}}};
  report.inventory->wheel_tags.reset();
  report.inventory->required_versions.reset();
  const Verdict bare = judge(report, terms());
  EXPECT_EQ(bare.outcome, Outcome::pass) << listed(bare);
  for (const auto& [id, why] : std::map<std::string, std::string>{{"PB105", "the claim"},
                                                                  {"PB107", "the claim"},
                                                                  {"PB108", "the claim"},
                                                                  {"PB112", "the claim"},
                                                                  {"PB110", "not a CUDA build"},
                                                                  {"PB125", "not a CUDA build"},
                                                                  {"PB310", "not a CUDA build"},
                                                                  {"PB119", "no package"},
                                                                  {"PB121", "no package"},
                                                                  {"PB129", "not in a Nix store"}}) {
    const auto check = std::find_if(bare.checks.begin(), bare.checks.end(),
                                    [wanted = id](const CheckRow& one) { return one.id == wanted; });
    ASSERT_NE(check, bare.checks.end()) << id;
    EXPECT_EQ(check->state, CheckState::not_asked) << id;
    EXPECT_FALSE(check->required) << id;
    EXPECT_THAT(check->why.value_or(""), HasSubstr(why)) << id;
  }
  report.claim->torch = "2.11.0";
  EXPECT_EQ(judge(report, terms()).outcome, Outcome::pass);
  report.claim->torch = "2.10.0";
  EXPECT_TRUE(objects(judge(report, terms()), "PB105", Outcome::fail));
}

TEST(Gate, ReportsIsaOfAnotherProcessorAsMissing) {
  Report report = true_claim();
  report.claim = Claim{.text = "armv9", .targets = {"armv9", "sm90"}};
  const Verdict gate = judge(report, terms());
  EXPECT_TRUE(objects(gate, "PB109", Outcome::fail)) << listed(gate);
  for (const auto& claim : gate.claims)
    EXPECT_EQ(claim.outcome.value_or(Outcome::pass), claim.claim == "ISA" ? Outcome::fail : Outcome::pass)
        << claim.claim;
}

TEST(Gate, UsesSeverityOfPolicy) {
  Report report = true_claim();
  report.claim = claim_of_list({"sm90"}, true);
  Terms given = terms();
  given.policy.severity["PB316"] = {Severity::warn, "known"};
  const Verdict lenient = judge(report, given);
  EXPECT_FALSE(objects(lenient, "PB316", Outcome::fail)) << listed(lenient);
  given = terms();
  given.policy.severity["PB317"] = {Severity::fail, "strict"};  // PTX beside an exact claim
  const Verdict strict = judge(report, given);
  const auto found =
      std::any_of(strict.findings.begin(), strict.findings.end(), [](const Finding& one) { return one.id == "PB317"; });
  EXPECT_EQ(objects(strict, "PB317", Outcome::fail), found) << listed(strict);
}

// --- waivers ---

std::vector<std::string> list_places(const std::string& id, const Report& report) {
  std::vector<std::string> places;
  for (const auto& finding : judge(report).findings) {
    if (finding.id == id && finding.where) places.push_back(*finding.where);
  }
  return places;
}

Terms waiving(std::vector<Waiver> waivers) {
  Terms given = terms();
  given.policy.waive = std::move(waivers);
  return given;
}

TEST(Waivers, ExcuseNamedFindingsUntilTheirDay) {
  const Report report = false_claim();
  std::vector<Waiver> all;
  for (const auto& place : list_places("PB316", report)) all.push_back({"PB316", place, "known", "2026-11-22"});
  ASSERT_GT(all.size(), 1U);
  const Verdict gate = judge(report, waiving(all));
  EXPECT_EQ(gate.outcome, Outcome::pass) << listed(gate);
  for (const auto& waiver : gate.waivers) EXPECT_EQ(waiver.state, WaiverState::used);
  all.pop_back();
  EXPECT_TRUE(objects(judge(report, waiving(all)), "PB316", Outcome::fail)) << "one place is not waived";
}

TEST(Waivers, FailIfExpiredUnusedOrBroad) {
  const Report report = false_claim();
  const std::string place = list_places("PB316", report).front();
  const auto state_with = [&](Waiver waiver) {
    const Verdict gate = judge(report, waiving({std::move(waiver)}));
    EXPECT_EQ(gate.outcome, Outcome::fail);
    EXPECT_TRUE(objects(gate, "PB316", Outcome::fail)) << "nothing was let through";
    EXPECT_TRUE(objects(gate, "waiver", Outcome::fail)) << listed(gate);
    return gate.waivers.front().state;
  };
  EXPECT_EQ(state_with({"PB316", place, "known", "2026-11-21"}), WaiverState::expired);
  EXPECT_EQ(state_with({"PB316", "torch/lib/libc10.so", "known", "2027-01-01"}), WaiverState::unused);
  EXPECT_EQ(state_with({"PB314", place, "known", "2027-01-01"}), WaiverState::unused);
  EXPECT_EQ(state_with({"PB316", std::nullopt, "known", "2027-01-01"}), WaiverState::too_broad);
  EXPECT_EQ(state_with({"PB3*", place, "known", "2027-01-01"}), WaiverState::too_broad);
  EXPECT_EQ(state_with({"PB316", "torch/lib/*", "known", "2027-01-01"}), WaiverState::too_broad);
  EXPECT_EQ(state_with({"PB316", "torch/lib/", "known", "2027-01-01"}), WaiverState::too_broad);
}

TEST(Waivers, FailSoundBuildIfUnused) {
  Terms given = waiving({{"PB316", "torch/lib/libtorch_cuda.so", "known", "2027-01-01"}});
  const Verdict gate = judge(true_claim(), given);
  EXPECT_EQ(gate.outcome, Outcome::fail);
  EXPECT_TRUE(objects(gate, "waiver", Outcome::fail, "lets nothing through"));
}

Report cut_off(const std::string& path) {
  Report report = true_claim();
  report.inventory->files.push_back({.path = path, .component = "libtorch", .problem = "the file is truncated"});
  if (!path.starts_with("torch/")) report.inventory->files.back().component = "NCCL";
  return report;
}

TEST(Waivers, CannotExcuseUnreadTorchFiles) {
  for (const auto& [id, path] :
       {std::pair("PB101", "torch/lib/libtorch_new.so"), std::pair("PB101", "nvidia/nccl/lib/libnccl.so.2")}) {
    const Verdict gate = judge(cut_off("torch/lib/libtorch_new.so"), waiving({{id, path, "known", "2027-01-01"}}));
    EXPECT_EQ(gate.waivers.front().state, WaiverState::forbidden) << path;
    EXPECT_TRUE(objects(gate, "PB101", Outcome::unknown, "truncated")) << listed(gate);
    EXPECT_TRUE(objects(gate, "waiver", Outcome::fail, "no waiver lets it through")) << listed(gate);
  }
  Report report = cut_off("torch/lib/libtorch_new.so");
  report.inventory->files.back().component.reset();
  const Verdict other = judge(report, waiving({{"PB102", "torch/lib/libtorch_new.so", "known", "2027-01-01"}}));
  EXPECT_EQ(other.waivers.front().state, WaiverState::forbidden);
  EXPECT_TRUE(objects(other, "PB102", Outcome::unknown, "truncated")) << listed(other);
  const Verdict theirs = judge(cut_off("nvidia/nvtx/lib/libnvToolsExt.so.1"),
                               waiving({{"PB102", "nvidia/nvtx/lib/libnvToolsExt.so.1", "known", "2027-01-01"}}));
  EXPECT_EQ(theirs.outcome, Outcome::pass) << listed(theirs);
}

// --- policies ---

// Both policies run the same checks with the same answers. They differ in the effect of an open question.
TEST(Policies, JudgeReportAndGateAlike) {
  const Report report = false_claim();
  const Verdict lenient = judge(report);
  const Verdict strict = judge(report, terms());
  ASSERT_EQ(lenient.checks.size(), all_checks().size());
  ASSERT_EQ(strict.checks.size(), lenient.checks.size());
  for (size_t i = 0; i < strict.checks.size(); ++i) {
    EXPECT_EQ(strict.checks[i].id, lenient.checks[i].id);
    EXPECT_EQ(strict.checks[i].state, lenient.checks[i].state) << strict.checks[i].id;
    EXPECT_EQ(strict.checks[i].subject, lenient.checks[i].subject);
  }
  EXPECT_EQ(strict.findings.size(), lenient.findings.size());
  ASSERT_FALSE(lenient.claims.empty());
  EXPECT_EQ(lenient.claims[0].required, std::nullopt);
  EXPECT_EQ(strict.claims[0].required, Level::shipped);
  EXPECT_EQ(lenient.claims[0].shipped, strict.claims[0].shipped);

  Report open = true_claim();
  open.problems = {"the driver's library could not be asked"};
  EXPECT_EQ(judge(open, terms()).outcome, Outcome::unknown);
  EXPECT_TRUE(judge(open).objections.empty() || judge(open).objections.front().id != "run");
}

// --- joined ---

TEST(Join, TakesHighestProvedLevel) {
  const Verdict shipped = judge(true_claim(), terms());
  const Verdict executed = judge(ran_on_h200(), terms("hardware"));
  const Verdict joined = join_verdicts({shipped, executed}, std::nullopt);
  EXPECT_EQ(joined.outcome, Outcome::pass) << listed(joined);
  EXPECT_EQ(joined.claims[0].proven, Level::executed);
  EXPECT_TRUE(joined.complete);
  const Verdict too_little = join_verdicts({shipped, shipped}, Level::executed);
  EXPECT_EQ(too_little.outcome, Outcome::unknown);
  EXPECT_FALSE(too_little.complete) << "it may not be attested";
  EXPECT_EQ(join_verdicts({shipped, executed}, Level::measured).outcome, Outcome::unknown);
}

const CheckRow& find_catalogue_check(const Verdict& gate, const std::string& id) {
  return *std::find_if(gate.checks.begin(), gate.checks.end(), [&](const CheckRow& check) { return check.id == id; });
}

TEST(Join, FillsGapsFromOtherRun) {
  const Verdict shipped = judge(true_claim(), terms());
  const Verdict executed = judge(ran_on_h200(), terms("hardware"));
  ASSERT_EQ(find_catalogue_check(shipped, "PB104").state, CheckState::not_asked);
  ASSERT_EQ(find_catalogue_check(executed, "PB104").state, CheckState::passed);
  for (const Verdict& joined :
       {join_verdicts({shipped, executed}, std::nullopt), join_verdicts({executed, shipped}, std::nullopt)}) {
    EXPECT_EQ(joined.checks.size(), shipped.checks.size());
    EXPECT_EQ(find_catalogue_check(joined, "PB104").state, CheckState::passed);
    EXPECT_TRUE(find_catalogue_check(joined, "PB104").required);
  }
  const Verdict twice = join_verdicts({shipped, shipped}, std::nullopt);
  EXPECT_EQ(to_json(twice.findings), to_json(shipped.findings)) << "what both found is reported once";
}

TEST(Join, KeepsObjectionOfAnyRun) {
  Report broken = ran_on_h200();
  broken.measurements->libtorch->executed = false;
  const Verdict failed = judge(broken, terms("hardware"));
  const Verdict joined = join_verdicts({judge(true_claim(), terms()), failed}, std::nullopt);
  EXPECT_EQ(joined.outcome, Outcome::fail) << listed(joined);
  EXPECT_EQ(joined.reason, failed.reason) << listed(joined);
}

// A run that proves the claim does not hide another one that refutes it.
TEST(Join, NamesRefutedClaim) {
  Verdict refuted = judge(ran_on_h200(), terms("hardware"));
  Verdict proven = refuted;
  refuted.claims[0].outcome = Outcome::fail;
  const Verdict joined = join_verdicts({proven, refuted}, std::nullopt);
  EXPECT_EQ(joined.outcome, Outcome::fail) << listed(joined);
  EXPECT_THAT(joined.reason, HasSubstr("refuted by one of the joined runs"));
  EXPECT_EQ(join_verdicts({proven, proven}, std::nullopt).outcome, Outcome::pass);
}

}  // namespace
}  // namespace pbprobe::test
