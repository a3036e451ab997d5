// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace pbprobe {

enum class Scope { local, global };

// dlopen with errors that say what is the matter. Errors: not_found (no such file, or a library that it needs),
// unsupported (another platform, a newer glibc, a symbol that its neighbours lack), malformed (no shared object).
[[nodiscard]] Result<void*> open_library(const std::string& path, Scope scope);

// The sentence for what the dynamic loader said about `path`.
[[nodiscard]] Error explain_loader(std::string_view path, std::string_view said);

}  // namespace pbprobe
