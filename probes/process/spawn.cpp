// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/spawn.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json.hpp"
#include "core/retry_on_eintr.hpp"
#include "core/scope_exit.hpp"
#include "core/temp_folder.hpp"
#include "probes/process/attribution.hpp"
#include "probes/process/events.hpp"
#include "probes/process/kernel_log.hpp"
#include "probes/process/sandbox.hpp"
#include "probes/process/sentences.hpp"
#include "probes/process/tags.hpp"

namespace pbprobe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kResultDescriptor = 3;
constexpr int kRequestDescriptor = 4;
constexpr int kErrnoDescriptor = 5;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return make_error(ErrorCode::failed_child, "cannot create a pipe for the measuring process: {}",
                      std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

Result<Descriptor> request_file(const MeasureRequest& request) {
  Descriptor file(memfd_create("pbprobe-request", MFD_CLOEXEC));
  if (file.get() < 0)
    return make_error(ErrorCode::failed_child, "cannot create the request file: {}", std::strerror(errno));
  const std::string text = to_json(request).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!write_whole(file.get(), text))
    return make_error(ErrorCode::failed_child, "cannot write the request: {}", std::strerror(errno));
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Data that the forked process needs until exec. Prepared before the fork, after which only async-signal-safe calls are
// allowed.
struct Launch {
  std::vector<std::string> words;
  std::vector<char*> arguments;
  std::vector<char*> arguments_if_apart;
  std::string tag = new_tag();
  std::vector<char*> environment;
  Descriptor null_input;
  Descriptor request;
  Pipe result;
  Pipe output;
  Pipe exec_error;
};

[[noreturn]] void become_child(const Launch& launch, bool apart) {
  // First out of the way of 0 to 5, then into place.
  const std::array<int, 5> sources{launch.null_input.get(), launch.output.write_end.get(),
                                   launch.result.write_end.get(), launch.request.get(),
                                   launch.exec_error.write_end.get()};
  std::array<int, 5> high{};
  for (size_t i = 0; i < sources.size(); ++i) high[i] = fcntl(sources[i], F_DUPFD, 64);
  dup2(high[0], 0);
  dup2(high[1], 1);
  dup2(high[1], 2);
  dup2(high[2], kResultDescriptor);
  dup2(high[3], kRequestDescriptor);
  dup2(high[4], kErrnoDescriptor);
  fcntl(kErrnoDescriptor, F_SETFD, FD_CLOEXEC);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, kErrnoDescriptor + 1, ~0U, 0) != 0)
#endif
    for (int number = kErrnoDescriptor + 1; number < 1024; ++number) close(number);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(launch.arguments[0], (apart ? launch.arguments_if_apart : launch.arguments).data(), launch.environment.data());
  const int why = errno;
  [[maybe_unused]] const ssize_t written = write(kErrnoDescriptor, &why, sizeof why);
  _exit(127);
}

// Fills the launch in place: its pointers are into itself.
Result<void> prepare(const MeasureRequest& request, const ChildLimits& limits, Launch& launch) {
  launch.words = limits.program.empty() ? std::vector<std::string>{"/proc/self/exe"} : limits.program;
  for (const std::string& word :
       {std::string("measure"), std::string("--request-fd"), std::to_string(kRequestDescriptor),
        std::string("--result-fd"), std::to_string(kResultDescriptor)})
    launch.words.push_back(word);
  launch.words.emplace_back("--isolated");
  for (std::string& word : launch.words) launch.arguments_if_apart.push_back(word.data());
  launch.arguments.assign(launch.arguments_if_apart.begin(), launch.arguments_if_apart.end() - 1);
  launch.arguments_if_apart.push_back(nullptr);
  launch.arguments.push_back(nullptr);
  for (char** entry = environ; *entry != nullptr; ++entry) launch.environment.push_back(*entry);
  launch.environment.push_back(launch.tag.data());
  launch.environment.push_back(nullptr);
  launch.null_input = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  PBPROBE_TRY(launch.request, request_file(request));
  PBPROBE_TRY(launch.result, make_pipe());
  PBPROBE_TRY(launch.output, make_pipe());
  PBPROBE_TRY(launch.exec_error, make_pipe());
  return {};
}

// Keeps the first `limit` bytes, or the last ones.
struct Sink {
  int descriptor;
  size_t limit;
  bool keep_last;
  std::string text;
  size_t seen = 0;
  int why = 0;  // errno of the last failed read; 0 if none

  // Reads the available bytes; returns false at the end of the pipe. Bounded, so that a process that writes endlessly
  // cannot block the time limit.
  bool drain() {
    constexpr int kMaxReads = 256;
    std::array<char, 65536> buffer;
    for (int reads = 0; reads < kMaxReads; ++reads) {
      const ssize_t count = retry_on_eintr([&] { return read(descriptor, buffer.data(), buffer.size()); });
      why = count < 0 && errno != EAGAIN ? errno : 0;
      if (count < 0) return true;  // no more data for now
      if (count == 0) return false;
      seen += static_cast<size_t>(count);
      text.append(buffer.data(), static_cast<size_t>(count));
      if (text.size() > limit) keep_last ? text.erase(0, text.size() - limit) : text.erase(limit);
    }
    return true;
  }
};

struct Watched {
  Sink answer;
  Sink output;
  ChildEnd end;
  int64_t escaped = 0;  // processes that outlived the supervisor
  bool apart = false;   // the child ran in its own namespaces
};

// Reports the last step that the child began since `reported`.
void tell_stage(const ChildLimits& limits, const std::string& answer, size_t& reported) {
  constexpr std::string_view kStage = "{\"stage\"";
  const size_t end = answer.rfind('\n');
  if (!limits.progress || end == std::string::npos || end < reported) return;
  const size_t line = answer.rfind(kStage, end);
  if (line != std::string::npos && line >= reported)
    limits.progress(read_events(answer.substr(line, answer.find('\n', line) - line)).stage.doing);
  reported = end + 1;
}

bool has_ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
}

// Describes the resource that the child exceeds; empty if it exceeds none.
std::string describe_excess(pid_t child, const Sandbox& sandbox, const ChildLimits& limits, ChildEnd& end) {
  const SandboxUsage usage = measure_usage(child, sandbox);
  if (usage.processes > limits.processes)
    return fmt::format("{} processes, and {} are allowed by pbprobe for a measurement", usage.processes,
                       limits.processes);
  const int64_t most = limits.memory_bytes > 0 ? limits.memory_bytes : default_memory_limit();
  if (usage.resident_bytes > most) {
    end.too_much_memory = true;
    return fmt::format("{} MB of memory, and {} are allowed by pbprobe for a measurement", usage.resident_bytes >> 20,
                       most >> 20);
  }
  return {};
}

// Reads both pipes until the supervisor ends, its time is over, or it exceeds a resource.
void watch(pid_t child, double limit_seconds, const Sandbox& sandbox, const ChildLimits& limits, Watched& watched) {
  constexpr double kBetweenLooks = 0.1;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  double limit = limit_seconds;
  double next_look = kBetweenLooks;
  bool killed = false;
  size_t reported = 0;  // bytes of the answer that were reported
  while (!has_ended(child)) {
    if (elapsed() > limit) {
      if (killed) {
        watched.end.hung = true;
        return;
      }
      kill(-child, SIGKILL);
      killed = watched.end.over_limit = true;
      limit += 2;
    }
    if (!killed && elapsed() > next_look) {
      next_look = elapsed() + kBetweenLooks;
      watched.end.excess = describe_excess(child, sandbox, limits, watched.end);
      if (!watched.end.excess.empty()) {
        kill(-child, SIGKILL);
        killed = true;
        limit = elapsed() + 2;
      }
    }
    std::array<pollfd, 2> ready{{{watched.answer.descriptor, POLLIN, 0}, {watched.output.descriptor, POLLIN, 0}}};
    for (const bool open : {watched.answer.drain(), watched.output.drain()})
      if (!open) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // poll would return at once
    tell_stage(limits, watched.answer.text, reported);
    // A wait that is interrupted at once, each time, must not take a CPU from the threads that are measured.
    if (poll(ready.data(), ready.size(), 10) < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(-child, SIGKILL);  // before it is reaped, so that the group's number cannot have another owner
  int status = 0;
  const bool reaped = retry_on_eintr([&] { return waitpid(child, &status, 0); }, kMaxWaitInterruptions) == child;
  const auto known = end_status(sandbox, reaped ? std::optional(status) : std::nullopt);
  watched.end.unseen = !known;
  watched.end.status = known.value_or(0);
  watched.answer.drain();
  watched.output.drain();
}

Result<Watched> run_child(const MeasureRequest& request, const ChildLimits& limits) {
  Launch launch;
  PBPROBE_CHECK(prepare(request, limits, launch));
  Sandbox sandbox = prepare_sandbox();
  const pid_t child = fork_into(sandbox);
  if (child == 0) become_child(launch, sandbox.apart);
  const int why = errno;
  const ScopeExit close_it{[&] { close_sandbox(sandbox); }};
  if (child < 0)
    return make_error(ErrorCode::failed_child, "cannot start the measuring process: {}", std::strerror(why));
  launch.request.reset();
  for (Pipe* pipe : {&launch.result, &launch.output, &launch.exec_error}) pipe->write_end.reset();
  int exec_errno = 0;
  const int exec_error = launch.exec_error.read_end.get();
  if (retry_on_eintr([&] { return read(exec_error, &exec_errno, sizeof exec_errno); }) == sizeof exec_errno) {
    retry_on_eintr([&] { return waitpid(child, nullptr, 0); });
    return make_error(ErrorCode::failed_child,
                      "cannot start {}: {}: nothing was measured; check that the pbprobe program exists and is built "
                      "for this machine",
                      launch.words[0], std::strerror(exec_errno));
  }
  Watched watched{.answer = {launch.result.read_end.get(), limits.answer_bytes, false, {}},
                  .output = {launch.output.read_end.get(), limits.output_bytes, true, {}},
                  .end = {}};
  for (const Sink* sink : {&watched.answer, &watched.output}) fcntl(sink->descriptor, F_SETFL, O_NONBLOCK);
  watch(child, request.limit_seconds + limits.grace_seconds, sandbox, limits, watched);
  watched.apart = sandbox.apart;
  watched.escaped = end_tagged(launch.tag, watched.end.hung ? 0 : 1);
  if (watched.answer.why != 0)
    return make_error(ErrorCode::failed_child, "cannot read the answer of the measuring process: {}",
                      std::strerror(watched.answer.why));
  if (watched.end.unseen && !watched.end.over_limit && watched.end.excess.empty())
    return make_error(ErrorCode::failed_child,
                      "the exit status of the measuring process is not known: waiting for it failed");
  if (watched.answer.seen > limits.answer_bytes)
    return make_error(ErrorCode::limit, "the measuring process answered with {} bytes, more than the {} allowed",
                      watched.answer.seen, limits.answer_bytes);
  return watched;
}

// Runs one child. Returns its measurements, and whether it died in libtorch code.
struct Attempt {
  Measurements measurements;
  bool died_in_libtorch = false;
};

// Adds facts about libtorch's process that the process itself did not report.
void add_confinement(const EventLog& log, const Watched& watched, const MeasureRequest& request,
                     Measurements& measurements) {
  if (!request.libtorch_dir) {
    if (log.intruded)
      measurements.problems.push_back("a library loaded next to pbprobe's kernels wrote to the result channel: " +
                                      *log.intruded);
    return;
  }
  if (!measurements.libtorch) measurements.libtorch = LibtorchRun{.path = *request.libtorch_dir};
  LibtorchRun& run = *measurements.libtorch;
  run.intruded = log.intruded;
  if (!run.confinement) run.confinement.emplace();
  run.confinement->apart = watched.apart;
  if (run.confinement->why_not) measurements.notes.push_back(*run.confinement->why_not);
}

Result<Attempt> attempt(MeasureRequest request, const ChildLimits& limits) {
  PBPROBE_TRY(const TempFolder scratch, TempFolder::make(), "making the scratch folder of the measuring process");
  request.scratch = scratch.path().string();
  PBPROBE_TRY(const Watched watched, run_child(request, limits));
  EventLog log = read_events(watched.answer.text);
  const std::string program = limits.program.empty() ? "this program" : limits.program.back();
  if (log.refused) return make_error(ErrorCode::usage, "{}", *log.refused);
  if (!log.any)
    return make_error(ErrorCode::failed_child, "{}",
                      no_answer_sentence(program, log, watched.end, watched.output.text));
  Attempt result{std::move(log.measurements)};
  Measurements& measurements = result.measurements;
  if (auto sentence = fault_sentence(log, watched.end, watched.output.text, request.limit_seconds)) {
    const auto obstacle = fault_obstacle(log, watched.end, watched.output.text);
    result.died_in_libtorch = log.stage.step == Step::libtorch && !is_hung(log, watched.end);
    if (log.stage.step == Step::libtorch) {
      if (!measurements.libtorch) measurements.libtorch = LibtorchRun{.path = request.libtorch_dir.value_or("")};
      LibtorchRun& run = *measurements.libtorch;
      run.problem = *sentence;
      run.obstacle = obstacle;
      if (!run.areas.empty() && run.areas.back().problem == kNothingCameBack) run.areas.back().obstacle = obstacle;
    } else if (obstacle) {
      if (!measurements.not_run) measurements.not_run.emplace();
      measurements.not_run->push_back({.what = *sentence, .why = *obstacle});
    } else {
      measurements.problems.push_back(*sentence);
    }
  } else if (watched.output.seen > 0) {
    measurements.notes.push_back(output_sentence(watched.output.text, watched.output.seen));
  }
  add_confinement(log, watched, request, measurements);
  const int64_t left_behind = (log.ended ? log.ended->left_behind : 0) + watched.escaped;
  if (left_behind > 0 && !is_hung(log, watched.end))
    measurements.problems.push_back(left_behind_sentence(left_behind, request.libtorch_dir));
  return result;
}

}  // namespace

MeasureRequest without_libtorch(MeasureRequest request) {
  request.libtorch_dir.reset();
  for (BenchRequest& bench : request.benches) std::erase(bench.against, "libtorch");
  return request;
}

namespace {

Result<Measurements> measure_with_libtorch(const MeasureRequest& request, const ChildLimits& limits) {
  PBPROBE_TRY(Attempt first, attempt(request, limits));
  if (!first.died_in_libtorch || request.benches.empty()) return std::move(first.measurements);
  PBPROBE_TRY(Attempt second, attempt(without_libtorch(request), limits), "measuring without libtorch");
  first.measurements.rows = std::move(second.measurements.rows);
  first.measurements.probes = std::move(second.measurements.probes);
  first.measurements.exact_cpus = std::move(second.measurements.exact_cpus);
  auto& problems = first.measurements.problems;
  problems.insert(problems.end(), second.measurements.problems.begin(), second.measurements.problems.end());
  if (second.measurements.not_run) {
    if (!first.measurements.not_run) first.measurements.not_run.emplace();
    auto& not_run = *first.measurements.not_run;
    not_run.insert(not_run.end(), second.measurements.not_run->begin(), second.measurements.not_run->end());
  }
  first.measurements.notes = std::move(second.measurements.notes);
  first.measurements.kernel_faults = std::move(second.measurements.kernel_faults);
  first.measurements.notes.push_back("the kernels were measured in a second process, without libtorch beside them");
  return std::move(first.measurements);
}

}  // namespace

Result<Measurements> measure_in_child(const MeasureRequest& request, const ChildLimits& limits) {
  const int64_t since_us = kernel_log_now();
  PBPROBE_TRY(Measurements measurements, measure_with_libtorch(request, limits));
  if (measurements.kernel_faults)
    attribute_faults(*measurements.kernel_faults, request,
                     {.run_process = [&](const MeasureRequest& trial) -> Result<Measurements> {
                        PBPROBE_TRY(Attempt one, attempt(trial, limits));
                        return std::move(one.measurements);
                      },
                      .read_log = read_kernel_log,
                      .since_us = since_us});
  return measurements;
}

}  // namespace pbprobe
