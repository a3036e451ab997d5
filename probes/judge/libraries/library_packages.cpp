// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/libraries/library_packages.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cuda_releases.hpp"
#include "core/major_minor.hpp"
#include "core/package_index.hpp"

namespace pbprobe {
namespace {

struct ComponentPackage {
  std::string_view component;  // name in recipes/cuda_components.json
  std::string_view package;    // for CUDA 13 and later; CUDA 12 adds "-cu12"
};
constexpr std::array<ComponentPackage, 11> kToolkit{{{"cuBLAS", "nvidia-cublas"},
                                                     {"CUPTI", "nvidia-cuda-cupti"},
                                                     {"NVRTC", "nvidia-cuda-nvrtc"},
                                                     {"CUDA runtime", "nvidia-cuda-runtime"},
                                                     {"cuFFT", "nvidia-cufft"},
                                                     {"cuFile", "nvidia-cufile"},
                                                     {"cuRAND", "nvidia-curand"},
                                                     {"cuSOLVER", "nvidia-cusolver"},
                                                     {"cuSPARSE", "nvidia-cusparse"},
                                                     {"nvJitLink", "nvidia-nvjitlink"},
                                                     {"NVTX", "nvidia-nvtx"}}};

enum class Suffix : uint8_t { none, before_13, always };  // "-cu12"

struct OtherPackage {
  std::string_view begin;  // prefix of the library's name
  std::string_view package;
  Suffix suffix = Suffix::none;
};
constexpr std::array<OtherPackage, 18> kOthers{{{"libtorch", "torch"},
                                                {"libc10", "torch"},
                                                {"libcudnn", "nvidia-cudnn", Suffix::always},
                                                {"libnccl.", "nvidia-nccl", Suffix::always},
                                                {"libcusparseLt.", "nvidia-cusparselt", Suffix::always},
                                                {"libnvshmem_host.", "nvidia-nvshmem", Suffix::always},
                                                {"libcudss.", "nvidia-cudss", Suffix::always},
                                                {"libcutensor", "cutensor", Suffix::always},
                                                {"libnvcomp.", "nvidia-nvcomp", Suffix::always},
                                                {"libnvinfer", "tensorrt", Suffix::always},
                                                {"libnvjpeg.", "nvidia-nvjpeg", Suffix::before_13},
                                                {"libnpp", "nvidia-npp", Suffix::before_13},
                                                {"libcudart.so.11", "nvidia-cuda-runtime-cu11"},
                                                {"libcublas.so.11", "nvidia-cublas-cu11"},
                                                {"libcublasLt.so.11", "nvidia-cublas-cu11"},
                                                {"libtbb.", "tbb"},
                                                {"libmkl_", "mkl"},
                                                {"libiomp5.", "intel-openmp"}}};

// Component of the CUDA toolkit that contains a library, and the major CUDA versions.
struct InToolkit {
  std::string component;
  std::set<int64_t> majors;
};

InToolkit find_in_toolkit(std::string_view soname) {
  InToolkit found;
  for (const auto& release : all_cuda_releases()) {
    for (const auto& component : release.components) {
      const auto& names = component.sonames;
      if (std::ranges::find(names, soname) == names.end()) continue;
      found.component = component.component;
      if (const auto version = parse_major_minor(release.release)) found.majors.insert(version->major);
    }
  }
  return found;
}

std::string add_suffix(std::string_view package, Suffix suffix, int64_t cuda) {
  constexpr int64_t kFirstWithout = 13;
  const bool plain = suffix == Suffix::none || (suffix == Suffix::before_13 && cuda >= kFirstWithout);
  return plain ? std::string(package) : fmt::format("{}-cu{}", package, cuda);
}

using Majors = std::set<int64_t>;

// Returns "A or B" if several CUDA versions have the library, and `cuda` does not choose one.
std::string join_packages(std::string_view package, Suffix suffix, std::set<int64_t> majors,
                          std::optional<int64_t> cuda) {
  if (cuda && majors.contains(*cuda)) majors = {*cuda};
  std::set<std::string> names;
  for (const int64_t major : majors) names.insert(add_suffix(package, suffix, major));
  return fmt::format("{}", fmt::join(names, " or "));
}

std::optional<std::string> find_package(std::string_view soname, std::optional<int64_t> cuda) {
  const InToolkit in_toolkit = find_in_toolkit(soname);
  for (const auto& [component, package] : kToolkit) {
    if (component == in_toolkit.component) return join_packages(package, Suffix::before_13, in_toolkit.majors, cuda);
  }
  for (const auto& [begin, package, suffix] : kOthers) {
    const bool before_13 = begin == "libcudnn" && soname.ends_with(".so.8");  // cuDNN 8 has no package for CUDA 13
    if (soname.starts_with(begin)) return join_packages(package, suffix, before_13 ? Majors{12} : Majors{12, 13}, cuda);
  }
  return std::nullopt;
}

}  // namespace

std::vector<ProvidedLibrary> find_packages(const std::vector<std::string>& names, std::optional<int64_t> cuda) {
  for (const auto& name : names) {
    const auto majors = find_in_toolkit(name).majors;
    if (majors.size() == 1) cuda = *majors.begin();
  }
  std::vector<ProvidedLibrary> libraries;
  for (const auto& name : names) libraries.push_back({name, find_package(name, cuda)});
  return libraries;
}

std::optional<std::string> make_install_command(const std::vector<ProvidedLibrary>& libraries, std::string_view torch) {
  std::set<std::string> packages;
  for (const auto& library : libraries) {
    if (!library.package || library.package->find(' ') != std::string::npos) return std::nullopt;
    packages.insert(*library.package);
  }
  const std::string pin = torch.empty() ? "" : " " + make_torch_pin(torch);
  return fmt::format("pip install {}{}", fmt::join(packages, " "), pin);
}

}  // namespace pbprobe
