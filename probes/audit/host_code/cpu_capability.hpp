// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Owners of functions: the code that decides whether a function runs, by the function's name and source file.
#pragma once

#include <string_view>

#include "core/facts/inventory.hpp"
#include "probes/audit/host_code/functions.hpp"

namespace pbprobe {

inline constexpr size_t kCodeClasses = 8;

// Reason why a function may need more than the base CPU: a CPU capability of torch or a library that asks the CPU.
struct CodeOwner {
  CodeClass code_class = CodeClass::unguarded;
  std::string_view label;  // CPU capability ("AVX2") or library ("oneDNN"); "" without an owner
};

// Decides by the function alone; owners.cpp compares functions to find leaks and nameless ones. Asks whether the name
// guards a function only if the function needs more than the base: most need nothing.
[[nodiscard]] CodeOwner find_code_owner(const Function& function, bool needs_more);

// Returns the CPU capability in a mangled name or in the name of a source file, else "".
[[nodiscard]] std::string_view parse_cpu_capability(std::string_view name);

// Reports whether the name states an instruction set: "sgemm_upto__avx2", "sdot_kernel_SKYLAKEX".
[[nodiscard]] bool names_instruction_set(std::string_view name);

inline constexpr std::string_view kDefaultCapability = "DEFAULT";

}  // namespace pbprobe
