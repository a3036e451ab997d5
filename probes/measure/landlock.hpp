// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Keeps this process, and all that it starts, from changing files elsewhere, by the kernel's Landlock (Linux 5.13).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

// From now on files are written, made, renamed and removed below these folders only; reading and starting programs
// stay free. A folder that is not there is left out. Returns the kernel's version of Landlock. Error unsupported: this
// kernel has none, or it is switched off; nothing is refused then. The process must not be able to gain privileges.
[[nodiscard]] Result<int64_t> write_only_below(const std::vector<std::string>& folders);

// What code that computes may write besides its scratch folder: devices and shared memory, what /proc has of itself,
// the driver's cache of compiled kernels, and the pipes of NVIDIA's server that shares a GPU.
[[nodiscard]] std::vector<std::string> writable_besides();

}  // namespace pbprobe
