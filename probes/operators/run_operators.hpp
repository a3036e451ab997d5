// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Runs torch's operators in a process of the environment's Python (worker.py), and starts a new one after a crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/operators.hpp"

namespace pbprobe {

struct OperatorRequest {
  std::filesystem::path python;          // interpreter of the environment
  std::filesystem::path program;         // pbprobe, which starts it in a sandbox
  std::string device = "cpu";            // "cpu" or "cuda"
  bool compile = false;                  // compare compiled functions (torch.compile) instead of the operators
  std::optional<int64_t> memory_bytes;   // limit of a GPU with unified memory; null for others
  double seconds = 90;                   // time limit for all operators, without the start of Python
  int64_t seed = 1;                      // decides samples and order
  std::vector<std::string> only;         // names; all if empty
  std::filesystem::path plant;           // Python file that changes torch first, for tests; empty for none
  std::vector<std::string> environment;  // "NAME=value"
  std::filesystem::path scratch;         // folder that the process may write to
  std::function<void(std::string_view step)> progress;
};

// Never fails: a run that could not take place has a problem. Operators that end the process are crashed.
[[nodiscard]] OperatorRun run_operators(const OperatorRequest& request);

}  // namespace pbprobe
