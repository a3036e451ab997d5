// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Outcome of a library search on a machine that cannot answer for the machine of the file.
#pragma once

#include <string_view>

namespace pbprobe {

// Value of Dependency::by for a library that neither the artifact nor its RPATHs hold. Only system folders of a machine
// with the processor of the file can hold the library.
inline constexpr std::string_view kNotSearched = "not searched: this machine has another processor";

}  // namespace pbprobe
