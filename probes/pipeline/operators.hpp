// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Comparison of torch's operators with higher precision, by the environment's Python.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/report.hpp"

namespace pbprobe {

struct OperatorOptions {
  std::filesystem::path program;  // pbprobe, which starts Python; empty for this program
  bool compute = true;            // compare the operators themselves
  bool compile = false;           // compare functions of torch.compile
  std::optional<double> seconds;  // for each device and mode; 90 s, and 300 s for torch.compile, if null
  std::vector<std::string> only;  // names of operators; all if empty
  std::filesystem::path plant;    // see OperatorRequest
  std::function<void(std::string_view step)> progress;
};

// Compares the operators of the report's torch on the CPU, and on CUDA if this machine and the build have it. Stores
// one run per device and mode, or a problem. Packages that torch's database of operators needs and the environment
// lacks (numpy, expecttest) are installed into a temporary folder.
void compare_operators(Report& report, const OperatorOptions& options);

}  // namespace pbprobe
