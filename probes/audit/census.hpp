// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Functions with what they need and who owns them: what the census gathers before it adds up.
#pragma once

#include <span>
#include <vector>

#include "probes/audit/code.hpp"
#include "probes/audit/tiers.hpp"

namespace pbprobe {

struct Census {
  Functions functions;
  std::vector<CodeOwner> owners;  // of each function
  std::vector<CodeCount> counts;  // of each function
};

using CountCode = CodeCount (*)(std::span<const uint8_t>, uint64_t, CodeTargets*);

// The counter for the file's machine, or null.
[[nodiscard]] CountCode counter_for(const Elf& elf);

[[nodiscard]] std::span<const uint8_t> code_of(const Elf& elf, const Function& function);

// host_code.cpp. The first function of each task, and one past the last: stretches of about the same number of bytes.
[[nodiscard]] std::vector<size_t> task_begins(const std::vector<Function>& functions);

// owners.cpp. By names, initializers, and neighbours: a C function without a telling name that lies between functions
// of one library came from that library's archive.
[[nodiscard]] std::vector<CodeOwner> find_owners(const Functions& functions, const std::vector<CodeCount>& counts);

// call_graph.cpp. Nameless functions that only kernels of a better tier reach get that tier: from what is stored in
// DispatchStub<…>::AVX2 and its like, along direct calls and addresses taken.
[[nodiscard]] Result<void> follow_tier_roots(const Elf& elf, const Functions& functions,
                                             std::vector<CodeOwner>& owners);

// leaks.cpp. The copies that BOLT left behind in .bolt.org.text, "f.org.0": it moved f elsewhere. What it did not move
// still runs from there.
void set_aside_replaced(const Elf& elf, const Functions& functions, std::vector<CodeOwner>& owners);

// leaks.cpp. Weak and inline functions that lie in the object file of a better tier, and need more than what else runs
// unguarded: where that tier alone leads to them they are its own; else the linker kept its copy for everybody.
[[nodiscard]] Result<void> find_tier_leaks(const Elf& elf, Census& census, unsigned threads);

}  // namespace pbprobe
