// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The functions of an ELF file: from .symtab, else .dynsym and .eh_frame together. They cover its code without gaps.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "probes/audit/containers/elf.hpp"

namespace pbprobe {

enum class Binding : uint8_t { none, local, weak, global };  // `none` for nameless functions

// Code from one symbol (or frame description) to the next, or to the section's end.
struct Function {
  uint64_t address = 0;  // in an object file: the offset in the file
  uint64_t offset = 0;   // in the file
  uint64_t size = 0;
  std::string_view name;    // view of the file; "" for a nameless function
  std::string_view source;  // STT_FILE before a local symbol: "BinaryOpsKernel.cpp.AVX2.cpp"
  uint32_t section = 0;     // index
  Binding binding = Binding::none;
  bool resolver = false;  // STT_GNU_IFUNC: it runs before anything else, and chooses
  bool data = false;      // no code: an object among the functions, aarch64's literals
  bool label = false;     // STT_NOTYPE: a function of assembler, or a place inside one
  uint64_t extent = 0;    // size in the symbol; 0 if unknown
};

enum class FunctionSource : uint8_t { none, symtab, dynsym, eh_frame };

struct Functions {
  std::vector<Function> all;  // sorted by address
  FunctionSource source = FunctionSource::none;
  std::vector<uint64_t> initializers;  // addresses that ld.so calls as it loads or unloads the file
};

// Lists the functions in .symtab; without .symtab, in .dynsym and .eh_frame, and functions that ld.so calls.
[[nodiscard]] Result<Functions> list_functions(const Elf& elf);

// End addresses of functions by their start addresses.
using FunctionEnds = std::unordered_map<uint64_t, uint64_t>;

// Returns the start addresses of functions in .eh_frame. Source: LSB core specification, 10.6 (.eh_frame). `ends` may
// be null; the table of the unwinder alone, which a file without section headers has, contains no ends.
[[nodiscard]] Result<std::vector<uint64_t>> read_frame_starts(const Elf& elf, FunctionEnds* ends = nullptr);

// Returns "f" for "f.cold", "f.cold.0", "f.warm.1" and "f.org.0": parts and copies that optimizers make.
[[nodiscard]] std::string_view find_whole_name(std::string_view name);

// Calls from `begin` to before `end`; exceptions that leave them enter the code at `pad`, the landing pad.
struct CallSite {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t pad = 0;
};

// Landing pads of a file's functions, as the unwinder finds them. Source: LSB core specification, 10.6, and the tables
// of GCC, which the Itanium C++ ABI leaves open.
class LandingPads {
 public:
  // Returns an object without frames if the file has no search table of the unwinder (PT_GNU_EH_FRAME).
  [[nodiscard]] static Result<LandingPads> make(const Elf& elf);

  // Returns the calls with a landing pad in the code that starts at this address. Requires the Elf given to make().
  [[nodiscard]] Result<std::vector<CallSite>> read(const Elf& elf, uint64_t start) const;

 private:
  std::vector<std::pair<uint64_t, uint64_t>> frames_;  // starts of functions, and their frames; sorted
};

// Returns the length of the code that runs from the first byte on: up to the first return or jump that no branch leads
// past. Returns the size of `code` if an instruction cannot be decoded.
[[nodiscard]] uint64_t measure_flow(uint16_t machine, std::span<const uint8_t> code);

struct Relocation {
  uint64_t place = 0;   // address that is written
  uint64_t target = 0;  // address that is written there
};

// Returns relocations that write an address in this file: R_*_RELATIVE, and R_*_64 against its own symbols.
[[nodiscard]] Result<std::vector<Relocation>> read_own_relocations(const Elf& elf);

// Returns the function at an address, or null.
[[nodiscard]] const Function* find_function(const Functions& functions, uint64_t address);

}  // namespace pbprobe
