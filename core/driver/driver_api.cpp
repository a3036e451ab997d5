// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/driver/driver_api.hpp"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/ranges.h>

#include "core/statuses.hpp"

namespace pbprobe {
namespace {

// NixOS and WSL keep the driver libraries in these folders, which the normal search does not cover.
constexpr std::array<std::string_view, 2> kFolders{"/run/opengl-driver/lib", "/usr/lib/wsl/lib"};

// Fills one function pointer; false where the library does not have the symbol.
template <class Function>
bool look_up(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

template <class Function>
std::string find_library_file(Function function, const std::string& asked) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(function), &info) == 0 || info.dli_fname == nullptr) return asked;
  std::error_code error;
  auto file = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : file.string();
}

Result<void*> open_library(const std::string& path) {
  if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* reason = dlerror();
  return make_error(ErrorCode::not_found, "{}", reason ? reason : path + ": cannot be loaded");
}

template <class Api>
Result<Api> load_first(std::string_view name, Result<Api> (*load)(const std::string&)) {
  auto api = load(std::string(name));
  if (api || api.error().code != ErrorCode::not_found) return api;
  std::string seen = api.error().message;
  for (const auto folder : kFolders) {
    const auto path = fmt::format("{}/{}", folder, name);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    api = load(path);
    if (api || api.error().code != ErrorCode::not_found) return api;
    seen += "; " + api.error().message;
  }
  return make_error(ErrorCode::not_found, "{} (looked in {} too)", seen, fmt::join(kFolders, " and "));
}

}  // namespace

#define PBPROBE_NEED_FUNCTION(name, symbol, parameters) \
  if (!look_up(library, symbol, api.name)) lacks.push_back(symbol);
#define PBPROBE_WANT_FUNCTION(name, symbol, parameters) \
  if (!look_up(library, symbol, api.name)) api.missing.push_back(symbol);
#define PBPROBE_TAKE_FUNCTION(name, symbol, parameters) look_up(library, symbol, api.name);

Result<DriverApi> load_driver_api(const std::string& path) {
  PBPROBE_TRY(void* library, open_library(path));
  DriverApi api;
  std::vector<std::string> lacks;
  PBPROBE_DRIVER_DETECT(PBPROBE_NEED_FUNCTION)
  if (!lacks.empty()) {
    return make_error(ErrorCode::unsupported,
                      "{} is not a CUDA driver library: it lacks {}; reinstall the NVIDIA driver", path,
                      fmt::join(lacks, ", "));
  }
  PBPROBE_DRIVER_OPTIONAL(PBPROBE_TAKE_FUNCTION)
  PBPROBE_DRIVER_LAUNCH(PBPROBE_WANT_FUNCTION)
  api.library = find_library_file(api.cuInit, path);
  return api;
}

Result<NvmlApi> load_nvml_api(const std::string& path) {
  PBPROBE_TRY(void* library, open_library(path));
  NvmlApi api;
  std::vector<std::string> lacks;
  PBPROBE_NVML_NEEDED(PBPROBE_NEED_FUNCTION)
  if (!lacks.empty())
    return make_error(ErrorCode::unsupported, "{} is not an NVML library: it lacks {}; reinstall the NVIDIA driver",
                      path, fmt::join(lacks, ", "));
  PBPROBE_NVML_OPTIONAL(PBPROBE_TAKE_FUNCTION)
  api.library = find_library_file(api.nvmlInit, path);
  return api;
}

const Result<DriverApi>& driver_api() {
  static const Result<DriverApi> api = load_first("libcuda.so.1", &load_driver_api);
  return api;
}

const Result<NvmlApi>& nvml_api() {
  static const Result<NvmlApi> api = load_first("libnvidia-ml.so.1", &load_nvml_api);
  return api;
}

Result<void> require_launch(const DriverApi& api) {
  if (api.missing.empty()) return {};
  return make_error(Obstacle::driver, ErrorCode::unsupported,
                    "{} is older than CUDA 12.0 and cannot launch kernels for pbprobe: it lacks {}; install driver 525 "
                    "or newer",
                    api.library, fmt::join(api.missing, ", "));
}

std::string driver_error_name(const DriverApi& api, CuResult result) {
  const char* name = nullptr;
  if (api.cuGetErrorName(result, &name) != kCudaSuccess || name == nullptr) return fmt::format("CUDA error {}", result);
  return name;
}

// The way out, for those errors that a user can do something about.
std::string_view driver_remedy(CuResult result) {
  switch (result) {
    case kCudaErrorOutOfMemory:
      return "free GPU memory (nvidia-smi lists the processes that hold it), or use smaller shapes";
    case kCudaErrorDeviceUnavailable:
      return "another process has exclusive use of the GPU: end that process, or choose another GPU";
    case kCudaErrorNoBinaryForGpu: return "choose the target of this GPU, or build it: make build TARGETS=native";
    case kCudaErrorIllegalAddress:
    case kCudaErrorIllegalInstruction:
    case kCudaErrorMisalignedAddress:
    case kCudaErrorLaunchFailed:
      return "an earlier kernel, perhaps of another library, broke the CUDA context of this process: start the process "
             "again, under compute-sanitizer to find the kernel";
    case kCudaErrorLaunchTimeout:
      return "a kernel exceeded the time limit of the display watchdog: use a GPU without display";
    case kCudaErrorEccUncorrectable:
      return "the GPU failed: look for Xid messages in the kernel's log, and restart the machine";
    default: return {};
  }
}

Error driver_error(const DriverApi& api, CuResult result, std::string_view what) {
  const char* text = nullptr;
  if (api.cuGetErrorString(result, &text) != kCudaSuccess) text = nullptr;
  const std::string_view remedy = driver_remedy(result);
  Error error = make_error(ErrorCode::device, "{}: {} ({}){}{}{}{}", what, driver_error_name(api, result), result,
                           text ? ", " : "", text ? text : "", remedy.empty() ? "" : ": ", remedy);
  error.obstacle = classify_status(StatusSource::cuda, result);
  return error;
}

}  // namespace pbprobe
