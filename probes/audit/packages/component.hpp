// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which library a file belongs to, by its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pbprobe {

// "torch/lib/libtorch_cuda.so" is of "libtorch", "nvidia/nccl/lib/libnccl.so.2" of "NCCL"; null: not known.
[[nodiscard]] std::optional<std::string> component_of(std::string_view path);

}  // namespace pbprobe
