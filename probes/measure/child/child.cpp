// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/child/child.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/host/host.hpp"
#include "core/json.hpp"
#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/retry_on_eintr.hpp"
#include "core/scope_exit.hpp"
#include "probes/measure/child/landlock.hpp"
#include "probes/measure/child/words.hpp"
#include "probes/measure/kernels/bench.hpp"
#include "probes/measure/kernels/cores.hpp"
#include "probes/measure/kernels/gpu_probes.hpp"
#include "probes/measure/libtorch/probe.hpp"
#include "probes/measure/libtorch/starts.hpp"
#include "probes/process/gemm.hpp"
#include "probes/process/sandbox.hpp"
#include "probes/process/sentences.hpp"

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

ProcessState read_process_state(const std::filesystem::path& folder) {
  const auto stat = read_whole_file(folder / "stat");
  const std::string text = stat.ok() ? *stat : "";
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return {};
  return {text[name_end + 2], static_cast<pid_t>(std::atoi(text.c_str() + name_end + 4))};
}

// Children of this process that still run. Orphans of the worker are among them: a subreaper inherits them.
std::vector<pid_t> running_children() {
  std::vector<pid_t> children;
  std::error_code error;
  for (const FolderEntry& entry : list_folder("/proc", error)) {
    const int pid = std::atoi(entry.path.filename().c_str());
    if (pid <= 0) continue;
    const ProcessState process = read_process_state(entry.path);
    if (process.parent == getpid() && process.state != 'Z' && process.state != 'X') children.push_back(pid);
  }
  return children;
}

enum class Wait { worker_ended, limit, asked_to_stop, failed };

// Reaps until the worker itself is reaped. SIGTERM is how the starter, or its death, stops us.
Wait wait_for_worker(pid_t worker, Clock::time_point until, Broker* broker, int& status) {
  const sigset_t watched = watched_signals();
  const int signals = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
  const ScopeExit close_it{[&] { close(signals); }};
  const auto reap = [&] { return waitpid(-1, &status, WNOHANG); };
  bool heard = broker != nullptr;
  while (true) {
    pid_t pid = 0;
    while ((pid = retry_on_eintr(reap)) > 0)
      if (pid == worker) return Wait::worker_ended;
    if (pid < 0 && errno == EINTR) return Wait::failed;
    const auto left = std::chrono::duration<double>(until - Clock::now()).count();
    if (left <= 0) return Wait::limit;
    std::array<pollfd, 2> ready{{{signals, POLLIN, 0}, {heard ? broker->descriptor() : -1, POLLIN, 0}}};
    // After a failed poll, pump() anyway: it does not block, and the worker may be waiting for its answer.
    const bool failed = poll(ready.data(), ready.size(), static_cast<int>(std::min(left, 1.0) * 1e3) + 1) < 0;
    if (failed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (heard && (failed || ready[1].revents != 0)) heard = broker->pump();
    signalfd_siginfo signal{};
    while (read(signals, &signal, sizeof signal) == sizeof signal)
      if (signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT) return Wait::asked_to_stop;
  }
}

// Ends every descendant; gives up after the patience. Returns whether all are gone; `seen` counts them.
bool end_descendants(const Supervision& supervision, std::set<pid_t>& seen, pid_t worker, int* worker_status) {
  const auto until = after(supervision.patience_seconds);
  // An isolated namespace contains only descendants, so that -1 reaches them all. If /proc has other process numbers
  // than kill() without isolation, only the worker's number is known.
  const bool knows_numbers = has_own_proc();
  const bool by_itself = supervision.isolated && !knows_numbers;
  bool worker_runs = worker_status != nullptr;  // the kernel may reuse the number of a reaped worker
  while (true) {
    if (by_itself) {
      supervision.end_them(-1, SIGKILL);  // all at once: nothing can be forked meanwhile
    } else if (knows_numbers) {
      for (const pid_t pid : running_children()) {
        seen.insert(pid);
        supervision.end_them(pid, SIGKILL);
      }
    } else if (worker_runs) {
      supervision.end_them(worker, SIGKILL);
    }
    int status = 0;
    pid_t pid = 0;
    while ((pid = retry_on_eintr([&] { return waitpid(-1, &status, WNOHANG); })) > 0) {
      if (by_itself && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) seen.insert(pid);
      if (pid != worker || worker_status == nullptr) continue;
      worker_runs = false;
      *worker_status = status;
    }
    if (pid < 0 && errno == ECHILD) return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

WorkerEnd decode_status(int status) {
  WorkerEnd ended;
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
  while ((count = retry_on_eintr([&] { return read(descriptor, buffer.data(), buffer.size()); })) != 0) {
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

[[noreturn]] void be_worker(pid_t supervisor, const MeasureRequest& request, Channel& channel,
                            CrashMessage* last_words) {
  EventWriter events(channel);
  setpgid(0, 0);  // code that kills its own process group must not kill the supervisor
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != supervisor) _exit(2);
  const sigset_t signals = watched_signals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  report_crashes(last_words);
  bool finished = false;
  try {
    finished = run_request(request, events);
  } catch (const std::bad_alloc&) {
    events.obstacle(Obstacle::out_of_memory);
  } catch (const std::system_error& error) {  // no further thread
    events.obstacle(error.code() == std::errc::resource_unavailable_try_again ? Obstacle::not_permitted
                                                                              : Obstacle::unexplained);
  }
  // Not exit(): a foreign library's destructors could still crash or hang after the answer.
  _exit(finished ? 0 : 2);
}

// Forwards the worker's events after verification; counts bytes that foreign code wrote to the channel.
class WorkerEventFilter {
 public:
  explicit WorkerEventFilter(EventWriter& events) : events_(events) {}

  Broker::To make_callbacks() {
    return {.forward =
                [this](std::string_view event, uint64_t seed) {
                  if (const auto passed = verifier_.pass(event, seed)) write_event(events_, *passed);
                },
            .intrude =
                [this](const std::string& loading, std::string_view line) {
                  if (bytes_ == 0) first_ = one_line(line, 80);
                  if (bytes_ == 0) loading_ = loading;
                  bytes_ += line.size();
                }};
  }

  void tell_last(const CrashMessage& words) {
    const uint32_t length = std::min<uint32_t>(words.length, static_cast<uint32_t>(words.text.size()));
    if (length > 0) write_event(events_, std::string(words.text.data(), length));
    if (bytes_ == 0) return;
    events_.intruded(fmt::format("{} bytes that begin with \"{}\"{}", bytes_, first_,
                                 loading_.empty() ? "" : fmt::format(", while {} was loaded", loading_)));
  }

 private:
  EventWriter& events_;
  Verifier verifier_;
  size_t bytes_ = 0;  // bytes written without the channel's word
  std::string first_;
  std::string loading_;
};

}  // namespace

WorkerEnd supervise(pid_t worker, const Supervision& supervision) {
  int status = 0;
  const Wait wait = wait_for_worker(worker, after(supervision.limit_seconds), supervision.broker, status);
  std::set<pid_t> seen;
  const bool gone = end_descendants(supervision, seen, worker, wait == Wait::worker_ended ? nullptr : &status);
  WorkerEnd ended = wait == Wait::limit ? WorkerEnd{.how = How::time_limit} : decode_status(status);
  if (!gone) ended.how = How::hung;
  if (wait == Wait::failed) ended.how = How::unseen;
  seen.erase(worker);
  ended.left_behind = static_cast<int64_t>(seen.size());
  return ended;
}

int measure_main(int request_descriptor, int result_descriptor, bool isolated) {
  confine();
  EventWriter events(result_descriptor);
  auto request = read_request(request_descriptor);
  close(request_descriptor);
  if (!request.ok()) {
    events.refused(request.error().message);
    return 2;
  }
  const auto ends = make_channel();
  if (!ends.ok()) {
    events.refused(ends.error().message);
    return 2;
  }
  WorkerEventFilter filter(events);
  Broker broker(ends->supervisor, filter.make_callbacks());
  CrashMessage* const last_words = share_crash_message();
  const pid_t supervisor = getpid();
  const pid_t worker = fork();
  if (worker < 0) {
    events.refused(std::string("starting the worker process: ") + std::strerror(errno));
    return 2;
  }
  if (worker == 0) {
    // Here foreign code is loaded: it finds no way to the starter, and none to the supervisor but the channel.
    close(result_descriptor);
    close(ends->supervisor);
    Channel channel(ends->worker, broker.word(), broker.seed());
    be_worker(supervisor, *request, channel, last_words);
  }
  close(ends->worker);
  const WorkerEnd ended = supervise(
      worker, {.limit_seconds = request->limit_seconds, .isolated = isolated, .end_them = ::kill, .broker = &broker});
  broker.finish();
  filter.tell_last(*last_words);
  events.ended(ended);
  return ended.how == How::exited && ended.code == 0 ? 0 : 2;
}

namespace {

// OpenMP and MKL read these when they are loaded. How their threads wait is left as a user has it: our kernels run on
// the same threads.
void prepare_environment(const MeasureRequest& request) {
  int64_t threads = request.timings ? bench_threads({}, request.host) : 1;
  for (const BenchRequest& bench : request.benches) threads = std::max(threads, bench_threads(bench, request.host));
  const std::string text = std::to_string(threads);
  setenv("OMP_NUM_THREADS", text.c_str(), 1);
  setenv("MKL_NUM_THREADS", text.c_str(), 1);
}

// Requests the AMX permission of this process: host detection ran in another process, and kernels request nothing.
void ask_for_tiles(const Host& host) {
  const auto& features = host.cpu.features;
  if (std::ranges::find(features, "amx_tile") == features.end()) return;
  const HostSources sources = system_sources();
  if (sources.amx_permission) sources.amx_permission();
}

// Restricts writes of this process to its scratch folder if the kernel has Landlock.
Confinement confine_writes(const std::string& scratch) {
  for (const char* name : {"TMPDIR", "XDG_CACHE_HOME"}) setenv(name, scratch.c_str(), 1);
  std::vector<std::string> folders = writable_besides();
  folders.push_back(scratch);
  Confinement confinement;
  const auto version = write_only_below(folders);
  if (version.ok()) {
    confinement.landlock = *version;
  } else {
    confinement.why_not = version.error().message;
  }
  return confinement;
}

// Runs the parts that fork. Call before this process loads a libtorch: its threads would not survive in a fork.
LibtorchRun begin_libtorch(const MeasureRequest& request, std::optional<Confinement> confinement, EventWriter& events) {
  constexpr double kTimeForStarts = 60;
  LibtorchRun run{.path = *request.libtorch_dir, .confinement = std::move(confinement)};
  events.libtorch(run);
  if (request.budget_seconds < kTimeForStarts) return run;
  const double seconds_each = request.budget_seconds / 8;
  events.stage(Step::libtorch, fmt::format("starting {} in several ways", run.path));
  try_starts(run.path, request.host, seconds_each, [&](LibtorchStart start) {
    run.starts.push_back(std::move(start));
    events.libtorch(run);
  });
  std::error_code error;
  const int32_t gpu = first_usable_gpu(request.host);
  if (gpu >= 0 && std::filesystem::exists(run.path + "/libtorch_cuda.so", error))
    run.areas.push_back(try_device_assertion(run.path, gpu, seconds_each));
  return run;
}

}  // namespace

bool run_request(const MeasureRequest& request, EventWriter& events) {
  for (const BenchRequest& bench : request.benches) {
    if (auto right = check_bench(bench, request); !right.ok()) {
      events.refused(right.error().message);
      return false;
    }
  }
  prepare_environment(request);
  ask_for_tiles(request.host);
  LibtorchProbe libtorch;
  std::optional<Confinement> confinement;
  if (request.scratch) confinement = confine_writes(*request.scratch);
  if (request.libtorch_dir) {
    const pid_t self = getpid();
    constexpr double kTimeForGpuAreas = 10;
    libtorch = probe_libtorch(begin_libtorch(request, confinement, events), request.host,
                              request.budget_seconds >= kTimeForGpuAreas, events);
    if (request.timings) time_libtorch(libtorch, request.host, events);
    if (getpid() != self) _exit(0);  // a library that forks while it is loaded made a second worker of us
  }
  if (request.every_core) check_every_core(request.host, events);
  std::set<int64_t> lost;
  if (request.probes) lost = probe_gpus(request.host, events);
  run_benches(request, libtorch, events, std::move(lost));
  events.finished();
  return true;
}

}  // namespace pbprobe
