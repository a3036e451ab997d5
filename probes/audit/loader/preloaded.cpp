// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/preloaded.hpp"

#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/open_file.hpp"
#include "probes/audit/packages/walk.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

using PreloadedLibrary = std::pair<std::string, std::string>;  // folder in nvidia/, and library

// After libtorch_global_deps.so, in the order of torch 2.11.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kPreloaded{{
    {"cublas", "libcublasLt"},
    {"cublas", "libcublas"},
    {"cudnn", "libcudnn"},
    {"cuda_nvrtc", "libnvrtc"},
    {"cuda_nvrtc", "libnvrtc-builtins"},
    {"cuda_runtime", "libcudart"},
    {"cuda_cupti", "libcupti"},
    {"cufft", "libcufft"},
    {"curand", "libcurand"},
    {"nvjitlink", "libnvJitLink"},
    {"cusparse", "libcusparse"},
    {"cusparselt", "libcusparseLt"},
    {"cusolver", "libcusolver"},
    {"nccl", "libnccl"},
    {"nvshmem", "libnvshmem_host"},
    {"cufile", "libcufile"},
    {"nvtx", "libnvToolsExt"},
}};

// Older releases name each library twice: the list is the last place.
std::vector<PreloadedLibrary> read_order(const fs::path& torch) {
  const auto text = read_whole_file(torch / "__init__.py");
  std::map<size_t, PreloadedLibrary> order;
  for (const auto& [folder, library] : kPreloaded) {
    const size_t at = text ? text->rfind('"' + std::string(library) + ".so") : std::string::npos;
    if (at != std::string::npos) order.emplace(at, PreloadedLibrary(folder, library));
  }
  std::vector<PreloadedLibrary> libraries;
  for (auto& [at, library] : order) libraries.push_back(std::move(library));
  return libraries;
}

std::optional<fs::path> find_library(const std::vector<fs::path>& places, const std::string& library) {
  for (const auto& place : places) {
    for (const auto& one : names_in(place)) {
      const bool numbered = std::isdigit(static_cast<unsigned char>(one.back())) != 0;
      if (numbered && one.starts_with(library + ".so.")) return place / one;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> find_preloaded(const fs::path& torch, const std::string& cuda, PreloadOrder order) {
  std::vector<PreloadedLibrary> libraries(kPreloaded.begin(), kPreloaded.end());
  if (order == PreloadOrder::of_init_py) libraries = read_order(torch);
  const fs::path nvidia = torch.parent_path() / "nvidia";
  std::vector<fs::path> paths;
  for (const auto& [folder, library] : libraries) {
    const auto found = find_library({nvidia / folder / "lib", nvidia / ("cu" + cuda) / "lib"}, library);
    if (!found) break;
    paths.push_back(*found);
  }
  return paths;
}

}  // namespace pbprobe
