// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A file as ld.so takes it: by its segments and its dynamic table. Section headers are what linkers and strippers left;
// nothing that runs needs them, and nothing holds them to the truth.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

// The same file with sections for what is loaded and no section tells: the dynamic symbols, relocations and arrays of
// initializers, and each stretch of an executable segment. What a section says of these otherwise is set right.
[[nodiscard]] Result<Elf> as_loaded(const Elf& elf);

// Code that nothing calls by name: it runs when the file is loaded, or when it is unloaded.
struct Starts {
  std::vector<uint64_t> initializers;  // DT_INIT, DT_INIT_ARRAY, DT_PREINIT_ARRAY
  std::vector<uint64_t> terminators;   // DT_FINI, DT_FINI_ARRAY
  std::vector<uint64_t> resolvers;     // R_*_IRELATIVE, and symbols that are ifuncs
};

// Of what as_loaded() gave. Addresses, each once.
[[nodiscard]] Result<Starts> read_starts(const Elf& elf);

// What a place in memory holds once ld.so is done, where it is a pointer.
struct Pointer {
  uint64_t target = 0;      // in this file; 0: elsewhere
  std::string_view symbol;  // of another file; empty: of this one
};

// By the addresses of the places, in their order.
class Pointers {
 public:
  [[nodiscard]] static Result<Pointers> read(const Elf& elf);
  [[nodiscard]] const Pointer* at(uint64_t place) const;
  [[nodiscard]] const std::vector<std::pair<uint64_t, Pointer>>& all() const { return found_; }

 private:
  std::vector<std::pair<uint64_t, Pointer>> found_;
};

// Whether code may write there as it runs, and ld.so does not make it read-only before.
[[nodiscard]] bool is_writable(const Elf& elf, uint64_t address);

}  // namespace pbprobe
