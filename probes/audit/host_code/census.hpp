// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Functions with what they need and who owns them: what the census gathers before it adds up.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/host_code/code.hpp"
#include "probes/audit/host_code/cpu_capability.hpp"

namespace pbprobe {

struct Census {
  Functions functions;
  std::vector<CodeOwner> owners;  // of each function
  std::vector<CodeCount> counts;  // of each function
  // Of each function: what it calls, jumps to or takes the address of outside itself; sorted, each once.
  std::vector<CodeTargets> targets;
  std::vector<bool> entered;  // of each function: runs unguarded, whatever its name and callers say
};

using CountCode = CodeCount (*)(std::span<const uint8_t>, uint64_t, CodeTargets*);

// The counter for the file's machine, or null.
[[nodiscard]] CountCode counter_for(const Elf& elf);

[[nodiscard]] std::span<const uint8_t> code_of(const Elf& elf, const Function& function);

// host_code.cpp. "f (.text) at 0x1f0: 62 f0 7c 48 58 c1", the first that is not an instruction.
[[nodiscard]] std::string describe_unknown(const Elf& elf, const Function& function, const CodeCount& count);

// owners.cpp. By names, initializers, and neighbours: a C function without a telling name that lies between functions
// of one library came from that library's archive.
[[nodiscard]] std::vector<CodeOwner> find_owners(const Functions& functions, const std::vector<CodeCount>& counts);

// call_graph.cpp. Nameless functions that only kernels of a better CPU capability reach get that CPU capability: from
// what is stored in DispatchStub<…>::AVX2 and its like, along direct calls and addresses taken.
[[nodiscard]] Result<void> follow_capability_roots(const Elf& elf, Census& census);

// call_graph.cpp. CPU capabilities for which the file has a pointer of torch's dispatcher.
[[nodiscard]] Result<std::set<std::string_view>> list_rooted_capabilities(const Elf& elf);

// leaks.cpp. The copies that BOLT left behind in .bolt.org.text, "f.org.0": it moved f elsewhere. What it did not move
// still runs from there.
void set_aside_replaced(const Elf& elf, const Functions& functions, std::vector<CodeOwner>& owners);

// leaks.cpp. Weak and inline functions that lie in the object file of a better CPU capability, and need more than what
// else runs unguarded: where only that CPU capability leads to them they are its own; else the linker kept its copy
// for everybody.
[[nodiscard]] Result<void> find_capability_leaks(const Elf& elf, Census& census);

}  // namespace pbprobe
