// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Counts of CPUs, CPUs that this process may use, and caches, read from /sys and /proc.
#include <algorithm>
#include <set>
#include <string_view>

#include "core/host/detect.hpp"
#include "core/host/files.hpp"
#include "core/strings.hpp"

namespace pbprobe::host {
namespace {

std::optional<int64_t> parse_size(std::string_view text) {  // "105M", "107520K"
  text = trim(text);
  int64_t unit = 1;
  if (text.ends_with('K')) unit = int64_t{1} << 10;
  if (text.ends_with('M')) unit = int64_t{1} << 20;
  if (text.ends_with('G')) unit = int64_t{1} << 30;
  if (unit != 1) text.remove_suffix(1);
  const auto number = parse_number(text);
  if (!number || *number > (uint64_t{1} << 30)) return std::nullopt;
  return static_cast<int64_t>(*number) * unit;
}

struct Cache {
  uint64_t level = 0;
  int64_t bytes = 0;
  std::string sharers;
};

std::optional<Cache> outermost_cache(const HostSources& sources, int64_t cpu) {
  std::optional<Cache> best;
  constexpr int kMaxCaches = 16;
  for (int index = 0; index < kMaxCaches; ++index) {
    const auto folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}", cpu, index);
    const auto level_text = read_line(sources.root, folder + "/level");
    if (!level_text) break;
    const auto level = parse_number(*level_text);
    const auto size = parse_size(read_line(sources.root, folder + "/size").value_or(""));
    if (!level || !size || read_line(sources.root, folder + "/type") == "Instruction") continue;
    if (best && best->level >= *level) continue;
    best = Cache{*level, *size, read_line(sources.root, folder + "/shared_cpu_list").value_or("")};
  }
  return best;
}

}  // namespace

std::vector<int64_t> online_cpus(const HostSources& sources) {
  const auto line = read_line(sources.root, "/sys/devices/system/cpu/online");
  auto cpus = line ? parse_cpu_list(*line) : std::nullopt;
  return cpus ? std::move(*cpus) : std::vector<int64_t>{};
}

std::vector<int64_t> allowed_cpus(const HostSources& sources, const std::vector<int64_t>& online) {
  const auto list = find_value(read_text(sources.root, "/proc/self/status").value_or(""), "Cpus_allowed_list");
  const auto allowed = list ? parse_cpu_list(trim(*list)) : std::nullopt;
  if (!allowed) return online;
  std::vector<int64_t> both;
  for (const auto cpu : online) {
    if (std::find(allowed->begin(), allowed->end(), cpu) != allowed->end()) both.push_back(cpu);
  }
  return both.empty() ? online : both;
}

std::optional<int64_t> physical_cores(const HostSources& sources, const std::vector<int64_t>& online) {
  std::set<std::string> cores;
  for (const auto cpu : online) {
    // The older name of core_cpus_list, which every kernel still provides.
    auto siblings =
        read_line(sources.root, fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    if (!siblings) return std::nullopt;
    cores.insert(std::move(*siblings));
  }
  if (cores.empty()) return std::nullopt;
  return static_cast<int64_t>(cores.size());
}

std::optional<int64_t> last_level_cache(const HostSources& sources, const std::vector<int64_t>& online) {
  std::set<std::pair<uint64_t, std::string>> seen;
  int64_t bytes = 0;
  uint64_t level = 0;
  for (const auto cpu : online) {
    const auto cache = outermost_cache(sources, cpu);
    if (!cache || cache->level < level) continue;
    if (cache->level > level) bytes = 0;
    level = cache->level;
    if (seen.emplace(cache->level, cache->sharers).second) bytes += cache->bytes;
  }
  if (bytes == 0) return std::nullopt;
  return bytes;
}

}  // namespace pbprobe::host
