// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/sentences.hpp"

#include <array>
#include <csignal>

#include <sys/wait.h>

#include <fmt/format.h>

#include "core/facts/measurement.hpp"
#include "core/statuses.hpp"

namespace pbprobe {
namespace {

// Returns the end of the output, in which libraries print why they fail.
std::string last_words(std::string_view output) {
  constexpr size_t kLength = 200;
  const std::string text = one_line(output.substr(output.size() > kLength ? output.size() - kLength : 0), kLength);
  return text.empty() ? "" : fmt::format("{}{}\"", kLastWords, text);
}

std::string_view choose_remedy(const std::string& signal, Step step, std::optional<Obstacle> obstacle) {
  if (obstacle == Obstacle::out_of_memory) return "too little memory: free some, and run again";
  if (obstacle == Obstacle::not_permitted) return "the limit of threads or processes is reached: see `ulimit -u`";
  if (signal == "SIGILL")
    return step == Step::libtorch
               ? "libtorch ran an instruction that this CPU lacks: use a build for this CPU"
               : "a pbprobe kernel ran an instruction that this CPU lacks: please report it with `pbprobe host`";
  if (signal == "SIGKILL") return "pbprobe did not send this signal: usually the system was out of memory, see `dmesg`";
  if (step == Step::libtorch)
    return "reinstall or rebuild this libtorch; `python -c 'import torch'` should fail in the same way";
  return "please report it with `pbprobe host --format json`";
}

// " at libtorch_cpu.so+0x1234 (in at::native::…, c5 fd 6f 06 …)"
std::string describe_place(const std::optional<Crash>& crash) {
  if (!crash) return {};
  const std::string where = crash->object.empty() ? fmt::format("{:#x}", crash->offset)
                                                  : fmt::format("{}+{:#x}", crash->object, crash->offset);
  std::string inside = crash->symbol.empty() ? "" : "in " + crash->symbol;
  if (!crash->bytes.empty()) inside += (inside.empty() ? "bytes " : ", bytes ") + crash->bytes;
  return inside.empty() ? " at " + where : fmt::format(" at {} ({})", where, inside);
}

std::string doing(const EventLog& log) {
  return log.stage.doing;
}

}  // namespace

bool is_hung(const EventLog& log, const ChildEnd& end) {
  return end.hung || (log.ended && log.ended->how == How::hung);
}

std::string no_answer_sentence(std::string_view program, const EventLog& log, const ChildEnd& end,
                               std::string_view output) {
  if (!log.strange.empty())
    return fmt::format("{} measure answered \"{}\", which is not JSON: is it a pbprobe of this version?", program,
                       log.strange);
  if (end.hung)
    return fmt::format("{} measure hangs, also after SIGKILL, and keeps running: see `dmesg` for the device", program);
  if (!end.excess.empty())
    return fmt::format("{} measure was killed by pbprobe, because it used {}", program, end.excess);
  if (end.over_limit)
    return fmt::format("{} measure exceeded its time limit and was killed{}", program, last_words(output));
  if (WIFSIGNALED(end.status))
    return fmt::format("{} measure was killed by {} before it answered{}", program, signal_name(WTERMSIG(end.status)),
                       last_words(output));
  return fmt::format("{} measure exited with {} and without an answer{}: is it a pbprobe of this version?", program,
                     WEXITSTATUS(end.status), last_words(output));
}

std::optional<std::string> fault_sentence(const EventLog& log, const ChildEnd& end, std::string_view output,
                                          double limit_seconds) {
  if (is_hung(log, end))
    return fmt::format(
        "{} hangs, also after SIGKILL: the device or its driver is stuck, see `dmesg`; a reboot ends the process{}",
        doing(log), last_words(output));
  if (!end.excess.empty())
    return fmt::format("{} was killed by pbprobe, because it used {}: check what it starts when it is loaded{}",
                       doing(log), end.excess, last_words(output));
  if (log.ended && log.ended->how == How::exited && log.finished) return std::nullopt;
  if (end.over_limit || (log.ended && log.ended->how == How::time_limit))
    return fmt::format(
        "{} did not end within {:g} s and was killed: a deadlock, or too much work for that time; increase --budget{}",
        doing(log), limit_seconds, last_words(output));
  if (log.ended && log.ended->how == How::unseen)
    return fmt::format("{}: the exit status of its process is not known: waiting for it failed{}", doing(log),
                       last_words(output));
  std::optional<std::string> signal = log.ended ? log.ended->signal : std::nullopt;
  if (!log.ended && WIFSIGNALED(end.status)) signal = signal_name(WTERMSIG(end.status));
  if (signal)
    return fmt::format("{} ended its process by {}{}: {}{}", doing(log), *signal, describe_place(log.crash),
                       choose_remedy(*signal, log.stage.step, fault_obstacle(log, end, output)), last_words(output));
  const int64_t code = log.ended ? log.ended->code : WEXITSTATUS(end.status);
  return fmt::format("{} ended its process with exit code {} and without an answer: {}{}", doing(log), code,
                     choose_remedy("", log.stage.step, fault_obstacle(log, end, output)), last_words(output));
}

std::optional<Obstacle> fault_obstacle(const EventLog& log, const ChildEnd& end, std::string_view output) {
  if (is_hung(log, end)) return Obstacle::device_failed;
  if (!end.excess.empty()) return end.too_much_memory ? std::optional(Obstacle::out_of_memory) : std::nullopt;
  if (end.over_limit || (log.ended && log.ended->how == How::time_limit)) return Obstacle::time_limit;
  if (log.ended && log.ended->how == How::unseen) return Obstacle::unexplained;
  if (log.obstacle) return log.obstacle;
  std::optional<std::string> signal = log.ended ? log.ended->signal : std::nullopt;
  if (!log.ended && WIFSIGNALED(end.status)) signal = signal_name(WTERMSIG(end.status));
  if (signal == "SIGKILL") return Obstacle::killed;
  if (signal == "SIGXCPU") return Obstacle::time_limit;
  if (signal && signal != "SIGABRT") return std::nullopt;
  return classify_message(output);  // a process that aborts prints the reason first
}

std::string output_sentence(std::string_view output, size_t bytes) {
  return fmt::format("the measuring process also printed {} bytes: \"{}\"", bytes, one_line(output, 120));
}

std::string left_behind_sentence(int64_t processes, const std::optional<std::string>& libtorch_dir) {
  return fmt::format(
      "{} process{} outlived the measurement and {} killed{}", processes, processes == 1 ? "" : "es",
      processes == 1 ? "was" : "were",
      libtorch_dir
          ? fmt::format(": {} starts processes when it is loaded; check the libraries that it links", *libtorch_dir)
          : "");
}

std::string signal_name(int signal) {
  struct Name {
    int number;
    const char* name;
  };
  static constexpr std::array<Name, 14> kNames{{{SIGHUP, "SIGHUP"},
                                                {SIGINT, "SIGINT"},
                                                {SIGQUIT, "SIGQUIT"},
                                                {SIGILL, "SIGILL"},
                                                {SIGTRAP, "SIGTRAP"},
                                                {SIGABRT, "SIGABRT"},
                                                {SIGBUS, "SIGBUS"},
                                                {SIGFPE, "SIGFPE"},
                                                {SIGKILL, "SIGKILL"},
                                                {SIGSEGV, "SIGSEGV"},
                                                {SIGPIPE, "SIGPIPE"},
                                                {SIGTERM, "SIGTERM"},
                                                {SIGXCPU, "SIGXCPU"},
                                                {SIGSYS, "SIGSYS"}}};
  for (const Name& entry : kNames)
    if (entry.number == signal) return entry.name;
  return "signal " + std::to_string(signal);
}

}  // namespace pbprobe
