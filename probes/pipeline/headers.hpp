// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Test that a C++ program compiles with the headers of a libtorch and runs with its libraries. PyTorch's release checks
// include the same test, and extension builds depend on it.
#pragma once

#include <string>

#include "core/facts/measurement.hpp"

namespace pbprobe {

// Runs the test and returns its area: right, with a problem (message of the compiler or program), or skipped with the
// reason (no headers, no compiler). `libtorch_dir` contains libtorch_cpu.so; `include` is next to it. Takes half a
// minute.
[[nodiscard]] LibtorchArea try_headers(const std::string& libtorch_dir, double seconds);

}  // namespace pbprobe
