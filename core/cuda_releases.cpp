// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/cuda_releases.hpp"

#include <algorithm>
#include <charconv>

#include "core/json.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kReleasesJson =
#include "cuda_components.inc"  // recipes/cuda_components.json as string literals (cmake/Embed.cmake)
    ;

std::vector<ToolkitRelease> load_releases() {
  auto parsed = parse_json(kReleasesJson);
  auto table = parsed ? from_json<ToolkitTable>(*parsed) : Result<ToolkitTable>(parsed.error());
  return embedded(std::move(table), "recipes/cuda_components.json").releases;
}

std::vector<int64_t> parse_numbers(std::string_view version) {
  std::vector<int64_t> numbers;
  while (!version.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    version.remove_prefix(static_cast<size_t>(end - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  return numbers;
}

}  // namespace

const std::vector<ToolkitRelease>& all_cuda_releases() {
  static const std::vector<ToolkitRelease> releases = load_releases();
  return releases;
}

bool is_version_of(std::string_view version, std::string_view begin) {
  return version.starts_with(begin) && (version.size() == begin.size() || version[begin.size()] == '.');
}

bool fits_release(const ToolkitComponent& component, std::string_view version) {
  if (is_version_of(component.version, version) || is_version_of(version, component.version)) return true;
  const auto least = parse_numbers(component.version);
  const auto there = parse_numbers(version);
  return component.newer_too && !least.empty() && !there.empty() && there[0] == least[0] && there > least;
}

bool is_toolkit_component(std::string_view component) {
  const auto& components = all_cuda_releases().back().components;
  return std::ranges::any_of(components, [&](const ToolkitComponent& entry) { return entry.component == component; });
}

}  // namespace pbprobe
