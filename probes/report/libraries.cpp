// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/strings.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

constexpr size_t kLabel = 24;
constexpr size_t kMaxNames = 12;  // names per kind; JSON has all

// Collects versions of installed components, of components that torch's package requires, and of linked libraries that
// contain their version.
std::map<std::string, std::string> collect_versions(const Inventory& inventory) {
  std::map<std::string, std::string> versions;
  if (inventory.component_versions) versions = *inventory.component_versions;
  if (inventory.required_versions) {
    for (const auto& [name, version] : *inventory.required_versions)
      versions.emplace(name, version + ", required by torch's package");
  }
  for (const auto& file : inventory.files) {
    if (!file.links) continue;
    for (const auto& [name, version] : file.links->versions) {
      const auto [entry, is_new] = versions.emplace(name, fmt::format("{}, in {}", version, base_name(file.path)));
      if (!is_new && !entry->second.starts_with(version))
        entry->second += fmt::format("; {} in {}", version, base_name(file.path));
    }
  }
  return versions;
}

std::string join_first(const std::set<std::string>& names) {
  const size_t shown = std::min(names.size(), kMaxNames);
  std::string line =
      fmt::format("{}", fmt::join(names.begin(), std::next(names.begin(), static_cast<long>(shown)), ", "));
  if (shown < names.size()) line += fmt::format(" and {} more", names.size() - shown);
  return line;
}

void add_static_libraries(Page& page, const Inventory& inventory) {
  for (const auto& file : inventory.files) {
    if (!file.links || file.links->contains.empty()) continue;
    page.entry(base_name(file.path), fmt::format("holds {}", fmt::join(file.links->contains, ", ")), kLabel);
  }
}

void add_cxx_abi(Page& page, const Inventory& inventory) {
  int64_t after = 0;
  int64_t before = 0;
  for (const auto& file : inventory.files) {
    if (!file.links || file.component != "libtorch") continue;
    after += file.links->cxx11_names;
    before += file.links->pre_cxx11_names;
  }
  if (after + before == 0) return;
  page.entry("C++ ABI",
             before == 0  ? "C++11"
             : after == 0 ? "before C++11"
                          : fmt::format("mixed: {} C++11 names, {} older names", after, before),
             kLabel);
}

std::string_view describe_provider(Provider provider) {
  switch (provider) {
    case Provider::artifact: return "in the artifact";
    case Provider::outside: return "in other folders";
    case Provider::system: return "from the system";
    case Provider::driver: return "from the driver";
    case Provider::unresolved: return "not found";
  }
  return name_of(provider);
}

void add_names(Page& page, std::string_view label, const std::map<Provider, std::set<std::string>>& names) {
  for (const auto& [provider, all] : names) {
    page.entry(label, fmt::format("{} {}: {}", all.size(), describe_provider(provider), join_first(all)), kLabel);
    label = "";
  }
}

}  // namespace

void add_versions(Page& page, const Inventory& inventory) {
  const auto versions = collect_versions(inventory);
  const bool compilers =
      std::ranges::any_of(inventory.files, [](const File& file) { return file.compiler.has_value(); });
  if (versions.empty() && !inventory.version_floors && !inventory.python_abi && !compilers) return;
  page.heading("Versions");
  if (inventory.python_abi) page.entry("Python ABI", *inventory.python_abi, kLabel);
  if (inventory.version_floors) {
    for (const auto& [name, version] : *inventory.version_floors) page.entry(name + " from", version, kLabel);
  }
  for (const auto& [name, version] : versions) page.entry(name, version, kLabel);
  for (const auto& file : inventory.files) {
    if (!file.compiler) continue;
    const std::string last = file.compiler->knows.empty() ? "" : ", knows up to " + file.compiler->knows.back();
    page.entry(base_name(file.path), file.compiler->version.value_or("?") + last, kLabel);
  }
}

void add_libraries(Page& page, const Inventory& inventory) {
  std::map<Provider, std::set<std::string>> needed;
  std::map<Provider, std::set<std::string>> opened;
  bool any = false;
  for (const auto& file : inventory.files) {
    if (!file.links) continue;
    for (const auto& dependency : file.links->dependencies) needed[dependency.provider].insert(dependency.name);
    if (file.links->opened) {
      for (const auto& library : *file.links->opened) opened[library.provider].insert(library.name);
    }
    any = any || !file.links->contains.empty();
  }
  if (!any && needed.empty() && opened.empty()) return;
  page.heading("Libraries");
  add_static_libraries(page, inventory);
  add_cxx_abi(page, inventory);
  add_names(page, "needed", needed);
  add_names(page, "may be opened", opened);
}

}  // namespace pbprobe::text
