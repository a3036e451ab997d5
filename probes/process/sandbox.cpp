// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/sandbox.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/host/host.hpp"
#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/retry_on_eintr.hpp"

namespace pbprobe {
namespace {

// Avoids glibc's fork(), which takes locks that another thread of the parent may hold.
pid_t raw_fork(unsigned long namespaces) {
  return static_cast<pid_t>(syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

void write_word(const char* file, const char* word) {
  const int descriptor = open(file, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  [[maybe_unused]] const ssize_t written = write(descriptor, word, strlen(word));
  close(descriptor);
}

void map_user(const Sandbox& sandbox) {
  write_word("/proc/self/setgroups", "deny");
  write_word("/proc/self/uid_map", sandbox.uid_map);
  write_word("/proc/self/gid_map", sandbox.gid_map);
}

// Mounts a /proc for the processes of this namespace. The mount is visible only inside of it.
bool mount_proc() {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

// NCCL talks to itself by an interface, and in here is no other.
void raise_loopback() {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) return;
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", sizeof "lo");
  request.ifr_flags = IFF_UP;
  ioctl(any, SIOCSIFFLAGS, &request);
  close(any);
}

// Tries the mount in a process that ends at once, because a process cannot leave its namespaces.
bool can_mount_proc(const Sandbox& sandbox, unsigned long namespaces) {
  const pid_t child = raw_fork(namespaces);
  if (child == 0) {
    if ((namespaces & CLONE_NEWUSER) != 0) map_user(sandbox);
    _exit(mount_proc() ? 0 : 1);
  }
  int status = 1;
  if (child < 0) return false;
  return retry_on_eintr([&] { return waitpid(child, &status, 0); }, kMaxWaitInterruptions) == child && status == 0;
}

bool has_gpu_driver() {
  return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0 || access("/dev/nvmap", F_OK) == 0;
}

constexpr unsigned long kIsolated = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS;

// Runs as the first process of the namespace: reaps orphans, and exits when the kept process ends. The kernel then ends
// all other processes of the namespace.
[[noreturn]] void keep(pid_t kept, int status_write) {
  dup2(status_write, 0);
  close_descriptors(1);
  while (true) {
    int status = 0;
    const pid_t ended = retry_on_eintr([&] { return waitpid(-1, &status, 0); }, kMaxWaitInterruptions);
    if (ended >= 0 && ended != kept) continue;
    if (ended == kept) {
      retry_on_eintr([&] { return write(0, &status, sizeof status); });
    }
    _exit(0);
  }
}

// Returns the inode of the process namespace; nullopt if unknown.
std::optional<ino_t> read_namespace(const std::string& pid) {
  struct stat facts {};
  if (stat(("/proc/" + pid + "/ns/pid").c_str(), &facts) != 0) return std::nullopt;
  return facts.st_ino;
}

// Parses the session id, which follows the name in parentheses: "12 (any name) S ppid pgrp session …".
long read_session(const std::string& pid) {
  const auto stat = read_whole_file("/proc/" + pid + "/stat");
  const std::string text = stat.ok() ? *stat : "";
  long parent = 0, group = 0, session = 0;
  const auto end = text.rfind(')');
  if (end == std::string::npos ||
      std::sscanf(text.c_str() + end + 1, " %*c %ld %ld %ld", &parent, &group, &session) != 3)
    return -1;
  return session;
}

int64_t resident_bytes(const std::string& pid) {
  const auto statm = read_whole_file("/proc/" + pid + "/statm");
  long resident = 0;
  const bool read = statm.ok() && std::sscanf(statm->c_str(), "%*d %ld", &resident) == 1;
  return read ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

void close_descriptors(unsigned first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  for (unsigned number = first; number < 1024; ++number) close(static_cast<int>(number));
}

Sandbox prepare_sandbox() {
  Sandbox sandbox;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) == 0) {
    sandbox.status_read = ends[0];
    sandbox.status_write = ends[1];
  }
  std::snprintf(sandbox.uid_map, sizeof sandbox.uid_map, "%u %u 1", geteuid(), geteuid());
  std::snprintf(sandbox.gid_map, sizeof sandbox.gid_map, "%u %u 1", getegid(), getegid());
  sandbox.proc = can_mount_proc(sandbox, kIsolated | CLONE_NEWUSER) || can_mount_proc(sandbox, kIsolated);
  // CUDA looks up its own pid in /proc, and fails (error 304) if /proc shows other pids.
  sandbox.pids = sandbox.proc || !has_gpu_driver();
  return sandbox;
}

pid_t fork_into(Sandbox& sandbox) {
  const unsigned long apart = sandbox.pids ? kIsolated : CLONE_NEWNET;
  // Root needs no user namespace, and would lose access in it to folders of other users that only root may read.
  const unsigned long first = geteuid() == 0 ? 0 : CLONE_NEWUSER;
  for (const unsigned long namespaces : {apart | first, apart | (first ^ CLONE_NEWUSER), 0UL}) {
    sandbox.apart = (namespaces & CLONE_NEWPID) != 0;
    if (sandbox.apart && sandbox.status_write < 0) continue;
    const pid_t child = raw_fork(namespaces);
    if (child < 0 && namespaces != 0) continue;  // not allowed here
    if (child != 0) return child;
    setsid();
    if ((namespaces & CLONE_NEWUSER) != 0) map_user(sandbox);
    if ((namespaces & CLONE_NEWNET) != 0) raise_loopback();
    if (!sandbox.apart) return 0;
    if (sandbox.proc) mount_proc();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    const pid_t kept = raw_fork(0);
    if (kept < 0) _exit(127);
    if (kept > 0) keep(kept, sandbox.status_write);
    setsid();
    return 0;
  }
  return -1;
}

std::optional<int> read_kept_status(const Sandbox& sandbox) {
  int status = 0;
  if (!sandbox.apart || fcntl(sandbox.status_read, F_SETFL, O_NONBLOCK) != 0) return std::nullopt;
  const auto got = retry_on_eintr([&] { return read(sandbox.status_read, &status, sizeof status); });
  if (got != sizeof status) return std::nullopt;
  return status;
}

std::optional<int> end_status(const Sandbox& sandbox, std::optional<int> status) {
  if (const auto kept = read_kept_status(sandbox)) return kept;
  return sandbox.apart && status == 0 ? std::nullopt : status;
}

void close_sandbox(Sandbox& sandbox) {
  for (int* descriptor : {&sandbox.status_read, &sandbox.status_write}) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
  }
}

SandboxUsage measure_usage(pid_t child, const Sandbox& sandbox) {
  SandboxUsage usage;
  const auto own = read_namespace(std::to_string(child));
  std::error_code error;
  for (const FolderEntry& entry : list_folder("/proc", error)) {
    const std::string pid = entry.path.filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const bool inside = sandbox.apart ? own && read_namespace(pid) == own : read_session(pid) == child;
    if (!inside) continue;
    ++usage.processes;
    usage.resident_bytes += resident_bytes(pid);
  }
  return usage;
}

int64_t default_memory_limit() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  bytes = std::min(bytes, memory_limit_bytes(system_sources()).value_or(bytes));
  return bytes / 5 * 4;
}

bool has_own_proc() {
  std::array<char, 32> text{};
  const ssize_t length = readlink("/proc/self", text.data(), text.size() - 1);
  return length > 0 && std::atol(text.data()) == getpid();
}

}  // namespace pbprobe
