// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/channel.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json.hpp"
#include "core/retry_on_eintr.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kLoaded = "loaded";
constexpr size_t kLongestLine = 64 << 20;
constexpr size_t kLongestOther = 4096;
constexpr int kHigh = 200;  // out of the way of who expects the next free number to be low

// Foreign code may have made it one that does not wait.
bool waited(int descriptor, short what) {
  pollfd ready{descriptor, what, 0};
  return errno == EAGAIN && retry_on_eintr([&] { return poll(&ready, 1, -1); }, kMaxWaitInterruptions) > 0;
}

// Writes all bytes, or as many as the other side reads. Raises no signal if the reader of a socket has ended.
void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = retry_on_eintr([&] { return ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL); });
    if (count < 0 && waited(descriptor, POLLOUT)) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

// Reads the supervisor's answer, which is short. Returns "" if the supervisor has ended.
std::string read_line(int descriptor) {
  constexpr size_t kMost = 100;
  std::string line;
  char letter = 0;
  while (line.size() < kMost) {
    const ssize_t count = retry_on_eintr([&] { return read(descriptor, &letter, 1); });
    if (count < 0 && waited(descriptor, POLLIN)) continue;
    if (count <= 0 || letter == '\n') break;
    line += letter;
  }
  return line;
}

template <class T>
T random_number() {
  T number{};
  retry_on_eintr([&] { return getrandom(&number, sizeof number, 0); });
  return number;
}

}  // namespace

Channel::Channel(int descriptor, std::string word, uint64_t seed)
    : descriptor_(descriptor), word_(std::move(word)), seed_(seed) {}

void Channel::send(const std::string& line) {
  // Begins each line with a newline, because a killed worker may have left an incomplete line.
  write_all(descriptor_, "\n" + word_ + " " + line + "\n");
}

void Channel::close(const std::string& library) {
  Json event = Json::object();
  event["loading"] = library;
  send(event.dump(-1, ' ', false, Json::error_handler_t::replace));
  explicit_bzero(word_.data(), word_.size());
  word_.clear();
  // Waits for the supervisor, so that all events are forwarded before the loaded code can end it.
  read_line(descriptor_);
}

void Channel::open() {
  write_all(descriptor_, "\n" + std::string(kLoaded) + "\n");
  const std::string answer = read_line(descriptor_);
  const size_t space = answer.find(' ');
  if (space == std::string::npos) {  // the supervisor has ended: stop sending
    descriptor_ = -1;
    return;
  }
  word_ = answer.substr(0, space);
  seed_ = std::strtoull(answer.c_str() + space + 1, nullptr, 10);
}

Broker::Broker(int descriptor, To to) : descriptor_(descriptor), to_(std::move(to)) {
  fcntl(descriptor_, F_SETFL, O_NONBLOCK);
  draw();
}

void Broker::draw() {
  word_ = fmt::format("{:016x}{:016x}", random_number<uint64_t>(), random_number<uint64_t>());
  seed_ = random_number<uint64_t>();
}

void Broker::take(std::string_view line) {
  if (line.empty()) return;
  if (word_.empty() && line == kLoaded) {
    draw();
    loading_.clear();
    return write_all(descriptor_, fmt::format("{} {}\n", word_, seed_));
  }
  if (word_.empty() || !line.starts_with(word_ + " ")) return to_.intrude(loading_, line);
  line.remove_prefix(word_.size() + 1);
  if (!line.starts_with("{\"loading\":")) return to_.forward(line, seed_);
  const auto event = parse_json(line);
  loading_ = event.ok() && event->is_object() ? event->value("loading", std::string()) : "";
  word_.clear();
  write_all(descriptor_, "closed\n");
}

// Splits the bytes into lines, across calls. Drops the excess of long lines without the word.
void Broker::hear(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    pending_.append(bytes.substr(0, end));
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    const bool ours = !word_.empty() && pending_.starts_with(word_ + " ");
    if (end == std::string_view::npos && pending_.size() <= (ours ? kLongestLine : kLongestOther)) continue;
    take(pending_);
    pending_.clear();
  }
}

bool Broker::pump() {
  constexpr int kMaxReads = 64;
  std::array<char, 65536> buffer;
  for (int reads = 0; reads < kMaxReads; ++reads) {
    const ssize_t count = retry_on_eintr([&] { return read(descriptor_, buffer.data(), buffer.size()); });
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    hear(std::string_view(buffer.data(), static_cast<size_t>(count)));
  }
  return true;
}

void Broker::finish() {
  pump();
  // Half an event of a worker that was ended is not an intrusion.
  const bool ours = !word_.empty() && (pending_.starts_with(word_) || word_.starts_with(pending_));
  if (!pending_.empty() && !ours && pending_ != kLoaded) to_.intrude(loading_, pending_);
  pending_.clear();
}

Result<ChannelEnds> make_channel() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return make_error(ErrorCode::failed_child, "cannot create the worker's channel: {}", std::strerror(errno));
  ChannelEnds channel{.worker = ends[1], .supervisor = ends[0]};
  for (int* end : {&channel.worker, &channel.supervisor}) {
    const int high = fcntl(*end, F_DUPFD_CLOEXEC, kHigh);
    if (high < 0) continue;
    ::close(*end);
    *end = high;
  }
  return channel;
}

CrashMessage* share_crash_message() {
  void* const page = mmap(nullptr, sizeof(CrashMessage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  static CrashMessage own;  // fallback: a crash is then known only by its signal
  return page == MAP_FAILED ? &own : new (page) CrashMessage();
}

}  // namespace pbprobe
