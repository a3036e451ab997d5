// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/emulate.hpp"

#include <cstring>
#include <optional>

#include <elf.h>
#include <unistd.h>

#include "core/facts/json.hpp"
#include "core/open_file.hpp"
#include "core/program.hpp"

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
      return make_error(ErrorCode::malformed, "{} is not a program for x86-64 or aarch64 Linux", program.string());
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
    return make_error(ErrorCode::failed_child,
                      "{} does not start {}: \"{}\": give its libraries by --sysroot, or a CPU that it runs on",
                      qemu->filename().string(), program.string(), first_line(words));
  PBPROBE_TRY(const Json json, parse_json(reported.value().out), "the emulated host");
  PBPROBE_TRY(emulator.host, from_json<Host>(json), "the emulated host");
  emulator.host.cpu.name = fmt::format("{} ({})", emulation.cpu, emulator.sentence);
  return emulator;
}

}  // namespace pbprobe
