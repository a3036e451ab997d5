// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Temporary folder below $TMPDIR. Its destructor, or the end of the program, removes it with its contents.
#pragma once

#include <filesystem>
#include <utility>

#include "core/result.hpp"

namespace pbprobe {

// New folder below the temporary folder; its destructor removes the folder with its contents.
class TempFolder {
 public:
  // Creates a folder. Error: unreadable, if no folder can be created.
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

// Removes the remaining folders, for a program that ends without destructors. Allocates, but does not throw.
void remove_temp_folders() noexcept;

// Registration of a partly written file or folder: if a signal stops the program, remove_incomplete_paths() deletes the
// path. The destructor only ends the registration; the owner renames or deletes the file.
class IncompletePathRegistration {
 public:
  explicit IncompletePathRegistration(std::filesystem::path path);
  IncompletePathRegistration(IncompletePathRegistration&& other) noexcept;
  IncompletePathRegistration& operator=(IncompletePathRegistration&& other) noexcept;
  ~IncompletePathRegistration();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Deletes every registered file and folder. Returns their count.
size_t remove_incomplete_paths();

}  // namespace pbprobe
