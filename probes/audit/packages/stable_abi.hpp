// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Symbols of Python's stable ABI (PEP 652), which an extension module with the tag abi3 may use.
#pragma once

#include <optional>
#include <string_view>

namespace pbprobe {

// Returns the minor version of the Python 3 release whose stable ABI first had the symbol; nullopt if no release has
// it. Example: 10 for PyType_FromModuleAndSpec. Source: Misc/stable_abi.toml of CPython (tools/stable-abi).
[[nodiscard]] std::optional<int> find_stable_release(std::string_view symbol);

}  // namespace pbprobe
