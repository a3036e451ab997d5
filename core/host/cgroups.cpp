// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The limits of this process's control groups, v1 and v2. Source: the kernel's admin-guide/cgroup-v1 and cgroup-v2.
#include <algorithm>
#include <string_view>

#include "core/host/detect.hpp"
#include "core/host/files.hpp"
#include "core/strings.hpp"

namespace pbprobe {
namespace host {
namespace {

// Returns quota / period in whole CPUs; nullopt if one of them is missing, malformed, or means "no limit".
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

// Limits of parent groups apply too. In a container, the path may contain groups that are not visible; they are
// skipped.
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

// Cgroup controller: functions that read its limit, and the mount points of its file system.
struct Controller {
  std::string_view name;
  std::optional<int64_t> (*v2)(const HostSources&, const std::string& folder);
  std::optional<int64_t> (*v1)(const HostSources&, const std::string& folder);
  std::vector<std::string_view> v1_mounts;
};

std::optional<int64_t> tightest(const HostSources& sources, const Controller& controller) {
  std::optional<int64_t> limit;
  const auto groups = read_text(sources.root, "/proc/self/cgroup").value_or("");
  for (const auto line : split(groups, '\n')) {  // "0::/path" (v2), "4:cpu,cpuacct:/path" (v1)
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto path = trim(line.substr(second + 1));
    if (!path.starts_with('/') || path.find("..") != std::string_view::npos) continue;
    const auto names = split(controllers, ',');
    if (controllers.empty()) {
      for (const auto* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        tighten_upwards(limit, sources, mount, path, controller.v2);
    } else if (std::ranges::find(names, controller.name) != names.end()) {
      for (const auto mount : controller.v1_mounts)
        tighten_upwards(limit, sources, std::string(mount), path, controller.v1);
    }
  }
  return limit;
}

// Reads a byte limit; nullopt for a group without limit: "max", or in v1 the largest counter value.
std::optional<int64_t> read_byte_limit(const HostSources& sources, const std::string& file) {
  constexpr uint64_t kUnlimited = uint64_t{1} << 60;
  const auto number = parse_number(trim(read_line(sources.root, file).value_or("")));
  if (!number || *number == 0 || *number >= kUnlimited) return std::nullopt;
  return static_cast<int64_t>(*number);
}

// Returns the limit without the memory in use. Unused file pages count as free.
std::optional<int64_t> subtract_use(const HostSources& sources, const std::string& folder, std::optional<int64_t> limit,
                                    std::string_view use_file) {
  const auto use = parse_number(trim(read_line(sources.root, fmt::format("{}/{}", folder, use_file)).value_or("")));
  if (!limit || !use) return limit;
  int64_t taken = static_cast<int64_t>(*use);
  const auto stat = read_text(sources.root, folder + "/memory.stat").value_or("");
  for (const auto line : split_lines(stat)) {
    constexpr std::string_view kUnused = "inactive_file ";
    if (line.starts_with(kUnused)) taken -= static_cast<int64_t>(parse_number(line.substr(kUnused.size())).value_or(0));
  }
  return std::max<int64_t>(*limit - std::max<int64_t>(taken, 0), 0);
}

std::optional<int64_t> memory_v2(const HostSources& sources, const std::string& folder) {
  return read_byte_limit(sources, folder + "/memory.max");
}

std::optional<int64_t> memory_v1(const HostSources& sources, const std::string& folder) {
  return read_byte_limit(sources, folder + "/memory.limit_in_bytes");
}

std::optional<int64_t> room_v2(const HostSources& sources, const std::string& folder) {
  return subtract_use(sources, folder, memory_v2(sources, folder), "memory.current");
}

std::optional<int64_t> room_v1(const HostSources& sources, const std::string& folder) {
  return subtract_use(sources, folder, memory_v1(sources, folder), "memory.usage_in_bytes");
}

}  // namespace

std::optional<int64_t> quota_cpus(const HostSources& sources) {
  return tightest(sources, {.name = "cpu",
                            .v2 = quota_v2,
                            .v1 = quota_v1,
                            .v1_mounts = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}});
}

}  // namespace host

std::optional<int64_t> memory_limit_bytes(const HostSources& sources) {
  return host::tightest(
      sources,
      {.name = "memory", .v2 = host::memory_v2, .v1 = host::memory_v1, .v1_mounts = {"/sys/fs/cgroup/memory"}});
}

std::optional<int64_t> available_memory_bytes(const HostSources& sources) {
  std::optional<int64_t> available = host::tightest(
      sources, {.name = "memory", .v2 = host::room_v2, .v1 = host::room_v1, .v1_mounts = {"/sys/fs/cgroup/memory"}});
  const auto text = host::read_text(sources.root, "/proc/meminfo").value_or("");
  const auto stated = host::find_value(text, "MemAvailable").value_or("");  // "12345 kB"
  const auto kib = host::parse_number(stated.substr(0, stated.find(' ')));
  if (kib) host::tighten(available, static_cast<int64_t>(*kib) * 1024);
  return available;
}

Result<void> check_unified_room(size_t bytes, std::optional<int64_t> available) {
  if (!available || bytes <= static_cast<size_t>(get_unified_share(*available))) return {};
  return make_error(
      ErrorCode::limit,
      "allocating {} bytes of unified memory: more than half of the {} bytes that this machine or its cgroup "
      "has available, which could hang the machine: free memory",
      bytes, *available);
}

}  // namespace pbprobe
