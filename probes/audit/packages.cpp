// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace pbprobe {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kDistributions{{
    {"nvidia_cublas", "cuBLAS"},
    {"nvidia_cuda_cupti", "CUPTI"},
    {"nvidia_cuda_nvrtc", "NVRTC"},
    {"nvidia_cuda_runtime", "CUDA runtime"},
    {"nvidia_cudnn", "cuDNN"},
    {"nvidia_cufft", "cuFFT"},
    {"nvidia_cufile", "cuFile"},
    {"nvidia_curand", "cuRAND"},
    {"nvidia_cusolver", "cuSOLVER"},
    {"nvidia_cusparselt", "cuSPARSELt"},
    {"nvidia_cusparse", "cuSPARSE"},
    {"nvidia_nccl", "NCCL"},
    {"nvidia_nvjitlink", "nvJitLink"},
    {"nvidia_nvshmem", "NVSHMEM"},
    {"nvidia_nvtx", "NVTX"},
    {"triton", "Triton"},
    {"cuda_toolkit", "CUDA toolkit"},
    {"cuda_bindings", "CUDA bindings"},
    {"mkl", "MKL"},
}};

// "nvidia_cublas" and "nvidia_cublas_cu12" are one package, "nvidia_cublasmp" another.
bool names_package(std::string_view distribution, std::string_view package) {
  if (!distribution.starts_with(package)) return false;
  const std::string_view rest = distribution.substr(package.size());
  return rest.empty() || rest.starts_with("_cu");
}

std::optional<std::string> version_of_file(std::string_view path) {
  constexpr std::string_view kMark = ".so.";
  const size_t at = path.rfind(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view version = path.substr(at + kMark.size());
  const bool numbers = version.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!numbers || std::count(version.begin(), version.end(), '.') < 2) return std::nullopt;  // a SONAME, no version
  return std::string(version);
}

}  // namespace

std::map<std::string, std::string> component_versions(const std::vector<std::string>& distributions,
                                                      const std::vector<File>& files) {
  std::map<std::string, std::string> versions;
  for (const auto& distribution : distributions) {
    const size_t dash = distribution.find('-');
    if (dash == std::string::npos) continue;
    for (const auto& [package, component] : kDistributions) {
      if (names_package(std::string_view(distribution).substr(0, dash), package))
        versions.emplace(component, distribution.substr(dash + 1));
    }
  }
  for (const auto& file : files) {
    if (!file.component || *file.component == "libtorch") continue;
    if (const auto version = version_of_file(file.path)) versions.emplace(*file.component, *version);
  }
  return versions;
}

std::optional<std::string> python_abi(const std::vector<File>& files) {
  for (const auto& file : files) {
    const size_t slash = file.path.rfind('/');
    const std::string_view name = std::string_view(file.path).substr(slash == std::string::npos ? 0 : slash + 1);
    constexpr std::string_view kModule = "_C.cpython-";
    if (name == "_C.abi3.so") return "abi3";
    if (!name.starts_with(kModule)) continue;
    const std::string_view tag = name.substr(kModule.size(), name.find('-', kModule.size()) - kModule.size());
    return "cp" + std::string(tag);
  }
  return std::nullopt;
}

}  // namespace pbprobe
