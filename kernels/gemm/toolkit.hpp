// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pbprobe {

// What compiled the GPU kernels: "nvcc 13.0, nvrtc 12.9"; "none" where there are no kernels.
[[nodiscard]] std::string_view cuda_compilers();

}  // namespace pbprobe
