// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/preloaded.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/open_file.hpp"
#include "probes/audit/loader/opened_libraries.hpp"
#include "probes/audit/packages/constants.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/walk.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

using PreloadedLibrary = std::pair<std::string, std::string>;  // folder in nvidia/, and library

// Libraries that torch 2.11 opens after libtorch_global_deps.so, in its order.
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

// Older releases name some libraries twice: in single calls after the start, and in a list for a failure, which is
// last.
std::vector<PreloadedLibrary> read_order(const fs::path& torch, PreloadTime time) {
  const auto text = read_whole_file(torch / "__init__.py");
  if (!text) return {};
  if (time == PreloadTime::after_start && text->find("_preload_cuda_deps()") != text->npos)
    return {kPreloaded.begin(), kPreloaded.end()};
  std::map<size_t, PreloadedLibrary> order;
  for (const auto& [folder, library] : kPreloaded) {
    const std::string call = fmt::format("_preload_cuda_deps(\"{}\", \"{}.so", folder, library);
    const std::string name = fmt::format("\"{}.so", library);
    const size_t at = time == PreloadTime::after_start ? text->find(call) : text->rfind(name);
    if (at != std::string::npos) order.emplace(at, PreloadedLibrary(folder, library));
  }
  std::vector<PreloadedLibrary> libraries;
  for (auto& [at, library] : order) libraries.push_back(std::move(library));
  return libraries;
}

std::optional<fs::path> find_library(const std::vector<fs::path>& places, const std::string& library) {
  for (const auto& place : places) {
    for (const auto& one : list_entry_names(place)) {
      const bool numbered = std::isdigit(static_cast<unsigned char>(one.back())) != 0;
      if (numbered && one.starts_with(library + ".so.")) return place / one;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> find_preloaded(const fs::path& torch, const std::string& cuda, PreloadTime time) {
  const std::vector<PreloadedLibrary> libraries = read_order(torch, time);
  const fs::path nvidia = torch.parent_path() / "nvidia";
  std::vector<fs::path> paths;
  for (const auto& [folder, library] : libraries) {
    const auto found = find_library({nvidia / folder / "lib", nvidia / ("cu" + cuda) / "lib"}, library);
    if (!found) break;
    paths.push_back(*found);
  }
  return paths;
}

namespace {

namespace fs = std::filesystem;

using Installed = std::map<std::string, std::vector<fs::path>>;

// Rules that do not start from the file that needs the library.
bool is_from_outside(std::string_view how) {
  constexpr std::array<std::string_view, 3> kRules{"LD_LIBRARY_PATH", "ld.so.cache", "the system's default folders"};
  return std::ranges::find(kRules, how) != kRules.end();
}

// A copy of the same release does no harm.
bool has_other_content(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::equivalent(one, other, error)) return false;
  const auto first = map_file(one);
  const auto second = map_file(other);
  if (!first || !second) return false;
  const auto a = first->bytes();
  const auto b = second->bytes();
  return a.size() != b.size() || !std::equal(a.begin(), a.end(), b.begin());
}

// Names that the library may give to dlopen(). cuDNN appends the number of its own SONAME to "libcudnn_ops.so".
std::set<std::string> read_opened_names(const fs::path& path) {
  const auto mapping = map_file(path);
  const auto elf = mapping ? read_elf(Bytes(mapping->bytes(), path.filename().string())) : Result<Elf>(mapping.error());
  const auto names = elf ? read_library_names(*elf) : Result<std::vector<std::string>>(elf.error());
  std::set<std::string> opened;
  for (const auto& name : names ? *names : std::vector<std::string>()) {
    opened.insert(name);
    if (name.ends_with(".so")) opened.insert(name + get_library_number(path.filename().string()));
  }
  return opened;
}

class RedirectedLibraries {
 public:
  RedirectedLibraries(Process& process, const Installed& installed) : process_(process), installed_(installed) {}

  void add_loaded() {
    for (const auto& object : process_.objects()) {
      const auto own = installed_.find(object->path.filename().string());
      if (own == installed_.end() || !is_cuda_library(own->first)) continue;
      const auto* loader = object->loader;
      add(own->first, loader == nullptr ? fs::path() : loader->path, {object->path, object->how}, own->second.front());
    }
  }

  // Adds files beside a library of CUDA that it opens by name, and that the loader finds elsewhere. CUPTI opens its
  // parts only to profile, and a machine with a CUDA toolkit has them in ld.so.cache.
  void add_opened() {
    const auto objects = process_.objects();
    for (const auto& object : objects) {
      const std::string opener = object->path.filename().string();
      if (!is_cuda_library(opener) || find_component(opener) == "CUPTI") continue;
      std::optional<std::set<std::string>> opened;
      for (const auto& name : list_entry_names(object->path.parent_path())) {
        if (!is_cuda_library(name)) continue;
        const auto place = process_.find_for_dlopen(name, *object);
        if (!place || !is_from_outside(place->how)) continue;
        if (!opened) opened = read_opened_names(object->path);
        if (opened->contains(name)) add(name, object->path, *place, object->path.parent_path() / name);
      }
    }
  }

  std::vector<RedirectedLibrary> take() && { return std::move(found_); }

 private:
  void add(const std::string& name, const fs::path& needed_by, const Process::Place& taken, const fs::path& own) {
    if (!is_from_outside(taken.how) || !has_other_content(taken.path, own) || !names_.insert(name).second) return;
    found_.push_back({.name = name,
                      .needed_by = needed_by.string(),
                      .taken = taken.path.string(),
                      .how = taken.how,
                      .installed = own.string()});
  }

  Process& process_;
  const Installed& installed_;
  std::set<std::string> names_;
  std::vector<RedirectedLibrary> found_;
};

}  // namespace

std::vector<RedirectedLibrary> find_redirected_libraries(Process& process, const Installed& installed) {
  RedirectedLibraries libraries(process, installed);
  libraries.add_loaded();
  libraries.add_opened();
  return std::move(libraries).take();
}

}  // namespace pbprobe
