// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/closure.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/search_rules.hpp"
#include "core/strings.hpp"
#include "probes/audit/packages/distributions.hpp"
#include "probes/audit/packages/platform_policy.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

const std::vector<Dependency>& get_dependencies(const File& file) {
  static const std::vector<Dependency> kNone;
  return file.links ? file.links->dependencies : kNone;
}

std::string expand(const std::string& folder, const File& file) {
  const std::string parent = fs::path(file.path).parent_path().string();
  return expand_origin(folder, parent.empty() ? "." : parent);  // root of the artifact, not of the system
}

struct Closure {
  std::vector<File>& files;
  const Lookup& lookup;
  bool in_wheel;
  std::map<std::string, size_t> by_path = {};
  std::vector<std::vector<size_t>> loaders = {};  // files that need each file

  std::optional<Dependency> search(const std::string& name, const File& owner, const std::vector<std::string>& folders,
                                   const char* tag) const {
    for (const auto& folder : folders) {
      const std::string path = (fs::path(expand(folder, owner)) / name).lexically_normal().string();
      if (const auto found = lookup(path))
        return Dependency{name, found->provider, found->path, fmt::format("{} of {}", tag, owner.path)};
    }
    return std::nullopt;
  }

  // Returns the files that lead to this file, nearest first.
  [[nodiscard]] std::vector<size_t> above(size_t index) const {
    std::vector<size_t> order{index};
    std::set<size_t> seen{index};
    for (size_t i = 0; i < order.size(); ++i) {
      for (const size_t loader : loaders[order[i]]) {
        if (seen.insert(loader).second) order.push_back(loader);
      }
    }
    order.erase(order.begin());
    return order;
  }

  Dependency resolve(const std::string& name, const File& file) const;
  void resolve_all();
  void connect();
  void resolve_by_loaders(size_t index);
  void resolve_opened(size_t index);
  [[nodiscard]] std::optional<Dependency> find_opened_name(const std::string& name, size_t index) const;
};

std::vector<std::string> default_folders(const File& file) {
  return file.machine ? system_folders(*file.machine) : std::vector<std::string>();
}

Dependency Closure::resolve(const std::string& name, const File& file) const {
  auto found = file.runpath.empty() ? search(name, file, file.rpath, "DT_RPATH")
                                    : search(name, file, file.runpath, "DT_RUNPATH");
  // Nix's RUNPATH names the folder of the running driver. A copy in another folder still belongs to the driver.
  if (found && found->provider == Provider::outside && is_driver_library(name)) found->provider = Provider::driver;
  if (found) return *found;
  if (is_driver_library(name)) return {name, Provider::driver, std::nullopt, std::nullopt};
  if (is_system_library(name) || (in_wheel && is_allowed_from_system(name)))
    return {name, Provider::system, std::nullopt, std::nullopt};
  for (const auto& folder : default_folders(file)) {
    if (const auto there = lookup(folder + "/" + name))
      return {name, Provider::system, there->path, "the system's default folders"};
  }
  return {name, Provider::unresolved, std::nullopt, std::nullopt};
}

void Closure::connect() {
  loaders.assign(files.size(), {});
  std::map<std::string, std::vector<size_t>> copies;  // copies of a library for CPU levels: ld.so takes one of them
  for (size_t i = 0; i < files.size(); ++i) {
    by_path[files[i].path] = i;
    const fs::path path = files[i].path;
    const fs::path level = path.parent_path();
    if (level.parent_path().filename() == "glibc-hwcaps")
      copies[(level.parent_path().parent_path() / path.filename()).string()].push_back(i);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    for (const auto& dependency : get_dependencies(files[i])) {
      const auto found = dependency.path ? by_path.find(*dependency.path) : by_path.end();
      if (found == by_path.end()) continue;
      loaders[found->second].push_back(i);
      for (const size_t copy : copies[files[found->second].path]) loaders[copy].push_back(i);
    }
  }
}

// Searches the DT_RPATH of each file that loads this one, and libraries that were loaded before.
void Closure::resolve_by_loaders(size_t index) {
  File& file = files[index];
  if (!file.links) return;
  const auto& own = file.links->dependencies;
  const bool open = std::ranges::any_of(own, [](const Dependency& d) { return d.provider == Provider::unresolved; });
  if (!open) return;
  const std::vector<size_t> chain = above(index);
  for (auto& dependency : file.links->dependencies) {
    for (const size_t loader : chain) {
      if (dependency.provider != Provider::unresolved) break;
      const File& owner = files[loader];
      if (file.runpath.empty() && owner.runpath.empty()) {
        if (auto found = search(dependency.name, owner, owner.rpath, "DT_RPATH")) dependency = *found;
      }
      for (const auto& other : get_dependencies(owner)) {
        if (dependency.provider == Provider::unresolved && other.name == dependency.name &&
            other.provider != Provider::unresolved)
          dependency = {other.name, other.provider, other.path, fmt::format("loaded before by {}", owner.path)};
      }
    }
  }
}

// dlopen() searches as ld.so does, and finds what is loaded already by its SONAME.
std::optional<Dependency> Closure::find_opened_name(const std::string& name, size_t index) const {
  Dependency found = resolve(name, files[index]);
  if (found.provider != Provider::unresolved) return found;
  for (const size_t loader : above(index)) {
    const File& owner = files[loader];
    if (files[index].runpath.empty() && owner.runpath.empty()) {
      if (auto by_owner = search(name, owner, owner.rpath, "DT_RPATH")) return by_owner;
    }
  }
  for (const auto& other : files) {
    if (other.soname == name) return Dependency{name, Provider::artifact, other.path, "its SONAME, once loaded"};
  }
  return std::nullopt;
}

// cuDNN appends the number of its own SONAME to "libcudnn_ops.so".
void Closure::resolve_opened(size_t index) {
  File& file = files[index];
  if (!file.links || !file.links->opened) return;
  std::string number;
  if (file.soname) number = file.soname->substr(std::min(file.soname->rfind(".so") + 3, file.soname->size()));
  for (auto& opened : *file.links->opened) {
    auto found = find_opened_name(opened.name, index);
    if (!found && opened.name.ends_with(".so") && !number.empty())
      found = find_opened_name(opened.name + number, index);
    if (!found) continue;
    found->name = opened.name;
    opened = std::move(*found);
  }
}

void Closure::resolve_all() {
  for (auto& file : files) {
    if (!file.links) continue;
    file.links->dependencies.clear();
    for (const auto& name : file.needed) file.links->dependencies.push_back(resolve(name, file));
  }
  connect();
  for (size_t i = 0; i < files.size(); ++i) resolve_by_loaders(i);
  for (size_t i = 0; i < files.size(); ++i) resolve_opened(i);
}

}  // namespace

bool is_driver_library(std::string_view name) {
  return name.starts_with("libcuda.so") || name.starts_with("libnvidia-") || name.starts_with("libnvcuvid.so");
}

std::string expand_origin(std::string folder, const std::string& origin) {
  for (const std::string_view token : {"${ORIGIN}", "$ORIGIN"}) {
    for (size_t at = folder.find(token); at != std::string::npos; at = folder.find(token, at + origin.size()))
      folder.replace(at, token.size(), origin);
  }
  return folder;
}

// Returns the multiarch folders of `machine`, and lib64 if `machine` is the running one.
std::vector<std::string> system_folders(const std::string& machine) {
  std::vector<std::string> folders;
  for (const char* root : {"/lib/", "/usr/lib/"}) folders.push_back(root + machine + "-linux-gnu");
  utsname system{};
  if (uname(&system) == 0 && machine == system.machine) {
    for (const char* folder : {"/lib64", "/usr/lib64"}) folders.emplace_back(folder);
  }
  return folders;
}

void mark_not_searched(std::vector<File>& files) {
  utsname system{};
  if (uname(&system) != 0) return;
  for (auto& file : files) {
    if (!file.links || !file.machine || *file.machine == system.machine) continue;
    for (auto& dependency : file.links->dependencies) {
      if (dependency.provider == Provider::unresolved) dependency.by = kNotSearched;
    }
  }
}

void resolve_closure(std::vector<File>& files, const Lookup& lookup, bool in_wheel) {
  Closure closure{files, lookup, in_wheel};
  closure.resolve_all();
}

namespace {

namespace fs = std::filesystem;

// Sub-libraries of cuDNN 8 and 9 by NVIDIA's backend guide, and libnvrtc-builtins.
constexpr std::array<std::string_view, 14> kDocumentedParts{"libcudnn_adv",       "libcudnn_adv_infer",
                                                            "libcudnn_adv_train", "libcudnn_cnn",
                                                            "libcudnn_cnn_infer", "libcudnn_cnn_train",
                                                            "libcudnn_ops",       "libcudnn_ops_infer",
                                                            "libcudnn_ops_train", "libcudnn_graph",
                                                            "libcudnn_heuristic", "libcudnn_engines_precompiled",
                                                            "libnvrtc-builtins",  "libcudnn_engines_runtime_compiled"};

std::string_view get_stem(std::string_view name) {
  return name.substr(0, name.find(".so"));
}

bool is_part(std::string_view name) {
  return name.starts_with("libcudnn_") || name.starts_with("libnvrtc-builtins");
}

bool is_missing_part(const Dependency& opened) {
  return opened.provider == Provider::unresolved && is_part(opened.name);
}

bool is_documented(std::string_view name) {
  return std::ranges::find(kDocumentedParts, get_stem(name)) != kDocumentedParts.end();
}

// Returns the stems of all parts that the package of `file` installed; nullopt if no RECORD lists the file.
std::optional<std::set<std::string>> find_recorded_parts(const std::string& file, const fs::path& packages) {
  std::error_code error;
  for (const auto& entry : list_folder(packages, error)) {
    const std::string name = entry.path.filename().string();
    if (!name.starts_with("nvidia") || !name.ends_with(".dist-info")) continue;
    const auto text = read_whole_file(entry.path / "RECORD");
    if (!text) continue;
    const Record record = parse_record(*text);
    std::set<std::string> parts;
    bool owns_file = false;
    for (const auto& recorded : record.files) {
      owns_file = owns_file || recorded.path == file;
      const std::string_view base = base_name(recorded.path);
      if (is_part(base)) parts.emplace(get_stem(base));
    }
    if (owns_file && !record.fault) return parts;
  }
  return std::nullopt;
}

}  // namespace

void remove_optional_parts(std::vector<File>& files, const fs::path& packages) {
  for (auto& file : files) {
    if (!file.links || !file.links->opened) continue;
    auto& opened = *file.links->opened;
    if (std::ranges::none_of(opened, is_missing_part)) continue;
    const auto recorded = packages.empty() ? std::nullopt : find_recorded_parts(file.path, packages);
    std::erase_if(opened, [&](const Dependency& one) {
      if (!is_missing_part(one)) return false;
      return recorded ? !recorded->contains(std::string(get_stem(one.name))) : !is_documented(one.name);
    });
  }
}

}  // namespace pbprobe
