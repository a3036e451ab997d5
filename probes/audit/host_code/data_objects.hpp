// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Objects in data that hold pointers: vtables, tables of functions, constants of a function, slots of the global offset
// table.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "probes/audit/host_code/census.hpp"
#include "probes/audit/host_code/loaded.hpp"

namespace pbprobe {

struct DataObject {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool exported = false;  // other files may find it by its name
  bool vtable = false;    // named so in .symtab: code that uses it takes an address inside it
  bool operator==(const DataObject&) const = default;
};

// Data objects of a file: which addresses belong together, so that code which refers to one can reach all its pointers.
class DataObjects {
 public:
  // Keeps references to `pointers` and `census`.
  [[nodiscard]] static Result<DataObjects> read(const Elf& elf, const Pointers& pointers, const Census& census);

  // Returns the object around a pointer. Code that does not refer to the object cannot read the pointer. A symbol
  // bounds the object; without one, the pointers before and after it do. Returns nullopt if code may reach the pointer
  // from the start of an unknown object.
  [[nodiscard]] std::optional<DataObject> find(uint64_t place);

 private:
  struct Run {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::optional<uint64_t> taken;  // least address in the run that code takes
  };

  DataObjects(const Pointers& pointers, const Census& census) : pointers_(pointers), census_(census) {}
  Result<void> add_symbols(const Elf& elf, const char* table, bool exported);
  void merge_overlaps();
  [[nodiscard]] const Run& find_run(uint64_t place, uint64_t low, uint64_t high);
  void collect_references();
  [[nodiscard]] bool starts_type(uint64_t place, const Pointer& pointer) const;

  const Pointers& pointers_;
  const Census& census_;
  std::vector<DataObject> symbols_;  // sorted, without overlaps
  std::map<uint64_t, Run> runs_;     // keyed by end; pointers without gaps, and without a symbol
  bool collected_ = false;
  std::vector<uint64_t> taken_;    // addresses in data that code takes, sorted
  std::vector<uint64_t> pointed_;  // addresses in data that pointers in data lead to, sorted
};

// relative_tables.cpp. Reports for each range of addresses whether it contains a target of a table of 32-bit offsets
// from the table, as compilers write them for constants. x86-64 only.
[[nodiscard]] std::vector<bool> find_table_targets(const Elf& elf,
                                                   const std::vector<std::pair<uint64_t, uint64_t>>& ranges);

}  // namespace pbprobe
