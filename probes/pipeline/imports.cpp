// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/imports.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "core/program.hpp"
#include "core/strings.hpp"
#include "core/temp_folder.hpp"
#include "probes/audit/loader/imports.hpp"
#include "probes/pipeline/foreign.hpp"
#include "probes/pipeline/python.hpp"
#include "probes/process/sentences.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// Redirects output of packages, so that it cannot mix with the answer. Exits before destructors run, because their
// failures do not matter here.
constexpr const char* kScript = R"(
import os, sys
answer = os.fdopen(os.dup(1), "w", errors="replace")
os.dup2(2, 1)
module, path = sys.argv[1:]
sys.path[:] = [folder for folder in sys.path if folder]
answer.write("started\n")
answer.flush()
try:
    import torch
    answer.write("torch\n")
    answer.flush()
    if module == path:
        torch.ops.load_library(path)
    else:
        __import__(module)
    answer.write("imported\n")
except BaseException as refusal:
    words = str(refusal).strip().splitlines() or [""]
    answer.write("refused " + type(refusal).__name__ + ": " + words[0] + "\n")
for line in open("/proc/self/maps"):
    fields = line.rstrip("\n").split(None, 5)
    if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
        answer.write("mapped " + fields[5] + "\n")
answer.flush()
os._exit(0)
)";

struct Answered {
  bool started = false;  // Python has
  bool has_torch = false;
  bool imported = false;
  std::optional<std::string> refused;
  std::optional<std::string> not_confined;
  std::string end;
};

Answered read_answer(const std::string& text, Import& tried) {
  Answered answered;
  for (const std::string_view line : split_lines(text)) {
    if (line == "started") answered.started = true;
    if (line == "torch") answered.has_torch = true;
    if (line == "imported") answered.imported = true;
    if (line.starts_with("refused ")) answered.refused = line.substr(std::strlen("refused "));
    if (line.starts_with("not confined ")) answered.not_confined = line.substr(std::strlen("not confined "));
    if (line.starts_with("ended ")) answered.end = line;
    if (!line.starts_with("mapped ")) continue;
    const std::string path(line.substr(std::strlen("mapped ")));
    if (std::find(tried.loaded.begin(), tried.loaded.end(), path) == tried.loaded.end()) tried.loaded.push_back(path);
  }
  return answered;
}

// Reports whether the sandbox caused the refusal; outside of it, a user may permit the access.
bool is_sandbox_refusal(const std::string& refusal) {
  constexpr std::string_view kWords[] = {"PermissionError", "Permission denied", "Read-only file system"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view words) { return refusal.find(words) != refusal.npos; });
}

void judge_end(const Answered& answered, double seconds, Import& tried) {
  constexpr std::string_view kBySignal = "ended by signal ";
  if (answered.not_confined) {
    tried.problem = *answered.not_confined;
    tried.obstacle = Obstacle::unsupported;
  } else if (answered.end == "ended at the limit") {
    tried.problem = fmt::format("it did not end within {:g} s", seconds);
    if (!answered.has_torch)
      tried.obstacle = Obstacle::time_limit;  // torch itself may be slow, but a hanging extension is a fault
  } else if (answered.end == "ended for its memory") {
    tried.problem = "it exceeded the memory limit";
    tried.obstacle = Obstacle::memory;
  } else if (answered.end.starts_with(kBySignal)) {
    const int signal = std::atoi(answered.end.c_str() + kBySignal.size());
    tried.problem = "it was ended by " + signal_name(signal);
    if (signal == SIGKILL) tried.obstacle = Obstacle::killed;
  } else if (answered.refused) {
    tried.problem = *answered.refused;
    if (is_sandbox_refusal(*answered.refused)) tried.obstacle = Obstacle::permission;
  } else if (!answered.imported) {
    tried.problem = answered.end.empty() ? "it exited without a message" : fmt::format("it {}", answered.end);
    if (!answered.started) tried.obstacle = Obstacle::unexplained;
  }
}

void try_import(const ImportRequest& request, const fs::path& python, Import& tried) {
  const auto scratch = TempFolder::make();
  if (!scratch) {
    tried.problem = scratch.error().message;
    tried.obstacle = Obstacle::permission;
    return;
  }
  std::vector<std::string> words{resolve_program(request.program).string(), "load", "--seconds",
                                 fmt::format("{:.0f}", std::max(request.seconds, 1.0)),
                                 "--writable=" + scratch->path().string()};
  for (const std::string& word : {python.string(), std::string("-c"), std::string(kScript), tried.module, tried.path})
    words.push_back("--start=" + word);
  const auto ran = run_program(
      {.arguments = words, .environment = move_writable_folders(scratch->path()), .seconds = request.seconds + 10});
  if (!ran) {
    tried.problem = ran.error().message;
    tried.obstacle = Obstacle::unexplained;
    return;
  }
  judge_end(read_answer(ran->out, tried), request.seconds, tried);
}

}  // namespace

std::vector<Import> try_imports(const ImportRequest& request) {
  Imports files(request.packages, request.library_path);
  const fs::path python = files.python();
  auto all = files.predicted();
  for (Import& tried : all) {
    if (request.seconds_left && request.seconds_left() < request.seconds / 4) {
      tried.problem = "the time budget was used up; increase --budget";
      tried.obstacle = Obstacle::time_limit;
      continue;
    }
    if (request.progress) request.progress("importing " + tried.module);
    try_import(request, python, tried);
    if (!tried.problem) files.compare(tried);
  }
  return all;
}

}  // namespace pbprobe
