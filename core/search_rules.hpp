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

// Value of Dependency::by for a library of CUDA that a package's file opens and the loader does not find. Then
// Dependency::path names an installed file outside of the search path, which has this name or another major version.
inline constexpr std::string_view kUnopened = "no search rule finds it";

}  // namespace pbprobe
