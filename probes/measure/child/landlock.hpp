// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Restricts the file changes of this process and its children, with Landlock (Linux 5.13).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

// Allows writing, creating, renaming and removing only below these folders, until the process ends. Reading and
// starting programs stay allowed. Skips missing folders. Returns the kernel's version of Landlock. Error unsupported:
// Landlock is missing or off, and nothing is restricted. Requires that the process cannot gain privileges.
[[nodiscard]] Result<int64_t> write_only_below(const std::vector<std::string>& folders);

// Returns the other paths that computing code may write to: devices, shared memory, its own /proc files, the driver's
// cache of compiled kernels, and the pipes of NVIDIA's MPS.
[[nodiscard]] std::vector<std::string> writable_besides();

}  // namespace pbprobe
