// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libtorch started again and again, each time in a process of its own with its own environment: with an empty driver
// cache and a filled one, without the driver's compiler and with nothing else, in each tier of the dispatcher; and one
// that a device assertion breaks. To be called before the caller loads anything: what it loads its forks inherit.
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

// Each start that has come to its end is reported at once.
void try_starts(const std::string& folder, const Host& host, double seconds_each,
                const std::function<void(LibtorchStart)>& tell);

// Does an assertion in a kernel of libtorch's come back as an error, and not as silence or as a dead process? In a
// process of its own: the assertion ends its context for good.
[[nodiscard]] LibtorchArea try_device_assertion(const std::string& folder, int32_t gpu, double seconds);

// What a fork leaves: its words, or why there are none (a signal, an exit code, the time). Errors: failed_child, limit.
using Environment = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Result<std::string> in_fork(const Environment& environment, double seconds,
                                          const std::function<std::string()>& body);

}  // namespace pbprobe
