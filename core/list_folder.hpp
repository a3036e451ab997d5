// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Listing and removal of folders. Replaces the iterators of std::filesystem, which abort the process if memory for a
// name is lacking.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace pbprobe {

struct FolderEntry {
  std::filesystem::path path;
  std::filesystem::file_type type;  // a link is a link
};

// Lists a folder in arbitrary order, without "." and "..". On error, returns the entries listed before the error.
[[nodiscard]] std::vector<FolderEntry> list_folder(const std::filesystem::path& folder, std::error_code& error);

// Removes `folder` and its contents. Skips entries that cannot be removed.
void remove_folder(const std::filesystem::path& folder);

}  // namespace pbprobe
