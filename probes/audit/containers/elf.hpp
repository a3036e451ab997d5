// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Bounded reader of ELF64, little-endian: header, segments, sections, symbols, and what the dynamic loader
// sees.
#pragma once

#include <elf.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/containers/bytes.hpp"

namespace pbprobe {

struct ElfSection {
  std::string name;
  Elf64_Shdr header{};
};

struct Elf {
  Bytes file;
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;
  std::vector<ElfSection> sections;  // no sections if the file has no section headers
  std::optional<Error> problem;      // first part that could not be read; the other fields remain valid
};

struct ElfDynamic {
  std::optional<std::string> soname;
  std::vector<std::string> needed;
  std::vector<std::string> rpath;    // DT_RPATH, split at colons
  std::vector<std::string> runpath;  // DT_RUNPATH, split at colons
};

inline constexpr uint64_t kMaxElfSections = 65000;
inline constexpr uint16_t kMachineCuda = 190;  // EM_CUDA

// Parses a file. Errors: unreadable header or segments. `problem` names unreadable section headers.
[[nodiscard]] Result<Elf> read_elf(const Bytes& file);

// Finds PT_DYNAMIC through the PT_LOAD segments, as ld.so does: section headers may be missing.
[[nodiscard]] Result<ElfDynamic> read_dynamic(const Elf& elf);

// Returns the entries of PT_DYNAMIC, without DT_NULL.
[[nodiscard]] Result<std::vector<Elf64_Dyn>> read_dynamic_entries(const Elf& elf);

// Returns the first section of this name, or null.
[[nodiscard]] const ElfSection* find_section(const Elf& elf, std::string_view name);

// Returns a section's bytes in the file; nothing for SHT_NOBITS.
[[nodiscard]] Result<Bytes> section_bytes(const Elf& elf, const ElfSection& section);

// Reports whether the section is named like constants: .rodata, or .lrodata of the large code model.
[[nodiscard]] bool holds_constants(const ElfSection& section);

// Returns the file's bytes from an address to the end of its segment.
[[nodiscard]] Result<Bytes> bytes_at_address(const Elf& elf, uint64_t address, std::string_view what);

// Calls `visit` for each symbol of the first section of this name (".dynsym", ".symtab"), if it exists. Names are views
// into the file.
[[nodiscard]] Result<void> visit_symbols(const Elf& elf, std::string_view section,
                                         const std::function<void(std::string_view, const Elf64_Sym&)>& visit);

// Returns the highest needed version of each version set: {"GLIBC": "2.28", "GLIBCXX": "3.4.22", "CXXABI": "1.3.11"}.
[[nodiscard]] Result<std::map<std::string, std::string>> read_version_floors(const Elf& elf);

// Returns "x86_64", "aarch64" or "cuda"; "machine 40" for a machine without a known name.
[[nodiscard]] std::string machine_name(uint16_t machine);

}  // namespace pbprobe
