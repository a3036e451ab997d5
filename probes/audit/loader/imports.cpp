// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/imports.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "core/demangle.hpp"
#include "probes/audit/packages/closure.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

std::string canonical_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path.string() : real.string();
}

std::string get_file_name(const std::string& path) {
  return fs::path(path).filename().string();
}

std::optional<std::string> why_refused(const Loading& loading) {
  if (!loading.missing_libraries.empty())
    return fmt::format("it needs the library {}, which is missing", loading.missing_libraries.front().name);
  if (!loading.missing_versions.empty())
    return fmt::format("it needs the symbol version {}, which {} does not define",
                       loading.missing_versions.front().version, loading.missing_versions.front().library);
  if (!loading.unresolved.empty())
    return fmt::format("it needs the symbol {}, which no library defines", demangled(loading.unresolved.front().name));
  return std::nullopt;
}

std::vector<std::string> list_paths(const Process& process) {
  std::vector<std::string> paths;
  for (const auto& object : process.objects()) paths.push_back(canonical_path(object->path));
  return paths;
}

bool holds(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  return text;
}

// glibc opens these libraries for names of users, hosts and character sets.
bool is_glibc_plugin(const std::string& path) {
  return get_file_name(path).starts_with("libnss_") || path.find("/gconv/") != path.npos;
}

}  // namespace

Imports::Imports(const fs::path& packages, const std::string& library_path)
    : path_(packages_on_path(packages)), extensions_(path_, library_path) {}

fs::path Imports::python() const {
  if (extensions_.torch_process() == nullptr) return {};
  std::error_code error;
  for (const char* name : {"bin/python", "bin/python3"}) {
    if (fs::exists(path_.front().environment / name, error)) return path_.front().environment / name;
  }
  return {};
}

void Imports::predict(const InstalledPackage& package, std::vector<Import>& all) {
  for (const auto& item : package.layout.items) {
    if (!extensions_.needs_torch(item)) continue;
    auto [loading, process] = extensions_.open_after_torch(package, item);
    if (!loading.assumed.empty()) continue;
    all.push_back({.module = extensions_.find_module_name(item).value_or(item.disk.string()),
                   .path = item.disk.string(),
                   .refused_by_files = why_refused(loading),
                   .predicted = list_paths(process)});
  }
}

std::vector<Import> Imports::predicted() {
  std::vector<Import> all;
  if (python().empty() || extensions_.torch_module().empty()) return all;
  all.push_back({.module = "torch",
                 .path = extensions_.torch_module().string(),
                 .predicted = list_paths(*extensions_.torch_process())});
  for (const auto& installed : path_) {
    for (const auto& package : installed.packages) predict(package, all);
  }
  std::set<std::string> stood_for;
  for (const auto& tried : all) {
    if (!tried.refused_by_files) stood_for.insert(without_digits(tried.path));
  }
  std::erase_if(
      all, [&](const Import& one) { return one.refused_by_files && stood_for.contains(without_digits(one.path)); });
  return all;
}

void Imports::compare(Import& tried) {
  std::map<std::string, std::string> by_name;
  for (const auto& path : tried.loaded) by_name.emplace(get_file_name(path), path);
  std::set<std::string> names;
  for (const auto& path : tried.predicted) {
    names.insert(get_file_name(path));
    if (holds(tried.loaded, path)) continue;
    const auto other = by_name.find(get_file_name(path));
    tried.others.push_back({.name = get_file_name(path),
                            .predicted = path,
                            .loaded = other == by_name.end() ? std::nullopt : std::optional(other->second)});
  }
  // Python itself opens modules, with the libraries that they need.
  Process process = *extensions_.torch_process();
  for (const auto& path : tried.loaded) {
    if (!holds(tried.predicted, path) && extensions_.is_module(path)) (void)process.open(path, false);
  }
  const auto explained = list_paths(process);
  const auto is_own = [&](const std::string& path) {
    return std::ranges::any_of(
        path_, [&](const InstalledPackages& installed) { return path.starts_with(installed.folder.string() + "/"); });
  };
  for (const auto& path : tried.loaded) {
    if (holds(tried.predicted, path) || holds(explained, path)) continue;
    if (is_driver_library(get_file_name(path)) || is_glibc_plugin(path)) continue;
    const bool named =
        std::ranges::any_of(tried.others, [&](const OtherLibrary& other) { return other.loaded == path; });
    const bool twin = names.contains(get_file_name(path));
    if (!named && (twin || !is_own(path))) tried.unpredicted.push_back(path);
  }
}

}  // namespace pbprobe
