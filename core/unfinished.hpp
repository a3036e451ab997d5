// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Files and folders that nobody shall find if this process is stopped before they are whole, or before it has removed
// them: who makes one says so, and who stops the process removes what is left.
#pragma once

#include <filesystem>

namespace pbprobe {

class Unfinished {
 public:
  explicit Unfinished(std::filesystem::path path);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&& other) noexcept;
  ~Unfinished();  // it is finished, or gone

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// All that there is of them now. Returns how many.
size_t remove_unfinished();

}  // namespace pbprobe
