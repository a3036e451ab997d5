// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Symbol tables of an ELF file, and the symbol versions that it needs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

// Calls `visit` for each symbol of the first section of this name (".dynsym", ".symtab"), if it exists. Names are views
// into the file.
[[nodiscard]] Result<void> visit_symbols(const Elf& elf, std::string_view section,
                                         const std::function<void(std::string_view, const Elf64_Sym&)>& visit);

// Returns the highest needed version of each version set: {"GLIBC": "2.28", "GLIBCXX": "3.4.22", "CXXABI": "1.3.11"}.
[[nodiscard]] Result<std::map<std::string, std::string>> read_version_floors(const Elf& elf);

}  // namespace pbprobe
