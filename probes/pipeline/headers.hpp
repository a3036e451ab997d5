// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Can a C++ program be built against the headers that came with a libtorch, and does it run with its libraries?
// PyTorch's own release gate asks the same, and so does whoever writes an extension.
#pragma once

#include <string>

#include "core/facts/measurement.hpp"

namespace pbprobe {

// An area of its own: right, with a problem in the compiler's or the program's words, or skipped, with the reason (no
// headers, no compiler). `libtorch_dir` holds libtorch_cpu.so; `include` lies beside it. Takes half a minute.
[[nodiscard]] LibtorchArea try_headers(const std::string& libtorch_dir, double seconds);

}  // namespace pbprobe
