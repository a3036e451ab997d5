// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/cage.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// glibc's fork() takes locks that another thread of the parent may hold.
pid_t raw_fork(unsigned long namespaces) {
  return static_cast<pid_t>(syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

void write_word(const char* file, const char* word) {
  const int descriptor = open(file, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  [[maybe_unused]] const ssize_t written = write(descriptor, word, strlen(word));
  close(descriptor);
}

void close_from(unsigned first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  for (unsigned number = first; number < 1024; ++number) close(static_cast<int>(number));
}

// The first process of the namespace: reaps what nobody else does, and ends with the kept one. The kernel ends the
// rest.
[[noreturn]] void keep(pid_t kept, int status_write) {
  dup2(status_write, 0);
  close_from(1);
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended >= 0 && ended != kept) continue;
    if (ended == kept) {
      [[maybe_unused]] const ssize_t written = write(0, &status, sizeof status);
    }
    _exit(0);
  }
}

// Namespace of processes; null where it cannot be told.
std::optional<ino_t> namespace_of(const std::string& pid) {
  struct stat facts {};
  if (stat(("/proc/" + pid + "/ns/pid").c_str(), &facts) != 0) return std::nullopt;
  return facts.st_ino;
}

// The session, after the name in parentheses: "12 (any name) S ppid pgrp session …".
long session_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  long parent = 0, group = 0, session = 0;
  const auto end = text.rfind(')');
  if (end == std::string::npos ||
      std::sscanf(text.c_str() + end + 1, " %*c %ld %ld %ld", &parent, &group, &session) != 3)
    return -1;
  return session;
}

int64_t resident_bytes(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return file ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

Cage prepare_cage() {
  Cage cage;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) == 0) {
    cage.status_read = ends[0];
    cage.status_write = ends[1];
  }
  std::snprintf(cage.uid_map, sizeof cage.uid_map, "%u %u 1", geteuid(), geteuid());
  std::snprintf(cage.gid_map, sizeof cage.gid_map, "%u %u 1", getegid(), getegid());
  return cage;
}

pid_t fork_into(Cage& cage) {
  constexpr unsigned long kApart = CLONE_NEWPID | CLONE_NEWNET;
  for (const unsigned long namespaces : {kApart | CLONE_NEWUSER, kApart, 0UL}) {
    if (namespaces != 0 && cage.status_write < 0) continue;
    cage.apart = namespaces != 0;
    const pid_t child = raw_fork(namespaces);
    if (child < 0 && namespaces != 0) continue;  // not allowed here
    if (child != 0) return child;
    setsid();
    if (namespaces == 0) return 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if ((namespaces & CLONE_NEWUSER) != 0) {
      write_word("/proc/self/setgroups", "deny");
      write_word("/proc/self/uid_map", cage.uid_map);
      write_word("/proc/self/gid_map", cage.gid_map);
    }
    const pid_t kept = raw_fork(0);
    if (kept < 0) _exit(127);
    if (kept > 0) keep(kept, cage.status_write);
    setsid();
    return 0;
  }
  return -1;
}

std::optional<int> kept_status(const Cage& cage) {
  int status = 0;
  if (!cage.apart || fcntl(cage.status_read, F_SETFL, O_NONBLOCK) != 0) return std::nullopt;
  if (read(cage.status_read, &status, sizeof status) != sizeof status) return std::nullopt;
  return status;
}

void close_cage(Cage& cage) {
  for (int* descriptor : {&cage.status_read, &cage.status_write}) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
  }
}

Crowd crowd_of(pid_t child, const Cage& cage) {
  Crowd crowd;
  const auto own = namespace_of(std::to_string(child));
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string pid = entry->path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const bool inside = cage.apart ? own && namespace_of(pid) == own : session_of(pid) == child;
    if (!inside) continue;
    ++crowd.processes;
    crowd.resident_bytes += resident_bytes(pid);
  }
  return crowd;
}

int64_t most_memory_bytes() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  std::ifstream group("/sys/fs/cgroup/memory.max");
  int64_t allowed = 0;
  if (group >> allowed && allowed > 0) bytes = std::min(bytes, allowed);
  return bytes / 5 * 4;
}

bool proc_is_ours() {
  std::array<char, 32> text{};
  const ssize_t length = readlink("/proc/self", text.data(), text.size() - 1);
  return length > 0 && std::atol(text.data()) == getpid();
}

}  // namespace pbprobe
