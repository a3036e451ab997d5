// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/driver_state.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/targets.hpp"

namespace pbprobe::host {
namespace {

// First driver branch of each CUDA version. Source: CUDA Toolkit release notes, "CUDA Driver".
struct Branch {
  int64_t branch;
  int cuda;
};
constexpr Branch kBranches[] = {{525, 12000}, {530, 12010}, {535, 12020}, {545, 12030}, {550, 12040}, {555, 12050},
                                {560, 12060}, {565, 12070}, {570, 12080}, {575, 12090}, {580, 13000}, {590, 13010}};

// Returns the CUDA version that a driver branch supports; a branch between two entries gets the version of the lower
// entry.
int cuda_of_branch(int64_t branch) {
  int cuda = 0;
  for (const auto& entry : kBranches) {
    if (entry.branch <= branch) cuda = entry.cuda;
  }
  return cuda;
}

std::string cuda_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// Returns the driver branch that the default builds for these GPUs need; nullopt if the default builds support none of
// them.
std::optional<int64_t> branch_needed(const std::vector<Gpu>& gpus) {
  std::optional<int64_t> branch;
  for (const auto& gpu : gpus) {
    const auto* target = gpu.target ? find_target(*gpu.target) : nullptr;
    if (target != nullptr && target->min_driver) branch = std::max(branch.value_or(0), *target->min_driver);
  }
  return branch;
}

// Returns the newest branch that any target needs, for machines without a known GPU.
int64_t branch_to_install() {
  int64_t branch = 0;
  for (const auto& target : all_targets()) branch = std::max(branch, target.min_driver.value_or(0));
  return branch;
}

std::optional<std::string> find_version(const DriverSight& sight) {
  if (sight.nvml_version) return sight.nvml_version;
  return sight.module_version;
}

std::string driver_text(const DriverSight& sight) {
  const auto version = find_version(sight);
  const auto name = version ? "NVIDIA driver " + *version : std::string("The NVIDIA driver");
  return sight.cuda_version > 0 ? fmt::format("{} (CUDA {})", name, cuda_text(sight.cuda_version)) : name;
}

std::string no_driver(const DriverSight& sight) {
  const auto seen = fmt::format("No NVIDIA driver library: {}", *sight.load_error);
  if (sight.module_version) {
    return fmt::format(
        "{}. The kernel module {} is loaded: in a container, start it with the NVIDIA container toolkit "
        "(--gpus all); elsewhere install the driver's libcuda of that version",
        seen, *sight.module_version);
  }
  const bool no_library = sight.load_error->find("cannot open shared object file") != std::string::npos;
  if (!sight.on_pci && no_library)
    return fmt::format(
        "No NVIDIA driver, and no NVIDIA GPU on the PCI bus: with such a GPU, install driver {} or newer",
        branch_to_install());
  return fmt::format("{}. {}: install NVIDIA driver {} or newer{}", seen,
                     sight.on_pci ? "An NVIDIA GPU is on the PCI bus" : "No NVIDIA GPU is on the PCI bus",
                     branch_to_install(), sight.on_pci ? "" : ", if this machine has such a GPU");
}

std::string stub_library(const DriverSight& sight) {
  return fmt::format(
      "No NVIDIA driver: {} is the stub of the CUDA toolkit, which serves only for linking: remove its folder from "
      "LD_LIBRARY_PATH, or install NVIDIA driver {} or newer",
      sight.library.value_or("libcuda.so.1"), branch_to_install());
}

std::string mig_without_instance(const DriverSight& sight) {
  return fmt::format(
      "{} lists no GPU: MIG mode is on without a compute instance. Create one (`nvidia-smi mig -cgi … -C`) or turn MIG "
      "off (`nvidia-smi -mig 0`)",
      driver_text(sight));
}

// Reports whether CUDA hides all devices for this value: an empty list, or a list whose first entry is not a device.
bool hides_all(std::string_view visible_devices) {
  return visible_devices.empty() || visible_devices.starts_with('-') || visible_devices.starts_with("No");
}

std::string no_gpu(const DriverSight& sight) {
  if (sight.visible_devices && sight.nvml_gpus != 0) {
    return fmt::format("{} lists no GPU, because CUDA_VISIBLE_DEVICES=\"{}\" hides {}: unset it", driver_text(sight),
                       *sight.visible_devices,
                       sight.nvml_gpus ? fmt::format("this machine's {}", *sight.nvml_gpus) : "them");
  }
  return fmt::format(
      "{} is loaded and lists no GPU: in a container, pass the GPU in (--gpus all); otherwise check that `lspci -d "
      "10de:` lists one and that it is powered",
      driver_text(sight));
}

std::string gpu_bad(const DriverSight& sight) {
  const auto tried = fmt::format("{} cannot use this machine's GPU: {}", driver_text(sight), sight.init_error);
  switch (sight.init) {
    case kCudaErrorSystemDriverMismatch:
      return fmt::format("{}. {} does not fit the kernel module {}: reboot, or restart the container", tried,
                         sight.library.value_or("libcuda.so.1"), sight.module_version.value_or("that is loaded"));
    case kCudaErrorSystemNotReady:
      return tried + ". Start the fabric manager (systemctl start nvidia-fabricmanager) and try again";
    case kCudaErrorOperatingSystem:
      return tried + ". Check that this user may open /dev/nvidia*, or run `nvidia-modprobe -u -c 0` as root";
    case kCudaErrorUnknown:
      return tried +
             ". After suspend: reload the module nvidia_uvm (rmmod nvidia_uvm; modprobe nvidia_uvm); else look for "
             "Xid errors in `dmesg` and reboot";
    case kCudaErrorNoDevice:
    case kCudaSuccess:
      if (sight.mig_without_instance) return mig_without_instance(sight);
      return fmt::format(
          "NVML lists {} of this machine's GPUs, but CUDA sees none ({}): look for Xid errors in `dmesg`, check that "
          "/dev/nvidia-uvm exists, and reboot",
          sight.nvml_gpus.value_or(0), sight.init_error);
    default: return tried + ". Look for Xid errors in `dmesg` and reboot";
  }
}

std::string compat_refused(const DriverSight& sight) {
  return fmt::format(
      "{} is a forward-compatibility library that this GPU's driver {} refuses: remove it from the library path, or "
      "install NVIDIA driver {} or newer",
      sight.library.value_or("libcuda.so.1"), find_version(sight).value_or("(version unknown)"), branch_to_install());
}

std::string too_old(const DriverSight& sight, int64_t branch) {
  const auto cuda = cuda_text(cuda_of_branch(branch));
  return fmt::format(
      "{} is too old for builds with CUDA {}: install driver {} or newer, on a data-centre GPU the "
      "forward-compatibility "
      "package of CUDA {}, or choose a build with CUDA {} or older",
      driver_text(sight), cuda, branch, cuda, cuda_text(sight.cuda_version));
}

std::string join_problems(const std::vector<Gpu>& gpus) {
  std::vector<std::string> problems;
  for (const auto& gpu : gpus) {
    if (gpu.problem)
      problems.push_back(fmt::format("GPU {}{}{}: {}", gpu.index, gpu.name.empty() ? "" : " ", gpu.name, *gpu.problem));
  }
  return fmt::format("{}", fmt::join(problems, "; "));
}

std::pair<DriverState, std::string> state_without_gpus(const DriverSight& sight) {
  if (sight.load_error) return {DriverState::no_driver, no_driver(sight)};
  if (sight.init == kCudaErrorStubLibrary) return {DriverState::no_driver, stub_library(sight)};
  if (sight.init == kCudaErrorCompatNotSupported) return {DriverState::too_old, compat_refused(sight)};
  const bool none = sight.init == kCudaSuccess || sight.init == kCudaErrorNoDevice;
  if (!none) return {DriverState::gpu_bad, gpu_bad(sight)};
  const bool chosen_away = sight.visible_devices && (hides_all(*sight.visible_devices) || !sight.mig_without_instance);
  if (!chosen_away && sight.nvml_gpus.value_or(0) > 0) return {DriverState::gpu_bad, gpu_bad(sight)};
  return {DriverState::no_gpu, no_gpu(sight)};
}

std::pair<DriverState, std::string> state_with_gpus(const DriverSight& sight, const std::vector<Gpu>& gpus) {
  const auto bad = std::ranges::count_if(gpus, [](const auto& gpu) { return gpu.problem.has_value(); });
  const auto problems = join_problems(gpus);
  if (bad == static_cast<int64_t>(gpus.size())) {
    return {DriverState::gpu_bad, fmt::format("{} lists {} GPU{}, and none can be used: {}", driver_text(sight),
                                              gpus.size(), gpus.size() == 1 ? "" : "s", problems)};
  }
  const auto tail = bad == 0 ? std::string() : fmt::format("; not usable: {}", problems);
  const auto branch = branch_needed(gpus);
  if (branch && sight.cuda_version < cuda_of_branch(*branch))
    return {DriverState::too_old, too_old(sight, *branch) + tail};
  return {DriverState::ok,
          fmt::format("{} and {} GPU{}{}", driver_text(sight), gpus.size(), gpus.size() == 1 ? "" : "s", tail)};
}

}  // namespace

Driver judge_driver(const DriverSight& sight, const std::vector<Gpu>& gpus) {
  Driver driver;
  driver.version = find_version(sight);
  if (sight.cuda_version > 0) driver.cuda_version = cuda_text(sight.cuda_version);
  driver.library = sight.library;
  auto [state, sentence] = gpus.empty() ? state_without_gpus(sight) : state_with_gpus(sight, gpus);
  driver.state = state;
  driver.sentence = sentence + ".";
  return driver;
}

}  // namespace pbprobe::host
