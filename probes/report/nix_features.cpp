// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/targets.hpp"
#include "probes/report/text.hpp"

namespace pbprobe {
namespace {

bool has_all(const Cpu& cpu, std::initializer_list<std::string_view> features) {
  return std::ranges::all_of(features, [&](std::string_view feature) {
    return std::ranges::find(cpu.features, feature) != cpu.features.end();
  });
}

// Returns the level of the x86-64 psABI, by the features of each level that detection reports.
int x86_level(const Cpu& cpu) {
  if (!has_all(cpu, {"sse4_1", "sse4_2", "popcnt"})) return 1;
  if (!has_all(cpu, {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})) return 2;
  return has_all(cpu, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? 4 : 3;
}

bool is_x86(const Host& host) {
  return host.cpu.architecture == "x86_64";
}

// Returns the value of -march= in a target's flags without extensions, because gcc.arch in nixpkgs has none.
std::string parse_march(const Target& target) {
  constexpr std::string_view kFlag = "-march=";
  for (const auto& flag : target.flags)
    if (flag.starts_with(kFlag)) return flag.substr(kFlag.size(), flag.find('+') - kFlag.size());
  return "";
}

}  // namespace

std::string render_nix_features(const Host& host) {
  std::vector<std::string> names;
  if (is_x86(host)) {
    for (int level = 1; level <= x86_level(host.cpu); ++level)
      names.push_back(level == 1 ? "gccarch-x86-64" : fmt::format("gccarch-x86-64-v{}", level));
  } else {
    for (const auto& id : host.cpu.targets) {
      const Target* const target = find_target(id);
      const std::string march = target == nullptr ? "" : parse_march(*target);
      if (!march.empty()) names.push_back("gccarch-" + march);
    }
  }
  if (std::ranges::any_of(host.gpus, [](const Gpu& gpu) { return !gpu.problem; })) names.emplace_back("cuda");
  return names.empty() ? "" : fmt::format("{}\n", fmt::join(names, "\n"));
}

}  // namespace pbprobe
