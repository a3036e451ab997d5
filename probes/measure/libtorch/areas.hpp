// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Small deterministic programs, one per area of a libtorch, compared with FP64 references. They detect a build that
// crashes or computes wrong. Call in a child process.
#pragma once

#include <functional>
#include <vector>

#include "core/facts/measurement.hpp"
#include "probes/measure/kernels/gpu_device.hpp"
#include "probes/measure/libtorch/libtorch.hpp"

namespace pbprobe {

// Runs the areas on the CPU, or on `gpu` in its stream. Adds and reports each area as unanswered before running it, so
// that the last reported area identifies a crash.
void check_areas(const Libtorch& library, const GpuDevice* gpu, std::vector<LibtorchArea>& areas,
                 const std::function<void()>& tell);

// Stores `error` in `area`: `skipped` if unsupported, else `problem`.
void record_area_error(LibtorchArea& area, const Error& error);

}  // namespace pbprobe
