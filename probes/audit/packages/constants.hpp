// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Facts from the constants of a host binary: the libraries that it opens at run time, and the targets of a compiler.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/result.hpp"
#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

// Returns the sorted strings that are names of shared objects: "libcupti.so.13". Errors: malformed (a section outside
// the file).
[[nodiscard]] Result<std::vector<std::string>> read_library_names(const Elf& elf);

// Reports whether a file is a compiler program: "ptxas", "ptxas-blackwell".
[[nodiscard]] bool is_compiler_program(std::string_view file_name);

// Reports whether a file is, by its name, a compiler that runs at run time.
[[nodiscard]] bool is_compiler(std::string_view file_name);

// Returns the first number with two dots after these words: "2.28.9" of "NCCL version 2.28.9+cuda13.0". Errors:
// malformed (a section outside the file).
[[nodiscard]] Result<std::optional<std::string>> read_text_version(const Elf& elf, std::string_view words);

// Reads the targets of a compiler. Errors: malformed (a section outside the file).
[[nodiscard]] Result<Compiler> read_compiler(const Elf& elf);

}  // namespace pbprobe
