// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/targets.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Libraries that torch needs on every GPU. Other libraries may omit a chip by design.
constexpr std::array<std::string_view, 4> kNeededLibraries{"MAGMA", "NCCL", "cuDNN", "cuBLAS"};

bool asks_gpus(const Facts& facts) {
  return facts.cuda_build && facts.main_file != nullptr;
}

// Adds a fault for each group of GPUs with this outcome.
Answer report_gpus(const Facts& facts, GpuCode code) {
  Answer answer;
  if (!asks_gpus(facts)) return answer;
  for (const auto& group : gpu_groups(facts)) {
    const GpuOutcome& gpu = facts.gpus[group.first];
    if (gpu.code != code) continue;
    answer.seen.push_back({say("{}: {}", group.label, make_words(gpu.sentence)), facts.main_file->path});
  }
  return answer;
}

// Names a torch build for this chip, with its CUDA bound from the target table.
std::string describe_needed_build(const GpuOutcome& gpu) {
  const Target* target = find_gpu_target(gpu.capability);
  if (target == nullptr) return fmt::format("a torch built for {}", gpu.capability);
  if (target->last_cuda)
    return fmt::format("a torch built for {} with CUDA {} or older", gpu.capability, *target->last_cuda);
  return fmt::format("a torch built for {} with CUDA {} or newer", gpu.capability,
                     target->first_cuda.value_or("of any version"));
}

struct CudaVersions {
  MajorMinor torch;
  MajorMinor driver;
};

std::optional<CudaVersions> cuda_versions(const Facts& facts) {
  if (facts.inventory == nullptr || !facts.inventory->cuda_version || !facts.host->driver.cuda_version)
    return std::nullopt;
  const auto torch = parse_major_minor(*facts.inventory->cuda_version);
  const auto driver = parse_major_minor(*facts.host->driver.cuda_version);
  if (!torch || !driver) return std::nullopt;
  return CudaVersions{*torch, *driver};
}

Sentence versions_sentence(const Facts& facts, std::string_view more = "") {
  return say("{} is built with CUDA {}, and the driver supports {}{}", facts.torch, *facts.inventory->cuda_version,
             *facts.host->driver.cuda_version, make_words(more));
}

// Sums the device code of each component, which may spread its SMs over several files.
std::map<std::string, DeviceCode> code_by_component(const Inventory& inventory) {
  std::map<std::string, DeviceCode> components;
  for (const auto& file : inventory.files) {
    if (!file.component || !file.device_code) continue;
    DeviceCode& code = components[*file.component];
    for (const auto& [name, count] : file.device_code->cubin) code.cubin[name] += count;
    for (const auto& [name, count] : file.device_code->ptx) code.ptx[name] += count;
  }
  return components;
}

bool anything_runs(const DeviceCode& code, const Sm& gpu) {
  const auto any = [&](const auto& cubins, auto runs) {
    return std::ranges::any_of(cubins, [&](const auto& entry) {
      const auto cubin = parse_sm(entry.first);
      return cubin && runs(*cubin, gpu);
    });
  };
  return any(code.cubin, cubin_runs_on) || any(code.ptx, ptx_runs_on);
}

Answer gpu_code_runs(const Facts& facts) {
  if (!facts.cuda_build) return {};
  if (facts.no_gpu)
    return {.seen = {},
            .unknown = Seen{.what = "no GPU here: " + *facts.no_gpu,
                            .remedy = "run `pbprobe report` on the machine with the GPU"}};
  if (facts.main_file == nullptr) return {};  // PB310
  Answer answer;
  for (const auto& group : gpu_groups(facts)) {
    const GpuOutcome& gpu = facts.gpus[group.first];
    const Sentence what = say("{}: {}", group.label, make_words(gpu.sentence));
    if (gpu.code == GpuCode::none)
      answer.seen.push_back({what, facts.main_file->path, "install " + describe_needed_build(gpu)});
    if (gpu.code == GpuCode::unknown) answer.unknown = Seen{what};
  }
  return answer;
}

Answer gpu_code_is_machine_code(const Facts& facts) {
  return report_gpus(facts, GpuCode::ptx);
}

Answer gpu_code_is_native(const Facts& facts) {
  Answer answer;
  for (const auto& group : gpu_groups(facts)) {
    if (facts.gpus[group.first].code != GpuCode::same_major || facts.choices[group.first].contested) continue;
    answer.seen.push_back({say("{} runs machine code that was compiled for an earlier chip of its generation, {}",
                               group.label, *facts.gpus[group.first].best),
                           facts.main_file->path});
  }
  return answer;
}

Answer gpu_code_is_uncontested(const Facts& facts) {
  Answer answer;
  for (const auto& group : gpu_groups(facts)) {
    const CodeChoice& choice = facts.choices[group.first];
    if (!choice.contested) continue;
    answer.seen.push_back(
        {say("{}: public sources disagree whether {} code runs on this chip, and no run of pbprobe has decided it",
             group.label, *choice.best),
         facts.main_file->path});
  }
  return answer;
}

Answer gpu_is_used(const Facts& facts) {
  if (facts.cuda_build || is_other_library(facts) || facts.gpus.empty()) return {};
  if (facts.report.claim) return {};  // the claim states the purpose of the build
  return {.seen = {{.what = say("{} is a build without CUDA: it does not use {}", facts.torch,
                                gpu_label(facts.gpus.front())),
                    .remedy = "install " + describe_needed_build(facts.gpus.front())}}};
}

// A GPU that torch has no code for gets nothing from another driver, and may have no newer one.
Answer driver_knows_cuda_major(const Facts& facts) {
  const auto versions = cuda_versions(facts);
  if (!versions || versions->torch.major <= versions->driver.major) return {};
  const auto without = std::find_if(facts.gpus.begin(), facts.gpus.end(),
                                    [](const GpuOutcome& gpu) { return gpu.code == GpuCode::none; });
  const std::string other = without == facts.gpus.end() ? "" : " for " + without->capability;
  return {.seen = {{.what = versions_sentence(facts),
                    .where = facts.host->driver.library,
                    .remedy = fmt::format("{}install a torch built{} with CUDA {}.x: `pbprobe recommend` names it",
                                          other.empty() ? "update the NVIDIA driver, or " : "", other,
                                          versions->driver.major)}}};
}

Answer driver_knows_cuda_minor(const Facts& facts) {
  const auto versions = cuda_versions(facts);
  if (!versions || versions->torch.major != versions->driver.major || versions->torch.minor <= versions->driver.minor)
    return {};
  return {.seen = {{.what = versions_sentence(facts, ": its machine code runs, PTX from that toolkit does not"),
                    .where = facts.host->driver.library}}};
}

Answer gpu_is_usable(const Facts& facts) {
  Answer answer;
  for (const auto& gpu : facts.host->gpus) {
    if (gpu.problem) answer.seen.push_back({say("GPU {} {}: {}", gpu.index, gpu.name, *gpu.problem)});
  }
  if (answer.seen.empty() && facts.host->driver.state == DriverState::gpu_bad)
    answer.seen.push_back({facts.host->driver.sentence});
  return answer;
}

Answer gpu_is_visible(const Facts& facts) {
  const DriverState state = facts.host->driver.state;
  const bool absent = state == DriverState::no_driver || state == DriverState::no_gpu;
  if (!facts.cuda_build || !facts.no_gpu || !absent) return {};
  return {.seen = {{.what = say("{} is built for CUDA, and no GPU is visible", facts.torch)}}};
}

Answer has_device_code(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  if (!inventory.cuda_version || facts.main_file != nullptr) return {};
  if (!facts.claimed_gpus.empty()) return {};  // PB314
  const bool damaged =
      std::ranges::any_of(inventory.files, [&](const File& file) { return is_own(inventory, file) && file.problem; });
  if (damaged) return {};  // already reported, with its reason
  return {.seen = {{.what = say("{} is built with CUDA {}, and none of libtorch's files holds device code", facts.torch,
                                *inventory.cuda_version)}}};
}

Answer other_libraries_run(const Facts& facts) {
  Answer answer;
  if (!asks_gpus(facts)) return answer;
  for (const auto& [component, code] : code_by_component(*facts.inventory)) {
    if (std::ranges::find(kNeededLibraries, component) == kNeededLibraries.end()) continue;
    for (const auto& group : gpu_groups(facts)) {
      const GpuOutcome& gpu = facts.gpus[group.first];
      const auto capability = parse_sm(gpu.capability);
      if (!capability || gpu.code == GpuCode::none || anything_runs(code, *capability)) continue;
      answer.seen.push_back({say("{} holds no code that runs on {}", component, group.label)});
    }
  }
  return answer;
}

Answer other_libtorch_files_run(const Facts& facts) {
  Answer answer;
  if (!asks_gpus(facts)) return answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_own(*facts.inventory, file) || !file.device_code || &file == facts.main_file) continue;
    for (const auto& group : gpu_groups(facts)) {
      const GpuOutcome& gpu = facts.gpus[group.first];
      const auto capability = parse_sm(gpu.capability);
      if (!capability || gpu.code == GpuCode::none || anything_runs(*file.device_code, *capability)) continue;
      answer.seen.push_back({say("{} holds no code that runs on {}", base_name(file.path), group.label), file.path});
    }
  }
  return answer;
}

Answer driver_runs_our_kernels(const Facts& facts) {
  if (facts.host->driver.state != DriverState::too_old) return {};
  return {.seen = {{facts.host->driver.sentence}}};
}

}  // namespace

bool gpus_are_usable(const Facts& facts) {
  return gpu_is_usable(facts).seen.empty();
}

bool driver_supports_cuda(const Facts& facts) {
  return driver_knows_cuda_major(facts).seen.empty();
}

std::vector<Check> gpu_checks() {
  using enum Need;
  return {
      {.id = "PB301",
       .needs = {host, inventory},
       .decides = true,
       .remedy = "install a torch built for this GPU",
       .ask = gpu_code_runs},
      {.id = "PB302",
       .severity = Severity::warn,
       .needs = {host, inventory},
       .remedy =
           "use a build with machine code for this GPU, and check its results: PTX is compiled at the first start",
       .ask = gpu_code_is_machine_code},
      {.id = "PB303",
       .severity = Severity::note,
       .needs = {host, inventory},
       .remedy = "none needed: `pbprobe recommend` names a build for exactly this GPU, which may be faster",
       .ask = gpu_code_is_native},
      {.id = "PB304",
       .severity = Severity::warn,
       .needs = {host, inventory},
       .remedy =
           "compare results of this torch on that GPU with results on the CPU, or use a build for exactly this chip",
       .ask = gpu_code_is_uncontested},
      {.id = "PB305", .needs = {host, inventory, whole}, .remedy = "install a CUDA build of torch", .ask = gpu_is_used},
      {.id = "PB306",
       .level = Level::loaded,
       .needs = {host, inventory},
       .remedy = "update the NVIDIA driver, or install a torch built with an older CUDA",
       .ask = driver_knows_cuda_major},
      {.id = "PB307",
       .level = Level::loaded,
       .severity = Severity::warn,
       .needs = {host, inventory},
       .remedy = "update the NVIDIA driver before using torch.compile or PTX",
       .ask = driver_knows_cuda_minor},
      {.id = "PB308",
       .level = Level::loaded,
       .needs = {host},
       .remedy = "look at `nvidia-smi` and `dmesg`; a reset or a reboot may bring it back",
       .ask = gpu_is_usable},
      {.id = "PB309",
       .level = Level::loaded,
       .severity = Severity::note,
       .needs = {host, inventory},
       .remedy =
           "run `pbprobe report` on the machine with the GPU; in a container, pass the GPU and its driver into it",
       .ask = gpu_is_visible},
      {.id = "PB310",
       .needs = {cuda_build, inventory, whole},
       .remedy = "install this torch again: libtorch_cuda.so is missing or empty",
       .ask = has_device_code},
      {.id = "PB311",
       .severity = Severity::warn,
       .needs = {host, inventory},
       .remedy = "use a build whose libraries hold code for this GPU",
       .ask = other_libraries_run},
      {.id = "PB312",
       .level = Level::loaded,
       .severity = Severity::note,
       .needs = {host},
       .remedy = "update the NVIDIA driver to measure on the GPU",
       .ask = driver_runs_our_kernels},
      {.id = "PB313",
       .severity = Severity::warn,
       .needs = {host, inventory},
       .remedy = "the operations of this file (linear algebra, for example) fail on that GPU: use a build that holds "
                 "code for it",
       .ask = other_libtorch_files_run},
  };
}

}  // namespace pbprobe
