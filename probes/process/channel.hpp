// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Channel for a worker's events to its supervisor, the only process with the result descriptor. The supervisor draws a
// random word that must precede each line. While a library is loaded there is no valid word, so that the library's code
// cannot send events:
//
//   worker      "<word> {"loading": "/…/libtorch_cpu.so"}"
//   supervisor  "closed", and forgets the word: every line but one is an intrusion from now on
//   worker      "loaded"
//   supervisor  "<new word> <seed>\n"; the word precedes every later line
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace pbprobe {

// Message of the worker's signal handler in shared memory. Needs no descriptor, so that it works while a library is
// loaded.
struct CrashMessage {
  std::atomic<uint32_t> length{0};
  std::array<char, 1020> text{};
};

// Worker side of the channel.
class Channel {
 public:
  // `descriptor` stays open: the caller owns it. `word` must precede each line. `seed` is for the operands until
  // the next open().
  Channel(int descriptor, std::string word, uint64_t seed);
  void send(const std::string& line);  // writes a line: the word and `line`
  // Invalidates the word before foreign code is loaded. Call open() after loading.
  void close(const std::string& library);
  void open();
  // Seed of the operands. The supervisor draws a new one each time the channel is opened.
  [[nodiscard]] uint64_t seed() const { return seed_; }

 private:
  int descriptor_;
  std::string word_;
  uint64_t seed_;
};

// Supervisor side of the channel.
class Broker {
 public:
  // `forward` gets each event, a line of JSON. `intrude` gets lines without the word, and the library that was loading.
  struct To {
    std::function<void(std::string_view event, uint64_t seed)> forward;
    std::function<void(const std::string& loading, std::string_view line)> intrude;
  };
  Broker(int descriptor, To to);

  [[nodiscard]] const std::string& word() const { return word_; }
  // Seed of the worker's operands, drawn anew each time the channel opens.
  [[nodiscard]] uint64_t seed() const { return seed_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Reads the available bytes, at most some MiB, so that a worker that writes endlessly cannot block the time limit.
  // Returns false once all writers have closed the channel.
  bool pump();
  // Processes the remaining bytes. Call after the worker has ended.
  void finish();

 private:
  void hear(std::string_view bytes);
  void take(std::string_view line);
  void draw();

  int descriptor_;
  To to_;
  std::string word_;  // current word; empty while a library is loaded
  uint64_t seed_ = 0;
  std::string loading_;
  std::string pending_;  // beginning of an incomplete line
};

struct ChannelEnds {
  int worker = -1;
  int supervisor = -1;
};
[[nodiscard]] Result<ChannelEnds> make_channel();

// Memory that a forked process shares with this one; never null.
[[nodiscard]] CrashMessage* share_crash_message();

}  // namespace pbprobe
