// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "core/facts/host.hpp"
#include "probes/judge/policy/obstacles.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

Answer libtorch_loads(const Facts& facts) {
  if (facts.run->loaded) return {};
  if (was_only_read(facts))
    return {.seen = {},
            .unknown = Seen{.what = facts.torch + " is older than 2.8, and pbprobe can only read it",
                            .remedy = "run `python -c \"import torch\"` to test whether it loads"}};
  if (facts.run->obstacle) return {.seen = {}, .unknown = describe_failed_run(facts)};
  return {.seen = {{.what = facts.run->problem.value_or("libtorch could not be loaded, and the loader gave no reason"),
                    .where = facts.run->path}}};
}

// Code that writes to pbprobe's result channel can forge every result.
Answer answers_channel_was_left_alone(const Facts& facts) {
  if (!facts.run->intruded) return {};
  return {.seen = {{.what = say("libtorch's code wrote to the channel of pbprobe's results: {}", *facts.run->intruded),
                    .where = facts.run->path}}};
}

// Warns only: started as intended, the same files find libcuda.
Answer libcuda_is_in_reach(const Facts& facts) {
  const auto& loader = facts.run->loader;
  if (!loader || loader->finds_libcuda || !facts.inventory->cuda_version || facts.host->gpus.empty()) return {};
  Seen seen{
      say("libcuda is not reachable for this torch: its loader {} (glibc {}) does not search the folder of this "
          "machine's driver{}",
          loader->path, loader->glibc, loader->driver ? "; for this run pbprobe gave it the driver's files" : "")};
  return {.seen = {seen}, .unknown = seen};
}

Answer libtorch_computes(const Facts& facts) {
  if (!facts.run->loaded || facts.run->executed) return {};
  if (facts.run->obstacle) return {.seen = {}, .unknown = describe_failed_run(facts)};
  return {
      .seen = {{.what = facts.run->problem.value_or("libtorch was loaded, and computed no matrix product on the CPU"),
                .where = facts.run->path}}};
}

// Skips failed runs if another check reports why no GPU can work.
Answer libtorch_computes_on_gpu(const Facts& facts) {
  const bool expected = std::ranges::any_of(
      facts.gpus, [](const GpuOutcome& gpu) { return gpu.code != GpuCode::none && gpu.code != GpuCode::unknown; });
  if (!expected || !facts.run->executed) return {};
  if (!gpus_are_usable(facts) || !driver_supports_cuda(facts)) return {};
  if (!facts.run->executed_on_gpu && facts.run->obstacle) return {.seen = {}, .unknown = describe_failed_run(facts)};
  if (!facts.run->executed_on_gpu)
    return {.seen = {}, .unknown = Seen{facts.run->problem.value_or("libtorch was not run on a GPU")}};
  if (*facts.run->executed_on_gpu) return {};
  return {
      .seen = {{.what = facts.run->problem.value_or("libtorch's matrix product on the GPU was not right"),
                .where = facts.run->path,
                .remedy = "do not compute on this GPU with this build: try another build; if that one is wrong too, "
                          "look for Xid messages in `dmesg` and for ECC errors in `nvidia-smi -q`"}}};
}

Answer areas_are_right(const Facts& facts) {
  Answer answer;
  for (const auto& area : facts.run->areas) {
    if (!area.problem) continue;
    if (area.obstacle) {
      const std::string device = area.device == "cpu" ? "" : area.device;
      answer.unknown =
          could_not_run(facts, fmt::format("{} on {} could not run: {}", area.area, area.device, *area.problem),
                        *area.obstacle, device);
      continue;
    }
    answer.seen.push_back(
        {.what = say("{} on {}: {}", area.area, area.device, *area.problem), .where = facts.run->path});
  }
  return answer;
}

Answer check_compiled_versions(const Facts& facts) {
  Answer answer;
  const auto& shipped = facts.inventory->component_versions;
  for (const auto& library : facts.run->libraries) {
    if (!library.running || library.name == "CUDA") continue;  // other checks judge the toolkit
    const std::string where = library.path.value_or(facts.run->path);
    if (library.compiled && *library.compiled != *library.running)
      answer.seen.push_back({.what = say("libtorch loaded {} {}, and was compiled with {}", library.name,
                                         *library.running, *library.compiled),
                             .where = where});
    if (!shipped) continue;
    const auto package = shipped->find(library.name);
    if (package == shipped->end() || (library.name != "cuDNN" && library.name != "NCCL")) continue;
    // A package version also has a build number: 9.19.0.56.
    const std::string& version = package->second;
    const bool same = version == *library.running || version.starts_with(*library.running + ".");
    if (!same && library.compiled == library.running)
      answer.seen.push_back({.what = say("libtorch loaded {} {}, and the installed package of {} has version {}",
                                         library.name, *library.running, library.name, version),
                             .where = where});
  }
  return answer;
}

// Returns the first other process on the GPU: a busy GPU starts slowly.
std::optional<std::string> others_at_start(const Facts& facts, const std::string& device) {
  if (facts.measurements == nullptr || !facts.measurements->gpu_use) return std::nullopt;
  for (const GpuUse& use : *facts.measurements->gpu_use) {
    if (use.device != device || use.processes.empty()) continue;
    const GpuProcess& first = use.processes.front();
    return fmt::format("{} (process {}) on {}", first.name.value_or("an unnamed one"), first.pid, device);
  }
  return std::nullopt;
}

Answer cuda_starts_in_time(const Facts& facts) {
  constexpr double kMostSeconds = 20;  // limit of PyTorch's own release gate
  Answer answer;
  for (const auto& start : facts.run->starts) {
    if (start.problem && start.obstacle)
      answer.unknown = could_not_run(facts, fmt::format("{} ({}): {}", start.device, start.how, *start.problem),
                                     *start.obstacle, start.device == "cpu" ? "" : start.device);
    if (start.how == kForcedPtx || start.first_tensor_seconds.value_or(0) <= kMostSeconds) continue;
    if (const auto who = others_at_start(facts, start.device)) {
      answer.unknown = report_other_users(*who);
      continue;
    }
    answer.seen.push_back(
        {.what = say("the first tensor on {} took {:.0f} s ({})", start.device, *start.first_tensor_seconds, start.how),
         .where = facts.run->path});
  }
  return answer;
}

// Code that starts normally, but fails with the driver's compiler disabled, is PTX.
Answer what_ran_was_machine_code(const Facts& facts) {
  Answer answer;
  if (facts.run->executed_on_gpu != true) return answer;
  for (const auto& start : facts.run->starts) {
    if (start.how != kWithoutPtx || !start.problem) continue;
    if (start.obstacle) {
      answer.unknown = could_not_run(facts, fmt::format("{} ({}): {}", start.device, start.how, *start.problem),
                                     *start.obstacle, start.device);
      continue;
    }
    answer.seen.push_back(
        {.what = say("with {} libtorch does not compute on {}: {}", start.how, start.device, *start.problem),
         .where = facts.run->path});
  }
  return answer;
}

// A fault proves a defect of the machine only if kernels of every family have it.
void judge_fault(const KernelFault& fault, Answer& answer) {
  const std::string trials = describe_trials(fault);
  if (fault.owner == FaultOwner::machine) {
    answer.seen.push_back(
        {.what =
             say("{}; {}: every family of kernels fails, and so the GPU or its driver is at fault", fault.what, trials),
         .where = std::nullopt,
         .remedy = "do not compute on this GPU: look for Xid messages in `dmesg` and for ECC errors "
                   "in `nvidia-smi -q`, and run NVIDIA's `dcgmi diag -r 3`"});
    return;
  }
  const bool ours = fault.owner == FaultOwner::pbprobe;
  answer.unknown = Seen{
      .what = say("{}; {}: {}", fault.what, trials,
                  make_words(ours ? "a defect of pbprobe, and not of the GPU" : "whose fault it is, is unknown")),
      .where = std::nullopt,
      .remedy = ours ? "report it to pbprobe's issues with the output of `--format json`; this fault does not count "
                       "against the build or the GPU"
                     : "run it again on an idle machine; if it stays, run NVIDIA's `dcgmi diag -r 3`, and report it to "
                       "pbprobe's issues with the output of `--format json`"};
}

Answer kernels_are_right(const Facts& facts) {
  Answer answer;
  if (facts.measurements == nullptr) return answer;
  for (const auto& problem : facts.measurements->problems) answer.seen.push_back({problem});
  if (facts.measurements->not_run && !facts.measurements->not_run->empty()) {
    const auto& not_run = *facts.measurements->not_run;
    answer.unknown =
        could_not_run(facts, not_run.front().what, not_run.front().why, not_run.front().device.value_or(""));
    if (not_run.size() > 1) answer.unknown->what.text += fmt::format("; and {} more did not run", not_run.size() - 1);
  }
  for (const KernelFault& fault : facts.measurements->kernel_faults.value_or(std::vector<KernelFault>()))
    judge_fault(fault, answer);
  return answer;
}

Answer steps_ran(const Facts& facts) {
  Answer answer;
  for (const auto& problem : facts.report.problems) {
    Seen& seen = answer.seen.emplace_back(Seen{problem});
    if (problem.starts_with(kRecordedMachine)) seen.remedy = "run `pbprobe report` on that machine";
  }
  return answer;
}

Answer version_agrees(const Facts& facts) {
  if (!facts.run->version || !facts.inventory->torch_version) return {};
  if (get_release(*facts.run->version) == get_release(*facts.inventory->torch_version)) return {};
  return {.seen = {{.what = say("torch's files state version {}, and the loaded library states {}",
                                *facts.inventory->torch_version, *facts.run->version),
                    .where = facts.run->path}}};
}

}  // namespace

std::vector<Check> running_checks() {
  using enum Need;
  return {
      {.id = "PB501",
       .level = Level::loaded,
       .needs = {inventory, run},
       .decides = true,
       .remedy = "install this torch again in a clean environment, and try `python -c \"import torch\"`",
       .ask = libtorch_loads},
      {.id = "PB502",
       .level = Level::executed,
       .needs = {inventory, run},
       .remedy = "use a build for this CPU: `pbprobe host` names its targets",
       .ask = libtorch_computes},
      {.id = "PB503",
       .subject = Subject::gpu,
       .level = Level::executed,
       .needs = {host, inventory, run},
       .decides = true,
       .remedy = "run `pbprobe report --full` on a machine whose GPU is free",
       .ask = libtorch_computes_on_gpu},
      {.id = "PB504",
       .level = Level::measured,
       .remedy = "run pbprobe again on an idle machine; if the fault stays, test the hardware or report it with "
                 "`--format json`",
       .ask = kernels_are_right},
      {.id = "PB505",
       .level = Level::executed,
       .severity = Severity::warn,
       .remedy = "fix the problem that the reason names, and run pbprobe again",
       .ask = steps_ran},
      {.id = "PB506",
       .level = Level::loaded,
       .severity = Severity::warn,
       .needs = {inventory, run},
       .remedy = "install this torch again in a clean environment: two versions are mixed",
       .ask = version_agrees},
      {.id = "PB508",
       .level = Level::executed,
       .needs = {inventory, run},
       .remedy = "install this torch again; if it stays, this build is wrong for this machine: take another one, and "
                 "report it",
       .ask = areas_are_right},
      {.id = "PB509",
       .subject = Subject::gpu,
       .level = Level::loaded,
       .severity = Severity::warn,
       .needs = {host, inventory, run},
       .decides = true,
       .remedy = "start it inside `flox activate`, or link the driver's libraries into /run/opengl-driver/lib",
       .ask = libcuda_is_in_reach},
      {.id = "PB510",
       .level = Level::loaded,
       .severity = Severity::warn,
       .needs = {inventory, run},
       .remedy = "look at LD_LIBRARY_PATH: it may lead to another copy of the library; else install this torch again",
       .ask = check_compiled_versions},
      {.id = "PB511",
       .subject = Subject::gpu,
       .level = Level::executed,
       .needs = {inventory, run},
       .remedy = "use a build with machine code for this GPU, and a driver of the build's CUDA version; a busy GPU "
                 "starts slowly too",
       .ask = cuda_starts_in_time},
      {.id = "PB512",
       .subject = Subject::gpu,
       .level = Level::executed,
       .severity = Severity::warn,
       .needs = {inventory, run},
       .remedy = "use a build with machine code for this GPU: what is compiled at the start is slow to start, and less "
                 "tested",
       .ask = what_ran_was_machine_code},
      {.id = "PB513",
       .level = Level::loaded,
       .needs = {inventory, run},
       .integrity = true,
       .remedy = "find the constructor or static initializer of this build that writes to file descriptors which it "
                 "did not open, and trust no result of this build",
       .ask = answers_channel_was_left_alone},
  };
}

}  // namespace pbprobe
