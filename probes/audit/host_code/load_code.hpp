// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Follows the code that runs as ld.so loads or unloads a file, from its start along unguarded calls.
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
  std::vector<size_t> reached;                      // functions that run, in the order of discovery
  std::vector<std::pair<size_t, size_t>> may_call;  // one of these, and what it holds the address of and may call
};

class LoadFollower {
 public:
  // Requires an Elf from complete_loaded_elf(), with its functions.
  [[nodiscard]] static Result<LoadFollower> make(const Elf& elf, const Functions& functions);

  // Walks from initializers, terminators and resolvers. Stops at functions that ask the CPU.
  [[nodiscard]] LoadWalk walk();

  // Adds functions that ask the CPU and run later.
  void add_askers(const std::vector<size_t>& askers);

  // Reports whether a function asks the CPU: by an instruction, through the system, or in memory with an earlier
  // answer.
  [[nodiscard]] bool asks(size_t function);

  [[nodiscard]] const CodeTrace& trace(size_t function);
  [[nodiscard]] const Pointers& pointers() const { return pointers_; }

  // Reports whether any function of the file asks the CPU, or the file imports what asks.
  [[nodiscard]] bool file_asks(const Census& census) const;

  // Returns the functions whose addresses a function takes.
  [[nodiscard]] std::vector<size_t> held_functions(size_t function);

  // Reports whether a function reads the address of something in another file that does not ask the CPU.
  [[nodiscard]] bool holds_imports(size_t function);

  // Returns the functions of this file that it calls, also through the linkage table and relocated pointers.
  [[nodiscard]] std::vector<size_t> callees(size_t function);

 private:
  LoadFollower(const Elf& elf, const Functions& functions) : elf_(elf), functions_(functions) {}
  [[nodiscard]] std::optional<size_t> index_at(uint64_t address) const;
  [[nodiscard]] std::optional<size_t> resolve(uint64_t address);
  [[nodiscard]] std::string_view find_import(uint64_t address);
  [[nodiscard]] std::optional<uint64_t> place_of_stub(uint64_t address);
  [[nodiscard]] std::optional<uint64_t> read_stub(uint64_t address) const;
  [[nodiscard]] bool asks_by_itself(size_t function);
  [[nodiscard]] bool find_asker(size_t function);
  [[nodiscard]] bool find_question(size_t function);
  void remember_answers(size_t function);
  [[nodiscard]] std::vector<uint64_t> find_held_addresses(size_t function);
  [[nodiscard]] LoadWalk walk_once();

  const Elf& elf_;
  const Functions& functions_;
  Starts starts_;
  Pointers pointers_;
  std::unordered_map<size_t, CodeTrace> traces_;
  std::unordered_map<uint64_t, std::optional<uint64_t>> stubs_;  // places that stubs jump through, by address
  std::unordered_map<size_t, bool> askers_;                      // does the function itself ask?
  std::unordered_map<size_t, bool> asking_;                      // does the function ask, or read an answer?
  std::vector<uint64_t> answers_;                                // addresses of memory with answers
};

// Returns the facts of the code that runs at load time; nullopt if no code does.
[[nodiscard]] Result<std::optional<LoadCode>> read_load_code(const Elf& elf, const Functions& functions,
                                                             LoadFollower& follower);

// refuted_names.cpp. Marks functions as unguarded, against their names, if unguarded code that asks no CPU calls them.
// Also marks the candidate of a resolver that needs least. Without a dispatcher in the file, names excuse nothing.
[[nodiscard]] Result<void> refute_names(const Elf& elf, Census& census, LoadFollower& follower);

// Decides about nameless and local functions that need more than others: they are guarded if all callers ask the CPU,
// or belong to a better CPU capability or to a library that chooses.
void decide_nameless(Census& census, LoadFollower& follower);

}  // namespace pbprobe
