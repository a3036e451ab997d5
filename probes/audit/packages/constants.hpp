// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a host binary's constants tell: the libraries that it opens as it runs, and what a compiler can compile for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/result.hpp"
#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

// Whole strings that name a shared object, sorted: "libcupti.so.13". Errors: malformed (a section outside the file).
[[nodiscard]] Result<std::vector<std::string>> read_library_names(const Elf& elf);

// "ptxas", "ptxas-blackwell": compilers that are programs.
[[nodiscard]] bool is_compiler_program(std::string_view file_name);

// Is this file, by its name, a compiler that runs when a program does?
[[nodiscard]] bool is_compiler(std::string_view file_name);

// The first number with two dots that follows these words among the constants: "2.28.9" of "NCCL
// version 2.28.9+cuda13.0". Errors: malformed (a section outside the file).
[[nodiscard]] Result<std::optional<std::string>> read_text_version(const Elf& elf, std::string_view words);

// Errors: malformed (a section outside the file).
[[nodiscard]] Result<Compiler> read_compiler(const Elf& elf);

}  // namespace pbprobe
