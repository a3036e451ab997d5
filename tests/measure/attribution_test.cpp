// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/attribution.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/measure/kernels/verify.hpp"
#include "probes/process/kernel_log.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

// A planted kernel: each so many launches it traps, or computes other bits. 0: never.
struct PlantedKernel {
  int64_t trap_every = 0;
  int64_t wrong_every = 0;
  int64_t launches = 0;

  Result<int64_t> repeat(int64_t most) {
    const Launches all{.launch = [this]() -> Result<void> {
                         ++launches;
                         if (trap_every > 0 && launches % trap_every == 0)
                           return make_error(ErrorCode::device, "CUDA_ERROR_LAUNCH_FAILED");
                         return {};
                       },
                       .read = [this](std::vector<std::byte>& result) -> Result<void> {
                         const bool wrong = wrong_every > 0 && launches % wrong_every == 0;
                         result.assign(8, wrong ? std::byte{1} : std::byte{0});
                         return {};
                       }};
    return repeat_launches(all, most, 60, steady_seconds());
  }
};

TEST(RepeatLaunches, PassesSoundKernel) {
  const auto done = PlantedKernel().repeat(4000);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(*done, 4000);
}

TEST(RepeatLaunches, FindsRareTrap) {
  const auto done = PlantedKernel{.trap_every = 1000}.repeat(4000);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::device);
  EXPECT_EQ(done.error().message, "launch 1000 of 4000: CUDA_ERROR_LAUNCH_FAILED");
}

TEST(RepeatLaunches, FindsRareWrongResult) {
  const auto done = PlantedKernel{.wrong_every = 1000}.repeat(4000);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::malformed);
  EXPECT_EQ(done.error().message, "launch 1000 of 4000 gave another result than the first launch: byte 0 of C differs");
}

TEST(RepeatLaunches, EndsWithItsTime) {
  double now = 0;
  const Launches slow{.launch = [&]() -> Result<void> {
                        now += 1;
                        return {};
                      },
                      .read = [](std::vector<std::byte>&) -> Result<void> { return {}; }};
  EXPECT_EQ(repeat_launches(slow, 4000, 10, [&] { return now; }).value(), 10);
}

// A machine of planted kernels, by name. Each trial is a new process, whose launches go on counting.
class Attribution : public testing::Test {
 protected:
  static FaultTrial trial(const std::string& kernel, const std::string& instruction) {
    return {.kernel = kernel,
            .target = "sm90",
            .instruction = instruction,
            .dtype = "fp16",
            .out = "fp16",
            .layout = "nt",
            .blocks = "none",
            .m = 64,
            .n = 64,
            .k = 64,
            .launches = 4000};
  }

  Result<Measurements> run(const MeasureRequest& request) {
    ++processes_;
    const BenchRequest& bench = request.benches.at(0);
    EXPECT_EQ(request.libtorch_dir, std::nullopt);
    EXPECT_EQ(request.host.gpus.size(), 1U);
    const auto done = planted_[bench.kernel.value()].repeat(bench.launches);
    Measurements measurements;
    if (done.ok()) {
      measurements.rows.push_back({.kernel = *bench.kernel});
    } else {
      measurements.kernel_faults = {{.device = "cuda:0", .what = done.error().message}};
    }
    return measurements;
  }

  // Attributes a fault of "suspect", whose family is one of four.
  KernelFault attribute() {
    std::vector<KernelFault> faults{{.device = "cuda:0",
                                     .what = "suspect fails",
                                     .again = trial("suspect", "wgmma"),
                                     .others = {trial("pingpong", "wgmma"), trial("small", "wgmma"),
                                                trial("mma", "mma.sync"), trial("simt", "fma.rn.f32")}}};
    MeasureRequest request{.libtorch_dir = "/torch/lib"};
    request.host.gpus = {{.index = 0}, {.index = 1}};
    attribute_faults(faults, request,
                     {.run_process = [this](const MeasureRequest& one) { return run(one); },
                      .read_log = [this] { return log_; },
                      .since_us = 100});
    return faults.front();
  }

  std::map<std::string, PlantedKernel> planted_;
  std::optional<std::vector<std::string>> log_;
  int processes_ = 0;
};

TEST_F(Attribution, BlamesPbprobeForKernelThatAlwaysTraps) {
  planted_["suspect"].trap_every = 1;
  const KernelFault fault = attribute();
  EXPECT_EQ(fault.owner, FaultOwner::pbprobe);
  EXPECT_EQ(fault.again.outcome, TrialOutcome::failed);
  EXPECT_EQ(fault.others[0].outcome, TrialOutcome::passed);
  EXPECT_EQ(processes_, 2) << "another family passed: the others need no trial";
  EXPECT_EQ(describe_trials(fault),
            "the kernel fails again in a separate process; pingpong (wgmma) passed; the kernel log is not readable");
}

TEST_F(Attribution, BlamesPbprobeForRareTrap) {
  planted_["suspect"].trap_every = 1000;
  const KernelFault fault = attribute();
  EXPECT_EQ(fault.owner, FaultOwner::pbprobe);
  EXPECT_EQ(fault.again.detail, "launch 1000 of 4000: CUDA_ERROR_LAUNCH_FAILED");
}

TEST_F(Attribution, BlamesPbprobeForRareWrongResult) {
  planted_["suspect"].wrong_every = 1000;
  EXPECT_EQ(attribute().owner, FaultOwner::pbprobe);
}

TEST_F(Attribution, BlamesPbprobeForFaultThatIsNotSeenAgain) {
  const KernelFault fault = attribute();
  EXPECT_EQ(fault.owner, FaultOwner::pbprobe);
  EXPECT_THAT(describe_trials(fault),
              HasSubstr("4000 launches of the kernel in a separate process did not fail again"));
}

TEST_F(Attribution, BlamesMachineOnlyIfEveryFamilyFails) {
  for (const char* kernel : {"suspect", "pingpong", "small", "mma", "simt"}) planted_[kernel].wrong_every = 7;
  EXPECT_EQ(attribute().owner, FaultOwner::machine);
  planted_["simt"].wrong_every = 0;
  EXPECT_EQ(attribute().owner, FaultOwner::undecided) << "pbprobe's wgmma kernels, or the tensor cores";
  planted_["small"].wrong_every = 0;
  EXPECT_EQ(attribute().owner, FaultOwner::pbprobe);
}

TEST_F(Attribution, DecidesNothingIfTrialsCannotRun) {
  KernelFault fault{.again = trial("suspect", "wgmma"), .others = {trial("pingpong", "wgmma")}};
  EXPECT_EQ(decide_owner(fault), FaultOwner::undecided);
  fault.again.outcome = TrialOutcome::failed;
  fault.others[0].outcome = TrialOutcome::could_not_run;
  EXPECT_EQ(decide_owner(fault), FaultOwner::undecided);
  fault.others.clear();
  EXPECT_EQ(decide_owner(fault), FaultOwner::undecided);
}

TEST_F(Attribution, DecidesProbeByOtherKernels) {
  KernelFault fault{.again = {.target = "sm90"}, .others = {trial("pingpong", "wgmma"), trial("simt", "fma.rn.f32")}};
  fault.others[0].outcome = fault.others[1].outcome = TrialOutcome::failed;
  EXPECT_EQ(decide_owner(fault), FaultOwner::machine);
  fault.others[1].outcome = TrialOutcome::passed;
  EXPECT_EQ(decide_owner(fault), FaultOwner::undecided) << "the tensor cores may be at fault";
  fault.others[0].outcome = TrialOutcome::passed;
  EXPECT_EQ(decide_owner(fault), FaultOwner::pbprobe);
}

TEST_F(Attribution, ReadsXidOfThisRun) {
  planted_["suspect"].trap_every = 1;
  log_ = {"4,1,99,-;NVRM: Xid (PCI:0000:1b:00): 31, pid=1, name=older", "6,2,200,-;usb 1-1: new device",
          "4,3,300,-;NVRM: Xid (PCI:0000:1b:00): 13, pid=2, Graphics SM Exception\n SUBSYSTEM=pci\n"};
  const KernelFault fault = attribute();
  EXPECT_EQ(fault.owner, FaultOwner::pbprobe);
  EXPECT_THAT(fault.xid.value_or(""), testing::StartsWith("Xid (PCI:0000:1b:00): 13, pid=2, Graphics SM Exception"));
  log_->resize(2);
  EXPECT_EQ(attribute().xid, std::nullopt) << "a message from before the measuring";
}

TEST_F(Attribution, ClearsPbprobeByHardwareXid) {
  planted_["suspect"].trap_every = 1;
  log_ = {"4,3,300,-;NVRM: Xid (PCI:0000:1b:00): 48, pid=2, DBE (double bit error) ECC Error"};
  EXPECT_EQ(attribute().owner, FaultOwner::undecided);
  EXPECT_TRUE(is_hardware_xid("Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."));
  EXPECT_FALSE(is_hardware_xid("Xid (PCI:0000:1b:00): 13, pid=2"));
  EXPECT_FALSE(is_hardware_xid("Xid"));
}

}  // namespace
}  // namespace pbprobe
