// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/judge.hpp"
#include "core/facts/json.hpp"
#include "probes/judge/cpu/marks.hpp"

#include <gmock/gmock.h>

#include "probes/judge/checks.hpp"
#include "probes/judge/cpu/marks.hpp"
#include "tests/judge/cases.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const ClaimRow& find_row(const Verdict& verdict, const std::string& begin) {
  for (const auto& row : verdict.claims) {
    if (row.claim.starts_with(begin)) return row;
  }
  ADD_FAILURE() << "no row begins with " << begin;
  static const ClaimRow none;
  return none;
}

TEST(Judge, PassesNativeCodeThatRan) {
  const Verdict verdict = judge(gpu_report("NVIDIA H200", "9.0"));
  EXPECT_EQ(verdict.outcome, Outcome::pass) << verdict.reason;
  EXPECT_TRUE(verdict.findings.empty());
  EXPECT_EQ(verdict.fix, std::nullopt);
  ASSERT_EQ(verdict.gpus.size(), 1U);
  EXPECT_EQ(verdict.gpus[0].code, GpuCode::native);
  EXPECT_EQ(verdict.gpus[0].best, "sm_90");
  EXPECT_THAT(verdict.cpu_targets, testing::Contains("avx2"));
  const ClaimRow& row = find_row(verdict, "GPU 0 NVIDIA H200 (9.0)");
  for (const auto& level : {row.shipped, row.loaded, row.executed}) EXPECT_EQ(level, Outcome::pass);
  EXPECT_EQ(row.measured, std::nullopt) << "nothing was compared";
}

TEST(Judge, ReturnsMeasuredIfBaselineWasTimed) {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.baseline = beside({area_gain("softmax", "cuda:0", 1.1, 1.2), area_gain("softmax", "cpu", 0.7, 0.8)});
  const Verdict verdict = judge(report);
  EXPECT_EQ(find_row(verdict, "GPU 0").measured, Outcome::pass);
  EXPECT_EQ(find_row(verdict, "CPU").measured, Outcome::fail);
}

TEST(Judge, ReturnsNoUnknownForUntriedSteps) {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.host->gpus.push_back(report.host->gpus[0]);
  report.host->gpus[1].index = 1;
  const Verdict verdict = judge(report);
  EXPECT_EQ(find_row(verdict, "GPU 1").shipped, Outcome::pass);
  EXPECT_EQ(find_row(verdict, "GPU 1").executed, std::nullopt);
  report.measurements->libtorch->executed_on_gpu.reset();
  report.measurements->libtorch->figures.pop_back();
  EXPECT_EQ(find_row(judge(report), "GPU 0").executed, Outcome::unknown) << "it was tried, and gave no answer";
}

// The remedy must not be another run: a GPU that computes wrong is defective.
TEST(Judge, RejectsGpuThatComputesWrong) {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.measurements->libtorch->executed_on_gpu = false;
  report.measurements->libtorch->figures.pop_back();
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.findings.front().id, "PB503");
  EXPECT_THAT(verdict.findings.front().remedy, HasSubstr("do not compute on this GPU"));
}

// Code for 12.0 is right for a 12.1 chip. torch itself warns owners of a GB10 by mistake.
TEST(Judge, PassesSameMajorCodeWithoutWarning) {
  const Verdict verdict = judge(gpu_report("NVIDIA GB10", "12.1"));
  EXPECT_EQ(verdict.outcome, Outcome::pass) << verdict.reason;
  EXPECT_EQ(verdict.gpus[0].code, GpuCode::same_major);
  EXPECT_EQ(verdict.gpus[0].best, "sm_120");
  EXPECT_THAT(verdict.gpus[0].sentence, HasSubstr("1 of 444 cubins are sm_121a"));
  for (const auto& finding : verdict.findings) EXPECT_EQ(finding.severity, Severity::note) << finding.what;
}

TEST(Judge, ReturnsUnknownForCudaTorchWithoutGpu) {
  const Report report = cpu_report();
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_THAT(verdict.reason, HasSubstr("no GPU here: " + report.host->driver.sentence));
  EXPECT_THAT(*verdict.fix, HasSubstr("on the machine with the GPU"));
  EXPECT_TRUE(verdict.gpus.empty());
  EXPECT_EQ(find_row(verdict, "GPU").shipped, Outcome::unknown);
  EXPECT_EQ(find_row(verdict, "CPU").executed, Outcome::pass);
}

TEST(Judge, PassesCpuTorchWithoutGpu) {
  Report report = cpu_report();
  make_cpu_build(report);
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::pass) << verdict.reason;
  EXPECT_THAT(verdict.reason, HasSubstr("torch 2.11.0+cpu computes correctly on this CPU"));
}

TEST(Judge, DescribesEachDriverState) {
  for (const DriverState state : {DriverState::no_driver, DriverState::no_gpu}) {
    Report report = cpu_report();
    report.host->driver = {.state = state, .sentence = "sentence of this state"};
    const Verdict verdict = judge(report);
    EXPECT_EQ(verdict.outcome, Outcome::unknown);
    EXPECT_THAT(verdict.reason, HasSubstr("sentence of this state"));
  }
  Report report = cpu_report();
  report.host->driver = {.state = DriverState::too_old, .sentence = "too old", .cuda_version = "12.4"};
  Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::fail);
  EXPECT_THAT(verdict.reason, HasSubstr("the driver supports 12.4"));
  EXPECT_THAT(*verdict.fix, HasSubstr("built with CUDA 12.x"));
  report.host->driver = {.state = DriverState::gpu_bad, .sentence = "GPU 0 needs a reset"};
  verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::fail);
  EXPECT_EQ(verdict.reason, "GPU 0 needs a reset");
}

TEST(Judge, RefusesWheelForAnotherProcessor) {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.inventory->platform = "aarch64-linux";
  report.measurements.reset();
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::fail);
  EXPECT_EQ(verdict.gpus[0].code, GpuCode::none);
  EXPECT_EQ(verdict.fix, "install the torch for x86_64-linux");
  EXPECT_EQ(find_row(verdict, "CPU").shipped, Outcome::fail);
}

// The package fails the verdict, and the rows of torch still show torch's own results.
TEST(Judge, FailsVerdictForFaultyOtherPackage) {
  const auto with_fault_of = [](const char* name) {
    Report report = gpu_report("NVIDIA H200", "9.0");
    Distribution torch{.name = "torch", .version = "2.11.0+cu130", .torch_abi = TorchAbi::own};
    Distribution ext{.name = "ext", .version = "1.0", .torch_abi = TorchAbi::cxx};
    Distribution& faulty = std::string_view(name) == "torch" ? torch : ext;
    faulty.findings = {{.id = "PB161", .severity = Severity::fail, .what = "_C.so needs libx.so.1", .remedy = "fix"}};
    report.environment.emplace().distributions = {torch, ext};
    return judge(report);
  };
  const Verdict of_package = with_fault_of("ext");
  EXPECT_EQ(of_package.outcome, Outcome::fail);
  EXPECT_EQ(of_package.reason, "_C.so needs libx.so.1");
  for (const char* row : {"CPU", "GPU 0"}) EXPECT_EQ(find_row(of_package, row).shipped, Outcome::pass) << row;
  EXPECT_EQ(find_row(with_fault_of("torch"), "CPU").shipped, Outcome::fail);
}

TEST(Judge, AssignsChangedLibraryByRecord) {
  const auto changed = [](const char* name) {
    Report report = gpu_report("NVIDIA H200", "9.0");
    Distribution row{.name = name, .version = "1.0"};
    row.recorded.emplace().reinstall = true;
    row.recorded->changed_libraries = {{"lib/libx.so", "another SHA-256", {}}};
    report.environment.emplace().distributions = {row};
    return judge(report);
  };
  for (const char* name : {"nvidia-cublas", "torch"}) EXPECT_EQ(changed(name).findings.front().id, "PB168") << name;
  EXPECT_EQ(find_row(changed("nvidia-cublas"), "CPU").shipped, Outcome::pass);
  EXPECT_EQ(find_row(changed("torch"), "CPU").shipped, Outcome::fail);
}

TEST(Judge, ReturnsUnknownIfNothingRan) {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.measurements.reset();
  EXPECT_EQ(judge(report).outcome, Outcome::unknown);
  report = gpu_report("NVIDIA H200", "9.0");
  report.measurements->libtorch->executed_on_gpu.reset();
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_THAT(verdict.reason, HasSubstr("not run on a GPU"));
}

TEST(Judge, ReturnsReasonOfStepForMissingSection) {
  Report report = cpu_report();
  report.inventory.reset();
  report.measurements.reset();
  report.problems = {"no torch was found in /opt/venv"};
  Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_EQ(verdict.reason, "no torch was found in /opt/venv");
  verdict = judge(Report{});
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_FALSE(verdict.reason.empty());
}

TEST(Judge, PutsFailureBeforeUnknown) {
  Report report = cpu_report();
  report.measurements->libtorch = LibtorchRun{.path = "/opt", .problem = "loading died of SIGSEGV"};
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::fail);
  EXPECT_EQ(verdict.reason, "loading died of SIGSEGV");
  EXPECT_EQ(verdict.findings.front().severity, Severity::fail);
}

TEST(Judge, ReportsEqualGpusOnce) {
  Report report = gpu_report("NVIDIA B300", "10.3");
  for (int64_t i = 1; i < 4; ++i) {
    report.host->gpus.push_back(report.host->gpus[0]);
    report.host->gpus.back().index = i;
  }
  report.host->gpus[3].name = "NVIDIA H200";
  report.host->gpus[3].capability = "9.0";
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.gpus.size(), 4U);
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_THAT(verdict.findings[0].what, HasSubstr("GPU 0-2 NVIDIA B300 (10.3)"));
  EXPECT_THAT(verdict.reason,
              HasSubstr("not built for GPU 0, which runs sm_100 code (compatible); not tested on GPU 1-3"));
}

TEST(Judge, CreditsEachGpuWithItsResults) {
  Report report = gpu_report("NVIDIA B300", "10.3");
  for (int64_t i = 1; i < 4; ++i) {
    report.host->gpus.push_back(report.host->gpus[0]);
    report.host->gpus.back().index = i;
  }
  report.host->gpus[3].name = "NVIDIA H200";
  report.host->gpus[3].capability = "9.0";
  auto& areas = report.measurements->libtorch->areas;
  for (const char* device : {"cuda:1", "cuda:2", "cuda:3"}) areas.push_back({"matrix products", device, {}, {}, {}});
  EXPECT_THAT(judge(report).reason,
              HasSubstr("on this CPU and GPU 0-3; it is not built for GPU 0-2, which runs sm_100 code "
                        "(compatible); GPU 3 runs sm_90, native"));
  areas[1].problem = "out of memory";
  areas[1].obstacle = Obstacle::out_of_memory;
  const Verdict open = judge(report);
  EXPECT_EQ(open.claims[2].executed, Outcome::unknown) << "it could not run";
  EXPECT_EQ(open.claims[1].executed, Outcome::pass);
  areas[1] = {"matrix products", "cuda:2", "C[0,0] is 3, and must be 4", {}, {}};
  const Verdict wrong = judge(report);
  EXPECT_EQ(wrong.outcome, Outcome::fail);
  EXPECT_EQ(wrong.claims[2].executed, Outcome::fail);
}

// libtorch runs on the first usable GPU. The result does not count for other GPUs.
TEST(Judge, CreditsRunToItsGpu) {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.host->gpus.push_back(report.host->gpus[0]);
  report.host->gpus[1].index = 1;
  report.host->gpus[0].problem = "the GPU has fallen off the bus";
  for (auto& figure : report.measurements->libtorch->figures) {
    if (figure.device == "cuda:0") figure.device = "cuda:1";
  }
  const Verdict verdict = judge(report);
  EXPECT_THAT(verdict.reason, Not(HasSubstr("GPU 0 runs")));
  EXPECT_EQ(find_row(verdict, "GPU 0").loaded, Outcome::fail);
  EXPECT_EQ(find_row(verdict, "GPU 0").executed, std::nullopt);
  EXPECT_EQ(find_row(verdict, "GPU 1").loaded, Outcome::pass);
  EXPECT_EQ(find_row(verdict, "GPU 1").executed, Outcome::pass);
}

TEST(Judge, NamesVersionAndIndexForReinstall) {
  Report report = audit_report();
  report.inventory->packages = {{.folder = "torch-2.11.0.dist-info", .name = "torch", .version = "2.11.0"}};
  (*report.inventory->component_versions)["cuDNN"] = "9.11.0.98";
  const auto remedy = [&](std::string_view id) {
    const Verdict verdict = judge(report);
    const auto found = std::find_if(verdict.findings.begin(), verdict.findings.end(),
                                    [&](const Finding& finding) { return finding.id == id; });
    return found == verdict.findings.end() ? "" : found->remedy;
  };
  EXPECT_EQ(remedy("PB119"), "pip install --force-reinstall torch==2.11.0 --index-url https://pypi.org/simple");
  report.inventory->packages.front().version = "2.11.0+cu130";
  (*report.inventory->component_versions)["cuFFT"] = "11.4.1.4";
  EXPECT_EQ(remedy("PB111"),
            "pip install --force-reinstall torch==2.11.0+cu130 --index-url https://download.pytorch.org/whl/cu130");
  libtorch_cuda(report).links->dependencies = {{"libnccl.so.2"}};
  EXPECT_EQ(remedy("PB115"),
            "pip install nvidia-nccl-cu13 torch==2.11.0 --extra-index-url https://download.pytorch.org/whl/cu130");
  report.inventory->packages.front().version = "2.11.0";
  EXPECT_EQ(remedy("PB115"), "pip install nvidia-nccl-cu13 torch==2.11.0 --index-url https://pypi.org/simple");
  libtorch_cuda(report).links->dependencies = {{"libmade-up.so.2"}};
  EXPECT_THAT(remedy("PB115"), HasSubstr("install the package that contains the library"));
  report.inventory->packages.clear();
  EXPECT_THAT(remedy("PB119"), HasSubstr("install torch again from the same source"));
}

TEST(Judge, KeepsInstalledTorchIfPackageIsInstalled) {
  Report report;
  Inventory& inventory = report.inventory.emplace();
  inventory.layout = "distribution";
  inventory.packages = {{.folder = "ext-1.0.dist-info", .name = "ext", .version = "1.0", .torch = ">=2.9,<2.11"}};
  inventory.torch_beside = "2.11.0+cu130";
  inventory.loading = {{.path = "ext/_C.so"}};
  const auto remedy = [&] { return judge(report).findings.at(0).remedy; };
  const std::string index = "--extra-index-url https://download.pytorch.org/whl/cu130";
  EXPECT_EQ(remedy(), "install the ext that is made for this torch: pip install --upgrade ext torch==2.11.0 " + index +
                          "; or the torch that this one requires: pip install ext==1.0 'torch>=2.9,<2.11' " + index);
  inventory.loading->front().missing_libraries = {{"libcudnn.so.9", "/env/ext/_C.so"}};
  EXPECT_EQ(remedy(), "pip install nvidia-cudnn-cu13 torch==2.11.0 " + index +
                          ", or the build of it for the installed libraries");
  inventory.torch_beside = "2.11.0";
  inventory.loading->front().missing_libraries = {{"libcudart.so.12", "/env/ext/_C.so"}};
  EXPECT_EQ(remedy(),
            "pip install nvidia-cuda-runtime-cu12 torch==2.11.0 --index-url https://pypi.org/simple, or the "
            "build of it for the installed libraries");
}

// CUDA 13 dropped the V100, and a newer GPU needs a newer CUDA.
TEST(Judge, AsksForOlderOrNewerPtxas) {
  const auto remedy = [](const char* capability, std::vector<std::string> knows) -> std::string {
    Report report = gpu_report("GPU", capability);
    report.inventory->files.push_back({.path = "triton/backends/nvidia/bin/ptxas",
                                       .component = "PTX compiler",
                                       .compiler = Compiler{.version = "13.0.88", .knows = std::move(knows)}});
    for (const auto& finding : judge(report).findings) {
      if (finding.id == "PB114" && finding.where == "triton/backends/nvidia/bin/ptxas") return finding.remedy;
    }
    return "";
  };
  EXPECT_THAT(remedy("7.0", {"sm_75", "sm_80", "sm_90a"}), HasSubstr("give Triton an older one, as of CUDA 12"));
  EXPECT_THAT(remedy("12.1", {"sm_75", "sm_80", "sm_90a"}), HasSubstr("give Triton a newer one"));
  EXPECT_EQ(remedy("8.0", {"sm_75", "sm_80", "sm_90a"}), "");
}

std::string find_remedy(const Report& report, std::string_view id) {
  for (const auto& finding : judge(report).findings) {
    if (finding.id == id) return finding.remedy;
  }
  return "";
}

// NVIDIA's last driver for a K80 is 470, and a new driver adds no code for a GTX 1080 to torch.
TEST(Judge, AsksForNoDriverIfGpuHasNoCode) {
  const auto remedy = [](const char* capability, const char* cuda) {
    Report report = gpu_report("GPU", capability);
    report.host->driver.cuda_version = cuda;
    return find_remedy(report, "PB306");
  };
  EXPECT_THAT(remedy("3.7", "11.4"), HasSubstr("install a torch built for 3.7 with CUDA 11.x"));
  EXPECT_THAT(remedy("6.1", "12.8"), HasSubstr("install a torch built for 6.1 with CUDA 12.x"));
  EXPECT_THAT(remedy("9.0", "12.8"), HasSubstr("update the NVIDIA driver, or install a torch built with CUDA 12.x"));
}

// The record replaces the machine: another artifact would not be started either.
TEST(Judge, SendsRecordToItsMachine) {
  Report report = cpu_report();
  report.measurements.reset();
  const auto remedy = [&]() -> std::string {
    for (const auto& objection : judge(report).objections) {
      if (objection.id == "PB501") return objection.remedy.value_or("");
    }
    return "";
  };
  EXPECT_THAT(remedy(), HasSubstr("on an installed torch"));
  report.problems.push_back(std::string(kRecordedMachine) + ": nothing was loaded, run or measured");
  EXPECT_EQ(remedy(), "run `pbprobe report` on that machine");
}

// The record was written before pbprobe detected CMPXCHG16B, which each level needs.
TEST(Judge, LoadsLevelsOfHwcapsOnRecordedHost) {
  auto features = cpu_report().host->cpu.features;
  ASSERT_EQ(std::find(features.begin(), features.end(), "cx16"), features.end());
  const auto loads = [&](const char* level) {
    return is_loaded_with({.path = fmt::format("torch/lib/glibc-hwcaps/{}/libtorch_cpu.so", level)}, features);
  };
  EXPECT_TRUE(loads("x86-64-v2"));
  EXPECT_TRUE(loads("x86-64-v4"));
  std::erase_if(features, [](const auto& name) { return name.starts_with("avx512"); });
  EXPECT_TRUE(loads("x86-64-v3"));
  EXPECT_FALSE(loads("x86-64-v4"));
}

// A build that pbprobe cannot run may be sound.
TEST(Judge, ReturnsUnknownForOldTorch) {
  Report report = cpu_report();
  make_cpu_build(report);
  report.inventory->torch_version = "1.13.1";
  report.measurements->libtorch = LibtorchRun{.path = "/usr/lib", .problem = "has no aoti_torch_abi_version"};
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_THAT(verdict.reason, HasSubstr("torch 1.13.1 is older than 2.8"));
  EXPECT_EQ(find_row(verdict, "CPU").loaded, std::nullopt);  // "not tested"
  EXPECT_EQ(find_row(verdict, "CPU").executed, std::nullopt);
}

// The machine has a GPU: torch only needs the path of libcuda.
TEST(Judge, ReturnsUnknownIfLibcudaIsUnreachable) {
  Report report = gpu_report("NVIDIA H200", "9.0");
  ASSERT_TRUE(report.measurements && report.measurements->libtorch);
  report.measurements->libtorch->loader = ForeignLoader{.path = "/nix/store/x/ld.so", .glibc = "2.40"};
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_THAT(verdict.reason,
              HasSubstr("libcuda is not reachable for this torch: its loader /nix/store/x/ld.so (glibc 2.40)"));
  EXPECT_THAT(verdict.fix.value_or(""), HasSubstr("flox activate"));
  report.inventory->cuda_version.reset();
  EXPECT_NE(judge(report).reason, verdict.reason) << "a build for CPUs needs no libcuda";
}

// cuBLAS holds code for its own SMs, and is no build of torch.
TEST(Judge, CallsNoOtherLibraryACpuBuild) {
  const auto sentence = [](const char* component) {
    Report report = audit_report();
    File file{.path = "libx.so", .component = component, .machine = "x86_64"};
    file.device_code.emplace().cubin = {{"sm_90", 3}};
    if (component == std::string_view("libtorch")) file.device_code.reset();
    report.inventory = Inventory{.layout = "file", .platform = "x86_64-linux", .files = {std::move(file)}};
    const auto holdings = judge(report).holdings;
    return holdings ? holdings->sentence : "";
  };
  EXPECT_THAT(sentence("cuBLAS"), HasSubstr("holds machine code for"));
  EXPECT_THAT(sentence("libtorch"), HasSubstr("is a CPU build"));
}

// The row of an environment and the verdict on a wheel state one minimum CPU.
TEST(Judge, StatesMinimumCpuOfPackageAsRow) {
  const auto sentence = [](HostCode code) {
    Report report = audit_report();
    File file{.path = "ext/_C.so", .machine = "x86_64"};
    file.host_code = std::move(code);
    report.inventory = Inventory{.layout = "wheel", .platform = "x86_64-linux", .files = {std::move(file)}};
    report.inventory->packages = {{.folder = "ext-1.0.dist-info", .name = "ext", .version = "1.0"}};
    const auto holdings = judge(report).holdings;
    return holdings ? holdings->sentence : "";
  };
  using Counts = std::map<std::string, int64_t>;
  const Counts old{{"sse4_1", 1}, {"ssse3", 1}};
  EXPECT_THAT(sentence({.unguarded = old, .at_load = {{"sse4_1", 1}}}),
              HasSubstr("from x86_64+sse4_1 or at most x86_64+sse4_1+ssse3 on"));
  EXPECT_THAT(sentence({.unguarded = old, .at_load = old}), HasSubstr("from x86_64+sse4_1+ssse3 on"));
  const Counts avx2{{"avx", 1}, {"avx2", 9}};
  EXPECT_THAT(sentence({.unguarded = avx2, .at_load = {{"avx", 1}}}), HasSubstr("from at least avx on"));
  EXPECT_THAT(sentence({.unguarded = avx2}), Not(HasSubstr(" on")));
}

TEST(Judge, DoesNotPassUnjudgedClaim) {
  const auto outcome_of = [](const char* target) {
    return judge(audit_report(Claim{.text = target, .targets = {target}})).outcome;
  };
  EXPECT_TRUE(asks(Need::gpu_claim) || outcome_of("sm90") == Outcome::unknown);
  EXPECT_TRUE(asks(Need::cpu_claim) || outcome_of("avx2") == Outcome::unknown);
}

// An audit judges without a machine.
TEST(Judge, JudgesFilesByTheirClaim) {
  const Claim claim{.text = "cuda=13.0,torch=2.11.0,python=3.11,blas=mkl",
                    .cuda = "13.0",
                    .torch = "2.11.0",
                    .python = "3.11",
                    .blas = "mkl"};
  Report report = audit_report(claim);
  const Verdict sound = judge(report);
  EXPECT_EQ(sound.outcome, Outcome::pass) << sound.reason;
  EXPECT_EQ(sound.reason, "torch 2.11.0+cu130 holds what \"cuda=13.0,torch=2.11.0,python=3.11,blas=mkl\" claims");
  for (const char* name : {"torch", "CUDA", "Python", "BLAS"}) EXPECT_EQ(find_row(sound, name).shipped, Outcome::pass);
  EXPECT_EQ(find_row(sound, "CUDA").claimed, "13.0");

  report.inventory->cuda_version = "12.8";
  const Verdict wrong = judge(report);
  EXPECT_EQ(wrong.outcome, Outcome::fail);
  EXPECT_EQ(find_row(wrong, "CUDA").shipped, Outcome::fail);
  EXPECT_EQ(find_row(wrong, "torch").shipped, Outcome::pass);

  report = audit_report(claim);
  report.inventory->python_abi.reset();
  const Verdict open = judge(report);
  EXPECT_EQ(open.outcome, Outcome::unknown);
  EXPECT_THAT(open.reason, HasSubstr("no extension module"));
  EXPECT_EQ(find_row(open, "Python").shipped, Outcome::unknown);
}

TEST(Judge, JudgesClaimBesideMachine) {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.claim = Claim{.text = "cuda=12.8", .cuda = "12.8"};
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.outcome, Outcome::fail);
  EXPECT_EQ(verdict.findings.front().id, "PB106");
  EXPECT_EQ(find_row(verdict, "GPU 0").executed, Outcome::pass);
  report.measurements.reset();  // without a run, the result on this host is unknown
  report.claim->cuda = "13.0";
  EXPECT_EQ(judge(report).outcome, Outcome::unknown);
}

TEST(Judge, IgnoresRecordedVerdict) {
  Report report = gpu_report("NVIDIA H200", "9.0");
  const Json fresh = to_json(judge(report));
  report.verdict = Verdict{.outcome = Outcome::fail, .reason = "forged"};
  EXPECT_EQ(to_json(judge(report)), fresh);
  const auto again = from_json<Report>(*parse_json(to_json(report).dump()));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(to_json(judge(*again)), fresh);
}

}  // namespace
}  // namespace pbprobe::test
