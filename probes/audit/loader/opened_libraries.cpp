// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/opened_libraries.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/search_rules.hpp"
#include "probes/audit/packages/contents.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

std::string get_stem(const std::string& name) {
  return name.substr(0, name.find(".so"));
}

// Returns the names that dlopen() gets for `name`. cuDNN appends its own number: libcudnn_ops.so.9.1.0, then .9.1, .9.
std::vector<std::string> list_tried_names(const std::string& name, std::string number) {
  std::vector<std::string> names;
  for (; name.ends_with(".so") && !number.empty(); number.resize(number.rfind('.'))) names.push_back(name + number);
  names.push_back(name);
  return names;
}

class OpenedLibraries {
 public:
  OpenedLibraries(const InstalledPackage& package, const LibrariesByName& installed) : installed_(installed) {
    for (const auto& item : package.layout.items) own_.insert(get_stem(item.disk.filename().string()));
  }

  // Marks the names that `file` opens in vain in all processes. One of several versions of a library suffices.
  void mark(File& file, const std::vector<std::pair<Process*, const LoadedObject*>>& loaded) const {
    const std::string family = get_library_family(fs::path(file.path).filename().string());
    std::map<std::string, std::vector<std::string>> tried;
    for (const auto& opened : *file.links->opened) {
      const std::string stem = get_stem(opened.name);
      // A file that needs a library opens no other version of it, though it may name one.
      const bool needed =
          std::ranges::any_of(file.needed, [&](const std::string& name) { return get_stem(name) == stem; });
      if (needed || !is_cuda_library(opened.name) || stem == get_stem(family) || own_.contains(stem)) continue;
      for (auto& name : list_tried_names(opened.name, get_library_number(family)))
        tried[stem].push_back(std::move(name));
    }
    for (const auto& [stem, names] : tried) {
      const bool found = std::ranges::any_of(names, [&](const std::string& name) {
        return std::ranges::any_of(loaded, [&](const auto& one) {
          return one.first->find(name) != nullptr || one.first->find_for_dlopen(name, *one.second);
        });
      });
      if (!found) mark_stem(file, stem, names);
    }
  }

 private:
  void mark_stem(File& file, const std::string& stem, const std::vector<std::string>& names) const {
    std::string numbered;  // the name without a number is for developers: runtime packages have no such link
    std::optional<std::string> path;
    for (const auto& name : names) {
      if (!get_library_number(name).empty()) numbered = name;
      const auto there = installed_.find(name);
      if (there == installed_.end()) continue;
      numbered = name;
      path = there->second.front().string();
      break;
    }
    if (numbered.empty()) return;
    const bool is_installed = path.has_value();
    if (!path) path = find_other_version(numbered);
    const bool is_optional = is_installed || !path;
    if (is_optional && !is_cuda_library(get_library_family(fs::path(file.path).filename().string()))) return;
    const auto opened = std::find_if(file.links->opened->begin(), file.links->opened->end(),
                                     [&](const Dependency& one) { return get_stem(one.name) == stem; });
    *opened = {.name = numbered, .path = path, .by = std::string(kUnopened)};
  }

  // Parts of cuDNN have other names in other versions: libcudnn_ops_infer.so.8, libcudnn_ops.so.9.
  [[nodiscard]] std::optional<std::string> find_other_version(const std::string& name) const {
    for (const std::string& stem : {get_stem(name), get_stem(name).substr(0, name.find('_'))}) {
      const std::string begin = stem + ".so.";
      const auto found = installed_.lower_bound(begin);
      if (found != installed_.end() && found->first.starts_with(begin)) return found->second.front().string();
    }
    return std::nullopt;
  }

  const LibrariesByName& installed_;
  std::set<std::string> own_;  // stems of the package's files
};

const LoadedObject* find_loaded(const Process& process, const fs::path& path) {
  for (const auto& object : process.objects()) {
    if (object->path == path) return object.get();
  }
  return nullptr;
}

}  // namespace

bool is_cuda_library(const std::string& name) {
  constexpr std::array<std::string_view, 13> kComponents{"cuDNN",    "cuBLAS",       "cuFFT",  "cuSPARSELt", "cuSPARSE",
                                                         "cuSOLVER", "CUDA runtime", "NVRTC",  "nvJitLink",  "cuRAND",
                                                         "CUPTI",    "NCCL",         "NVSHMEM"};
  const auto component = find_component(name);
  return component && std::ranges::find(kComponents, *component) != kComponents.end();
}

std::string get_library_number(const std::string& name) {
  const size_t at = name.find(".so");
  return at == name.npos ? "" : name.substr(at + std::string_view(".so").size());
}

std::string get_library_family(const std::string& name) {
  const size_t dash = name.find('-');
  const size_t end = name.find(".so", dash == name.npos ? 0 : dash);
  if (dash == name.npos || end == name.npos || end - dash != 9) return name;
  if (name.find_first_not_of("0123456789abcdef", dash + 1) != end) return name;
  std::string family = name.substr(0, dash) + name.substr(end);
  const size_t major = family.find_first_not_of("0123456789", family.find(".so") + 4);
  return family.substr(0, major);
}

void mark_unopened_libraries(std::vector<File>& files, const InstalledPackage& package, Process& process,
                             Process& after_torch, const LibrariesByName& installed) {
  const OpenedLibraries libraries(package, installed);
  for (auto& file : files) {
    if (!file.links || !file.links->opened) continue;
    std::vector<std::pair<Process*, const LoadedObject*>> loaded;
    for (Process* one : {&process, &after_torch}) {
      if (const auto* object = find_loaded(*one, package.layout.root / file.path)) loaded.emplace_back(one, object);
    }
    if (!loaded.empty()) libraries.mark(file, loaded);
  }
}

}  // namespace pbprobe
