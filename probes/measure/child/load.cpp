// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/child/load.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <thread>
#include <utility>

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/retry_on_eintr.hpp"
#include "probes/measure/child/landlock.hpp"
#include "probes/process/sandbox.hpp"

namespace pbprobe {
namespace {

// At once: what follows may end this process.
void tell(std::string_view line) {
  const std::string whole = std::string(line) + "\n";
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, whole.data(), whole.size());
}

int open_each(const std::vector<std::string>& files) {
  for (const auto& file : files) {
    tell("open " + file);
    if (dlopen(file.c_str(), RTLD_LAZY | RTLD_GLOBAL) != nullptr) {
      tell("opened");
    } else {
      const char* const why = dlerror();
      tell(fmt::format("refused {}", why == nullptr ? "" : why));
    }
  }
  return 0;
}

// An artifact's code ends with the time, whatever it does; core dumps of QEMU would be large.
[[noreturn]] void become(std::vector<char*>& words, const LoadRequest& request) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const rlimit processor{request.seconds, request.seconds + 1};
  setrlimit(RLIMIT_CPU, &processor);
  if (!request.start.empty()) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const auto confined = write_only_below({request.writable, "/dev", "/proc"});
    if (!confined) {
      tell("not confined " + confined.error().message);
      _exit(0);
    }
  }
  execvp(words[0], words.data());
  _exit(127);
}

enum class Stopped : uint8_t { no, time, memory };

// Returns the wait status (-1 if it is lost) and the limit for which the child was killed: `seconds`, or the memory of
// this machine.
std::pair<int, Stopped> wait_for_end(pid_t child, const Sandbox& sandbox, unsigned seconds) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  const int64_t most = default_memory_limit();
  Stopped stopped = Stopped::no;
  for (int status = 0, looks = 0;; ++looks) {
    const pid_t ended = retry_on_eintr([&] { return waitpid(child, &status, WNOHANG); }, kMaxWaitInterruptions);
    if (ended != 0) return {ended == child ? status : -1, stopped};
    if (std::chrono::steady_clock::now() > limit) stopped = Stopped::time;
    if (stopped == Stopped::no && looks % 5 == 0 && measure_usage(child, sandbox).resident_bytes > most)
      stopped = Stopped::memory;
    if (stopped != Stopped::no) kill(-child, SIGKILL);
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

std::vector<std::string> make_arguments(const LoadRequest& request) {
  if (!request.start.empty()) return request.start;
  std::vector<std::string> words = request.emulator;
  words.emplace_back("load");
  words.insert(words.end(), request.files.begin(), request.files.end());
  return words;
}

int run_child(const LoadRequest& request) {
  std::vector<std::string> text = make_arguments(request);
  std::vector<char*> words;
  for (auto& word : text) words.push_back(word.data());
  words.push_back(nullptr);
  std::fflush(stdout);
  Sandbox sandbox = prepare_sandbox();
  const pid_t child = fork_into(sandbox);
  if (child == 0) become(words, request);
  if (child < 0) return 2;
  const auto [ended, stopped] = wait_for_end(child, sandbox, request.seconds);
  const auto seen = end_status(sandbox, ended >= 0 ? std::optional(ended) : std::nullopt);
  close_sandbox(sandbox);
  if (stopped != Stopped::no) {
    tell(stopped == Stopped::time ? "ended at the limit" : "ended for its memory");
    return 0;
  }
  if (!seen) return 2;
  const int status = *seen;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    tell("ended at the limit");
  } else if (WIFSIGNALED(status)) {
    tell(fmt::format("ended by signal {}", WTERMSIG(status)));
  } else {
    tell(fmt::format("ended with {}", WEXITSTATUS(status)));
  }
  return 0;
}

}  // namespace

int load_main(const LoadRequest& request) {
  return request.emulator.empty() && request.start.empty() ? open_each(request.files) : run_child(request);
}

}  // namespace pbprobe
