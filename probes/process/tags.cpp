// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/tags.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "core/list_folder.hpp"
#include "core/open_file.hpp"

namespace pbprobe {
namespace {

using Clock = std::chrono::steady_clock;

// Reports whether the environment of a process contains `tag`. Processes of other users are not readable and never
// carry a tag; the environment of a zombie is empty.
bool carries(const std::filesystem::path& process, std::string_view tag, bool whole) {
  const auto environment = read_whole_file(process / "environ");
  if (!environment.ok()) return false;
  const std::string& text = *environment;
  for (size_t at = text.find(tag); at != std::string::npos; at = text.find(tag, at + 1)) {
    const size_t end = at + tag.size();
    if ((at == 0 || text[at - 1] == '\0') && (!whole || end == text.size() || text[end] == '\0')) return true;
  }
  return false;
}

struct Process {
  bool has_ended = true;  // true for a zombie
  pid_t parent = 0;
  uint64_t start = 0;  // clock ticks since boot
};

// Parses /proc/PID/stat: "12 (any name) S 11 …". The start time is word 22.
Process read_process(const std::filesystem::path& process) {
  const auto stat = read_whole_file(process / "stat");
  const size_t end = stat.ok() ? stat->rfind(") ") : std::string::npos;
  if (end == std::string::npos) return {};
  std::istringstream words(stat->substr(end + 2));
  Process seen;
  char state = 'Z';
  words >> state >> seen.parent;
  std::string skipped;
  for (int i = 0; i < 17; ++i) words >> skipped;
  words >> seen.start;
  seen.has_ended = !words || state == 'Z';
  return seen;
}

// Lists processes for which `which` holds. Skips processes that are older than this one, which leaves few to inspect on
// a busy machine.
template <class Which>
std::vector<pid_t> processes(Which which) {
  static const uint64_t own_start = read_process("/proc/self").start;
  std::vector<pid_t> found;
  std::error_code error;
  for (const FolderEntry& entry : list_folder("/proc", error)) {
    const int pid = std::atoi(entry.path.filename().c_str());
    if (pid <= 0 || pid == getpid()) continue;
    const Process seen = read_process(entry.path);
    if (!seen.has_ended && seen.start >= own_start && which(entry.path, seen)) found.push_back(pid);
  }
  return found;
}

template <class Which>
int64_t end_processes(Which which, double patience_seconds) {
  const auto until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience_seconds));
  std::set<pid_t> seen;
  while (true) {
    const auto found = processes(which);
    if (found.empty()) break;
    for (const pid_t pid : found) {
      kill(pid, SIGKILL);
      seen.insert(pid);
    }
    if (Clock::now() >= until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return static_cast<int64_t>(seen.size());
}

}  // namespace

std::string new_tag() {
  static std::atomic<int> count{0};
  return fmt::format("PBPROBE_CHILD={}-{}-{}", getpid(), ++count, Clock::now().time_since_epoch().count());
}

int64_t end_tagged(const std::string& tag, double patience_seconds) {
  return end_processes([&](const auto& path, const Process&) { return carries(path, tag, true); }, patience_seconds);
}

int64_t end_all_started(double patience_seconds) {
  const std::string own = fmt::format("PBPROBE_CHILD={}-", getpid());
  const auto is_ours = [&](const auto& path, const Process& process) {
    return process.parent == getpid() || carries(path, own, false);
  };
  return end_processes(is_ours, patience_seconds);
}

}  // namespace pbprobe
