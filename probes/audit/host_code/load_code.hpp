// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Follows the code that runs as ld.so loads or unloads a file, from its start along unguarded calls.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/facts/inventory.hpp"
#include "probes/audit/host_code/census.hpp"
#include "probes/audit/host_code/guards.hpp"
#include "probes/audit/host_code/loaded.hpp"

namespace pbprobe {

// Functions by their indices.
struct LoadWalk {
  std::vector<size_t> reached;                      // functions that run, in the order of discovery
  std::vector<std::pair<size_t, size_t>> may_call;  // one of these, and what it may call
};

// Ways in which a function asks the CPU beside its own questions.
struct Sources {
  std::vector<size_t> functions;  // functions that ask for it, and functions that stored the answers that it reads
  FeatureSet features = 0;        // features that variables of libgcc state
  bool unknown = false;           // the questions of another library
};

// Call graph of the code that runs as ld.so loads a file, before any check of CPU features.
class LoadFollower {
 public:
  // Requires an Elf from complete_loaded_elf(), with its functions.
  [[nodiscard]] static Result<LoadFollower> make(const Elf& elf, const Functions& functions);

  // Walks from initializers, terminators and resolvers. Stops at functions that ask the CPU.
  [[nodiscard]] LoadWalk walk();

  // Adds functions that ask the CPU and run later.
  void add_askers(const std::vector<size_t>& askers);

  // Reports whether one of these targets is a stub that calls getauxval() or the like.
  [[nodiscard]] bool calls_asker(const CodeTargets& targets);

  // Returns the function that contains this part; the function itself if it is whole.
  [[nodiscard]] size_t find_main(size_t function);

  // Call once, with the targets of all functions.
  void separate_shared_parts(const Census& census);

  // Reports whether a function asks the CPU: by an instruction, through the system, or in memory with an earlier
  // answer.
  [[nodiscard]] bool asks(size_t function);

  // Reports the same as asks(), without the other parts of the function.
  [[nodiscard]] bool find_question(size_t function);

  // Reports whether a function calls another that returns answers, so that its own questions are unknown.
  [[nodiscard]] bool calls_getter(size_t function);

  // Reports whether `caller`, which asks the CPU, asks for these features before it reaches `callee`. True also if its
  // questions cannot be followed: a library that keeps answers of its own.
  [[nodiscard]] bool covers(size_t caller, size_t callee, FeatureSet needs);

  // Reports whether `caller` asks for these features before it calls or refers to an address from `begin` to `end`.
  [[nodiscard]] bool covers(size_t caller, uint64_t begin, uint64_t end, FeatureSet needs);

  [[nodiscard]] const CodeTrace& trace(size_t function);
  [[nodiscard]] const Pointers& pointers() const { return pointers_; }

  // Reports whether any function of the file asks the CPU, or the file imports what asks.
  [[nodiscard]] bool file_asks(const Census& census);

  // Returns the functions whose addresses a function takes.
  [[nodiscard]] std::vector<size_t> held_functions(size_t function);

  // Reports whether a function reads the address of something in another file that does not ask the CPU.
  [[nodiscard]] bool holds_imports(size_t function);

  // Returns the functions of this file that it calls, also through the linkage table and relocated pointers.
  [[nodiscard]] std::vector<size_t> callees(size_t function);

 private:
  LoadFollower(const Elf& elf, const Functions& functions) : elf_(elf), functions_(functions) {}
  [[nodiscard]] uint64_t skip_long_branch(uint64_t address) const;
  [[nodiscard]] std::optional<size_t> index_at(uint64_t address) const;
  [[nodiscard]] std::optional<size_t> resolve(uint64_t address);
  [[nodiscard]] std::string_view find_import(uint64_t address);
  [[nodiscard]] std::optional<uint64_t> place_of_stub(uint64_t address);
  [[nodiscard]] std::optional<uint64_t> read_stub(uint64_t address) const;
  [[nodiscard]] bool imports_asker();
  [[nodiscard]] bool asks_by_itself(size_t function);
  [[nodiscard]] bool find_asker(size_t function);
  [[nodiscard]] std::optional<size_t> find_only_callee(size_t function);  // nullopt if it has other code
  [[nodiscard]] bool forwards_answer(size_t function);                    // only calls a function that asks
  void remember_answers(size_t function);
  [[nodiscard]] Result<void> find_cpu_model();
  void find_nameless_cpu_model();
  [[nodiscard]] bool is_in_cpu_model(uint64_t place) const;
  void index_parts();
  [[nodiscard]] std::vector<size_t> list_parts(size_t function);  // the whole function first
  [[nodiscard]] bool calls(size_t function, uint64_t target) const;
  void join_nameless_parts(const Census& census);
  [[nodiscard]] std::vector<CallSite> read_sites(uint64_t start);
  [[nodiscard]] std::vector<CodePart> read_parts(size_t function);
  [[nodiscard]] uint16_t find_overwritten(uint64_t address, int depth);
  [[nodiscard]] CpuModel make_model();
  [[nodiscard]] const Guards& guards(size_t function);
  [[nodiscard]] const Guards& guards_aarch64(size_t function);
  [[nodiscard]] std::optional<StoredAnswer> read_answer(uint64_t place, size_t reader, const Guards& own);
  [[nodiscard]] bool is_zero(uint64_t place, uint64_t bytes) const;
  void add_sources(size_t part, bool reads_answer, Sources& sources);
  [[nodiscard]] const Sources& find_sources(size_t function);
  [[nodiscard]] std::optional<FeatureSet> find_asked(size_t function, int depth);
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
  std::optional<bool> imports_asker_;
  std::vector<std::pair<uint64_t, size_t>> answers_;  // addresses of memory with answers, and who stored them
  std::unordered_map<size_t, Guards> guards_;
  std::unordered_map<size_t, Sources> sources_;
  std::set<size_t> following_;  // functions whose guards are being read
  CpuModel model_;
  std::optional<size_t> model_filler_;  // function that fills libgcc's variables, if it has no name
  struct Split {
    std::vector<size_t> mains;
    std::vector<size_t> parts;
  };
  std::unordered_map<std::string_view, Split> splits_;  // functions with parts, by their names
  std::vector<bool> is_split_;                          // true for functions with parts, and for parts; or empty
  std::unordered_map<size_t, size_t> mains_;            // whole functions by parts
  std::unordered_map<size_t, std::vector<size_t>> nameless_parts_;  // parts by whole functions
  std::set<size_t> entered_parts_;                                  // parts that several functions enter
  std::unordered_map<size_t, uint16_t> overwritten_;                // registers that functions overwrite
  std::optional<LandingPads> pads_;
};

// covered_calls.cpp. Report whether this is the name of libgcc's __cpu_model, or of __cpu_features2.
[[nodiscard]] bool is_cpu_model(std::string_view name);
[[nodiscard]] bool is_cpu_features(std::string_view name);

// Reports whether a function or variable of this name asks the system about the CPU, or keeps its answer.
[[nodiscard]] bool is_asker(std::string_view name);

// covered_calls.cpp. Returns the features that code needs which other files call, and which runs on every CPU.
[[nodiscard]] FeatureSet list_base_features(const Census& census);

// Returns the facts of the code that runs at load time; nullopt if no code does.
[[nodiscard]] Result<std::optional<LoadCode>> read_load_code(const Elf& elf, const Functions& functions,
                                                             LoadFollower& follower);

// refuted_names.cpp. Marks functions as unguarded, against their names, if unguarded code that asks no CPU calls them.
// Also marks the candidate of a resolver that needs least. Without a dispatcher in the file, names excuse nothing.
[[nodiscard]] Result<void> refute_names(const Elf& elf, Census& census, LoadFollower& follower);

// Ignores names of functions that only this file calls, if no code of the file asks the CPU.
void refute_local_names(Census& census, LoadFollower& follower);

// Decides about nameless and local functions that need more than others: they are guarded if all callers ask the CPU,
// or belong to a better CPU capability or to a library that chooses. Code that refers to data with a function's address
// counts as a caller.
[[nodiscard]] Result<void> decide_nameless(const Elf& elf, Census& census, LoadFollower& follower);

}  // namespace pbprobe
