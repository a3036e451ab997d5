// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// C++ names for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pbprobe {

// As written in C++. Null: not a mangled name, or one of unbearable length.
[[nodiscard]] std::optional<std::string> demangle(std::string_view name);

// The same, else what stands before the template's arguments, else the name as it is; cut to `longest` bytes.
[[nodiscard]] std::string demangled(std::string_view name, size_t longest = 200);

// The same without what it returns, its parameters and template arguments: "at::native::reduce_kernel".
[[nodiscard]] std::string function_name(std::string_view name);

}  // namespace pbprobe
