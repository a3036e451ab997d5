// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Common parts of the tests of children.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "paths.hpp"
#include "probes/process/spawn.hpp"

namespace pbprobe {

// Returns the command of this program, with the emulator if it is cross-built.
inline std::vector<std::string> self(const std::string& fault = "") {
  std::vector<std::string> words;
  std::istringstream emulator(PBPROBE_EMULATOR);
  for (std::string word; emulator >> word;) words.push_back(word);
  words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  if (!fault.empty()) words.push_back("--fault=" + fault);
  return words;
}

inline Host small_host() {
  Host host;
  host.os = "Linux";
  host.kernel = "6.1";
  host.cpu.usable_cpus = host.cpu.logical_cpus = 2;
  host.memory_bytes = int64_t{4} << 30;
  return host;
}

// Processes that carry this word in their environment, other than this one.
inline int count_processes(const std::string& word) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == getpid()) continue;
    std::ifstream file(entry.path() / "environ");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.find(word) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace pbprobe
