// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Files named by the user. Opens only regular files, so that a named pipe or a device cannot block the program, and
// reads up to a limit, so that a huge sparse file cannot fill the memory.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace pbprobe {

// Exceeds the size of every document of pbprobe and its users: a report of a complete torch has about 2 MB.
inline constexpr uint64_t kMostDocumentBytes = 32ULL << 20;

class OpenFile {
 public:
  OpenFile() = default;
  OpenFile(OpenFile&& other) noexcept { swap(other); }
  OpenFile& operator=(OpenFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~OpenFile();

  // Opens a regular file. Errors: not_found, unreadable (permissions, or another kind of file; the message names the
  // kind and the fix).
  [[nodiscard]] static Result<OpenFile> open(const std::filesystem::path& path);

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Returns the total size of holes in a sparse file, at most `enough`; 0 if the file system does not report holes.
  [[nodiscard]] uint64_t hole_bytes(uint64_t enough) const;
  // Checks that the file did not change after open(). Errors: malformed if it is shorter, unreadable if it was written
  // to.
  [[nodiscard]] Result<void> check_unchanged() const;

 private:
  void swap(OpenFile& other) noexcept;

  int descriptor_ = -1;
  uint64_t size_ = 0;
  timespec written_{};
  std::string name_;
};

// Reads a whole file. Errors: as for open; limit if the file exceeds `most` bytes, unreadable if reading fails.
[[nodiscard]] Result<std::string> read_whole_file(const std::filesystem::path& path,
                                                  uint64_t most = kMostDocumentBytes);

// Reads the first bytes of a file, at most `most`.
[[nodiscard]] Result<std::string> read_start_of_file(const std::filesystem::path& path, uint64_t most);

}  // namespace pbprobe
