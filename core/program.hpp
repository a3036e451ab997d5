// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Runs a program of the system, such as nix-store, and captures its output.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

struct ProgramCall {
  std::vector<std::string> arguments;  // the first one is looked up in PATH
  std::optional<std::vector<std::string>> environment =
      {};                                            // "NAME=value"; nullopt for the environment of this process
  double seconds = 60;                               // time limit, after which the program is killed
  std::size_t output_bytes = std::size_t{64} << 20;  // limit for each stream
};

struct ProgramOutput {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// Runs the program to its end. Errors: not_found (could not be started), limit (time, output), failed_child (ended by a
// signal). A nonzero exit code is not an error.
[[nodiscard]] Result<ProgramOutput> run_program(const ProgramCall& call);

// Returns the path of the first program in PATH that has one of these names; nullopt if no program has.
[[nodiscard]] std::optional<std::filesystem::path> find_program(const std::vector<std::string>& names);

}  // namespace pbprobe
