// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The way of a worker's events to its supervisor, the only one to hold the answer's descriptor. Each line begins with a
// word that the supervisor draws; while a library is loaded there is none, so that what comes then is nobody's event:
//
//   worker      "<word> {"loading": "/…/libtorch_cpu.so"}"
//   supervisor  "closed", and forgets the word: every line but one is an intrusion from now on
//   worker      "loaded"
//   supervisor  "<new word> <seed>\n", which stands before every line from then on
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace pbprobe {

// What the worker's signal handler tells, in memory of both: it needs no descriptor, and so works while a library is
// loaded.
struct LastWords {
  std::atomic<uint32_t> length{0};
  std::array<char, 1020> text{};
};

// The worker's end.
class Channel {
 public:
  Channel(int descriptor, std::string word, uint64_t seed);
  void send(const std::string& line);
  // Between these two foreign code runs that must not answer.
  void close(const std::string& library);
  void open();
  // Of the operands: drawn anew by the supervisor each time that the channel is opened.
  [[nodiscard]] uint64_t seed() const { return seed_; }

 private:
  int descriptor_;
  std::string word_;
  uint64_t seed_;
};

// The supervisor's end.
class Broker {
 public:
  // `forward` gets each event, a line of JSON; `intrude` what was written without the word, and while what was loaded.
  struct To {
    std::function<void(std::string_view event, uint64_t seed)> forward;
    std::function<void(const std::string& loading, std::string_view line)> intrude;
  };
  Broker(int descriptor, To to);

  [[nodiscard]] const std::string& word() const { return word_; }
  [[nodiscard]] uint64_t seed() const { return seed_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Reads what there is, and no more than some MiB: who writes without end must not keep the clock from being looked
  // at. False: nobody holds the other end any more.
  bool pump();
  // After the worker's end: what is left.
  void finish();

 private:
  void hear(std::string_view bytes);
  void take(std::string_view line);
  void draw();

  int descriptor_;
  To to_;
  std::string word_;  // empty: a library is being loaded
  uint64_t seed_ = 0;
  std::string loading_;
  std::string pending_;  // of a line without an end
};

struct ChannelEnds {
  int worker = -1;
  int supervisor = -1;
};
[[nodiscard]] Result<ChannelEnds> make_channel();

// Memory that a forked process shares with this one; never null.
[[nodiscard]] LastWords* share_last_words();

}  // namespace pbprobe
