// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Sources of this machine. This is the only file of detection that reads the machine; all other files use their
// arguments.
#include <sched.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <future>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/host/host.hpp"

namespace pbprobe {
namespace {

// Counts the CPUs that the scheduler allows for this process. The mask has room for 65536 CPUs, because the kernel
// rejects masks that are too small.
std::vector<size_t> allowed_cpus() {
  constexpr size_t kCpus = 65536;
  std::vector<size_t> cpus;
  cpu_set_t* set = CPU_ALLOC(kCpus);
  if (set == nullptr) return cpus;
  const size_t bytes = CPU_ALLOC_SIZE(kCpus);
  CPU_ZERO_S(bytes, set);
  if (sched_getaffinity(0, bytes, set) == 0) {
    for (size_t cpu = 0; cpu < kCpus; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(set);
  return cpus;
}

#if defined(__x86_64__)

CpuidRegisters read_cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidRegisters r;
  __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

uint64_t read_xcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool ask_for_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Runs in a separate thread that moves from CPU to CPU, so that the caller's affinity remains unchanged.
std::vector<uint32_t> read_hybrid_leaves() {
  const auto read_them = [] {
    std::vector<uint32_t> leaves;
    for (const auto cpu : allowed_cpus()) {
      cpu_set_t* set = CPU_ALLOC(cpu + 1);
      if (set == nullptr) break;
      const size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
      CPU_ZERO_S(bytes, set);
      CPU_SET_S(cpu, bytes, set);
      if (sched_setaffinity(0, bytes, set) == 0) leaves.push_back(read_cpuid(0x1A, 0).eax);
      CPU_FREE(set);
    }
    return leaves;
  };
  return std::async(std::launch::async, read_them).get();
}

void add_cpu_sources(HostSources& sources) {
  sources.architecture = "x86_64";
  sources.cpuid = read_cpuid;
  sources.xcr0 = read_xcr0;
  sources.amx_permission = ask_for_tiles;
  sources.hybrid_leaves = read_hybrid_leaves;
}

#elif defined(__aarch64__)

std::optional<int64_t> read_sve_bytes() {
  constexpr int kSveGetVl = 51;  // PR_SVE_GET_VL
  const int answer = prctl(kSveGetVl);
  if (answer < 0) return std::nullopt;
  return answer & 0xFFFF;
}

void add_cpu_sources(HostSources& sources) {
  sources.architecture = "aarch64";
  sources.hwcap = getauxval(AT_HWCAP);
  sources.hwcap2 = getauxval(AT_HWCAP2);
  sources.sve_bytes = read_sve_bytes;
}

#else

void add_cpu_sources(HostSources& sources) {
  struct utsname name {};
  sources.architecture = uname(&name) == 0 ? name.machine : "unknown";
}

#endif

}  // namespace

HostSources system_sources() {
  HostSources sources;
  add_cpu_sources(sources);
  struct utsname name {};
  if (uname(&name) == 0) {
    sources.hostname = name.nodename;
    sources.kernel = name.release;
  }
#if defined(__GLIBC__)
  sources.glibc = gnu_get_libc_version();
#endif
  if (const auto cpus = allowed_cpus().size(); cpus > 0) sources.affinity_cpus = static_cast<int64_t>(cpus);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) sources.cuda_visible_devices = visible;
  sources.driver = [] { return driver_api(); };
  sources.nvml = [] { return nvml_api(); };
  return sources;
}

}  // namespace pbprobe
