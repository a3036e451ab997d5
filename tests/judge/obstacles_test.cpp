// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests that a step that could not run leaves its check without an answer, and that a step with a wrong result fails.
#include <algorithm>

#include <gmock/gmock.h>

#include "probes/judge/judge.hpp"
#include "probes/judge/policy/policy.hpp"
#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const CheckRow& find_check_row(const Verdict& verdict, const std::string& id) {
  const auto found =
      std::find_if(verdict.checks.begin(), verdict.checks.end(), [&](const CheckRow& row) { return row.id == id; });
  static const CheckRow kNone;
  EXPECT_NE(found, verdict.checks.end()) << id;
  return found == verdict.checks.end() ? kNone : *found;
}

bool finds(const Verdict& verdict, const std::string& id) {
  return std::any_of(verdict.findings.begin(), verdict.findings.end(),
                     [&](const Finding& finding) { return finding.id == id; });
}

Verdict gate(const Report& report, Level require = Level::measured) {
  Report claimed = report;
  claimed.claim = Claim{.text = "the claim", .targets = {"sm90"}, .cuda = "13.0"};
  auto policy = built_in_policy("hardware");
  return judge(claimed, {.policy = *policy, .require = require, .date = "2026-11-22", .asked = std::nullopt});
}

// Expects no answer, finding or failure from the check `id`, and a gate that does not pass.
void expect_unknown(const Report& report, const std::string& id, const testing::Matcher<std::string>& why) {
  for (const Verdict& verdict : {judge(report), gate(report)}) {
    const CheckRow& row = find_check_row(verdict, id);
    EXPECT_EQ(row.state, CheckState::unanswered) << id;
    EXPECT_THAT(row.why.value_or(""), why);
    EXPECT_FALSE(finds(verdict, id)) << id;
    for (const auto& objection : verdict.objections)
      EXPECT_NE(objection.outcome, Outcome::fail) << objection.id << ": " << objection.what;
  }
  EXPECT_NE(gate(report).outcome, Outcome::pass);
}

constexpr Obstacle kAll[] = {Obstacle::out_of_memory, Obstacle::busy,   Obstacle::device_failed, Obstacle::missing,
                             Obstacle::time_limit,    Obstacle::driver, Obstacle::not_permitted, Obstacle::no_device,
                             Obstacle::unsupported,   Obstacle::killed, Obstacle::unexplained};

TEST(Obstacles, SeparateWrongKernelsFromUnknownOnes) {
  for (const Obstacle why : kAll) {
    expect_unknown(
        with(h200(),
             [&](Report& r) { r.measurements->not_run = {{.what = "gemm could not run: it could not", .why = why}}; }),
        "PB504", HasSubstr("could not run"));
  }
  const Verdict wrong = judge(with(h200(), [](Report& r) { r.measurements->problems = {"gemm is wrong: C[0,0]"}; }));
  EXPECT_TRUE(finds(wrong, "PB504"));
  EXPECT_EQ(wrong.outcome, Outcome::fail);
}

// Returns a report whose operators ran as in `run`.
Report compare_operators(const OperatorRun& run) {
  return with(h200(), [&](Report& r) { r.operators = {{run}}; });
}

TEST(Obstacles, LeaveOperatorsUnknownIfNoneRan) {
  const OperatorResult raised{.name = "cos", .type = "float32", .reason = "RuntimeError: no kernel"};
  const OperatorRun none{.device = "cpu", .operators = 2, .not_run = 2, .results = {raised}};
  expect_unknown(compare_operators(none), "PB551", HasSubstr("none of 2 ran: cos in float32: RuntimeError: no kernel"));
  OperatorRun late{.device = "cpu", .operators = 2, .not_run = 2, .omitted = {"cos", "sin"}};
  expect_unknown(compare_operators(late), "PB551", HasSubstr("none of 2 ran in the time limit"));
  late.compiled = true;
  expect_unknown(compare_operators(late), "PB553", HasSubstr("none of 2 ran in the time limit"));
  const OperatorRun unread{.device = "cpu", .problem = "torch's database of operators could not be read"};
  expect_unknown(compare_operators(unread), "PB551", HasSubstr("could not be read"));
}

TEST(Obstacles, AnswerIfAnOperatorRan) {
  const OperatorRun some{.device = "cpu", .operators = 2, .right = 1, .not_run = 1, .omitted = {"sin"}};
  const Verdict verdict = judge(compare_operators(some));
  EXPECT_NE(find_check_row(verdict, "PB551").state, CheckState::unanswered);
}

// A wrong kernel is a fault even if another kernel could not run.
TEST(Obstacles, HideNoFaults) {
  const Verdict verdict = judge(with(h200(), [](Report& r) {
    r.measurements->problems = {"gemm is wrong: C[0,0]"};
    r.measurements->not_run = {{.what = "another could not run", .why = Obstacle::out_of_memory, .device = "cuda:0"}};
  }));
  EXPECT_TRUE(finds(verdict, "PB504"));
  EXPECT_EQ(verdict.outcome, Outcome::fail);
}

Report report_busy_gpu() {
  return with(h200(), [](Report& r) {
    constexpr int64_t kGib = int64_t{1} << 30;
    const GpuProcess other{.pid = 4711, .name = "python", .memory_bytes = 139 * kGib};
    r.measurements->gpu_use = {{.device = "cuda:0",
                                .when = "before",
                                .free_bytes = kGib / 4,
                                .total_bytes = 140 * kGib,
                                .utilization_percent = 0,
                                .processes = {other}},
                               {.device = "cuda:1", .when = "before", .processes = {}}};
    r.measurements->not_run = {
        {.what = "gemm_fp32_128x128_sm90 could not run on 4096x4096x4096: CUDA_ERROR_OUT_OF_MEMORY",
         .why = Obstacle::out_of_memory,
         .device = "cuda:0"}};
  });
}

TEST(Obstacles, NameGpuUsersFreeMemoryAndFix) {
  const Report report = report_busy_gpu();
  expect_unknown(
      report, "PB504",
      AllOf(HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"), HasSubstr("0.2 of 140.0 GiB of the memory of cuda:0 are free"),
            HasSubstr("python (process 4711) holds 139.0 GiB")));
  const Verdict verdict = gate(report);
  const auto found = std::find_if(verdict.objections.begin(), verdict.objections.end(),
                                  [](const Objection& objection) { return objection.id == "PB504"; });
  ASSERT_NE(found, verdict.objections.end());
  EXPECT_THAT(found->remedy.value_or(""),
              AllOf(HasSubstr("end process 4711, or wait for it"), HasSubstr("CUDA_VISIBLE_DEVICES=1")));
}

TEST(Obstacles, NameGpuUsersInGate) {
  const Verdict verdict = gate(with(h200(), [](Report& r) {
    LibtorchRun& run = *r.measurements->libtorch;
    run.executed_on_gpu.reset();
    run.problem = "making a first tensor on cuda:0: CUDA error: out of memory";
    run.obstacle = Obstacle::out_of_memory;
    r.measurements->gpu_use = {{.device = "cuda:0", .processes = {{.pid = 4711, .name = "python3"}}}};
  }));
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_THAT(verdict.reason, HasSubstr("4711"));
  EXPECT_THAT(verdict.fix.value_or(""), HasSubstr("end process 4711"));
}

TEST(Obstacles, ReturnUnknownForUnloadedLibtorch) {
  for (const Obstacle why : kAll)
    expect_unknown(with(h200(),
                        [&](Report& r) {
                          r.measurements->libtorch =
                              LibtorchRun{.path = "/opt", .problem = "it did not end in time", .obstacle = why};
                        }),
                   "PB501", HasSubstr("did not end in time"));
}

TEST(Obstacles, ReturnUnknownForUnrunLibtorch) {
  for (const Obstacle why : kAll) {
    expect_unknown(with(h200(),
                        [&](Report& r) {
                          auto& run = *r.measurements->libtorch;
                          run.executed = false;
                          run.executed_on_gpu.reset();
                          run.problem = "std::bad_alloc";
                          run.obstacle = why;
                        }),
                   "PB502", HasSubstr("std::bad_alloc"));
    expect_unknown(with(h200(),
                        [&](Report& r) {
                          auto& run = *r.measurements->libtorch;
                          run.executed_on_gpu.reset();
                          run.problem = "opening GPU 0: CUDA_ERROR_DEVICE_UNAVAILABLE";
                          run.obstacle = why;
                        }),
                   "PB503", HasSubstr("CUDA_ERROR_DEVICE_UNAVAILABLE"));
  }
}

TEST(Obstacles, ReturnUnknownForUnrunArea) {
  for (const Obstacle why : kAll) {
    const Report report = with(h200(), [&](Report& r) {
      r.measurements->libtorch->areas = {
          {.area = "sort", .device = "cuda:0"},
          {.area = "softmax", .device = "cuda:0", .problem = "CUDA out of memory", .obstacle = why}};
    });
    expect_unknown(report, "PB508", HasSubstr("softmax on cuda:0 could not run: CUDA out of memory"));
  }
}

TEST(Obstacles, ReturnUnknownForUnrunStart) {
  for (const char* id : {"PB511", "PB512"})
    expect_unknown(with(h200(),
                        [](Report& r) {
                          r.measurements->libtorch->starts = {{.how = "CUDA_DISABLE_PTX_JIT=1",
                                                               .device = "cuda:0",
                                                               .problem = "CUDA error: out of memory",
                                                               .obstacle = Obstacle::out_of_memory}};
                        }),
                   id, HasSubstr("out of memory"));
}

TEST(Obstacles, IgnoreSlowStartOfSharedGpu) {
  const auto slow = [](std::vector<GpuProcess> others) {
    return with(h200(), [&](Report& r) {
      r.measurements->libtorch->starts = {{.how = "as it stands", .device = "cuda:0", .first_tensor_seconds = 31.0}};
      r.measurements->gpu_use = {{.device = "cuda:0", .when = "before", .processes = std::move(others)}};
    });
  };
  expect_unknown(slow({{.pid = 12, .name = "python"}}), "PB511", HasSubstr("python (process 12) on cuda:0"));
  EXPECT_TRUE(finds(judge(slow({})), "PB511"));
}

TEST(Obstacles, FailOnlyForKernelFaultsOfMachine) {
  const auto report = [](FaultOwner owner) {
    return with(h200(), [&](Report& r) {
      KernelFault fault{.device = "cuda:0", .what = "wgmma_fp16_128x256_sm90 fails", .owner = owner};
      fault.again.outcome = TrialOutcome::failed;
      r.measurements->kernel_faults = {fault};
    });
  };
  expect_unknown(report(FaultOwner::pbprobe), "PB504", HasSubstr("a defect of pbprobe, and not of the GPU"));
  expect_unknown(report(FaultOwner::undecided), "PB504", HasSubstr("whose fault it is, is unknown"));
  EXPECT_TRUE(finds(judge(report(FaultOwner::machine)), "PB504"));
}

TEST(Obstacles, SkipDisturbedGains) {
  const auto gains = [](std::optional<std::string> who) {
    return with(h200(), [&](Report& r) {
      AreaGain gain = area_gain("softmax", "cuda:0", 0.5, 0.6);
      gain.disturbed = std::move(who);
      r.baseline = beside({gain});
    });
  };
  for (const char* id : {"PB520", "PB521"})
    expect_unknown(gains("python (process 12) on cuda:0"), id, HasSubstr("python (process 12)"));
  EXPECT_TRUE(finds(judge(gains(std::nullopt)), "PB520"));
}

}  // namespace
}  // namespace pbprobe::test
