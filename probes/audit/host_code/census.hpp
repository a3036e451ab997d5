// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Functions with their CPU features and owners, before they are summed.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/host_code/code.hpp"
#include "probes/audit/host_code/cpu_capability.hpp"

namespace pbprobe {

class Pointers;

// Functions of a file with the CPU features that each needs. The vectors have one entry per function.
struct Census {
  Functions functions;
  std::vector<CodeOwner> owners;  // owner of each function
  std::vector<CodeCount> counts;  // counts of each function
  // Targets of each function: code outside it that it calls, jumps to or takes the address of, and the data between the
  // pointers of the file that it refers to. Sorted, unique.
  std::vector<CodeTargets> targets;
  std::vector<bool> entered;  // functions that run unguarded, against their names and callers
};

using CountCode = CodeCount (*)(std::span<const uint8_t>, uint64_t, CodeTargets*);

// Returns the counter for the file's machine, or null.
[[nodiscard]] CountCode find_code_counter(const Elf& elf);

[[nodiscard]] std::span<const uint8_t> get_code(const Elf& elf, const Function& function);

// host_code.cpp. Describes the first unknown instruction: "f (.text) at 0x1f0: 62 f0 7c 48 58 c1".
[[nodiscard]] std::string describe_unknown(const Elf& elf, const Function& function, const CodeCount& count);

// owners.cpp. Decides by names, initializers and neighbours: a local C function between functions of one library came
// from that library's archive.
[[nodiscard]] std::vector<CodeOwner> find_owners(const Functions& functions, const std::vector<CodeCount>& counts);

// call_graph.cpp. Gives a CPU capability to nameless functions that only its kernels reach: from the pointers in
// DispatchStub<…>::AVX2 and similar symbols, along direct calls and taken addresses.
[[nodiscard]] Result<void> follow_capability_roots(const Elf& elf, Census& census);

// call_graph.cpp. CPU capabilities for which the file has a pointer of torch's dispatcher.
[[nodiscard]] Result<std::set<std::string_view>> list_rooted_capabilities(const Elf& elf);

// leaks.cpp. Marks the copies "f.org.0" that BOLT left in .bolt.org.text, and that no code or pointer leads to.
// Functions that BOLT did not move still run from there. Requires targets and owners.
void set_aside_replaced(const Elf& elf, const Pointers& pointers, Census& census);

// leaks.cpp. Decides about weak and inline functions in the object file of a better CPU capability that need more than
// unguarded code. If code outside that CPU capability calls such a copy, the copy leaks.
[[nodiscard]] Result<void> find_capability_leaks(const Elf& elf, Census& census);

}  // namespace pbprobe
