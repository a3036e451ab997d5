// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// How many CPUs there are, how many this process may use, and the caches: /sys and the cgroup file systems.
#include <algorithm>
#include <set>
#include <string_view>

#include "core/host/detect.hpp"
#include "core/host/files.hpp"

namespace pbprobe::host {
namespace {

// quota / period in whole CPUs; null where either is missing, malformed, or says "no limit".
std::optional<int64_t> whole_cpus(std::string_view quota, std::string_view period) {
  const auto q = parse_number(trim(quota));
  const auto p = parse_number(trim(period));
  if (!q || !p || *p == 0) return std::nullopt;
  return std::max<int64_t>(1, static_cast<int64_t>(*q / *p));
}

std::optional<int64_t> quota_v2(const HostSources& sources, const std::string& folder) {
  const auto line = read_line(sources.root, folder + "/cpu.max");  // "200000 100000" or "max 100000"
  if (!line) return std::nullopt;
  const auto parts = split(*line, ' ');
  if (parts.size() != 2) return std::nullopt;
  return whole_cpus(parts[0], parts[1]);
}

std::optional<int64_t> quota_v1(const HostSources& sources, const std::string& folder) {
  const auto quota = read_line(sources.root, folder + "/cpu.cfs_quota_us");  // "-1": no limit
  const auto period = read_line(sources.root, folder + "/cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return whole_cpus(*quota, *period);
}

void tighten(std::optional<int64_t>& limit, std::optional<int64_t> other) {
  if (other) limit = limit ? std::min(*limit, *other) : *other;
}

// A limit of any group above holds too. In a container the path may name groups that are not visible: skipped.
template <class Quota>
void tighten_upwards(std::optional<int64_t>& limit, const HostSources& sources, const std::string& mount,
                     std::string_view path, Quota quota) {
  while (true) {
    while (path.ends_with('/')) path.remove_suffix(1);
    tighten(limit, quota(sources, fmt::format("{}{}", mount, path)));
    if (path.empty()) return;
    path = path.substr(0, path.rfind('/'));
  }
}

bool has_cpu(std::string_view controllers) {
  const auto names = split(controllers, ',');
  return std::find(names.begin(), names.end(), "cpu") != names.end();
}

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

std::optional<int64_t> quota_cpus(const HostSources& sources) {
  std::optional<int64_t> limit;
  const auto groups = read_text(sources.root, "/proc/self/cgroup").value_or("");
  for (const auto line : split(groups, '\n')) {  // "0::/path" (v2), "4:cpu,cpuacct:/path" (v1)
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto path = trim(line.substr(second + 1));
    if (!path.starts_with('/') || path.find("..") != std::string_view::npos) continue;
    if (controllers.empty()) {
      for (const auto* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        tighten_upwards(limit, sources, mount, path, quota_v2);
    } else if (has_cpu(controllers)) {
      for (const auto* mount : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"})
        tighten_upwards(limit, sources, mount, path, quota_v1);
    }
  }
  return limit;
}

std::optional<int64_t> physical_cores(const HostSources& sources, const std::vector<int64_t>& online) {
  std::set<std::string> cores;
  for (const auto cpu : online) {
    // Its older name, which every kernel still has.
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
