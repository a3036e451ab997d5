// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/program.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "core/retry_on_eintr.hpp"

extern "C" char** environ;

namespace pbprobe {
namespace {

// A stream of the child: a file in memory, so that two of them cannot block each other as pipes do.
class Capture {
 public:
  explicit Capture(const char* name) : file_(memfd_create(name, MFD_CLOEXEC)) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (file_ >= 0) close(file_);
  }
  [[nodiscard]] int file() const { return file_; }

  [[nodiscard]] Result<std::string> text(size_t most) const {
    struct stat status {};
    if (fstat(file_, &status) != 0) return make_error(ErrorCode::unreadable, "{}", std::strerror(errno));
    const auto size = static_cast<size_t>(status.st_size);
    if (size > most)
      return make_error(ErrorCode::limit, "the program wrote {} bytes of output, and the limit is {}", size, most);
    std::string text(size, '\0');
    for (size_t at = 0; at < size;) {
      const ssize_t got = pread(file_, text.data() + at, size - at, static_cast<off_t>(at));
      if (got <= 0)
        return make_error(ErrorCode::unreadable, "the output of the program cannot be read: {}", std::strerror(errno));
      at += static_cast<size_t>(got);
    }
    return text;
  }

 private:
  int file_;
};

std::vector<char*> make_pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Waits for the child; returns false after the time limit. Before kernel 5.3, pidfd_open is missing: returns true at
// once, and the wait that follows has no limit.
bool wait_with_timeout(pid_t child, double seconds) {
  const int file = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (file < 0) return true;
  pollfd waiting{file, POLLIN, 0};
  const int ready =
      retry_on_eintr([&] { return poll(&waiting, 1, static_cast<int>(seconds * 1000)); }, kMaxWaitInterruptions);
  close(file);
  return ready != 0;
}

// Returns the wait status; nullopt if the system does not report it, as for a parent that ignores SIGCHLD.
std::optional<int> read_wait_status(pid_t child) {
  int status = 0;
  const pid_t ended = retry_on_eintr([&] { return waitpid(child, &status, 0); }, kMaxWaitInterruptions);
  return ended == child ? std::optional(status) : std::nullopt;
}

}  // namespace

Result<ProgramOutput> run_program(const ProgramCall& call) {
  const std::string& name = call.arguments.front();
  const Capture in("pbprobe-in");  // an empty file, because containers may lack /dev/null
  const Capture out("pbprobe-out");
  const Capture err("pbprobe-err");
  auto arguments = call.arguments;
  auto environment = call.environment.value_or(std::vector<std::string>{});
  const auto argv = make_pointers(arguments);
  const auto envp = make_pointers(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.file(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.file(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.file(), STDERR_FILENO);
  posix_spawnattr_t attributes;  // the child starts with no blocked signal
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, name.c_str(), &actions, &attributes, argv.data(), call.environment ? envp.data() : environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return make_error(ErrorCode::not_found, "{} cannot be started: {}", name, std::strerror(failed));
  const bool in_time = wait_with_timeout(child, call.seconds);
  if (!in_time) kill(child, SIGKILL);
  const auto status = read_wait_status(child);
  if (!in_time) return make_error(ErrorCode::limit, "{} gave no answer within {:g} s", name, call.seconds);
  if (!status)
    return make_error(
        ErrorCode::failed_child,
        "{}: its exit status is not known, because this process ignores SIGCHLD: restore the default handling", name);
  if (WIFSIGNALED(*status))
    return make_error(ErrorCode::failed_child, "{} was ended by signal {}", name, WTERMSIG(*status));
  ProgramOutput output;
  output.exit_code = WEXITSTATUS(*status);
  PBPROBE_TRY(output.out, out.text(call.output_bytes), "{}", name);
  PBPROBE_TRY(output.err, err.text(call.output_bytes), "{}", name);
  return output;
}

std::optional<std::filesystem::path> find_program(const std::vector<std::string>& names) {
  const char* const path = std::getenv("PATH");
  std::stringstream folders(path == nullptr ? "/usr/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const auto& name : names) {
      const std::filesystem::path file = std::filesystem::path(folder) / name;
      if (::access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return std::nullopt;
}

}  // namespace pbprobe
