// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pbprobe {

// Returns the compilers of the GPU kernels: "nvcc 13.0, nvrtc 12.9"; "none" if no GPU kernels were built.
[[nodiscard]] std::string_view cuda_compilers();

}  // namespace pbprobe
