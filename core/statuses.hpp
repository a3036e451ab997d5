// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Table of the status codes of the CUDA driver and NVIDIA's libraries: each code is a fault, or a reason why a call
// could not run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/obstacle.hpp"

namespace pbprobe {

enum class StatusSource : uint8_t { cuda, cublas, cudnn, nccl };

// Returns why the call could not run; nullopt if the status is a fault. Returns `unexplained` for a code outside the
// table.
[[nodiscard]] std::optional<Obstacle> classify_status(StatusSource source, int code);

// Returns why a library call could not run, by the library's message; nullopt for a fault and for an unknown message.
[[nodiscard]] std::optional<Obstacle> classify_message(std::string_view words);

// Reports whether the message names a fault: an illegal access or instruction, no code for the device, a failed
// assertion.
[[nodiscard]] bool is_fault(std::string_view words);

}  // namespace pbprobe
