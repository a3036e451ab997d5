// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// On the hosts recorded for detection; a GPU is put into them where the question is about one.
#include "recipes/src/recommend.hpp"

#include <iostream>

#include <gmock/gmock.h>

#include "core/host/host.hpp"
#include "recipes/src/variant_facts.hpp"
#include "tests/core/host/recorded_host.hpp"

namespace pbprobe {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Host recorded(const std::string& name) {
  const host::FakeRoot root;
  auto found = detect_host(host::make_recorded_sources(host::read_recorded(name), root));
  EXPECT_TRUE(found) << found.error().message;
  found->driver = {};
  return *found;
}

Host add_gpu(Host host, const std::string& name, const std::string& capability, const std::string& driver,
             const std::string& cuda) {
  Gpu gpu;
  gpu.index = static_cast<int64_t>(host.gpus.size());
  gpu.name = name;
  gpu.capability = capability;
  host.gpus.push_back(gpu);
  host.driver.state = DriverState::ok;
  host.driver.version = driver;
  host.driver.cuda_version = cuda;
  return host;
}

Recommendation advice(const Host& host, const std::string& workload = "") {
  auto answer = recommend(host, workload);
  EXPECT_TRUE(answer) << answer.error().message;
  return *answer;
}

std::string variant(const Host& host, const std::string& workload = "") {
  return advice(host, workload).variant.value_or("none");
}

struct OnCpu {
  const char* host;
  const char* train;
  const char* bf16;
  const char* int8;
  const char* dev;
};

class RecordedCpu : public testing::TestWithParam<OnCpu> {};

TEST_P(RecordedCpu, GetsTheIsaThatItRuns) {
  const auto host = recorded(GetParam().host);
  const auto name = [](const std::string& isa) { return isa.empty() ? "none" : "pytorch-python313-cpu-" + isa; };
  EXPECT_EQ(variant(host), name(GetParam().train));
  EXPECT_EQ(variant(host, "train"), name(GetParam().train));
  EXPECT_EQ(variant(host, "infer-bf16"), name(GetParam().bf16));
  EXPECT_EQ(variant(host, "infer-int8"), name(GetParam().int8));
  EXPECT_EQ(variant(host, "dev"), name(GetParam().dev));
  std::cout << GetParam().host << ": " << render_recommendation(advice(host));  // lists all answers in the log
}

INSTANTIATE_TEST_SUITE_P(Recommend, RecordedCpu,
                         testing::Values(OnCpu{"sandy_bridge", "avx", "avx", "avx", "avx"},
                                         OnCpu{"haswell", "avx2", "avx2", "avx2", "avx2"},
                                         OnCpu{"skylake_x", "avx512", "avx512", "avx512", "avx2"},
                                         OnCpu{"ice_lake_server", "avx512", "avx512", "avx512vnni", "avx2"},
                                         OnCpu{"cooper_lake", "avx512", "avx512bf16", "avx512vnni", "avx2"},
                                         OnCpu{"sapphire_rapids", "avx512", "avx512bf16", "avx512vnni", "avx2"},
                                         OnCpu{"zen_1", "avx2", "avx2", "avx2", "avx2"},
                                         OnCpu{"zen_4", "avx512", "avx512bf16", "avx512vnni", "avx2"},
                                         OnCpu{"alder_lake_i9_12900k", "avx2", "avx2", "avx2", "avx2"},
                                         OnCpu{"neoverse_n1", "armv8_2", "armv8_2", "armv8_2", "armv8_2"},
                                         OnCpu{"graviton3", "armv8_2", "armv8_2", "armv8_2", "armv8_2"},
                                         OnCpu{"graviton4", "armv9", "armv9", "armv9", "armv8_2"},
                                         OnCpu{"grace", "armv9", "armv9", "armv9", "armv8_2"},
                                         OnCpu{"gb10", "armv9", "armv9", "armv9", "armv8_2"},
                                         OnCpu{"raspberry_pi_4", "", "", "", ""}),
                         [](const auto& test) { return std::string(test.param.host); });

TEST(Recommend, AnswersForEveryRecordedHost) {
  EXPECT_EQ(host::recorded_names().size(), 15u) << "a new recorded host wants its line in this test";
}

TEST(Recommend, RecommendsSm121WithArmv9ForADgxSpark) {
  const auto answer = advice(add_gpu(recorded("gb10"), "NVIDIA GB10", "12.1", "580.95.05", "13.0"));
  EXPECT_EQ(answer.variant, "pytorch-python313-cuda13_0-sm121-armv9");
  EXPECT_EQ(answer.min_driver, 580);
  EXPECT_THAT(answer.reason, HasSubstr("NVIDIA GB10 is SM121"));
  EXPECT_THAT(answer.todo, IsEmpty());
  EXPECT_THAT(answer.not_possible, IsEmpty());
}

TEST(Recommend, Graviton3LearnsWhyNotArmv9) {
  const auto answer = advice(recorded("graviton3"));
  EXPECT_THAT(answer.not_possible, Contains(HasSubstr("armv9: Neoverse-V1 has no sve2; Graviton3 (Neoverse V1) has SVE "
                                                      "but no SVE2")));
}

TEST(Recommend, ExplainsMissingAvx512OfAnI9) {
  const auto answer =
      advice(add_gpu(recorded("alder_lake_i9_12900k"), "NVIDIA GeForce RTX 3090", "8.6", "580.1", "13.0"));
  EXPECT_EQ(answer.variant, "pytorch-python313-cuda13_0-sm86-avx2");
  EXPECT_THAT(answer.not_possible, Contains(HasSubstr("avx512: 12th Gen Intel(R) Core(TM) i9-12900K has no avx512f")));
}

TEST(Recommend, RecommendsSm89ForAnL40s) {
  const auto answer = advice(add_gpu(recorded("zen_4"), "NVIDIA L40S", "8.9", "580.1", "13.0"), "infer-int8");
  EXPECT_EQ(answer.variant, "pytorch-python313-cuda13_0-sm89-avx512vnni");
  EXPECT_THAT(answer.reason, HasSubstr("NVIDIA L40S is SM89"));
  EXPECT_THAT(answer.next.front().variant, "pytorch-python313-cuda13_0-sm89-avx512");
}

TEST(Recommend, ListsThreeRemediesForAnOldDriver) {
  const auto answer = advice(add_gpu(recorded("sapphire_rapids"), "NVIDIA H100", "9.0", "570.86.15", "12.8"));
  EXPECT_EQ(answer.variant, "pytorch-python313-cuda12_9-sm90-avx512");
  ASSERT_EQ(answer.todo.size(), 1u);
  EXPECT_EQ(answer.todo[0],
            "driver 570.86.15 is too old for CUDA 13.0 (it has CUDA 12.8): install driver 580 or later, or "
            "cuda-compat-13-0 on a data-centre GPU, or line cuda12_9");
  EXPECT_EQ(answer.next.front().variant, "pytorch-python313-cuda13_0-sm90-avx512");
}

TEST(Recommend, JudgesByTheLoadedLibcuda) {
  // cuda-compat-13-0 on a base driver 570.
  const auto answer = advice(add_gpu(recorded("sapphire_rapids"), "NVIDIA H100", "9.0", "570.86.15", "13.0"));
  EXPECT_EQ(answer.variant, "pytorch-python313-cuda13_0-sm90-avx512");
  EXPECT_THAT(answer.todo, IsEmpty());
}

TEST(Recommend, KeepsTheCurrentLineForSm110AndSm121) {
  for (const auto& [capability, sm] : {std::pair{"11.0", "sm110"}, std::pair{"12.1", "sm121"}}) {
    const auto answer = advice(add_gpu(recorded("gb10"), "NVIDIA", capability, "570.1", "12.9"));
    EXPECT_EQ(answer.variant, std::string("pytorch-python313-cuda13_0-") + sm + "-armv9");
    ASSERT_EQ(answer.todo.size(), 1u);
    EXPECT_THAT(answer.todo[0], HasSubstr("too old for CUDA 13.0"));
    EXPECT_THAT(answer.todo[0], Not(HasSubstr("line cuda12")));
  }
}

TEST(Recommend, RecommendsCuda12ForAGtx1080) {
  const auto answer = advice(add_gpu(recorded("skylake_x"), "NVIDIA GeForce GTX 1080", "6.1", "580.1", "13.0"));
  EXPECT_EQ(answer.variant, "pytorch-python313-cuda12_9-sm61-avx2");
  EXPECT_EQ(answer.next.back().variant, "pytorch-python313-cuda12_8-sm61-avx2");
  EXPECT_THAT(answer.not_possible, Contains(HasSubstr("line cuda13_0: CUDA 13.0 has dropped sm61")));
  EXPECT_EQ(variant(add_gpu(recorded("sandy_bridge"), "NVIDIA GeForce GTX 1080", "6.1", "580.1", "13.0")),
            "pytorch-python313-cuda12_9-sm61-avx");
}

// R580 is the last driver branch for Pascal.
TEST(Recommend, PrintsLastDriverForOldGpu) {
  const auto answer = advice(add_gpu(recorded("skylake_x"), "NVIDIA GeForce GTX 1080", "6.1", "470.1", "11.4"));
  EXPECT_EQ(answer.variant, "pytorch-python313-cuda12_9-sm61-avx2");
  EXPECT_EQ(answer.max_driver, 580);
  EXPECT_THAT(answer.todo, Contains(HasSubstr("install driver 525 to 580, or cuda-compat-12-9")));
  EXPECT_THAT(answer.wheels.not_possible,
              Contains("torch 2.7.1 of pip is built with CUDA 12.6: install driver 525 to 580"));
  EXPECT_THAT(*answer.wheels.warning, HasSubstr("is not true of torch 2.7.1"));
  EXPECT_THAT(render_recommendation(answer), Not(HasSubstr("driver 525 or later")));
  EXPECT_EQ(max_driver("3.7"), 470);
  EXPECT_EQ(max_driver("7.0"), 580);
  EXPECT_EQ(max_driver("7.5"), std::nullopt);
}

struct OldGpu {
  const char* capability;
  const char* torch;  // newest torch of pip with code; "" if none has
  GpuCode code;
  const char* says;
};

class OldGpus : public testing::TestWithParam<OldGpu> {};

TEST_P(OldGpus, GetLastTorchWithTheirCode) {
  const auto host = add_gpu(recorded("haswell"), "a GPU", GetParam().capability, "580.1", "13.0");
  const auto wheels = advice(host).wheels;
  EXPECT_EQ(wheels.wheels.empty() ? "" : wheels.wheels.front().version, GetParam().torch);
  if (!wheels.wheels.empty()) {
    EXPECT_EQ(wheels.wheels.front().code, GetParam().code);
    EXPECT_EQ(wheels.wheels.front().min_driver, 525);
    EXPECT_EQ(wheels.wheels.front().max_driver, 580);
  }
  EXPECT_THAT(wheels.not_possible, Contains(HasSubstr(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(Recommend, OldGpus,
                         testing::Values(OldGpu{"3.7", "", GpuCode::none, "CUDA 12 has dropped Kepler"},
                                         OldGpu{"5.0", "2.7.1", GpuCode::native, "CUDA 13 has dropped Maxwell"},
                                         OldGpu{"5.2", "2.7.1", GpuCode::same_major, "CUDA 13 has dropped Maxwell"},
                                         OldGpu{"6.0", "2.7.1", GpuCode::native, "dropped Pascal and Volta"},
                                         OldGpu{"6.1", "2.7.1", GpuCode::same_major, "dropped Pascal and Volta"},
                                         OldGpu{"7.0", "2.10.0", GpuCode::native, "dropped Pascal and Volta"}),
                         [](const auto& test) { return "Sm" + std::to_string(test.index); });

// Wheels for servers have sm_80, which a Jetson of 8.7 does not run for certain.
TEST(Recommend, SendsJetsonToItsOwnIndex) {
  for (const char* capability : {"5.3", "6.2", "7.2", "8.7"}) {
    const auto wheels = advice(add_gpu(recorded("neoverse_n1"), "Jetson", capability, "540.4", "12.6")).wheels;
    EXPECT_THAT(wheels.wheels, IsEmpty()) << capability;
    EXPECT_THAT(wheels.not_possible, Contains(HasSubstr("developer.download.nvidia.com/compute/redist/jp/")));
  }
  const auto thor = advice(add_gpu(recorded("gb10"), "Jetson T5000", "11.0", "580.1", "13.0")).wheels;
  ASSERT_FALSE(thor.wheels.empty());
  EXPECT_EQ(thor.wheels.front().code, GpuCode::native);
  EXPECT_THAT(thor.not_possible, Not(Contains(HasSubstr("redist/jp"))));
}

TEST(Recommend, SelectsWheelForTheGlibc) {
  auto host = add_gpu(recorded("skylake_x"), "Tesla V100", "7.0", "580.1", "13.0");
  host.glibc = "2.17";
  const auto wheels = advice(host).wheels;
  ASSERT_FALSE(wheels.wheels.empty());
  EXPECT_EQ(wheels.wheels.front().version, "2.6.0");
  EXPECT_THAT(wheels.not_possible,
              Contains(HasSubstr("torch 2.10.0 of pip needs glibc 2.28, and this machine has 2.17")));
  EXPECT_THAT(wheels.not_possible, Contains(HasSubstr("the last that was read with code for it is torch 2.10.0")));
  for (const auto& wheel : wheels.wheels) EXPECT_NE(wheel.package, "vllm");  // manylinux_2_28
  host.gpus.front().capability = "12.0";
  const auto blackwell = advice(host).wheels;
  EXPECT_THAT(blackwell.wheels, IsEmpty());
  EXPECT_THAT(blackwell.not_possible, Contains(HasSubstr("torch 2.15.0 of pip needs glibc 2.28")));
  EXPECT_THAT(*blackwell.warning, HasSubstr("whose glibc this system lacks"));
  host.gpus.clear();
  EXPECT_EQ(advice(host).wheels.wheels.front().version, "2.6.0");
}

TEST(Recommend, ServesEveryGpuOfAMixedMachine) {
  auto host = add_gpu(recorded("skylake_x"), "Tesla V100", "7.0", "580.1", "13.0");
  host = add_gpu(host, "NVIDIA GeForce RTX 5090", "12.0", "580.1", "13.0");
  auto answer = advice(host);
  ASSERT_FALSE(answer.wheels.wheels.empty());
  EXPECT_EQ(answer.wheels.wheels.front().version, "2.10.0");
  EXPECT_EQ(answer.wheels.wheels.front().min_driver, 570);  // the first that knows the RTX 5090
  EXPECT_EQ(answer.wheels.wheels.front().max_driver, 580);
  EXPECT_TRUE(answer.wheel_first);
  EXPECT_THAT(answer.wheels.wheels.front().sentence, HasSubstr("GPU 1 (NVIDIA GeForce RTX 5090): sm_120"));
  host.gpus.front().capability = "6.0";
  answer = advice(host);
  EXPECT_FALSE(answer.wheels.serves_mixed_gpus);
  EXPECT_EQ(answer.wheels.wheels.front().max_driver, 580);  // a later driver loses the other GPU
  EXPECT_EQ(answer.max_driver, 580);
  EXPECT_THAT(answer.wheels.not_possible, Contains(HasSubstr("no torch of pip serves all GPUs of this machine: ")));
  EXPECT_THAT(answer.wheels.not_possible, Contains(HasSubstr("torch 2.7.1 serves GPU 0 (Tesla V100)")));
  EXPECT_THAT(answer.wheels.not_possible, Contains(HasSubstr("torch 2.15.0 serves GPU 1 (NVIDIA GeForce RTX 5090)")));
  host.gpus.front().capability = "3.7";
  EXPECT_THAT(advice(host).wheels.not_possible, Contains(HasSubstr("none serves GPU 0 (Tesla V100)")));
}

TEST(Recommend, Sm121OnX86IsNoMachine) {
  const auto answer = advice(add_gpu(recorded("zen_4"), "NVIDIA GB10", "12.1", "580.1", "13.0"));
  EXPECT_THAT(answer.not_possible, Contains(HasSubstr("SM121 on x86_64: no such machine")));
  EXPECT_EQ(answer.variant, "pytorch-python313-cpu-avx512");
}

TEST(Recommend, NamesAnUnknownCapability) {
  const auto answer = advice(add_gpu(recorded("neoverse_n1"), "Orin", "8.7", "580.1", "13.0"));
  EXPECT_THAT(answer.not_possible, Contains("Orin has compute capability 8.7, which is not an SM of the matrix"));
  EXPECT_EQ(answer.variant, "pytorch-python313-cpu-armv8_2");
}

TEST(Recommend, RecommendsNothingForAnOldCpu) {
  const auto answer = advice(add_gpu(recorded("sandy_bridge"), "Tesla T4", "7.5", "580.1", "13.0"));
  EXPECT_THAT(answer.not_possible,
              Contains(HasSubstr("Tesla T4 is SM75, for which no line of the matrix has a build for this CPU")));
  EXPECT_EQ(answer.variant, "pytorch-python313-cpu-avx");
}

TEST(Recommend, ServesTheMajorityOfMixedGpus) {
  auto host = add_gpu(recorded("zen_4"), "NVIDIA L4", "8.9", "580.1", "13.0");
  host = add_gpu(host, "NVIDIA A40", "8.6", "580.1", "13.0");
  EXPECT_EQ(variant(host), "pytorch-python313-cuda13_0-sm89-avx512");
  host = add_gpu(host, "NVIDIA A40", "8.6", "580.1", "13.0");
  const auto answer = advice(host);
  EXPECT_EQ(answer.variant, "pytorch-python313-cuda13_0-sm86-avx512");
  EXPECT_THAT(answer.not_possible, Contains(HasSubstr("GPU 0 (NVIDIA L4) is SM89")));
}

TEST(Recommend, ReportsAMissingDriver) {
  auto host = recorded("zen_4");
  host.driver.sentence = "libcuda.so.1 was not found: install the NVIDIA driver";
  EXPECT_THAT(advice(host).todo, Contains(HasSubstr("libcuda.so.1 was not found")));
}

TEST(Recommend, RefusesAnUnknownWorkload) {
  const auto answer = recommend(recorded("zen_4"), "gaming");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::usage);
  EXPECT_THAT(answer.error().message, HasSubstr("choose one of train, infer-bf16, infer-int8, dev"));
}

TEST(Recommend, PrintsEveryPart) {
  const auto text =
      render_recommendation(advice(add_gpu(recorded("sapphire_rapids"), "NVIDIA H100", "9.0", "570.86.15", "12.8")));
  for (const char* part : {"pytorch-python313-cuda12_9-sm90-avx512\n", "driver 525 or later", "first: driver 570.86.15",
                           "next\n", "for infer-int8"})
    EXPECT_THAT(text, HasSubstr(part));
}

}  // namespace
}  // namespace pbprobe
