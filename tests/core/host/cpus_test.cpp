// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/detect.hpp"
#include "tests/core/host/fake_root.hpp"
#include "tests/core/host/recorded_host.hpp"

namespace pbprobe::host {
namespace {

class Cpus : public testing::Test {
 protected:
  Cpu detect() { return detect_host(sources_)->cpu; }

  FakeRoot root_;
  HostSources sources_ = make_recorded_sources(read_recorded("haswell"), root_);  // 8 CPUs
};

TEST_F(Cpus, UsesAllCpusWithoutLimits) {
  EXPECT_EQ(detect().logical_cpus, 8);
  EXPECT_EQ(detect().usable_cpus, 8);
}

TEST_F(Cpus, CountsPhysicalCores) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    EXPECT_FALSE(detect().physical_cores.has_value()) << "reported of " << cpu << " of 8";
    root_.write(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu),
                fmt::format("{},{}\n", cpu % 4, cpu % 4 + 4));
  }
  EXPECT_EQ(detect().physical_cores, 4);
  root_.write("/sys/devices/system/cpu/cpu7/topology/thread_siblings_list", "7\n");
  EXPECT_EQ(detect().physical_cores, 5);
}

TEST_F(Cpus, CountsHyperthreadsOfACoreOnce) {
  for (int cpu = 0; cpu < 8; ++cpu)
    root_.write(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu),
                fmt::format("{},{}\n", cpu % 4, cpu % 4 + 4));
  root_.write("/proc/self/status", "Name:\tpbprobe\nCpus_allowed:\t22\nCpus_allowed_list:\t1,5\n");
  EXPECT_EQ(detect().physical_cores, 1);
  root_.write("/proc/self/status", "Cpus_allowed_list:\t0-2\n");
  EXPECT_EQ(detect().physical_cores, 3);
  root_.write("/proc/self/status", "Cpus_allowed_list:\tnone\n");
  EXPECT_EQ(detect().physical_cores, 4);
}

TEST_F(Cpus, LimitsCpusByAffinity) {
  sources_.affinity_cpus = 3;
  EXPECT_EQ(detect().logical_cpus, 8);
  EXPECT_EQ(detect().usable_cpus, 3);
}

TEST_F(Cpus, RoundsCgroupV2QuotaDown) {
  root_.write("/proc/self/cgroup", "0::/\n");
  root_.write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(detect().usable_cpus, 2);
  root_.write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(detect().usable_cpus, 1);
  root_.write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(detect().usable_cpus, 8);
}

TEST_F(Cpus, UsesTheLowestQuotaOfAllParents) {
  root_.write("/proc/self/cgroup", "0::/user.slice/session.scope\n");
  root_.write("/sys/fs/cgroup/user.slice/session.scope/cpu.max", "700000 100000\n");
  root_.write("/sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n");
  EXPECT_EQ(detect().usable_cpus, 4);
  root_.write("/sys/fs/cgroup/user.slice/session.scope/cpu.max", "300000 100000\n");
  EXPECT_EQ(detect().usable_cpus, 3);
  sources_.affinity_cpus = 2;
  EXPECT_EQ(detect().usable_cpus, 2);
}

TEST_F(Cpus, ReadsCgroupV1Quota) {
  root_.write("/proc/self/cgroup", "12:memory:/x\n4:cpu,cpuacct:/docker/abc\n3:cpuset:/y\n0::/z\n");
  root_.write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "300000\n");
  root_.write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(detect().usable_cpus, 3);
  root_.write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(detect().usable_cpus, 8);
  // In a container the mount's root is the group itself, whatever the path says.
  root_.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
  root_.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(detect().usable_cpus, 2);
}

TEST_F(Cpus, UsesTheLowestMemoryLimitOfAllParents) {
  root_.write("/proc/self/cgroup", "5:memory:/docker/abc\n4:cpu:/x\n0::/user.slice/session.scope\n");
  EXPECT_EQ(memory_limit_bytes(sources_), std::nullopt);
  root_.write("/sys/fs/cgroup/user.slice/session.scope/memory.max", "max\n");
  EXPECT_EQ(memory_limit_bytes(sources_), std::nullopt);
  root_.write("/sys/fs/cgroup/user.slice/memory.max", "4294967296\n");
  EXPECT_EQ(memory_limit_bytes(sources_), int64_t{4} << 30);
  root_.write("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "1073741824\n");
  root_.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // v1's "no limit"
  EXPECT_EQ(memory_limit_bytes(sources_), int64_t{1} << 30);
}

TEST_F(Cpus, SubtractsUseFromMemoryLimits) {
  root_.write("/proc/meminfo", "MemTotal: 125000000 kB\nMemAvailable: 8388608 kB\n");
  EXPECT_EQ(available_memory_bytes(sources_), int64_t{8} << 30);
  root_.write("/proc/self/cgroup", "0::/job\n");
  root_.write("/sys/fs/cgroup/job/memory.max", "4294967296\n");
  root_.write("/sys/fs/cgroup/job/memory.current", "3221225472\n");
  EXPECT_EQ(available_memory_bytes(sources_), int64_t{1} << 30);
  root_.write("/sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 1073741824\n");
  EXPECT_EQ(available_memory_bytes(sources_), int64_t{2} << 30);
  root_.write("/sys/fs/cgroup/job/memory.max", "max\n");
  EXPECT_EQ(available_memory_bytes(sources_), int64_t{8} << 30);
}

TEST(UnifiedMemory, RefusesMoreThanHalfOfWhatIsAvailable) {
  constexpr int64_t kAvailable = int64_t{8} << 30;
  EXPECT_TRUE(check_unified_room(size_t{4} << 30, kAvailable).ok());
  EXPECT_TRUE(check_unified_room(size_t{40} << 30, std::nullopt).ok());
  const auto refused = check_unified_room((size_t{4} << 30) + 1, kAvailable);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("allocating 4294967297 bytes of unified memory"));
}

TEST_F(Cpus, IgnoresMalformedLimits) {
  for (const auto* group : {"", "0", "0:", "::\n", "0::\n", "0::relative\n", "0::/../../etc\n"}) {
    root_.write("/proc/self/cgroup", group);
    EXPECT_EQ(detect().usable_cpus, 8) << group;
  }
  root_.write("/proc/self/cgroup", "0::/\n");
  for (const auto* quota : {"", "100000", "100000 0", "x y", "100000  100000", "-5 100000", "1e5 100000", "100000 "}) {
    root_.write("/sys/fs/cgroup/cpu.max", quota);
    EXPECT_EQ(detect().usable_cpus, 8) << quota;
  }
}

TEST_F(Cpus, CountsAffinityIfOnlineListIsMissing) {
  root_.write("/sys/devices/system/cpu/online", "0-\n");
  EXPECT_EQ(detect().logical_cpus, 1);
  sources_.affinity_cpus = 6;
  EXPECT_EQ(detect().logical_cpus, 6);
  EXPECT_EQ(detect().usable_cpus, 6);
}

void write_cache(const FakeRoot& root, int cpu, int index, int level, const char* type, const char* size,
                 const char* sharers) {
  const auto folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
  root.write(folder + "level", fmt::format("{}\n", level));
  root.write(folder + "type", type);
  root.write(folder + "size", size);
  root.write(folder + "shared_cpu_list", sharers);
}

TEST_F(Cpus, SumsDistinctLastLevelCaches) {
  EXPECT_EQ(detect().last_level_cache_bytes, std::nullopt);
  for (int cpu = 0; cpu < 8; ++cpu) {
    write_cache(root_, cpu, 0, 1, "Data\n", "32K\n", "0\n");
    write_cache(root_, cpu, 1, 1, "Instruction\n", "64K\n", "0\n");
    write_cache(root_, cpu, 2, 2, "Unified\n", "1M\n", fmt::format("{}\n", cpu).c_str());
  }
  EXPECT_EQ(detect().last_level_cache_bytes, 8 << 20);
  for (int cpu = 0; cpu < 8; ++cpu) write_cache(root_, cpu, 3, 3, "Unified\n", "16384K\n", cpu < 4 ? "0-3\n" : "4-7\n");
  EXPECT_EQ(detect().last_level_cache_bytes, 32 << 20);
  write_cache(root_, 0, 3, 3, "Unified\n", "lots\n", "0-3\n");
  EXPECT_EQ(detect().last_level_cache_bytes, 32 << 20);  // CPU 1 shares it and still tells
}

}  // namespace
}  // namespace pbprobe::host
