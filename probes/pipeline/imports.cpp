// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/imports.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "core/list_folder.hpp"
#include "core/program.hpp"
#include "core/strings.hpp"
#include "core/temp_folder.hpp"
#include "probes/audit/loader/imports.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/processors.hpp"
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
    if (std::ranges::find(tried.loaded, path) == tried.loaded.end()) tried.loaded.push_back(path);
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
    tried.problem = fmt::format("the importing process did not end within {:g} s", seconds);
    if (!answered.has_torch)
      tried.obstacle = Obstacle::time_limit;  // torch itself may be slow, but a hanging extension is a fault
  } else if (answered.end == "ended for its memory") {
    tried.problem = "it exceeded the memory limit";
    tried.obstacle = Obstacle::out_of_memory;
  } else if (answered.end.starts_with(kBySignal)) {
    const int signal = std::atoi(answered.end.c_str() + kBySignal.size());
    tried.problem = "it was ended by " + signal_name(signal);
    if (signal == SIGKILL) tried.obstacle = Obstacle::killed;
  } else if (answered.refused) {
    tried.problem = *answered.refused;
    if (is_sandbox_refusal(*answered.refused)) tried.obstacle = Obstacle::not_permitted;
  } else if (!answered.imported) {
    tried.problem = answered.end.empty() ? "it exited without a message" : fmt::format("it {}", answered.end);
    if (!answered.started) tried.obstacle = Obstacle::unexplained;
  }
}

// One import in a process of its own.
struct ImportStart {
  fs::path python;
  fs::path program;
  double seconds = 60;
  std::optional<fs::path> first_on_path;  // folder of packages that takes precedence over all others
};

void try_import(const ImportStart& start, Import& tried) {
  const auto scratch = TempFolder::make();
  if (!scratch) {
    tried.problem = scratch.error().message;
    tried.obstacle = Obstacle::not_permitted;
    return;
  }
  std::vector<std::string> words{resolve_program(start.program).string(), "load", "--seconds",
                                 fmt::format("{:.0f}", std::max(start.seconds, 1.0)),
                                 "--writable=" + scratch->path().string()};
  const std::vector<std::string> python{start.python.string(), "-c", kScript, tried.module, tried.path};
  for (const std::string& word : python) words.push_back("--start=" + word);
  std::map<std::string, std::string> changed;
  if (start.first_on_path) changed = {{"PYTHONPATH", start.first_on_path->string()}, {"PYTHONHOME", ""}};
  const auto ran = run_program({.arguments = words,
                                .environment = move_writable_folders(scratch->path(), changed),
                                .seconds = start.seconds + 10});
  if (!ran) {
    tried.problem = ran.error().message;
    tried.obstacle = Obstacle::unexplained;
    return;
  }
  judge_end(read_answer(ran->out, tried), start.seconds, tried);
}

// Returns "python3.11" of torch/_C.cpython-311-x86_64-linux-gnu.so; "" if torch has no such module, or several.
std::string find_python_of_module(const fs::path& torch) {
  constexpr std::string_view kModule = "_C.cpython-3";
  std::string python;
  std::error_code error;
  for (const auto& entry : list_folder(torch, error)) {
    const std::string name = entry.path.filename().string();
    if (!name.starts_with(kModule)) continue;
    if (!python.empty()) return "";
    python = "python3." + name.substr(kModule.size(), name.find('-', kModule.size()) - kModule.size());
  }
  return python;
}

// Returns the interpreter for `packages`; empty if none is known to find torch there.
fs::path find_interpreter(const fs::path& packages) {
  std::error_code error;
  const fs::path lib = packages.parent_path();
  const std::string version = lib.filename().string();
  if (version.starts_with("python3")) {
    const fs::path environment = lib.parent_path().parent_path();
    for (const std::string& name : {version, std::string("python"), std::string("python3")}) {
      if (fs::exists(environment / "bin" / name, error)) return environment / "bin" / name;
    }
  }
  // A folder as pip --target fills it. Other layouts have torch's libraries elsewhere, for another system.
  const fs::path library = packages / "torch/lib/libtorch_cpu.so";
  const std::string name = find_python_of_module(packages / "torch");
  if (name.empty() || !fs::is_regular_file(library, error)) return {};
  return find_program({name}).value_or(fs::path());
}

bool is_for_other_processor(const fs::path& packages) {
  const std::string processor = processor_of_file(packages / "torch/lib/libtorch_cpu.so");
  utsname system{};
  return !processor.empty() && uname(&system) == 0 && processor != system.machine;
}

// Reports whether an import failed because something beside torch is missing: another artifact may bring it.
bool lacks_something_else(const std::string& refusal) {
  constexpr std::string_view kModule = "No module named '";
  constexpr std::string_view kLibrary = ": cannot open shared object file";
  if (const size_t at = refusal.find(kModule); at != refusal.npos)
    return !std::string_view(refusal).substr(at + kModule.size()).starts_with("torch");
  const size_t end = refusal.find(kLibrary);
  if (end == refusal.npos) return false;
  const std::string_view before = std::string_view(refusal).substr(0, end);
  const std::string_view library = before.substr(before.find_last_of(" /") + 1);
  return find_component(library) != "libtorch";
}

}  // namespace

std::optional<Import> try_torch(const fs::path& packages, const fs::path& program, double seconds) {
  if (is_for_other_processor(packages)) return std::nullopt;
  const fs::path python = find_interpreter(packages);
  if (python.empty()) return std::nullopt;
  Import tried{.module = "torch", .path = (packages / "torch/__init__.py").string()};
  try_import({python, program, seconds, packages}, tried);
  if (tried.problem && !tried.obstacle && lacks_something_else(*tried.problem)) tried.obstacle = Obstacle::missing;
  return tried;
}

std::vector<Import> try_imports(const ImportRequest& request) {
  if (is_for_other_processor(request.packages)) return {};
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
    try_import({python, request.program, request.seconds, std::nullopt}, tried);
    if (!tried.problem) files.compare(tried);
  }
  return all;
}

}  // namespace pbprobe
