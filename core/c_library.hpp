// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Names of the C libraries that a file can be linked with.
#pragma once

#include <string_view>

namespace pbprobe {

inline constexpr std::string_view kGlibc = "glibc";
inline constexpr std::string_view kMusl = "musl";  // used by Alpine Linux

}  // namespace pbprobe
