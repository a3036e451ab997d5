// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/child/words.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/statuses.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {
namespace {

constexpr size_t kKept = 64 << 10;

int kept_memory = -1;  // memory of the only StderrCapture object
int kept_stderr = -1;  // original stderr
pid_t kept_owner = 0;  // only this process passes words on, not its forks

}  // namespace

void print_kept_words() {
  if (kept_stderr < 0 || getpid() != kept_owner) return;
  dup2(kept_stderr, STDERR_FILENO);
  std::array<char, 4096> buffer;
  off_t at = 0;
  ssize_t count = 0;
  while ((count = pread(kept_memory, buffer.data(), buffer.size(), at)) > 0) {
    if (write(STDERR_FILENO, buffer.data(), static_cast<size_t>(count)) <= 0) return;
    at += count;
  }
}

StderrCapture::StderrCapture() {
  if (kept_stderr >= 0) return;
  memory_ = memfd_create("pbprobe-words", MFD_CLOEXEC);
  if (memory_ < 0) return;
  fcntl(memory_, F_SETFL, O_APPEND);
  kept_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 64);
  if (kept_stderr < 0) {
    close(memory_);
    memory_ = -1;
    return;
  }
  kept_memory = memory_;
  kept_owner = getpid();
  dup2(memory_, STDERR_FILENO);
}

StderrCapture::~StderrCapture() {
  if (memory_ < 0) return;
  print_kept_words();
  close(kept_stderr);
  close(memory_);
  kept_stderr = kept_memory = -1;
}

std::string StderrCapture::reported() const {
  if (memory_ < 0) return {};
  std::string text(kKept, '\0');
  const off_t end = lseek(memory_, 0, SEEK_END);
  const off_t begin = std::max<off_t>(end - static_cast<off_t>(kKept), 0);
  const ssize_t count = pread(memory_, text.data(), text.size(), begin);
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

Error StderrCapture::explained(Error error) const {
  const std::string words = reported();
  const auto found = classify_message(words);
  const bool fault = is_fault(words);
  // A library that lacks a feature reports neither an illegal address nor exhausted memory.
  if (error.code == ErrorCode::unsupported && (fault || found))
    error = Error{.code = ErrorCode::failed_child, .message = "it threw", .obstacle = Obstacle::unexplained};
  if (error.code != ErrorCode::failed_child || error.obstacle.value_or(Obstacle::unexplained) != Obstacle::unexplained)
    return error;
  const bool refused = error.obstacle.has_value();
  // A feature that the host has is not unsupported, even if the library's message says unsupported.
  if (found && !(refused && found == Obstacle::unsupported)) error.obstacle = found;
  if (fault) error.obstacle.reset();
  if (!error.obstacle && !refused) return error;
  // Torch's own exception begins after this, on a line that its log has marked with time and place.
  constexpr std::string_view kBegin = "Exception in aoti_torch: ";
  constexpr size_t kMost = 200;
  const size_t begin = words.rfind(kBegin);
  const std::string_view thrown =
      std::string_view(words).substr(begin == std::string::npos ? 0 : begin + kBegin.size());
  error.message += fmt::format(": \"{}\"", one_line(thrown.substr(0, thrown.find('\n')), kMost));
  return error;
}

}  // namespace pbprobe
