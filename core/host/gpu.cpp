// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Detection of GPUs through the driver API, with explanations from NVML if it is installed. Creates no context: calls
// only cuInit and cuDeviceGet*.
#include <array>

#include "core/host/driver_state.hpp"
#include "core/host/files.hpp"
#include "core/list_folder.hpp"
#include "core/strings.hpp"
#include "core/targets.hpp"

namespace pbprobe::host {
namespace {

// NVML between nvmlInit and nvmlShutdown; every question answers null where NVML cannot or will not say.
class Nvml {
 public:
  explicit Nvml(const HostSources& sources) {
    if (!sources.nvml) return;
    auto api = sources.nvml();
    if (!api) return;
    start_ = api->nvmlInit();
    if (start_ == kNvmlSuccess) api_ = *api;
  }
  ~Nvml() {
    if (api_) api_->nvmlShutdown();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] const std::optional<NvmlApi>& api() const { return api_; }

  [[nodiscard]] std::optional<std::string> driver_version() const {
    std::array<char, 128> text{};
    if (!api_ || !api_->nvmlSystemGetDriverVersion) return std::nullopt;
    if (api_->nvmlSystemGetDriverVersion(text.data(), text.size() - 1) != kNvmlSuccess) return std::nullopt;
    return text[0] == '\0' ? std::nullopt : std::optional<std::string>(text.data());
  }

  [[nodiscard]] std::optional<int64_t> gpu_count() const {
    unsigned count = 0;
    if (!api_ || !api_->nvmlDeviceGetCount || api_->nvmlDeviceGetCount(&count) != kNvmlSuccess) return std::nullopt;
    return count;
  }

  // Reports whether any GPU is in MIG mode: CUDA sees no GPU then, unless an instance exists.
  [[nodiscard]] bool any_mig() const {
    if (!api_ || !api_->nvmlDeviceGetHandleByIndex || !api_->nvmlDeviceGetMigMode) return false;
    for (unsigned index = 0; index < static_cast<unsigned>(gpu_count().value_or(0)); ++index) {
      NvmlDevice device = nullptr;
      unsigned current = 0;
      unsigned pending = 0;
      if (api_->nvmlDeviceGetHandleByIndex(index, &device) == kNvmlSuccess &&
          api_->nvmlDeviceGetMigMode(device, &current, &pending) == kNvmlSuccess && current != 0)
        return true;
    }
    return false;
  }

 private:
  NvmlReturn start_ = kNvmlDriverNotLoaded;
  std::optional<NvmlApi> api_;
};

// Reads a driver attribute; nullopt if the driver refuses it or returns 0, which means "not known" for all attributes
// used here.
std::optional<int64_t> positive_attribute(const DriverApi& api, CuDevice device, int attribute) {
  int value = 0;
  if (api.cuDeviceGetAttribute(&value, attribute, device) != kCudaSuccess || value <= 0) return std::nullopt;
  return value;
}

std::optional<int64_t> megahertz(const DriverApi& api, CuDevice device, int attribute) {
  const auto khz = positive_attribute(api, device, attribute);
  if (!khz || *khz < 1000) return std::nullopt;
  return *khz / 1000;
}

std::string uuid_text(const CuUuid& uuid, bool mig) {
  std::string text = mig ? "MIG" : "GPU";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

std::optional<std::string> read_bus_id(const DriverApi& driver, CuDevice device) {
  std::array<char, 64> bus{};
  if (driver.cuDeviceGetPCIBusId(bus.data(), bus.size() - 1, device) != kCudaSuccess) return std::nullopt;
  return bus.data();
}

// NVML's additional facts about one GPU. NOT_SUPPORTED, a missing function and a missing permission give null; a lost
// GPU is a problem.
class NvmlGpu {
 public:
  NvmlGpu(const Nvml& nvml, const DriverApi& driver, CuDevice device) {
    if (!nvml.api() || !nvml.api()->nvmlDeviceGetHandleByPciBusId) return;
    const auto bus = read_bus_id(driver, device);
    if (!bus) return;
    const auto answer = nvml.api()->nvmlDeviceGetHandleByPciBusId(bus->c_str(), &device_);
    note(answer);
    if (answer == kNvmlSuccess) api_ = &*nvml.api();
  }

  void fill(Gpu& gpu) {
    if (api_ == nullptr) return;
    if (const auto mhz = ask<unsigned>(api_->nvmlDeviceGetMaxClockInfo, kNvmlClockSm)) gpu.max_sm_clock_mhz = mhz;
    if (const auto mhz = ask<unsigned>(api_->nvmlDeviceGetMaxClockInfo, kNvmlClockMemory))
      gpu.max_memory_clock_mhz = mhz;
    if (const auto milliwatts = ask<unsigned>(api_->nvmlDeviceGetEnforcedPowerLimit))
      gpu.power_limit_watts = *milliwatts / 1000;
    gpu.mig = mode<unsigned>(api_->nvmlDeviceGetMigMode);
    if (const auto ecc = mode<int>(api_->nvmlDeviceGetEccMode)) gpu.ecc = ecc;
  }

  [[nodiscard]] NvmlReturn trouble() const { return trouble_; }

 private:
  void note(NvmlReturn answer) {
    if (answer == kNvmlGpuIsLost || answer == kNvmlResetRequired) trouble_ = answer;
  }

  template <class Value, class Function, class... Args>
  std::optional<int64_t> ask(Function function, Args... args) {
    Value value = 0;
    if (function == nullptr) return std::nullopt;
    const auto answer = function(device_, args..., &value);
    note(answer);
    if (answer != kNvmlSuccess || value == 0) return std::nullopt;
    return static_cast<int64_t>(value);
  }

  template <class Value, class Function>
  std::optional<bool> mode(Function function) {
    Value current = 0;
    Value pending = 0;
    if (function == nullptr) return std::nullopt;
    const auto answer = function(device_, &current, &pending);
    note(answer);
    if (answer != kNvmlSuccess) return std::nullopt;
    return current != 0;
  }

  const NvmlApi* api_ = nullptr;
  NvmlDevice device_ = nullptr;
  NvmlReturn trouble_ = kNvmlSuccess;
};

// Fills the facts that every usable device reports. On error, the device is listed but does not report them.
Result<void> fill_identity(const DriverApi& api, CuDevice device, Gpu& gpu) {
  std::array<char, 256> name{};
  int major = 0;
  int minor = 0;
  PBPROBE_CU(api, "asking for its name", cuDeviceGetName(name.data(), name.size() - 1, device));
  gpu.name = name.data();
  PBPROBE_CU(api, "asking for its capability", cuDeviceGetAttribute(&major, kCuCapabilityMajor, device));
  PBPROBE_CU(api, "asking for its capability", cuDeviceGetAttribute(&minor, kCuCapabilityMinor, device));
  gpu.capability = fmt::format("{}.{}", major, minor);
  if (const auto* target = find_gpu_target(gpu.capability)) gpu.target = target->id;
  size_t bytes = 0;
  PBPROBE_CU(api, "asking for its memory", cuDeviceTotalMem(&bytes, device));
  if (bytes > 0) gpu.memory_bytes = static_cast<int64_t>(bytes);
  return {};
}

Gpu detect_gpu(const DriverApi& api, const Nvml& nvml, int index) {
  constexpr int kProhibited = 2;  // CU_COMPUTEMODE_PROHIBITED
  Gpu gpu;
  gpu.index = index;
  CuDevice device = 0;
  if (const auto result = api.cuDeviceGet(&device, index); result != kCudaSuccess) {
    gpu.problem = driver_error(api, result, "opening it").message + "; look for Xid errors in `dmesg`";
    return gpu;
  }
  if (const auto filled = fill_identity(api, device, gpu); !filled)
    gpu.problem = filled.error().message + "; look for Xid errors in `dmesg`, then reset the GPU or reboot";
  gpu.sm_count = positive_attribute(api, device, kCuMultiprocessorCount);
  gpu.l2_cache_bytes = positive_attribute(api, device, kCuL2CacheBytes);
  gpu.max_sm_clock_mhz = megahertz(api, device, kCuClockRateKhz);
  gpu.max_memory_clock_mhz = megahertz(api, device, kCuMemoryClockRateKhz);
  if (positive_attribute(api, device, kCuEccEnabled))
    gpu.ecc = true;  // 0 means "off" or "not available"; NVML tells them apart
  int integrated = 0;
  if (api.cuDeviceGetAttribute(&integrated, kCuIntegrated, device) == kCudaSuccess)
    gpu.unified_memory = integrated != 0;
  NvmlGpu more(nvml, api, device);
  more.fill(gpu);
  CuUuid uuid{};
  if (api.cuDeviceGetUuid && api.cuDeviceGetUuid(&uuid, device) == kCudaSuccess)
    gpu.uuid = uuid_text(uuid, gpu.mig.value_or(false));
  if (more.trouble() == kNvmlGpuIsLost)
    gpu.problem = "the GPU has fallen off the bus (NVML: GPU is lost): look for Xid 79 in `dmesg`, then reboot";
  // CUDA numbers GPUs in another order than nvidia-smi, and CUDA_VISIBLE_DEVICES changes it: only the PCI bus id is
  // unique.
  const std::string smi_id = read_bus_id(api, device).value_or("BUS_ID");
  if (more.trouble() == kNvmlResetRequired)
    gpu.problem = fmt::format("the GPU needs a reset: `nvidia-smi --gpu-reset -i {}` as root, or reboot", smi_id);
  if (!gpu.problem && positive_attribute(api, device, kCuComputeMode) == kProhibited)
    gpu.problem = fmt::format("the GPU's compute mode is Prohibited: `nvidia-smi -c 0 -i {}` as root", smi_id);
  return gpu;
}

// Reads the driver version from the kernel module's file, for machines without NVML.
std::optional<std::string> module_version(const HostSources& sources) {
  const auto text = read_text(sources.root, "/proc/driver/nvidia/version").value_or("");
  for (const auto word : split(std::string_view(text).substr(0, text.find('\n')), ' ')) {
    const auto dot = word.find('.');
    if (dot != std::string_view::npos && parse_number(word.substr(0, dot))) return std::string(word);
  }
  return std::nullopt;
}

// Reports whether the PCI bus has an NVIDIA (0x10de) display or 3D controller (class 0x03).
bool nvidia_on_pci(const HostSources& sources) {
  std::error_code error;
  for (const FolderEntry& device : list_folder(sources.root + "/sys/bus/pci/devices", error)) {
    const auto folder = device.path.string();
    if (read_line("", folder + "/vendor") == "0x10de" &&
        read_line("", folder + "/class").value_or("").starts_with("0x03"))
      return true;
  }
  return false;
}

}  // namespace

GpuFacts detect_gpus(const HostSources& sources) {
  GpuFacts facts;
  DriverSight sight;
  sight.visible_devices = sources.cuda_visible_devices;
  sight.module_version = module_version(sources);
  sight.on_pci = nvidia_on_pci(sources);
  auto loaded = sources.driver
                    ? sources.driver()
                    : make_error(ErrorCode::not_found, "the caller gave no CUDA driver library (libcuda) to load");
  if (!loaded) {
    sight.load_error = loaded.error().message;
    facts.driver = judge_driver(sight, facts.gpus);
    return facts;
  }
  const auto& api = *loaded;
  sight.library = api.library;
  api.cuDriverGetVersion(&sight.cuda_version);
  sight.init = api.cuInit(0);
  sight.init_error = driver_error(api, sight.init, "cuInit").message;
  const Nvml nvml(sources);
  sight.nvml_version = nvml.driver_version();
  sight.nvml_gpus = nvml.gpu_count();
  int count = 0;
  if (sight.init == kCudaSuccess) {
    if (const auto result = api.cuDeviceGetCount(&count); result != kCudaSuccess) {
      sight.init = result;
      sight.init_error = driver_error(api, result, "cuDeviceGetCount").message;
      count = 0;
    }
  }
  if (count == 0) sight.mig_without_instance = nvml.any_mig();
  for (int index = 0; index < count; ++index) facts.gpus.push_back(detect_gpu(api, nvml, index));
  facts.driver = judge_driver(sight, facts.gpus);
  return facts;
}

}  // namespace pbprobe::host
