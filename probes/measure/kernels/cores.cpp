// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/cores.hpp"

#include <algorithm>
#include <atomic>
#include <future>

#include <sched.h>

#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/run.hpp"
#include "kernels/gemm/checker.hpp"
#include "probes/measure/kernels/operands.hpp"

namespace pbprobe {
namespace {

// A set of CPUs that grows with the machine: cpu_set_t ends at 1024.
class CpuSet {
 public:
  explicit CpuSet(int64_t cpus) : set_(CPU_ALLOC(cpus)), bytes_(CPU_ALLOC_SIZE(cpus)) { CPU_ZERO_S(bytes_, set_); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
  ~CpuSet() { CPU_FREE(set_); }
  [[nodiscard]] cpu_set_t* get() { return set_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  cpu_set_t* set_;
  size_t bytes_;
};

bool bind_thread(int64_t cpu) {
  CpuSet set(cpu + 1);
  CPU_SET_S(static_cast<size_t>(cpu), set.bytes(), set.get());
  // On this thread only, before it does anything: it wakes up on that CPU.
  return sched_setaffinity(0, set.bytes(), set.get()) == 0;
}

Result<void> run_plan(const Plan& plan, const Operands& operands) {
  PBPROBE_TRY(const HostMemory workspace, HostMemory::allocate(static_cast<size_t>(plan.workspace_bytes)));
  return run(plan, operands, {.workspace = workspace.data(), .workspace_bytes = plan.workspace_bytes});
}

}  // namespace

std::vector<int64_t> allowed_cpus() {
  std::vector<int64_t> cpus;
  for (int64_t most = 1024; most <= 1 << 20; most *= 2) {
    CpuSet set(most);
    if (sched_getaffinity(0, set.bytes(), set.get()) != 0) continue;
    for (int64_t cpu = 0; cpu < most; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), set.bytes(), set.get())) cpus.push_back(cpu);
    }
    break;
  }
  return cpus;
}

std::vector<CoreResult> check_each_core(const std::vector<int64_t>& cpus, int64_t threads, const CoreCheck& check) {
  std::vector<CoreResult> results(cpus.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < cpus.size(); i = next++) {
      results[i].cpu = cpus[i];
      if (bind_thread(cpus[i])) {
        results[i].wrong = check();
      } else {
        results[i].skipped = "the system refuses to run a thread on this CPU";
      }
    }
  };
  std::vector<std::future<void>> all;  // the destructor waits, also after a thread could not start
  const auto count = std::min(std::max<int64_t>(threads, 1), static_cast<int64_t>(cpus.size()));
  for (int64_t i = 0; i < count; ++i) all.push_back(std::async(std::launch::async, work));
  for (auto& one : all) one.get();
  return results;
}

std::string check_kernels_here(const Host& host) {
  for (const auto& kernel : kernel_table()) {
    if (kernel.function == nullptr) continue;
    if (std::ranges::find(host.cpu.targets, kernel.target) == host.cpu.targets.end()) continue;
    // Whole tiles and rests, and more k than one pass takes.
    const auto problem = make_problem(std::min(2 * kernel.tile.m + 1, kernel.max_m), 2 * kernel.tile.n + 1,
                                      kernel.k_block + 61, kernel.dtype);
    const auto result = pbprobe::check(problem, Tier::exact, [&](const Problem& p, CheckData& data) -> Result<void> {
      PBPROBE_TRY(const Plan plan, choose(p, host, {}, {.kernel = std::string(kernel.name)}));
      return run_plan(plan, data.operands());
    });
    if (!result.ok()) return fmt::format("{} could not be checked: {}", kernel.name, result.error().message);
    if (!result->passed) return fmt::format("{} computes wrong: {}", kernel.name, result->what);
  }
  return {};
}

void check_every_core(const Host& host, EventWriter& events) {
  events.stage(Step::kernels, "checking every core");
  const auto cpus = allowed_cpus();
  for (const auto& core : check_each_core(cpus, host.cpu.usable_cpus, [&] { return check_kernels_here(host); })) {
    if (!core.wrong.empty()) {
      events.problem(fmt::format(
          "CPU {}: {}: the other CPUs got the same test: take this CPU offline and have the machine examined", core.cpu,
          core.wrong));
    } else if (!core.skipped.empty()) {
      events.note(fmt::format("CPU {} was not checked: {}", core.cpu, core.skipped));
    } else {
      events.exact_cpu(core.cpu);
    }
  }
}

}  // namespace pbprobe
