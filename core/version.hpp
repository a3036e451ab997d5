// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pbprobe {

[[nodiscard]] std::string_view version();  // "0.1.0"
[[nodiscard]] std::string_view commit();   // "a1b2c3d4e5f6", "…-dirty", or "unknown" outside a git checkout

}  // namespace pbprobe
