// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Marks of a CPU target in libtorch's code: instructions that identify a build for the target.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/targets.hpp"
#include "probes/judge/facts.hpp"
#include "probes/judge/say.hpp"

namespace pbprobe {

[[nodiscard]] std::vector<std::string> list_names(const std::map<std::string, int64_t>& counts);

// Reports whether the lists have a name in common.
[[nodiscard]] bool shares(const std::vector<std::string>& a, const std::vector<std::string>& b);

// Reports whether a file is libtorch's own, and its code was counted.
[[nodiscard]] bool is_libtorch(const Inventory& inventory, const File& file);

// Reports whether ld.so loads a file on a CPU with these features.
[[nodiscard]] bool is_loaded_with(const File& file, const std::vector<std::string>& features);

// Returns the features that unguarded code of libtorch uses, over the files that ld.so loads on the target's CPUs.
[[nodiscard]] std::vector<std::string> used_by_libtorch(const Inventory& inventory, const Target& target);

// Reports whether unguarded code of libtorch uses a mark of the target: one of the CPU features of Target::marks. Each
// file with torch's kernels must use a mark; without such files, any one file.
[[nodiscard]] bool is_built_for(const Inventory& inventory, const Target& target);

// Returns a fault if the share of marks in unguarded code is lower than the target's compiler flags produce.
[[nodiscard]] std::optional<Sentence> too_few_marks(const Inventory& inventory, const Target& target);

// Returns unused marks that have their own flag in the target's recipes: the flag was missing, or a later flag disabled
// it. Returns none for libraries with little code, which may need no mark.
[[nodiscard]] std::vector<std::string> unused_marks_of_flags(const Inventory& inventory, const Target& target,
                                                             const std::vector<std::string>& used);

}  // namespace pbprobe
