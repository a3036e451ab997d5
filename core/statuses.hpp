// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The one table of what the CUDA driver and NVIDIA's libraries answer: a fault of what ran, or why it could not run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/obstacle.hpp"

namespace pbprobe {

enum class StatusOf : uint8_t { cuda, cublas, cudnn, nccl };

struct Status {
  StatusOf of = StatusOf::cuda;
  int code = 0;
  std::string_view name;
  std::optional<Obstacle> obstacle;  // null: a fault
};

[[nodiscard]] std::span<const Status> all_statuses();

// Null: a fault. A code that is not in the table explains nothing, and proves nothing wrong.
[[nodiscard]] std::optional<Obstacle> obstacle_of(StatusOf of, int code);

// The same of what a library printed when it gave up; null: a fault, or nothing that is known here.
[[nodiscard]] std::optional<Obstacle> obstacle_in(std::string_view words);

// Whether they name a fault: an illegal access or instruction, no code for the device, a broken assertion.
[[nodiscard]] bool is_fault(std::string_view words);

}  // namespace pbprobe
