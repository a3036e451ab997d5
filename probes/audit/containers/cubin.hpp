// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Reader of a bare cubin: an ELF file whose machine is CUDA. The target is in e_flags, whose meaning depends on the ABI
// version, and in the notes of the tool that wrote the cubin.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/containers/elf.hpp"
#include "probes/audit/containers/fatbin.hpp"

namespace pbprobe {

struct CubinFunction {
  std::string_view name;  // mangled
  std::span<const uint8_t> code;
  bool kernel = true;  // false: a device function
  uint64_t section = 0;
};

// Parsed cubin. Names and code are views into the file: a build has a hundred thousand kernels.
struct Cubin {
  Elf64_Ehdr header{};
  std::vector<CubinFunction> functions;
  Bytes compat;  // .nv.compat; empty without that section
  Bytes note;    // .note.nv.tkinfo, likewise
  Bytes symbols;
  Bytes strings;         // names of the symbols
  bool is_tile = false;  // made by tileiras: it has a section .nv.host
  Bytes calls;           // .nv.callgraph; empty without that section
};

// One edge of a cubin's call graph, between functions that have a symbol.
struct CubinCall {
  uint64_t caller = 0;             // section of the caller's code
  std::optional<uint64_t> callee;  // section of the callee's code; null if the driver links the function
  std::string_view name;           // mangled name of the callee
};

// Parses a cubin. Errors: malformed (no ELF, another machine than CUDA, tables or sections beyond the end).
[[nodiscard]] Result<Cubin> open_cubin(const Bytes& file);

// Returns the call graph that ptxas wrote. Calls through pointers and calls inside one section are missing from it.
// Error: malformed, if the table names a missing symbol.
[[nodiscard]] Result<std::vector<CubinCall>> read_calls(const Cubin& cubin);

// Target of the code, from the ELF header.
struct OwnSm {
  Sm sm;
  bool tells_family = false;  // false: the code may have a family suffix that the note does not name
};

// Returns the SM for which ptxas compiled the cubin; the header of its fatbin entry may name another SM.
[[nodiscard]] Result<OwnSm> read_own_sm(const Cubin& cubin);

// Returns the version of the ptxas that wrote a cubin: "13.0.88", or "12.9" up to CUDA 12; nullopt if it names none.
[[nodiscard]] std::optional<std::string> read_assembler(const Cubin& cubin);

// Describes a bare cubin as a fatbin entry.
[[nodiscard]] Result<FatbinEntry> read_cubin(const Bytes& file);

// Returns the size of the cubin at the start of `bytes`, by its headers. Error: `bytes` does not begin with a cubin.
[[nodiscard]] Result<uint64_t> cubin_bytes(const Bytes& bytes);

}  // namespace pbprobe
