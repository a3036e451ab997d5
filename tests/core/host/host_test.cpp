// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "core/facts/json.hpp"
#include "tests/core/host/recorded_host.hpp"

namespace pbprobe::host {
namespace {

using testing::HasSubstr;

class DetectHost : public testing::Test {
 protected:
  FakeRoot root_;
  HostSources sources_ = make_recorded_sources(read_recorded("haswell"), root_);
};

TEST_F(DetectHost, ReadsOsMemoryAndNames) {
  sources_.hostname = "spark";
  sources_.glibc = "2.36";
  root_.write("/etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  root_.write("/proc/meminfo", "MemTotal:       131886028 kB\nMemFree: 1 kB\n");
  const auto host = detect_host(sources_);
  EXPECT_EQ(host->hostname, "spark");
  EXPECT_EQ(host->os, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(host->kernel, "6.1.0");
  EXPECT_EQ(host->glibc, "2.36");
  EXPECT_EQ(host->memory_bytes, int64_t{131886028} * 1024);
}

TEST_F(DetectHost, ReportsUnknownForMalformedFiles) {
  EXPECT_EQ(detect_host(sources_)->os, "Linux");
  EXPECT_EQ(detect_host(sources_)->memory_bytes, std::nullopt);
  for (const auto* text : {"MemTotal: 0 kB", "MemTotal: -5 kB", "MemTotal: 5", "MemTotal: 5 GB", "MemTotal: x kB",
                           "MemTotal: 99999999999999999 kB", "MemTotal:", ""}) {
    root_.write("/proc/meminfo", text);
    EXPECT_EQ(detect_host(sources_)->memory_bytes, std::nullopt) << text;
  }
  for (const auto* text : {"PRETTY_NAME=", "PRETTY_NAME=\"\"", "NAME=x"}) {
    root_.write("/etc/os-release", text);
    EXPECT_EQ(detect_host(sources_)->os, "Linux") << text;
  }
}

TEST_F(DetectHost, ReadsUsrLibOsRelease) {
  root_.write("/usr/lib/os-release", "PRETTY_NAME='NixOS 26.05'\n");
  EXPECT_EQ(detect_host(sources_)->os, "NixOS 26.05");
}

TEST_F(DetectHost, RejectsOtherArchitectures) {
  sources_.architecture = "riscv64";
  const auto host = detect_host(sources_);
  ASSERT_FALSE(host.ok());
  EXPECT_EQ(host.error().code, ErrorCode::unsupported);
  EXPECT_THAT(host.error().message, HasSubstr("riscv64"));
}

TEST_F(DetectHost, KeepsHostInJsonRoundTrip) {
  const auto host = detect_host(sources_);
  const auto json = to_json(*host);
  const auto again = from_json<Host>(json);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
}

// The real sources of the machine that runs the test.
TEST(SystemSources, DetectThisMachine) {
  const auto sources = system_sources();
  const auto host = detect_host(sources);
  ASSERT_TRUE(host.ok()) << host.error().message;
#if defined(__x86_64__)
  EXPECT_EQ(host->cpu.architecture, "x86_64");
  EXPECT_EQ(host->cpu.vendor.size(), 12U);
  for (const auto& [name, has] :
       {std::pair{"avx2", bool(__builtin_cpu_supports("avx2"))}, std::pair{"fma", bool(__builtin_cpu_supports("fma"))},
        std::pair{"avx512f", bool(__builtin_cpu_supports("avx512f"))},
        std::pair{"avx512_vnni", bool(__builtin_cpu_supports("avx512vnni"))}}) {
    const auto& features = host->cpu.features;
    EXPECT_EQ(std::find(features.begin(), features.end(), name) != features.end(), has) << name;
  }
#else
  EXPECT_EQ(host->cpu.architecture, "aarch64");
  EXPECT_THAT(host->cpu.features, testing::Contains("asimd"));
#endif
  EXPECT_GE(host->cpu.usable_cpus, 1);
  EXPECT_LE(host->cpu.usable_cpus, host->cpu.logical_cpus);
  EXPECT_FALSE(host->kernel.empty());
  EXPECT_FALSE(host->driver.sentence.empty());
}

TEST(SystemSources, KeepsAffinityOfCaller) {
  cpu_set_t before;
  cpu_set_t after;
  if (sched_getaffinity(0, sizeof before, &before) != 0) GTEST_SKIP() << "sched_getaffinity: more than 1024 CPUs";
  const auto sources = system_sources();
  ASSERT_EQ(sources.affinity_cpus, CPU_COUNT(&before));
  if (sources.hybrid_leaves) {
    EXPECT_EQ(static_cast<int>(sources.hybrid_leaves().size()), CPU_COUNT(&before));
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace pbprobe::host
