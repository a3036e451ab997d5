// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What std::filesystem has iterators for, which end the process where memory for a name is lacking.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace pbprobe {

struct FolderEntry {
  std::filesystem::path path;
  std::filesystem::file_type type;  // a link is a link
};

// Unsorted, without "." and ".."; with an error, what was listed until then.
[[nodiscard]] std::vector<FolderEntry> list_folder(const std::filesystem::path& folder, std::error_code& error);

// As far as it can be.
void remove_folder(const std::filesystem::path& folder);

}  // namespace pbprobe
