// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/host_names.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/targets.hpp"

namespace pbprobe {
namespace {

using Names = std::vector<std::string>;

bool has_all(const Cpu& cpu, std::initializer_list<std::string_view> features) {
  return std::all_of(features.begin(), features.end(), [&](std::string_view feature) {
    return std::find(cpu.features.begin(), cpu.features.end(), feature) != cpu.features.end();
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

// Converts major.minor to a number, so that 12.1 sorts after 9.0.
int rank(const std::string& capability) {
  const auto dot = capability.find('.');
  return std::atoi(capability.c_str()) * 100 + (dot == std::string::npos ? 0 : std::atoi(capability.c_str() + dot + 1));
}

// Returns the distinct capabilities of the usable GPUs, lowest first.
Names capabilities(const Host& host) {
  Names all;
  for (const Gpu& gpu : host.gpus)
    if (!gpu.problem) all.push_back(gpu.capability);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return rank(a) < rank(b); });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

constexpr std::array<std::string_view, 9> kNotOfProvider{"rdtscp",         "avx_ifma",    "avx_vnni_int8",
                                                         "avx_ne_convert", "avx512_fp16", "amx_tile",
                                                         "amx_bf16",       "amx_int8",    "amx_fp16"};

Names variant_names(const Host& host) {
  Names names;
  const std::string& architecture = host.cpu.architecture;
  for (int level = is_x86(host) ? x86_level(host.cpu) : 0; level > 0; --level)
    names.push_back(fmt::format("x86_64 :: level :: v{}", level));
  // Only Linux calls SSE3 after Prescott. The provider of x86_64 (0.0.1) refuses other names.
  for (const auto& feature : host.cpu.features) {
    if (is_x86(host) && std::find(kNotOfProvider.begin(), kNotOfProvider.end(), feature) != kNotOfProvider.end())
      continue;
    names.push_back(fmt::format("{} :: {} :: on", architecture, feature == "pni" ? "sse3" : feature));
  }
  for (std::string capability : capabilities(host)) {
    std::erase(capability, '.');
    names.push_back(fmt::format("nvidia :: sm_arch :: {}_real", capability));
  }
  return names;
}

// Conda virtual packages have name, version and build string; "0" is the default.
Names conda_names(const Host& host) {
  Names names{"__unix=0=0", fmt::format("__linux={}=0", host.kernel.substr(0, host.kernel.find('-')))};
  if (host.glibc) names.push_back(fmt::format("__glibc={}=0", *host.glibc));
  // Uses the level, because the name of the microarchitecture is unknown.
  names.push_back(fmt::format("__archspec=1={}", is_x86(host) && x86_level(host.cpu) > 1
                                                     ? fmt::format("x86_64_v{}", x86_level(host.cpu))
                                                     : host.cpu.architecture));
  if (host.driver.cuda_version) names.push_back(fmt::format("__cuda={}=0", *host.driver.cuda_version));
  // The lowest capability: the chosen package must run on each GPU.
  if (const Names all = capabilities(host); !all.empty()) names.push_back(fmt::format("__cuda_arch={}=0", all.front()));
  return names;
}

// Returns the value of -march= in a target's flags without extensions, because gcc.arch in nixpkgs has none.
std::string parse_march(const Target& target) {
  constexpr std::string_view kFlag = "-march=";
  for (const auto& flag : target.flags)
    if (flag.starts_with(kFlag)) return flag.substr(kFlag.size(), flag.find('+') - kFlag.size());
  return "";
}

Names nix_names(const Host& host) {
  Names names;
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
  if (!capabilities(host).empty()) names.emplace_back("cuda");
  return names;
}

}  // namespace

std::string host_names(const Host& host, Naming naming) {
  Names names;
  switch (naming) {
    case Naming::variant: names = variant_names(host); break;
    case Naming::conda: names = conda_names(host); break;
    case Naming::nix: names = nix_names(host); break;
  }
  return names.empty() ? "" : fmt::format("{}\n", fmt::join(names, "\n"));
}

}  // namespace pbprobe
