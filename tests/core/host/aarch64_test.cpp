// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#endif

#include "tests/core/host/recorded_host.hpp"

namespace pbprobe::host {
namespace {

using testing::Contains;
using testing::ElementsAre;

Cpu detect_cpu(const HostSources& sources) {
  const auto host = detect_host(sources);
  return host ? host->cpu : Cpu{};
}

class Aarch64 : public testing::Test {
 protected:
  void SetUp() override {
    sources_.architecture = "aarch64";
    sources_.root = root_.path();
    sources_.sve_bytes = [] { return std::nullopt; };
  }

  FakeRoot root_;
  HostSources sources_;
};

TEST_F(Aarch64, ReadsMidrFromCpuinfoIfSysfsIsHidden) {
  root_.write("/sys/devices/system/cpu/online", "0-1\n");
  root_.write("/proc/cpuinfo",
              "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: "
              "0x0\nCPU part\t: 0xd85\nCPU revision\t: 1\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU variant\t: "
              "0x0\nCPU part\t: 0xd87\nCPU revision\t: 1\n");
  const auto cpu = detect_cpu(sources_);
  EXPECT_EQ(cpu.name, "Cortex-X925 + Cortex-A725");
  EXPECT_EQ(cpu.vendor, "ARM");
  ASSERT_EQ(cpu.core_classes.size(), 2U);
  EXPECT_EQ(cpu.core_classes[1].count, 1);
}

TEST_F(Aarch64, ReportsRawMidrOfUnknownCore) {
  root_.write("/sys/devices/system/cpu/online", "0\n");
  root_.write("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000c00fac30\n");
  const auto cpu = detect_cpu(sources_);
  EXPECT_EQ(cpu.name, "MIDR 0xc00fac30");
  EXPECT_EQ(cpu.vendor, "Ampere");
  root_.write("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000990fd490\n");
  EXPECT_EQ(detect_cpu(sources_).name, "MIDR 0x990fd490");  // Neoverse N2's part, another implementer
  EXPECT_EQ(detect_cpu(sources_).vendor, "implementer 0x99");
}

TEST_F(Aarch64, ReportsUnknownForMalformedFiles) {
  root_.write("/sys/devices/system/cpu/online", "0\n");
  root_.write("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "41 0f d4 90\n");
  root_.write("/proc/cpuinfo", "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd49\n");  // no variant, revision
  const auto cpu = detect_cpu(sources_);
  EXPECT_THAT(cpu.name, testing::StartsWith("unknown"));
  EXPECT_TRUE(cpu.core_classes.empty());
}

TEST_F(Aarch64, ReadsVectorLengthOnlyWithSve) {
  bool asked = false;
  sources_.sve_bytes = [&asked] {
    asked = true;
    return std::optional<int64_t>(32);
  };
  sources_.hwcap = 0x3FFFFF;
  EXPECT_EQ(detect_cpu(sources_).sve_bits, std::nullopt);
  EXPECT_FALSE(asked);
  sources_.hwcap = uint64_t{1} << 22;
  EXPECT_EQ(detect_cpu(sources_).sve_bits, 256);
}

// Source: Documentation/arch/arm64/elf_hwcaps.rst of Linux 6.14.
TEST_F(Aarch64, NamesFeaturesOfLaterKernels) {
  sources_.hwcap = uint64_t{1} << 32;
  sources_.hwcap2 = uint64_t{1} << 43 | uint64_t{1} << 47 | uint64_t{1} << 50 | uint64_t{1} << 63;
  EXPECT_THAT(detect_cpu(sources_).features, testing::UnorderedElementsAre("gcs", "mops", "lse128", "faminmax", "poe"));
}

TEST_F(Aarch64, RequiresBf16AndI8mmForArmv9) {
  sources_.hwcap = 0xFFFFFFFF;
  sources_.hwcap2 = 1U << 1;
  EXPECT_THAT(detect_cpu(sources_).features, Contains("sve2"));
  EXPECT_THAT(detect_cpu(sources_).targets, ElementsAre("armv8_2"));
}

#if defined(__aarch64__)
// Names against the kernel's header: bit by bit.
TEST_F(Aarch64, NamesFeaturesAsKernelHeader) {
  const std::vector<std::pair<uint64_t, const char*>> first = {
      {HWCAP_ATOMICS, "atomics"}, {HWCAP_FPHP, "fphp"},    {HWCAP_ASIMDHP, "asimdhp"},   {HWCAP_LRCPC, "lrcpc"},
      {HWCAP_ASIMDDP, "asimddp"}, {HWCAP_SVE, "sve"},      {HWCAP_ASIMDFHM, "asimdfhm"}, {HWCAP_CPUID, "cpuid"},
      {HWCAP_PACG, "pacg"},       {HWCAP_SHA512, "sha512"}};
  const std::vector<std::pair<uint64_t, const char*>> second = {
      {HWCAP2_SVE2, "sve2"},         {HWCAP2_SVEI8MM, "svei8mm"},  {HWCAP2_SVEBF16, "svebf16"},
      {HWCAP2_I8MM, "i8mm"},         {HWCAP2_BF16, "bf16"},        {HWCAP2_SME, "sme"},
      {HWCAP2_SVEF64MM, "svef64mm"}, {HWCAP2_SME_FA64, "smefa64"}, {HWCAP2_EBF16, "ebf16"},
      {HWCAP2_SVE_EBF16, "sveebf16"}};
  for (const auto& [bit, name] : first) {
    sources_.hwcap = bit;
    EXPECT_THAT(detect_cpu(sources_).features, ElementsAre(name));
  }
  sources_.hwcap = 0;
  for (const auto& [bit, name] : second) {
    sources_.hwcap2 = bit;
    EXPECT_THAT(detect_cpu(sources_).features, ElementsAre(name));
  }
}
#endif

}  // namespace
}  // namespace pbprobe::host
