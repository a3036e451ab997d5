// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Starts of libtorch, each in its own process and environment: with an empty and a filled driver cache, without and
// only with the driver's compiler, in each tier of the dispatcher, and with a failing device assertion. Call before the
// caller loads a library, because forks inherit libraries.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/facts/host.hpp"
#include "core/facts/measurement.hpp"
#include "core/result.hpp"

namespace pbprobe {

// Reports each start when it ends.
void try_starts(const std::string& folder, const Host& host, double seconds_each,
                const std::function<void(LibtorchStart)>& tell);

// Checks that a failing assertion in a libtorch kernel returns as an error. Uses its own process, because the assertion
// destroys the CUDA context.
[[nodiscard]] LibtorchArea try_device_assertion(const std::string& folder, int32_t gpu, double seconds);

// Runs `body` in a fork and returns its text. Errors: failed_child (signal or exit code), limit.
using Environment = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Result<std::string> fork_and_run(const Environment& environment, double seconds,
                                               const std::function<std::string()>& body);

}  // namespace pbprobe
