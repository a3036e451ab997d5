// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What the child writes on its descriptor: one JSON object a line, at once, so that a crash loses only what comes
// after.
//
//   {"stage": {"step": "libtorch", "doing": "loading /…/libtorch_cpu.so"}}
//   {"row": {…BenchRow…}}   {"libtorch": {…LibtorchRun…}}   {"exact_cpu": 3}   {"note": "…"}   {"problem": "…"}
//   {"refused": "…"}
//   {"crash": {"object": "libtorch_cpu.so", "offset": 4660, "symbol": "…", "bytes": "c5 fd 6f 06 …"}}
//   {"probe": {…ProbeFigure…}}   {"kernel_fault": {…KernelFault…}}   {"not_run": {…NotRun…}}   {"obstacle":
//   "out_of_memory"}
//   {"gemm": {…ReturnedGemm…}}   {"intruded": "…"}                     (to the supervisor; from it)
//   {"finished": true}
//   {"ended": {"how": "signal", "signal": "SIGABRT", "left_behind": 0}}     (the supervisor's last word)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "core/facts/measurement.hpp"
#include "core/fields.hpp"
#include "core/result.hpp"
#include "probes/process/channel.hpp"
#include "probes/process/gemm.hpp"

namespace pbprobe {

enum class Step { start, libtorch, kernels };
[[nodiscard]] std::span<const EnumName<Step>> enum_names(Step);

// What the worker is about to do: named in the sentence if it dies there.
struct Stage {
  Step step = Step::start;
  std::string doing = "starting";
};

enum class How { exited, signal, time_limit, hung, unseen };  // unseen: waiting for it failed
[[nodiscard]] std::span<const EnumName<How>> enum_names(How);

// The instruction that ended it, as its own signal handler saw it.
struct Crash {
  std::string object;   // file that it lies in; empty: none, such as code made at run time
  uint64_t offset = 0;  // in that file as loaded, else the address
  std::string symbol;   // empty: none that is exported
  std::string bytes;    // from the instruction on, in hexadecimal
};

// How the worker ended, as its supervisor saw it.
struct Ended {
  How how = How::exited;
  int64_t code = 0;
  std::optional<std::string> signal;  // "SIGSEGV"
  int64_t left_behind = 0;            // processes that it left, ended by the supervisor
};

template <class Visitor, SameAs<Stage> T>
void fields(Visitor& visit, T& stage) {
  visit("step", stage.step);
  visit("doing", stage.doing);
}

template <class Visitor, SameAs<Crash> T>
void fields(Visitor& visit, T& crash) {
  visit("object", crash.object);
  visit("offset", crash.offset);
  visit("symbol", crash.symbol);
  visit("bytes", crash.bytes);
}

template <class Visitor, SameAs<Ended> T>
void fields(Visitor& visit, T& ended) {
  visit("how", ended.how);
  visit("code", ended.code, "exit code");
  visit("signal", ended.signal);
  visit("left_behind", ended.left_behind, "processes that it left, ended by the supervisor");
}

// Writes events to a descriptor. Only the process that made it writes: a library may fork the worker behind its back.
class EventWriter {
 public:
  explicit EventWriter(int descriptor);    // as it comes, one object a line
  explicit EventWriter(Channel& channel);  // to the supervisor

  void stage(Step step, std::string doing);
  void row(const BenchRow& row);
  void libtorch(const LibtorchRun& run);
  void exact_cpu(int64_t cpu);
  void probe(const ProbeFigure& figure);
  void note(const std::string& text);
  void problem(const std::string& text);
  void not_run(NotRun one);
  void kernel_fault(const KernelFault& fault);
  void obstacle(Obstacle why);  // why this process itself cannot go on
  // What came of something that was tried on `device`, empty: on the CPU.
  void failed(const std::string& text, const Error& error, const std::string& device);
  // Foreign code is loaded between these two, and has no way to answer.
  void loading(const std::string& library);
  void loaded();
  // Of the operands of libtorch's GEMMs; the supervisor's, drawn after the loading.
  [[nodiscard]] uint64_t seed() const;
  void gemm(const ReturnedGemm& gemm);
  void intruded(const std::string& text);  // the supervisor's: somebody else wrote to the channel
  void refused(const std::string& text);   // the request itself is wrong
  void finished();
  void ended(const Ended& ended);

  [[nodiscard]] pid_t owner() const { return owner_; }

 private:
  friend void write_event(const EventWriter& events, const std::string& line);
  int descriptor_ = -1;
  Channel* channel_ = nullptr;
  pid_t owner_;
};

// A line as it is.
void write_event(const EventWriter& events, const std::string& line);

// What was read of a child's events.
struct EventLog {
  Measurements measurements;  // a later libtorch event replaces an earlier one
  Stage stage;
  std::optional<Crash> crash;
  std::optional<Obstacle> obstacle;
  std::optional<std::string> intruded;
  bool finished = false;
  std::optional<Ended> ended;
  std::optional<std::string> refused;
  std::string strange;  // the first line that is not an event, shortened
  bool any = false;     // at least one event
};

// Reads what has been written so far; a last line without an end is left out unless it is an event.
[[nodiscard]] EventLog read_events(std::string_view text);

// What an area says until it is answered: where the process ends then, that was it.
inline constexpr std::string_view kNothingCameBack = "nothing came back from it";

// Foreign bytes on one line: control bytes become '?', at most `limit` characters stay.
[[nodiscard]] std::string one_line(std::string_view text, size_t limit);

}  // namespace pbprobe
