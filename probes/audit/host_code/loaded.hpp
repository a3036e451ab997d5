// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A file as ld.so reads it: by segments and dynamic table. Running code needs no section headers, so they may be wrong.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

// Returns the file with sections for all loaded parts that no section describes: dynamic symbols, relocations, arrays
// of initializers, and executable ranges. Corrects sections that contradict the dynamic table.
[[nodiscard]] Result<Elf> complete_loaded_elf(const Elf& elf);

// Code that runs when the file is loaded or unloaded, without a call by name.
struct Starts {
  std::vector<uint64_t> initializers;  // DT_INIT, DT_INIT_ARRAY, DT_PREINIT_ARRAY
  std::vector<uint64_t> terminators;   // DT_FINI, DT_FINI_ARRAY
  std::vector<uint64_t> resolvers;     // R_*_IRELATIVE, and symbols that are ifuncs
};

// Returns sorted unique addresses. Requires an Elf from complete_loaded_elf().
[[nodiscard]] Result<Starts> read_starts(const Elf& elf);

// Pointer in memory after relocation by ld.so.
struct Pointer {
  uint64_t target = 0;      // in this file; 0: elsewhere
  std::string_view symbol;  // symbol of another file; "" for this file
};

// Pointers, sorted by the addresses of their places.
class Pointers {
 public:
  // Reads the places that ld.so relocates to an address of this file or of a symbol. Errors: malformed (relocations).
  [[nodiscard]] static Result<Pointers> read(const Elf& elf);
  [[nodiscard]] const Pointer* at(uint64_t place) const;
  [[nodiscard]] const std::vector<std::pair<uint64_t, Pointer>>& all() const { return found_; }

 private:
  std::vector<std::pair<uint64_t, Pointer>> found_;
};

// Reports whether code may write to the address at run time: ld.so has not made it read-only.
[[nodiscard]] bool is_writable(const Elf& elf, uint64_t address);

}  // namespace pbprobe
