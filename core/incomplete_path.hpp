// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Registration of incomplete files and folders, so that a stopped process can delete them.
// Create an IncompletePath before writing to `path`. Destroy it when `path` is complete or deleted.
#pragma once

#include <filesystem>

namespace pbprobe {

class IncompletePath {
 public:
  explicit IncompletePath(std::filesystem::path path);
  IncompletePath(IncompletePath&& other) noexcept;
  IncompletePath& operator=(IncompletePath&& other) noexcept;
  ~IncompletePath();  // removes the registration, not the file

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Deletes every registered file and folder. Returns their count.
size_t remove_incomplete_paths();

}  // namespace pbprobe
