// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Events that the child writes to its descriptor: one JSON object per line, written immediately, so that a crash loses
// only later events.
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

// Current step of the worker, named in the message if the worker dies in it.
struct Stage {
  FIELD(Step, step) = Step::start;
  FIELD(std::string, doing) = "starting";
};

enum class How { exited, signal, time_limit, hung, unseen };  // unseen: waiting for it failed

// Faulting instruction, as recorded by the worker's signal handler.
struct Crash {
  FIELD(std::string, object);   // file of the faulting code; empty for generated code
  FIELD(uint64_t, offset) = 0;  // offset in the loaded file; without a file, the address
  FIELD(std::string, symbol);   // exported symbol; empty if there is no such symbol
  FIELD(std::string, bytes);    // code bytes from the instruction on, in hexadecimal
};

// End of the worker, as observed by its supervisor.
struct WorkerEnd {
  FIELD(How, how) = How::exited;
  FIELD(int64_t, code, "exit code") = 0;
  FIELD(std::optional<std::string>, signal);  // "SIGSEGV"
  FIELD(int64_t, left_behind, "processes that it left, ended by the supervisor") = 0;
};

// Writer of events. Only the process that created it writes: a library may fork the worker without its knowledge.
class EventWriter {
 public:
  explicit EventWriter(int descriptor);    // writes each event as one line
  explicit EventWriter(Channel& channel);  // sends events to the supervisor

  void stage(Step step, std::string doing);
  void row(const BenchRow& row);
  void libtorch(const LibtorchRun& run);
  void exact_cpu(int64_t cpu);
  void probe(const ProbeFigure& figure);
  void note(const std::string& text);
  void problem(const std::string& text);
  void not_run(NotRun one);
  void kernel_fault(const KernelFault& fault);
  void obstacle(Obstacle why);  // sends why the process cannot continue; the caller then ends the process
  // Sends a problem, or not_run if `error` has an obstacle. `device` may be empty for the CPU.
  void failed(const std::string& text, const Error& error, const std::string& device);
  // Marks the start and end of loading foreign code, which must not send events.
  void loading(const std::string& library);
  void loaded();
  // Seed of the operands of libtorch's GEMMs, drawn by the supervisor after loading.
  [[nodiscard]] uint64_t seed() const;
  void gemm(const ReturnedGemm& gemm);
  void intruded(const std::string& text);  // sent by the supervisor: foreign code wrote to the channel
  void refused(const std::string& text);   // the request is invalid
  void finished();
  void ended(const WorkerEnd& ended);

  [[nodiscard]] pid_t owner() const { return owner_; }

 private:
  friend void write_event(const EventWriter& events, const std::string& line);
  int descriptor_ = -1;
  Channel* channel_ = nullptr;
  pid_t owner_;
};

// Writes `line` unchanged.
void write_event(const EventWriter& events, const std::string& line);

// Events received from a child.
struct EventLog {
  Measurements measurements;  // a later libtorch event replaces an earlier one
  Stage stage;
  std::optional<Crash> crash;
  std::optional<Obstacle> obstacle;
  std::optional<std::string> intruded;
  bool finished = false;
  std::optional<WorkerEnd> ended;
  std::optional<std::string> refused;
  std::string strange;  // the first line that is not an event, shortened
  bool any = false;     // at least one event
};

// Parses the events in the bytes written so far. Stores the first other line, also an incomplete last one, in
// EventLog::strange.
[[nodiscard]] EventLog read_events(std::string_view text);

// Placeholder result of an area until its answer arrives. If the process ends first, this area was the last one.
inline constexpr std::string_view kNothingCameBack = "no result came back";

// Returns untrusted bytes as one line of at most `limit` characters: control bytes become '?'.
[[nodiscard]] std::string one_line(std::string_view text, size_t limit);

}  // namespace pbprobe
