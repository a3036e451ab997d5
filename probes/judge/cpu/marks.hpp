// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Marks of a CPU target in libtorch's code: instructions by which a build for the target is known.
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

// Reports whether ld.so takes a file on a CPU with these features.
[[nodiscard]] bool is_loaded_with(const File& file, const std::vector<std::string>& features);

// Returns what unguarded code uses in those of libtorch's files that are loaded on the target's CPUs, all together.
[[nodiscard]] std::vector<std::string> used_by_libtorch(const Inventory& inventory, const Target& target);

// Reports whether unguarded code of libtorch has marks of the target: in each file with torch's kernels, and in any
// file if none has kernels.
[[nodiscard]] bool is_built_for(const Inventory& inventory, const Target& target);

// Returns what to say if so little of what runs everywhere is made for the target that no compiler with its flags made
// it.
[[nodiscard]] std::optional<Sentence> too_few_marks(const Inventory& inventory, const Target& target);

// Returns marks that flags of the target's recipes bring by themselves, and that nothing uses: those flags were
// missing, or later ones took them back. A few functions may need none of them.
[[nodiscard]] std::vector<std::string> unused_marks_of_flags(const Inventory& inventory, const Target& target,
                                                             const std::vector<std::string>& used);

}  // namespace pbprobe
