// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Paths of a container's root, as its own programs see them.
#pragma once

#include <filesystem>

namespace pbprobe {

// The root of another system that the folder lies in: the highest folder above it that is one, and not this system's.
// Empty: none.
[[nodiscard]] std::filesystem::path root_above(const std::filesystem::path& folder);

// Where a path that begins with `root` leads, its links followed as in that root: absolute ones, and those that go up,
// stay in it. An empty root: the path itself.
[[nodiscard]] std::filesystem::path inside_root(const std::filesystem::path& root, const std::filesystem::path& path);

}  // namespace pbprobe
