// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json.hpp"
#include "probes/measure/cage.hpp"
#include "probes/measure/crash.hpp"
#include "probes/measure/sentences.hpp"
#include "probes/measure/worker.hpp"

namespace pbprobe {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, signal);
  return set;
}

// Parent and state of a process, from /proc/<pid>/stat: "12 (any name) S 11 …".
struct ProcessState {
  char state = '?';
  pid_t parent = 0;
};

ProcessState state_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return {};
  return {text[name_end + 2], static_cast<pid_t>(std::atoi(text.c_str() + name_end + 4))};
}

// Children of this process that still run. Orphans of the worker are among them: a subreaper inherits them.
std::vector<pid_t> running_children() {
  std::vector<pid_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const int pid = std::atoi(entry->path().filename().c_str());
    if (pid <= 0) continue;
    const ProcessState process = state_of(entry->path());
    if (process.parent == getpid() && process.state != 'Z' && process.state != 'X') children.push_back(pid);
  }
  return children;
}

enum class Wait { worker_ended, limit, told_to_stop };

// Reaps until the worker itself is reaped. SIGTERM is how the starter, or its death, stops us.
Wait wait_for(pid_t worker, Clock::time_point until, int& status) {
  const sigset_t signals = watched_signals();
  while (true) {
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
      if (pid == worker) return Wait::worker_ended;
    const auto left = std::chrono::duration<double>(until - Clock::now()).count();
    if (left <= 0) return Wait::limit;
    timespec pause{};
    pause.tv_sec = static_cast<time_t>(std::min(left, 1.0));
    pause.tv_nsec = left < 1 ? static_cast<long>(left * 1e9) : 0;
    const int signal = sigtimedwait(&signals, nullptr, &pause);
    if (signal == SIGTERM || signal == SIGINT) return Wait::told_to_stop;
  }
}

// Ends every descendant; gives up after the patience. Returns whether all are gone; `seen` counts them.
bool end_descendants(const Supervision& supervision, std::set<pid_t>& seen, pid_t worker, int* worker_status) {
  const auto until = after(supervision.patience_seconds);
  // In a namespace of its own there is nobody else, and its numbers are not those of /proc.
  const bool alone = !proc_is_ours();
  while (true) {
    if (alone) {
      supervision.end_them(-1, SIGKILL);  // all at once: nothing can be forked meanwhile
    } else {
      for (const pid_t pid : running_children()) {
        seen.insert(pid);
        supervision.end_them(pid, SIGKILL);
      }
    }
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      if (alone && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) seen.insert(pid);
      if (pid == worker && worker_status != nullptr) *worker_status = status;
    }
    if (pid < 0 && errno == ECHILD) return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Ended ended_with(int status) {
  Ended ended;
  if (WIFSIGNALED(status)) {
    ended.how = How::signal;
    ended.signal = signal_name(WTERMSIG(status));
  } else {
    ended.code = WEXITSTATUS(status);
  }
  return ended;
}

Result<MeasureRequest> read_request(int descriptor) {
  std::string text;
  std::array<char, 65536> buffer;
  ssize_t count = 0;
  while ((count = read(descriptor, buffer.data(), buffer.size())) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return make_error(ErrorCode::unreadable, "reading the request from descriptor {}: {}", descriptor,
                        std::strerror(errno));
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  PBPROBE_TRY(const Json json, parse_json(text), "reading the request");
  PBPROBE_TRY(auto request, from_json<MeasureRequest>(json), "reading the request");
  return request;
}

// No core files of gigabytes, no setuid programs, and nothing survives the starter.
void confine() {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = watched_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}

[[noreturn]] void be_worker(pid_t supervisor, const MeasureRequest& request, EventWriter& events) {
  setpgid(0, 0);  // who ends its own group ends no supervisor
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != supervisor) _exit(2);
  const sigset_t signals = watched_signals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  report_crashes(events);
  const bool finished = run_request(request, events);
  // Not exit(): a foreign library's destructors could still crash or hang after the answer.
  _exit(finished ? 0 : 2);
}

}  // namespace

Ended supervise(pid_t worker, const Supervision& supervision) {
  int status = 0;
  const Wait wait = wait_for(worker, after(supervision.limit_seconds), status);
  std::set<pid_t> seen;
  const bool gone = end_descendants(supervision, seen, worker, wait == Wait::worker_ended ? nullptr : &status);
  Ended ended = wait == Wait::limit ? Ended{.how = How::time_limit} : ended_with(status);
  if (!gone) ended.how = How::hung;
  seen.erase(worker);
  ended.left_behind = static_cast<int64_t>(seen.size());
  return ended;
}

int measure_main(int request_descriptor, int result_descriptor) {
  confine();
  EventWriter events(result_descriptor);
  auto request = read_request(request_descriptor);
  close(request_descriptor);
  if (!request.ok()) {
    events.refused(request.error().message);
    return 2;
  }
  const pid_t supervisor = getpid();
  const pid_t worker = fork();
  if (worker < 0) {
    events.refused(std::string("starting the worker process: ") + std::strerror(errno));
    return 2;
  }
  if (worker == 0) {
    EventWriter mine(result_descriptor);
    be_worker(supervisor, *request, mine);
  }
  const Ended ended = supervise(worker, {.limit_seconds = request->limit_seconds, .end_them = ::kill});
  events.ended(ended);
  return ended.how == How::exited && ended.code == 0 ? 0 : 2;
}

}  // namespace pbprobe
