// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What runs as ld.so loads a file, or unloads it: followed from where it begins, along calls that nothing guards.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/facts/inventory.hpp"
#include "probes/audit/host_code/census.hpp"
#include "probes/audit/host_code/loaded.hpp"

namespace pbprobe {

// Functions by their indices.
struct LoadWalk {
  std::vector<size_t> reached;                      // that run, in the order in which they were found
  std::vector<std::pair<size_t, size_t>> may_call;  // one of these, and what it holds the address of and may call
};

class LoadFollower {
 public:
  // Of what as_loaded() gave, with its functions.
  [[nodiscard]] static Result<LoadFollower> make(const Elf& elf, const Functions& functions);

  // From initializers, terminators and resolvers. Of a function that asks the CPU nothing further is followed.
  [[nodiscard]] LoadWalk walk();

  // Further functions that ask, and run later.
  void add_askers(const std::vector<size_t>& askers);

  // Whether a function asks the CPU: by its own instruction, of the system, or of what one that did left in memory.
  [[nodiscard]] bool asks(size_t function);

  [[nodiscard]] const CodeTrace& trace(size_t function);
  [[nodiscard]] const Pointers& pointers() const { return pointers_; }

  // Reports whether any function of the file asks the CPU, or the file imports what asks.
  [[nodiscard]] bool file_asks(const Census& census) const;

  // Returns the functions whose addresses a function takes.
  [[nodiscard]] std::vector<size_t> held_functions(size_t function);

  // Reports whether a function reads the address of something in another file that does not ask the CPU.
  [[nodiscard]] bool holds_imports(size_t function);

  // Where its calls lead in this file, through its linkage table and pointers that relocations tell.
  [[nodiscard]] std::vector<size_t> callees(size_t function);

 private:
  LoadFollower(const Elf& elf, const Functions& functions) : elf_(elf), functions_(functions) {}
  [[nodiscard]] std::optional<size_t> index_at(uint64_t address) const;
  [[nodiscard]] std::optional<size_t> resolve(uint64_t address);
  [[nodiscard]] std::string_view import_of(uint64_t address);
  [[nodiscard]] std::optional<uint64_t> place_of_stub(uint64_t address);
  [[nodiscard]] std::optional<uint64_t> read_stub(uint64_t address) const;
  [[nodiscard]] bool asks_by_itself(size_t function);
  [[nodiscard]] bool find_asker(size_t function);
  [[nodiscard]] bool find_question(size_t function);
  void remember_answers(size_t function);
  [[nodiscard]] std::vector<uint64_t> held_by(size_t function);
  [[nodiscard]] LoadWalk walk_once();

  const Elf& elf_;
  const Functions& functions_;
  Starts starts_;
  Pointers pointers_;
  std::unordered_map<size_t, CodeTrace> traces_;
  std::unordered_map<uint64_t, std::optional<uint64_t>> stubs_;  // by address: what was read there
  std::unordered_map<size_t, bool> askers_;                      // those that ask by themselves, or do not
  std::unordered_map<size_t, bool> asking_;                      // the same with what the answers tell
  std::vector<uint64_t> answers_;  // places in memory where one that asked left what it learned
};

// The same as facts; nothing where nothing runs then.
[[nodiscard]] Result<std::optional<LoadCode>> read_load_code(const Elf& elf, const Functions& functions,
                                                             LoadFollower& follower);

// refuted_names.cpp. Functions that their names excuse run unguarded if code of this file that runs everywhere, and
// asks no CPU, leads to them; so does the candidate of a resolver that needs least. In a file that has no dispatcher,
// names excuse nothing.
[[nodiscard]] Result<void> refute_names(const Elf& elf, Census& census, LoadFollower& follower);

// Functions that need more than others, and are nameless or called only within the file: those that are only led to by
// code that asks the CPU, by a better CPU capability or by a library that chooses, are guarded by it.
void decide_nameless(Census& census, LoadFollower& follower);

}  // namespace pbprobe
