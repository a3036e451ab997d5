// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A folder of its own below $TMPDIR, gone with the object and everything in it, or with the program.
#pragma once

#include <filesystem>
#include <utility>

#include "core/result.hpp"

namespace pbprobe {

class TempFolder {
 public:
  // Error: unreadable, where no folder can be made.
  [[nodiscard]] static Result<TempFolder> make();

  TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempFolder& operator=(TempFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TempFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TempFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Those that are still there, for a program that ends without its destructors. Allocates, and does not throw.
void remove_temp_folders() noexcept;

}  // namespace pbprobe
