// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/events.hpp"

#include <utility>

#include <unistd.h>

#include "core/json.hpp"
#include "core/retry_on_eintr.hpp"
#include "core/strings.hpp"

namespace pbprobe {
namespace {

// Takes the value under `key` if the event has that key and the value is of this type.
template <class T, class Take>
bool take(const Json& event, const char* key, Take&& use) {
  auto found = event.find(key);
  if (found == event.end()) return false;
  auto value = from_json<T>(*found);
  if (!value.ok()) return false;
  use(std::move(*value));
  return true;
}

bool record(const Json& event, EventLog& log) {
  auto& measurements = log.measurements;
  return take<BenchRow>(event, "row", [&](BenchRow row) { measurements.rows.push_back(std::move(row)); }) ||
         take<LibtorchRun>(event, "libtorch", [&](LibtorchRun run) { measurements.libtorch = std::move(run); }) ||
         take<int64_t>(event, "exact_cpu", [&](int64_t cpu) { measurements.exact_cpus.push_back(cpu); }) ||
         take<ProbeFigure>(event, "probe",
                           [&](ProbeFigure figure) { measurements.probes.push_back(std::move(figure)); }) ||
         take<std::string>(event, "note", [&](std::string text) { measurements.notes.push_back(std::move(text)); }) ||
         take<std::string>(event, "problem",
                           [&](std::string text) { measurements.problems.push_back(std::move(text)); }) ||
         take<NotRun>(event, "not_run",
                      [&](NotRun one) {
                        if (!measurements.not_run) measurements.not_run.emplace();
                        measurements.not_run->push_back(std::move(one));
                      }) ||
         take<KernelFault>(event, "kernel_fault",
                           [&](KernelFault fault) {
                             if (!measurements.kernel_faults) measurements.kernel_faults.emplace();
                             measurements.kernel_faults->push_back(std::move(fault));
                           }) ||
         take<Obstacle>(event, "obstacle", [&](Obstacle why) { log.obstacle = why; }) ||
         take<std::string>(event, "intruded", [&](std::string text) { log.intruded = std::move(text); }) ||
         take<std::string>(event, "refused", [&](std::string text) { log.refused = std::move(text); }) ||
         take<Stage>(event, "stage", [&](Stage stage) { log.stage = std::move(stage); }) ||
         take<Crash>(event, "crash", [&](Crash crash) { log.crash = std::move(crash); }) ||
         take<WorkerEnd>(event, "ended", [&](WorkerEnd ended) { log.ended = std::move(ended); }) ||
         take<bool>(event, "finished", [&](bool finished) { log.finished = finished; });
}

void write_event(const EventWriter& events, const char* key, Json value) {
  if (getpid() != events.owner()) return;
  Json event = Json::object();
  event[key] = std::move(value);
  write_event(events, event.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void write_event(const EventWriter& events, const std::string& line) {
  if (events.channel_ != nullptr) return events.channel_->send(line);
  // Begins each line with a newline, because a killed worker may have left an incomplete line.
  static_cast<void>(write_whole(events.descriptor_, "\n" + line + "\n"));  // fails if the reader has ended
}

EventWriter::EventWriter(int descriptor) : descriptor_(descriptor), owner_(getpid()) {}
EventWriter::EventWriter(Channel& channel) : channel_(&channel), owner_(getpid()) {}

void EventWriter::loading(const std::string& library) {
  if (channel_ != nullptr && getpid() == owner_) channel_->close(library);
}
void EventWriter::loaded() {
  if (channel_ != nullptr && getpid() == owner_) channel_->open();
}
uint64_t EventWriter::seed() const {
  return channel_ != nullptr ? channel_->seed() : 0;
}
void EventWriter::gemm(const ReturnedGemm& gemm) {
  write_event(*this, "gemm", to_json(gemm));
}
void EventWriter::intruded(const std::string& text) {
  write_event(*this, "intruded", text);
}

void EventWriter::stage(Step step, std::string doing) {
  write_event(*this, "stage", to_json(Stage{step, std::move(doing)}));
}
void EventWriter::row(const BenchRow& row) {
  write_event(*this, "row", to_json(row));
}
void EventWriter::libtorch(const LibtorchRun& run) {
  write_event(*this, "libtorch", to_json(run));
}
void EventWriter::exact_cpu(int64_t cpu) {
  write_event(*this, "exact_cpu", cpu);
}
void EventWriter::probe(const ProbeFigure& figure) {
  write_event(*this, "probe", to_json(figure));
}
void EventWriter::note(const std::string& text) {
  write_event(*this, "note", text);
}
void EventWriter::problem(const std::string& text) {
  write_event(*this, "problem", text);
}
void EventWriter::not_run(NotRun one) {
  write_event(*this, "not_run", to_json(one));
}
void EventWriter::kernel_fault(const KernelFault& fault) {
  write_event(*this, "kernel_fault", to_json(fault));
}
void EventWriter::obstacle(Obstacle why) {
  write_event(*this, "obstacle", to_json(why));
}
void EventWriter::failed(const std::string& text, const Error& error, const std::string& device) {
  if (!error.obstacle) return problem(text);
  not_run({.what = text,
           .why = *error.obstacle,
           .device = device.empty() || device == "cpu" ? std::nullopt : std::optional(device)});
}
void EventWriter::refused(const std::string& text) {
  write_event(*this, "refused", text);
}
void EventWriter::finished() {
  write_event(*this, "finished", true);
}
void EventWriter::ended(const WorkerEnd& ended) {
  write_event(*this, "ended", to_json(ended));
}

EventLog read_events(std::string_view text) {
  EventLog log;
  for (const std::string_view line : split_lines(text)) {
    if (line.empty()) continue;
    auto event = parse_json(line);
    if (event.ok() && event->is_object() && record(*event, log)) {
      log.any = true;
    } else if (log.strange.empty()) {
      log.strange = one_line(line, 80);
    }
  }
  return log;
}

std::string one_line(std::string_view text, size_t limit) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  std::string line;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte >= 0x7f ? (byte == '\n' ? ' ' : '?') : c;
  }
  return text.size() > limit ? line + "..." : line;
}

}  // namespace pbprobe
