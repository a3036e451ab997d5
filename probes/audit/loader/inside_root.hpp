// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Paths in the root folder of a container, as its programs see them.
#pragma once

#include <filesystem>

namespace pbprobe {

// Returns the root of the other system that contains `folder`: its highest ancestor that is a root, except the root of
// this system. Returns "" if there is no such root.
[[nodiscard]] std::filesystem::path root_above(const std::filesystem::path& folder);

// Resolves the links of a path that begins with `root` as that system would: absolute links and ".." stay in the root.
// Returns `path` if `root` is empty.
[[nodiscard]] std::filesystem::path inside_root(const std::filesystem::path& root, const std::filesystem::path& path);

}  // namespace pbprobe
