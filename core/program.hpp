// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Runs a program of the system, such as nix-store, and takes what it says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

struct ProgramCall {
  std::vector<std::string> arguments;                        // the first is looked up on PATH
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; none: that of this process
  double seconds = 60;                                       // then it is killed
  std::size_t output_bytes = std::size_t{64} << 20;          // of each stream
};

struct ProgramOutput {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// Errors: not_found (it could not be started), limit (time, output), failed_child (a signal ended it). An exit code
// other than 0 is not an error here.
[[nodiscard]] Result<ProgramOutput> run_program(const ProgramCall& call);

}  // namespace pbprobe
