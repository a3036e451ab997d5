// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/emulated_loads.hpp"

#include <algorithm>
#include <csignal>
#include <sstream>

#include <fmt/format.h>

#include "core/list_folder.hpp"
#include "core/program.hpp"
#include "core/targets.hpp"
#include "probes/audit/packages/component.hpp"
#include "probes/audit/packages/layout.hpp"
#include "probes/pipeline/emulate.hpp"
#include "probes/pipeline/foreign.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kSeconds = 60;  // loading libtorch_cpu.so takes 3 to 8 s on a busy core

#if defined(__x86_64__)
constexpr std::string_view kMachine = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kMachine = "aarch64";
#endif

// Lists libtorch's own files, libc10 and libtorch_cpu first, because the others depend on them.
std::vector<std::string> list_libtorch_files(const fs::path& libtorch_dir) {
  std::vector<std::string> first;
  std::vector<std::string> rest;
  std::error_code error;
  for (const auto& entry : list_folder(libtorch_dir, error)) {
    const std::string name = entry.path.filename().string();
    if (!name.starts_with("lib") || !is_shared_object_name(name) || component_of(name) != "libtorch") continue;
    // Files for CUDA need a driver, and files for Python an interpreter.
    if (name.find("cuda") != std::string::npos || name.find("python") != std::string::npos) continue;
    (name.starts_with("libc10.") || name.starts_with("libtorch_cpu.") ? first : rest).push_back(entry.path.string());
  }
  std::sort(first.begin(), first.end());
  std::sort(rest.begin(), rest.end());
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

struct Reported {
  std::string last;     // file that was opened last
  std::string refused;  // reason why the first refused file was not loaded
  int opened = 0;
  std::string end;
};

Reported read_lines(const std::string& text) {
  Reported reported;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("open ")) reported.last = line.substr(5);
    if (line == "opened") ++reported.opened;
    if (line.starts_with("refused ") && reported.refused.empty()) reported.refused = line.substr(8);
    if (line.starts_with("ended ")) reported.end = line;
  }
  return reported;
}

void judge_end(const Reported& reported, EmulatedLoad& load) {
  const std::string name = fs::path(reported.last).filename().string();
  // QEMU 7.2 ends a program by SIGSEGV if the program's handler runs the illegal instruction.
  if (reported.end == fmt::format("ended by signal {}", SIGILL)) {
    load.outcome = LoadOutcome::died;
    load.library = name;
    load.what = "an illegal instruction during opening or closing";
  } else if (reported.end != "ended with 0") {
    load.library = name;
    load.what = fmt::format("{} at {}", reported.end.empty() ? "exited without a message" : reported.end, name);
  } else if (reported.opened == 0) {
    load.what = reported.refused.empty() ? "nothing was opened" : reported.refused;
  } else {
    load.outcome = LoadOutcome::loaded;
    load.what = fmt::format("{} files of libtorch were opened and closed", reported.opened);
  }
}

EmulatedLoad load_emulated_row(const Target& target, const std::vector<std::string>& files, const fs::path& program) {
  EmulatedLoad load{.target = target.id, .cpu = target.emulated_cpu};
  if (!target.emulated_cpu) {
    load.what = fmt::format("QEMU has no CPU of exactly {}", target.id);
    return load;
  }
  const auto emulator = find_emulator({.cpu = *target.emulated_cpu}, program);
  if (!emulator) {
    load.what = emulator.error().message;
    return load;
  }
  std::vector<std::string> words{program.string(), "load", "--seconds", std::to_string(kSeconds)};
  for (const auto& word : emulator->words) words.push_back("--emulator=" + word);
  words.insert(words.end(), files.begin(), files.end());
  const auto reported = run_program({.arguments = words, .seconds = kSeconds + 10.0});
  if (!reported) {
    load.what = reported.error().message;
    return load;
  }
  judge_end(read_lines(reported->out), load);
  return load;
}

}  // namespace

std::vector<EmulatedLoad> load_emulated(const fs::path& artifact, const Claim& claim, const fs::path& program) {
  const auto layout = find_layout(artifact);
  std::vector<EmulatedLoad> loads;
  for (const auto& id : claim.targets) {
    const Target* target = find_target(id);
    if (target == nullptr || target->kind != TargetKind::cpu) continue;
    EmulatedLoad load{.target = id, .cpu = target->emulated_cpu};
    if (target->architecture != kMachine) {
      load.what = fmt::format("pbprobe for {} is not installed", target->architecture);
    } else if (!layout || !layout->libtorch_dir) {
      load.what = "libtorch cannot be loaded in place: it is in a wheel, or missing";
    } else {
      const auto files = list_libtorch_files(*layout->libtorch_dir);
      if (files.empty())
        load.what = "no file of libtorch can be opened separately";
      else
        load = load_emulated_row(*target, files, resolve_program(program));
    }
    loads.push_back(std::move(load));
  }
  return loads;
}

}  // namespace pbprobe
