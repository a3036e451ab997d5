// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Readable forms of mangled C++ names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pbprobe {

// Removes an identifier with its length ("7cutlass") from the start of a mangled name, and returns the identifier.
// Returns
// "" and leaves `rest` unchanged if it does not start with one. Grammar: Itanium C++ ABI, 5.1.3, <source-name>.
std::string_view take_identifier(std::string_view& rest);

// Demangles `name`; returns nullopt if it is not a mangled name or exceeds 4096 bytes.
[[nodiscard]] std::optional<std::string> demangle(std::string_view name);

// Demangles `name`. If that fails, returns the name up to its template arguments, else `name` itself. Cuts the result
// to `longest` bytes.
[[nodiscard]] std::string demangled(std::string_view name, size_t longest = 200);

// Returns the demangled name without return type, parameters and template arguments: "at::native::reduce_kernel".
[[nodiscard]] std::string function_name(std::string_view name);

}  // namespace pbprobe
