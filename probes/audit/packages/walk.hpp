// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Walks folders for shared objects. Links are followed, each folder is entered once, and a loop is reported, not
// followed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/packages/layout.hpp"

namespace pbprobe {

// Appends what lies under `folder` to the layout's items; their paths start with `prefix` ("torch/"). `wanted` sees
// file names.
void walk_shared_objects(const std::filesystem::path& folder, const std::string& prefix, bool recursive,
                         const std::function<bool(std::string_view)>& wanted, ArtifactLayout& layout);

// Sorts the items, and leaves out links to files that are listed under their own name.
void settle_items(ArtifactLayout& layout);

// The names in a folder, sorted; none where it cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace pbprobe
