// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// C++ names for people.
#pragma once

#include <string>
#include <string_view>

namespace pbprobe {

// As written in C++ where the name is a mangled one of bearable length, else as it is; cut to 200 bytes.
[[nodiscard]] std::string demangled(std::string_view name);

}  // namespace pbprobe
