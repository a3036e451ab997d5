// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/load.hpp"

#include <csignal>
#include <cstdio>
#include <string_view>

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/retried.hpp"
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
[[noreturn]] void become(std::vector<char*>& words, unsigned seconds) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const rlimit processor{seconds, seconds + 1};
  setrlimit(RLIMIT_CPU, &processor);
  execv(words[0], words.data());
  _exit(127);
}

volatile sig_atomic_t at_limit = 0;

int start_in(const LoadRequest& request) {
  std::vector<std::string> text = request.emulator;
  text.emplace_back("load");
  for (const auto& file : request.files) text.push_back(file);
  std::vector<char*> words;
  for (auto& word : text) words.push_back(word.data());
  words.push_back(nullptr);
  std::fflush(stdout);
  Sandbox sandbox = prepare_sandbox();
  const pid_t child = fork_into(sandbox);
  if (child == 0) become(words, request.seconds);
  if (child < 0) return 2;
  struct sigaction action {};
  action.sa_handler = [](int) { at_limit = 1; };
  sigaction(SIGALRM, &action, nullptr);
  alarm(request.seconds);
  int status = 0;
  const auto wait_or_end = [&] {
    if (at_limit != 0) kill(child, SIGKILL);
    return waitpid(child, &status, 0);
  };
  const bool reaped = retried(wait_or_end, kMostInterruptionsOfAWait) == child;
  const auto seen = end_status(sandbox, reaped ? std::optional(status) : std::nullopt);
  close_sandbox(sandbox);
  if (!seen) return 2;
  status = *seen;
  if (at_limit != 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
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
  return request.emulator.empty() ? open_each(request.files) : start_in(request);
}

}  // namespace pbprobe
