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

// Appends the files below `folder` to the items of the layout, with paths that start with `prefix` ("torch/"). `wanted`
// selects by file name.
void walk_shared_objects(const std::filesystem::path& folder, const std::string& prefix, bool recursive,
                         const std::function<bool(std::string_view)>& wanted, ArtifactLayout& layout);

// Sorts the items and removes links to listed files.
void settle_items(ArtifactLayout& layout);

// Returns the sorted names in a folder; nothing if it cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace pbprobe
