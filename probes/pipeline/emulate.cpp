// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/emulate.hpp"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include "core/facts/json.hpp"
#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/program.hpp"
#include "core/strings.hpp"
#include "core/targets.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/layout.hpp"
#include "probes/pipeline/foreign.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// Returns the architecture of a Linux program, as named by QEMU and GNU.
Result<std::string> read_architecture(const fs::path& program) {
  Elf64_Ehdr header{};
  const auto start = read_start_of_file(program, sizeof header);
  if (!start || start->size() < sizeof header)
    return make_error(ErrorCode::not_found,
                      "{} is not a readable program: name a pbprobe for the emulated platform by --program",
                      program.string());
  std::memcpy(&header, start->data(), sizeof header);
  switch (header.e_machine) {
    case EM_X86_64: return std::string("x86_64");
    case EM_AARCH64: return std::string("aarch64");
    default:
      return make_error(ErrorCode::malformed, "{} is not a pbprobe for x86-64 or aarch64 Linux: name one by --program",
                        program.string());
  }
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

Result<Emulator> find_emulator(const Emulation& emulation, const fs::path& self) {
  const fs::path program = emulation.program.empty() ? self : emulation.program;
  PBPROBE_TRY(const std::string architecture, read_architecture(program));
  const std::string name = "qemu-" + architecture;
  const auto qemu = find_program({name + "-static", name});
  if (!qemu) return make_error(ErrorCode::not_found, "{} is not installed: apt install qemu-user-static", name);
  Emulator emulator;
  emulator.words = {qemu->string(), "-cpu", emulation.cpu};
  fs::path sysroot = emulation.sysroot;
  std::error_code error;
  if (sysroot.empty() && !emulation.program.empty() && fs::exists("/usr/" + architecture + "-linux-gnu", error))
    sysroot = "/usr/" + architecture + "-linux-gnu";
  if (!sysroot.empty()) {
    emulator.words.emplace_back("-L");
    emulator.words.push_back(sysroot.string());
  }
  emulator.words.push_back(program.string());
  emulator.sentence = fmt::format("emulated by {} -cpu {}", qemu->filename().string(), emulation.cpu);

  auto asked = emulator.words;
  for (const char* word : {"host", "--format", "json"}) asked.emplace_back(word);
  const auto reported = run_program({.arguments = asked});
  const std::string words = reported.ok() ? reported.value().err : reported.error().message;
  if (words.find("unable to find CPU model") != std::string::npos)
    return make_error(ErrorCode::usage, "{}: `{} -cpu help` lists the models", first_line(words),
                      qemu->filename().string());
  if (!reported.ok() || reported.value().exit_code != 0)
    return make_error(
        ErrorCode::failed_child,
        "{} does not start {}: \"{}\": give the program's libraries by --sysroot, or a CPU that runs the program",
        qemu->filename().string(), program.string(), first_line(words));
  PBPROBE_TRY(const Json json, parse_json(reported.value().out), "the emulated host");
  PBPROBE_TRY(emulator.host, from_json<Host>(json), "the emulated host");
  emulator.host.cpu.name = fmt::format("{} ({})", emulation.cpu, emulator.sentence);
  return emulator;
}

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
    if (!name.starts_with("lib") || !is_shared_object_name(name) || find_component(name) != "libtorch") continue;
    // Files for CUDA need a driver, and files for Python an interpreter.
    if (name.find("cuda") != std::string::npos || name.find("python") != std::string::npos) continue;
    (name.starts_with("libc10.") || name.starts_with("libtorch_cpu.") ? first : rest).push_back(entry.path.string());
  }
  std::ranges::sort(first);
  std::ranges::sort(rest);
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
  for (const std::string_view line : split_lines(text)) {
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
    load.what = fmt::format("QEMU has no CPU model of exactly {}", target.id);
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
