// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/host.hpp"

#include <algorithm>

#include "core/host/detect.hpp"
#include "core/host/files.hpp"
#include "core/strings.hpp"
#include "core/targets.hpp"

namespace pbprobe {
namespace {

std::string os_name(const HostSources& sources) {
  for (const auto* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const auto text = host::read_text(sources.root, path).value_or("");
    for (const auto line : split(text, '\n')) {
      constexpr std::string_view kKey = "PRETTY_NAME=";
      if (!line.starts_with(kKey)) continue;
      auto name = trim(line.substr(kKey.size()));
      if (name.size() >= 2 && (name.front() == '"' || name.front() == '\'') && name.back() == name.front())
        name = name.substr(1, name.size() - 2);
      if (!name.empty()) return std::string(name);
    }
  }
  return "Linux";
}

std::optional<int64_t> memory_bytes(const HostSources& sources) {
  const auto text = host::read_text(sources.root, "/proc/meminfo").value_or("");
  const auto total = host::find_value(text, "MemTotal");  // "131886028 kB"
  if (!total || !total->ends_with(" kB")) return std::nullopt;
  const auto kilobytes = host::parse_number(trim(std::string_view(*total).substr(0, total->size() - 3)));
  if (!kilobytes || *kilobytes == 0 || *kilobytes > (uint64_t{1} << 50)) return std::nullopt;
  return static_cast<int64_t>(*kilobytes) * 1024;
}

std::vector<std::string> find_supported_targets(const Cpu& cpu) {
  const auto has = [&](const std::string& feature) {
    return std::ranges::find(cpu.features, feature) != cpu.features.end();
  };
  std::vector<std::string> ids;
  for (const auto& target : all_targets()) {
    if (target.kind != TargetKind::cpu || target.architecture != cpu.architecture) continue;
    if (std::ranges::all_of(target.requires_features, has)) ids.push_back(target.id);
  }
  return ids;
}

Cpu detect_cpu(const HostSources& sources) {
  Cpu cpu;
  cpu.architecture = sources.architecture;
  const auto online = host::online_cpus(sources);
  cpu.logical_cpus = online.empty() ? sources.affinity_cpus.value_or(1) : static_cast<int64_t>(online.size());
  cpu.usable_cpus = std::min(cpu.logical_cpus, sources.affinity_cpus.value_or(cpu.logical_cpus));
  cpu.usable_cpus = std::max<int64_t>(1, std::min(cpu.usable_cpus, host::quota_cpus(sources).value_or(INT64_MAX)));
  cpu.physical_cores = host::physical_cores(sources, host::allowed_cpus(sources, online));
  cpu.last_level_cache_bytes = host::last_level_cache(sources, online);
  if (cpu.architecture == "x86_64") {
    host::detect_x86(sources, cpu);
  } else {
    host::detect_aarch64(sources, online, cpu);
  }
  cpu.targets = find_supported_targets(cpu);
  return cpu;
}

}  // namespace

Result<Host> detect_host(const HostSources& sources) {
  if (sources.architecture != "x86_64" && sources.architecture != "aarch64") {
    return make_error(ErrorCode::unsupported, "this machine is {}: pbprobe knows only x86_64 and aarch64",
                      sources.architecture);
  }
  Host host;
  host.hostname = sources.hostname;
  host.os = os_name(sources);
  host.kernel = sources.kernel;
  host.glibc = sources.glibc;
  host.memory_bytes = memory_bytes(sources);
  host.cpu = detect_cpu(sources);
  auto gpus = host::detect_gpus(sources);
  host.driver = std::move(gpus.driver);
  host.gpus = std::move(gpus.gpus);
  return host;
}

}  // namespace pbprobe
