// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Registration of incomplete files and folders, so that a stopped process can delete them.
// Create an Unfinished before writing to `path`. Destroy it when `path` is complete or deleted.
#pragma once

#include <filesystem>

namespace pbprobe {

class Unfinished {
 public:
  explicit Unfinished(std::filesystem::path path);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&& other) noexcept;
  ~Unfinished();  // removes the registration, not the file

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Deletes every registered file and folder. Returns their count.
size_t remove_unfinished();

}  // namespace pbprobe
