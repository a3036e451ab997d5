// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The real wheel: torch 2.11.0+cu130 for x86-64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>

#include "paths.hpp"
#include "probes/audit/audit.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using Counts = std::map<std::string, int64_t>;

class RealTorch : public testing::Test {
 protected:
  void SetUp() override {
    const char* variable = std::getenv("PBPROBE_TEST_TORCH");
    packages_ = variable != nullptr ? variable : PBPROBE_TEST_TORCH;
    if (packages_.empty())
      GTEST_SKIP() << "no torch to test on: set PBPROBE_TEST_TORCH to a site-packages folder with torch 2.11.0+cu130";
    if (!fs::exists(packages_ / "torch/version.py"))
      GTEST_SKIP() << "PBPROBE_TEST_TORCH is " << packages_ << ", which holds no torch/version.py";
  }
  fs::path packages_;
};

const Counts kLibtorchCuda{{"sm_75", 444},  {"sm_80", 444},  {"sm_86", 444},  {"sm_90", 444},
                           {"sm_100", 444}, {"sm_120", 444}, {"sm_100a", 59}, {"sm_103a", 59},
                           {"sm_90a", 4},   {"sm_89", 1},    {"sm_120a", 1},  {"sm_121a", 1}};

const File* file_named(const Inventory& inventory, const std::string& path) {
  for (const auto& file : inventory.files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

void check_links(const Inventory& inventory, const File& cpu, const File& cuda) {
  EXPECT_EQ(inventory.python_abi.value_or("").substr(0, 2), "cp");
  const auto versions = inventory.component_versions.value_or(std::map<std::string, std::string>{});
  EXPECT_EQ(versions.at("cuDNN"), "9.19.0.56");
  EXPECT_EQ(versions.at("NCCL"), "2.28.9");
  EXPECT_EQ(inventory.version_floors->at("GLIBC"), "2.28");  // manylinux_2_28
  EXPECT_THAT(cpu.links->contains, testing::IsSupersetOf({"FBGEMM", "MKL", "NNPACK", "SLEEF", "XNNPACK", "oneDNN"}));
  EXPECT_GE(cpu.links->cxx11_names, 100);
  EXPECT_EQ(cpu.links->pre_cxx11_names, 0);
  const File* linalg = file_named(inventory, "torch/lib/libtorch_cuda_linalg.so");
  ASSERT_NE(linalg, nullptr);
  EXPECT_THAT(linalg->links->contains, testing::Contains("MAGMA"));
  for (const auto& dependency : cuda.links->dependencies)
    EXPECT_NE(dependency.provider, Provider::unresolved) << dependency.name;
}

// CPU time, so that waiting for a core is no failure: 6 s for all device code on an idle core, and three times as long
// on a busy one. `all`: seconds of an audit that opened all device code; a report opens only libtorch's own.
void check_cost(const fs::path& packages, double all) {
  const std::clock_t start = std::clock();
  EXPECT_TRUE(audit(packages, {.open_libraries = false}).ok());
  const double own = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(all, 30.0);
  EXPECT_LT(own, 12.0);
  EXPECT_LT(own, all / 2) << "the libraries beside it were opened";
  testing::Test::RecordProperty("cpu_seconds", std::to_string(all));
  testing::Test::RecordProperty("cpu_seconds_of_libtorch", std::to_string(own));
}

TEST_F(RealTorch, ListsContentsOfWheelInLittleTime) {
  const std::clock_t start = std::clock();
  auto inventory = audit(packages_);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(inventory.ok()) << inventory.error().message;
  check_cost(packages_, seconds);
  if (inventory->torch_version != "2.11.0+cu130" || inventory->platform != "x86_64-linux")
    GTEST_SKIP() << "counts are known for 2.11.0+cu130 on x86_64-linux, not for "
                 << inventory->torch_version.value_or("an unknown version");
  EXPECT_EQ(inventory->cuda_version, "13.0");
  EXPECT_EQ(inventory->git_version, "70d99e998b4955e0049d13a98d77ae1b14db1f45");
  EXPECT_EQ(inventory->libtorch_dir, fs::canonical(packages_ / "torch/lib").string());
  EXPECT_TRUE(inventory->problems.empty());
  for (const auto& file : inventory->files) {
    EXPECT_EQ(file.problem, std::nullopt) << file.path;
    const bool is_program = file.path.find("/bin/") != std::string::npos;  // protoc belongs to no component
    EXPECT_TRUE(file.component || is_program) << file.path;
  }
  const File* cuda = file_named(*inventory, "torch/lib/libtorch_cuda.so");
  ASSERT_NE(cuda, nullptr);
  ASSERT_TRUE(cuda->device_code);
  EXPECT_EQ(cuda->device_code->cubin, kLibtorchCuda);
  EXPECT_TRUE(cuda->device_code->ptx.empty());
  const File* cpu = file_named(*inventory, "torch/lib/libtorch_cpu.so");
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->device_code, std::nullopt);
  EXPECT_NE(file_named(*inventory, "nvidia/nccl/lib/libnccl.so.2"), nullptr);
  check_links(*inventory, *cpu, *cuda);
}

// The code runs on Nehalem, as QEMU shows, though 36,000 of its functions need more.
TEST_F(RealTorch, ItsCodeRunsOnEveryCpu) {
  auto inventory = audit(packages_, {.host_code = HostCodeScope::libtorch, .open_libraries = false});
  ASSERT_TRUE(inventory.ok()) << inventory.error().message;
  if (inventory->torch_version != "2.11.0+cu130" || inventory->platform != "x86_64-linux")
    GTEST_SKIP() << "counts are known for 2.11.0+cu130 on x86_64-linux";
  const File* cpu = file_named(*inventory, "torch/lib/libtorch_cpu.so");
  ASSERT_NE(cpu, nullptr);
  ASSERT_TRUE(cpu->host_code);
  const HostCode& code = *cpu->host_code;
  EXPECT_EQ(code.minimum_cpu, "x86_64");
  EXPECT_EQ(code.minimum_cpu_at_most, std::nullopt);
  EXPECT_TRUE(code.unguarded.empty());
  EXPECT_GT(code.cpu_capabilities.at("AVX2").functions, 10000);
  EXPECT_GT(code.cpu_capabilities.at("AVX512").features.at("avx512f"), 100000);
  EXPECT_TRUE(code.cpu_capabilities.at("DEFAULT").features.empty());
  EXPECT_GT(code.dispatchers.at("MKL"), 25000);
  EXPECT_GT(code.features.at("fma"), 400000);
  // The linker kept the AVX2 CPU capability's copy of c10::checked_convert<c10::Float8_e5m2, …>, and that CPU
  // capability is the only one to call it.
  EXPECT_TRUE(code.offenders.empty());
  EXPECT_TRUE(code.leaked.empty());
  EXPECT_EQ(inventory->files.size(), audit(packages_, {.links_only = true})->files.size());
}

TEST_F(RealTorch, IsFoundFromItsEnvironment) {
  auto torch = find_torch({packages_});
  ASSERT_TRUE(torch.ok()) << torch.error().message;
  EXPECT_EQ(*torch, fs::absolute(packages_ / "torch"));
}

}  // namespace
}  // namespace pbprobe
