// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Search of folders for shared objects. Follows links, enters each folder once, and reports loops.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/packages/layout.hpp"

namespace pbprobe {

enum class WalkScope { folder, tree, tree_and_programs };

// Appends the files below `folder` to the items of the layout, with paths that start with `prefix` ("torch/"). `wanted`
// selects by file name; tree_and_programs also selects by content (is_program).
void walk_shared_objects(const std::filesystem::path& folder, const std::string& prefix, WalkScope scope,
                         const std::function<bool(std::string_view)>& wanted, ArtifactLayout& layout);

// Reports whether a file may be a program or a library under any name: texts of packages are not opened.
[[nodiscard]] bool may_be_program(std::string_view name);

// Reports whether a file that starts with `head` is a 64-bit ELF program or shared object.
[[nodiscard]] bool is_program(std::string_view head);
inline constexpr size_t kProgramHeadBytes = 18;

// Sorts the items and removes links to listed files.
void settle_items(ArtifactLayout& layout);

// Returns the sorted names in a folder; nothing if it cannot be read.
[[nodiscard]] std::vector<std::string> list_entry_names(const std::filesystem::path& folder);

}  // namespace pbprobe
