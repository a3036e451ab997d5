// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/kernel_log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include "core/scope_exit.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {
namespace {

constexpr size_t kMaxRecords = 100000;  // more than a ring of 16 MB holds
constexpr size_t kMaxMessage = 200;

// A record is "priority,sequence,microseconds,flags;text".
int64_t parse_time(std::string_view record) {
  size_t begin = record.find(',');
  if (begin != record.npos) begin = record.find(',', begin + 1);
  int64_t time = -1;
  if (begin != record.npos) std::from_chars(record.data() + begin + 1, record.data() + record.size(), time);
  return time;
}

}  // namespace

std::optional<std::vector<std::string>> read_kernel_log() {
  const int descriptor = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const ScopeExit close_it{[&] { close(descriptor); }};
  std::vector<std::string> records;
  std::array<char, 8192> buffer;
  while (records.size() < kMaxRecords) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count > 0) {
      records.emplace_back(buffer.data(), static_cast<size_t>(count));
    } else if (count == 0 || errno == EAGAIN) {
      break;
    } else if (errno != EPIPE && errno != EINTR) {  // EPIPE: the record was overwritten
      if (records.empty()) return std::nullopt;
      break;
    }
  }
  return records;
}

int64_t kernel_log_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

std::optional<std::string> find_xid(const std::vector<std::string>& records, int64_t since_us) {
  constexpr std::string_view kDriver = "NVRM: Xid (";
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    const size_t text = record->find(';');
    if (text == record->npos || parse_time(*record) < since_us) continue;
    const size_t message = record->find(kDriver, text);
    if (message != record->npos)
      return one_line(std::string_view(*record).substr(message + kDriver.find("Xid")), kMaxMessage);
  }
  return std::nullopt;
}

bool is_hardware_xid(std::string_view message) {
  constexpr std::array kHardware{48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140, 143};
  const size_t end = message.find("): ");
  int number = 0;
  if (end != message.npos) std::from_chars(message.data() + end + 3, message.data() + message.size(), number);
  return std::ranges::find(kHardware, number) != kHardware.end();
}

}  // namespace pbprobe
