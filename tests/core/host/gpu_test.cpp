// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GPU hosts through libraries that are really loaded: stand-ins for libcuda and NVML that answer as these machines do.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/facts/json.hpp"
#include "core/host/sensors.hpp"
#include "paths.hpp"
#include "tests/core/host/fake_gpu.hpp"
#include "tests/core/host/recorded_host.hpp"

namespace pbprobe::host {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

template <class Function>
Function symbol(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  auto function = handle ? reinterpret_cast<Function>(dlsym(handle, name)) : nullptr;
  if (function == nullptr) std::abort();
  return function;
}

constexpr FakeField kNotSupported{0, 3};

FakeGpu h200() {
  FakeGpu gpu;
  gpu.name = "NVIDIA H200";
  gpu.major = 9;
  gpu.memory = 150109880320;
  gpu.sm_count = 132;
  gpu.l2_bytes = 62914560;
  gpu.ecc = 1;
  gpu.sm_khz = 1980000;
  gpu.memory_khz = 3201000;
  gpu.bus = "0000:1B:00.0";
  return gpu;
}

FakeNvmlGpu h200_nvml() {
  FakeNvmlGpu gpu;
  gpu.bus = "0000:1B:00.0";
  gpu.sm_mhz.value = 1980;
  gpu.memory_mhz.value = 3201;
  gpu.milliwatts.value = 700000;
  gpu.ecc.value = 1;
  return gpu;
}

// DGX Spark: NVML refuses memory, power, MIG and ECC (gpud 1170, dra-driver-nvidia-gpu 1073); the GPU uses the
// machine's memory.
FakeGpu gb10() {
  FakeGpu gpu;
  gpu.name = "NVIDIA GB10";
  gpu.major = 12;
  gpu.minor = 1;
  gpu.memory = 128501256192;
  gpu.sm_count = 48;
  gpu.l2_bytes = 25165824;
  gpu.integrated = 1;
  gpu.sm_khz = 2418000;
  gpu.bus = "000f:01:00.0";
  return gpu;
}

FakeNvmlGpu gb10_nvml() {
  FakeNvmlGpu gpu;
  gpu.bus = "000f:01:00.0";
  gpu.sm_mhz = gpu.memory_mhz = gpu.milliwatts = gpu.mig = gpu.ecc = kNotSupported;
  return gpu;
}

class GpuHost : public testing::Test {
 protected:
  Host detect() {
    symbol<void (*)(const FakeCuda*)>(FAKE_CUDA, "fake_cuda_set")(&cuda_);
    symbol<void (*)(const FakeNvml*)>(FAKE_NVML, "fake_nvml_set")(&nvml_);
    sources_.driver = [] { return load_driver_api(FAKE_CUDA); };
    if (with_nvml_) sources_.nvml = [] { return load_nvml_api(FAKE_NVML); };
    auto host = detect_host(sources_);
    EXPECT_TRUE(host.ok());
    EXPECT_EQ(symbol<int (*)()>(FAKE_CUDA, "fake_cuda_contexts")(), 0) << "detection created a context";
    EXPECT_EQ(symbol<int (*)()>(FAKE_NVML, "fake_nvml_sessions")(), 0) << "detection left NVML open";
    return std::move(host).value();
  }

  void add(const FakeGpu& gpu, const FakeNvmlGpu& nvml) {
    cuda_.gpus[cuda_.count++] = gpu;
    nvml_.gpus[nvml_.count++] = nvml;
  }

  FakeRoot root_;
  HostSources sources_ = make_recorded_sources(read_recorded("sapphire_rapids"), root_);
  FakeCuda cuda_;
  FakeNvml nvml_;
  bool with_nvml_ = true;
};

TEST_F(GpuHost, DetectsH200) {
  nvml_.version = "580.159.04";
  add(h200(), h200_nvml());
  const auto host = detect();
  EXPECT_EQ(host.driver.state, DriverState::ok);
  EXPECT_EQ(host.driver.version, "580.159.04");
  EXPECT_EQ(host.driver.cuda_version, "13.0");
  EXPECT_EQ(host.driver.sentence, "NVIDIA driver 580.159.04 (CUDA 13.0) and 1 GPU.");
  EXPECT_THAT(host.driver.library.value(), HasSubstr("fake_cuda"));
  ASSERT_EQ(host.gpus.size(), 1U);
  const auto& gpu = host.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.capability, "9.0");
  EXPECT_EQ(gpu.target, "sm90");
  EXPECT_EQ(gpu.uuid, "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0");
  EXPECT_EQ(gpu.sm_count, 132);
  EXPECT_EQ(gpu.memory_bytes, 150109880320);
  EXPECT_EQ(gpu.unified_memory, false);
  EXPECT_EQ(gpu.max_sm_clock_mhz, 1980);
  EXPECT_EQ(gpu.max_memory_clock_mhz, 3201);
  EXPECT_EQ(gpu.l2_cache_bytes, 62914560);
  EXPECT_EQ(gpu.power_limit_watts, 700);
  EXPECT_EQ(gpu.mig, false);
  EXPECT_EQ(gpu.ecc, true);
  EXPECT_EQ(gpu.problem, std::nullopt);
}

TEST_F(GpuHost, ReportsNullForUnsupportedGb10Queries) {
  sources_ = make_recorded_sources(read_recorded("gb10"), root_);
  nvml_.version = "580.95.05";
  add(gb10(), gb10_nvml());
  const auto host = detect();
  EXPECT_EQ(host.driver.state, DriverState::ok);
  ASSERT_EQ(host.gpus.size(), 1U);
  const auto& gpu = host.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA GB10");
  EXPECT_EQ(gpu.capability, "12.1");
  EXPECT_EQ(gpu.target, "sm121");
  EXPECT_EQ(gpu.unified_memory, true);
  EXPECT_EQ(gpu.memory_bytes, 128501256192);
  EXPECT_EQ(gpu.max_sm_clock_mhz, 2418);  // the driver knows what NVML does not say
  EXPECT_EQ(gpu.max_memory_clock_mhz, std::nullopt);
  EXPECT_EQ(gpu.power_limit_watts, std::nullopt);
  EXPECT_EQ(gpu.mig, std::nullopt);
  EXPECT_EQ(gpu.ecc, std::nullopt);
  EXPECT_EQ(gpu.problem, std::nullopt);
  const auto json = to_json(host);
  EXPECT_TRUE(json.at("gpus")[0].at("ecc").is_null());
  EXPECT_TRUE(json.at("gpus")[0].at("power_limit_watts").is_null());
}

// Jetson AGX Thor: NVML reports even less than on a GB10.
TEST_F(GpuHost, ReportsNullForUnsupportedThorQueries) {
  FakeGpu thor = gb10();
  thor.name = "NVIDIA Thor";
  thor.major = 11;
  thor.minor = 0;
  add(thor, gb10_nvml());
  const auto host = detect();
  ASSERT_EQ(host.gpus.size(), 1U);
  const auto& gpu = host.gpus[0];
  EXPECT_EQ(gpu.capability, "11.0");
  EXPECT_EQ(gpu.unified_memory, true);
  EXPECT_EQ(gpu.max_memory_clock_mhz, std::nullopt);
  EXPECT_EQ(gpu.power_limit_watts, std::nullopt);
  EXPECT_EQ(gpu.problem, std::nullopt);
}

TEST(Sensors, NamesCausesOfLowerClocks) {
  EXPECT_THAT(name_clock_limits(0x44), testing::ElementsAre("power cap", "thermal slowdown by hardware"));
  EXPECT_THAT(name_clock_limits(0x1), testing::IsEmpty());  // idle
}

// gb10_host.json, for which reports are judged without a GB10: what the record states, and the name and
// capability. Where the source has no figure (memory, clocks, SMs, driver) it has none either.
TEST_F(GpuHost, MatchesRecordedGb10WithoutFigures) {
  sources_ = make_recorded_sources(read_recorded("gb10"), root_);
  add(gb10(), gb10_nvml());
  Host host = detect();
  host.hostname.reset();
  host.memory_bytes.reset();
  host.glibc.reset();
  host.os = host.kernel = "not recorded";
  host.cpu.usable_cpus = host.cpu.logical_cpus;
  host.driver = {.state = DriverState::ok, .sentence = "Not recorded: a GB10 with its driver."};
  Gpu& gpu = host.gpus.at(0);
  gpu = {.name = gpu.name, .capability = gpu.capability, .target = gpu.target, .unified_memory = gpu.unified_memory};
  EXPECT_EQ(read_json("gb10_host.json"), to_json(host)) << to_json(host).dump(1);
}

TEST_F(GpuHost, DetectsGpusWithoutNvml) {
  with_nvml_ = false;
  root_.write(
      "/proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC version: 12.2\n");
  add(h200(), h200_nvml());
  const auto host = detect();
  EXPECT_EQ(host.driver.state, DriverState::ok);
  EXPECT_EQ(host.driver.version, "580.159.04");
  EXPECT_EQ(host.gpus[0].max_sm_clock_mhz, 1980);
  EXPECT_EQ(host.gpus[0].ecc, true);
  EXPECT_EQ(host.gpus[0].mig, std::nullopt);
}

TEST_F(GpuHost, ReportsNoTargetForUnknownCapability) {
  auto gpu = h200();
  gpu.major = 8;
  gpu.minor = 7;
  add(gpu, h200_nvml());
  EXPECT_EQ(detect().gpus[0].target, std::nullopt);
}

TEST_F(GpuHost, ReportsDriverTooOldForDefaultLine) {
  cuda_.version = 12080;
  nvml_.version = "570.124.06";
  add(h200(), h200_nvml());
  const auto host = detect();
  EXPECT_EQ(host.driver.state, DriverState::too_old);
  EXPECT_EQ(host.driver.cuda_version, "12.8");
  EXPECT_EQ(host.gpus.size(), 1U);  // still listed
  EXPECT_THAT(host.driver.sentence, AllOf(StartsWith("NVIDIA driver 570.124.06 (CUDA 12.8) is too old"),
                                          HasSubstr("install driver 580 or newer"), HasSubstr("CUDA 12.8 or older")));
}

TEST_F(GpuHost, AcceptsOldDriverWithForwardCompatibility) {
  cuda_.version = 13000;
  nvml_.version = "535.183.01";
  add(h200(), h200_nvml());
  EXPECT_EQ(detect().driver.state, DriverState::ok);
}

TEST_F(GpuHost, AcceptsPascalWithDriverOfItsLine) {
  cuda_.version = 12080;
  auto gpu = h200();
  gpu.name = "NVIDIA GeForce GTX 1080";
  gpu.major = 6;
  gpu.minor = 1;
  add(gpu, h200_nvml());
  EXPECT_EQ(detect().driver.state, DriverState::ok);
  EXPECT_EQ(detect().gpus[0].target, "sm61");
}

TEST_F(GpuHost, ReportsMissingDriver) {
  auto sources = sources_;
  sources.driver = [] { return load_driver_api("libcuda-that-is-not-there.so.1"); };
  const auto plain = detect_host(sources)->driver;
  EXPECT_EQ(plain.state, DriverState::no_driver);
  EXPECT_THAT(plain.sentence, AllOf(StartsWith("No NVIDIA driver, and no NVIDIA GPU on the PCI bus"),
                                    HasSubstr("driver 580 or newer")));
  EXPECT_EQ(plain.version, std::nullopt);
  EXPECT_EQ(plain.library, std::nullopt);

  root_.write("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  root_.write("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  EXPECT_THAT(detect_host(sources)->driver.sentence, HasSubstr("An NVIDIA GPU is on the PCI bus: install"));
  root_.write("/sys/bus/pci/devices/0000:01:00.0/class", "0x020000\n");  // a network card of theirs
  EXPECT_THAT(detect_host(sources)->driver.sentence, Not(HasSubstr("An NVIDIA GPU is on")));

  root_.write("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun\n");
  const auto container = detect_host(sources)->driver;
  EXPECT_EQ(container.state, DriverState::no_driver);
  EXPECT_EQ(container.version, "580.65.06");
  EXPECT_THAT(container.sentence, HasSubstr("--gpus all"));
}

TEST_F(GpuHost, RejectsLibraryThatIsNotADriver) {
  sources_.driver = [] { return load_driver_api(FAKE_NVML); };
  const auto driver = detect_host(sources_)->driver;
  EXPECT_EQ(driver.state, DriverState::no_driver);
  EXPECT_THAT(driver.sentence, HasSubstr("it lacks cuInit"));
}

TEST_F(GpuHost, RejectsToolkitStub) {
  cuda_.init = 34;
  const auto driver = detect().driver;
  EXPECT_EQ(driver.state, DriverState::no_driver);
  EXPECT_THAT(driver.sentence, HasSubstr("stub"));
}

TEST_F(GpuHost, ReportsMissingGpu) {
  for (const int init : {100, 0}) {  // CUDA_ERROR_NO_DEVICE, or an empty list
    cuda_.init = init;
    nvml_.version = "580.159.04";
    const auto host = detect();
    EXPECT_EQ(host.driver.state, DriverState::no_gpu);
    EXPECT_TRUE(host.gpus.empty());
    EXPECT_THAT(host.driver.sentence,
                AllOf(StartsWith("NVIDIA driver 580.159.04 (CUDA 13.0) is loaded and lists no"), HasSubstr("lspci")));
  }
}

TEST_F(GpuHost, NamesVariableThatHidesGpus) {
  cuda_.init = 100;
  nvml_.gpus[0] = h200_nvml();
  nvml_.count = 1;
  sources_.cuda_visible_devices = "";
  const auto driver = detect().driver;
  EXPECT_EQ(driver.state, DriverState::no_gpu);
  EXPECT_THAT(driver.sentence, HasSubstr("CUDA_VISIBLE_DEVICES=\"\" hides this machine's 1: unset it"));
  with_nvml_ = false;
  sources_.nvml = nullptr;
  sources_.cuda_visible_devices = "-1";
  EXPECT_THAT(detect().driver.sentence, HasSubstr("CUDA_VISIBLE_DEVICES=\"-1\" hides them: unset it"));
}

TEST_F(GpuHost, ReportsGpuThatOnlyNvmlLists) {
  cuda_.init = 100;
  nvml_.gpus[0] = h200_nvml();
  nvml_.count = 1;
  const auto driver = detect().driver;
  EXPECT_EQ(driver.state, DriverState::gpu_bad);
  EXPECT_THAT(driver.sentence, AllOf(HasSubstr("NVML lists 1"), HasSubstr("CUDA_ERROR_NO_DEVICE (100)")));
  nvml_.gpus[0].mig.value = 1;
  EXPECT_THAT(detect().driver.sentence, HasSubstr("nvidia-smi mig -cgi"));
  sources_.cuda_visible_devices = "0";  // hides nothing
  EXPECT_THAT(detect().driver.sentence, HasSubstr("nvidia-smi mig -cgi"));
  sources_.cuda_visible_devices = "";
  EXPECT_THAT(detect().driver.sentence, HasSubstr("hides this machine's 1"));
}

TEST_F(GpuHost, ReportsInitErrorWithFix) {
  root_.write("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  575.57.08  Sun\n");
  const std::pair<int, const char*> cases[] = {
      {803, "does not fit the kernel module 575.57.08: reboot"},
      {802, "nvidia-fabricmanager"},
      {999, "rmmod nvidia_uvm"},
      {304, "/dev/nvidia*"},
      {4711, "CUDA error 4711 (4711). Look for Xid"},
  };
  for (const auto& [init, remedy] : cases) {
    cuda_.init = init;
    const auto driver = detect().driver;
    EXPECT_EQ(driver.state, DriverState::gpu_bad) << init;
    EXPECT_THAT(driver.sentence, AllOf(HasSubstr(fmt::format("({})", init)), HasSubstr(remedy)));
  }
  cuda_.init = 804;
  EXPECT_EQ(detect().driver.state, DriverState::too_old);
}

TEST_F(GpuHost, ReportsLostGpu) {
  auto lost = h200_nvml();
  lost.handle.result = 15;
  add(h200(), lost);
  const auto host = detect();
  EXPECT_EQ(host.driver.state, DriverState::gpu_bad);
  EXPECT_THAT(host.driver.sentence, AllOf(HasSubstr("none can be used: GPU 0 NVIDIA H200"), HasSubstr("Xid 79")));
}

TEST_F(GpuHost, NamesTheOneUnusableGpu) {
  add(h200(), h200_nvml());
  auto second = h200();
  second.bus = "0000:2A:00.0";
  auto reset = h200_nvml();
  reset.bus = second.bus;
  reset.milliwatts.result = 16;
  add(second, reset);
  auto third = h200();
  third.bus = "0000:3A:00.0";
  third.compute_mode = 2;
  add(third, FakeNvmlGpu{});
  auto fourth = h200();
  fourth.name_result = 999;
  add(fourth, FakeNvmlGpu{});
  const auto host = detect();
  EXPECT_EQ(host.driver.state, DriverState::ok);
  ASSERT_EQ(host.gpus.size(), 4U);
  EXPECT_EQ(host.gpus[0].problem, std::nullopt);
  EXPECT_THAT(host.gpus[1].problem.value(), HasSubstr(fmt::format("nvidia-smi --gpu-reset -i {}`", second.bus)));
  EXPECT_THAT(host.gpus[2].problem.value(), HasSubstr("compute mode is Prohibited"));
  EXPECT_THAT(host.gpus[3].problem.value(), HasSubstr("CUDA_ERROR_UNKNOWN (999)"));
  EXPECT_THAT(host.driver.sentence, HasSubstr("4 GPUs; not usable: GPU 1 NVIDIA H200: the GPU needs a reset"));
}

TEST_F(GpuHost, ReportsDeviceThatCannotBeOpened) {
  auto gpu = h200();
  gpu.get_result = 101;
  add(gpu, h200_nvml());
  const auto host = detect();
  EXPECT_EQ(host.driver.state, DriverState::gpu_bad);
  EXPECT_THAT(host.gpus[0].problem.value(), HasSubstr("CUDA_ERROR_INVALID_DEVICE"));
}

// --- who else is there ---

TEST_F(GpuHost, ReadsGpuUsersFromNvml) {
  FakeNvmlGpu nvml = h200_nvml();
  nvml.total = 150ULL << 30;
  nvml.free = 1ULL << 30;
  nvml.utilization.value = 93;
  nvml.processes[nvml.process_count++] = {4711, "/usr/bin/python3", 149ULL << 30};
  nvml.processes[nvml.process_count++] = {4712, ""};
  add(h200(), nvml);
  add(gb10(), gb10_nvml());
  static_cast<void>(detect());
  const auto uses = read_gpu_use(sources_, "before");
  ASSERT_TRUE(uses);
  ASSERT_EQ(uses->size(), 2U);
  const GpuUse& use = uses->front();
  EXPECT_EQ(use.device, "cuda:0");
  EXPECT_EQ(use.when, "before");
  EXPECT_EQ(use.free_bytes, int64_t{1} << 30);
  EXPECT_EQ(use.total_bytes, int64_t{150} << 30);
  EXPECT_EQ(use.utilization_percent, 93);
  ASSERT_EQ(use.processes.size(), 2U);
  EXPECT_EQ(use.processes[0].pid, 4711);
  EXPECT_EQ(use.processes[0].name, "python3");
  EXPECT_EQ(use.processes[0].memory_bytes, int64_t{149} << 30);
  EXPECT_EQ(use.processes[1].name, std::nullopt) << "a process in another container";
  EXPECT_EQ(use.processes[1].memory_bytes, std::nullopt);
  EXPECT_EQ((*uses)[1].free_bytes, std::nullopt) << "NOT_SUPPORTED means unknown";
  EXPECT_EQ(symbol<int (*)()>(FAKE_NVML, "fake_nvml_sessions")(), 0);
  EXPECT_EQ(symbol<int (*)()>(FAKE_CUDA, "fake_cuda_contexts")(), 0);
}

TEST_F(GpuHost, ReadsManyGpuProcesses) {
  FakeNvmlGpu nvml = h200_nvml();
  for (unsigned i = 0; i < 100; ++i) nvml.processes[nvml.process_count++] = {i + 1, "python3", 1};
  add(h200(), nvml);
  static_cast<void>(detect());
  EXPECT_EQ(read_gpu_use(sources_, "after")->front().processes.size(), 100U);
}

TEST_F(GpuHost, ReturnsNulloptForUseWithoutNvml) {
  with_nvml_ = false;
  add(h200(), h200_nvml());
  static_cast<void>(detect());
  EXPECT_FALSE(read_gpu_use(sources_, "before").has_value());
}

}  // namespace
}  // namespace pbprobe::host
