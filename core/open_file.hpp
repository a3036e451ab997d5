// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Files that others name: opened only where they are regular ones, so that a named pipe or a device hangs nobody, and
// read up to a limit, so that a hole of gigabytes does not become memory.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace pbprobe {

// More than any document of pbprobe's or of its users takes: a report of a whole torch is some 2 MB.
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

  // Errors: not_found, unreadable (permissions, or no regular file: what it is, and what to give instead).
  [[nodiscard]] static Result<OpenFile> open(const std::filesystem::path& path);

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Up to that many bytes that no disk holds, of a sparse file; 0 where the file system does not tell.
  [[nodiscard]] uint64_t hole_bytes(uint64_t enough) const;
  // Errors: malformed where it is shorter than it was when it was opened, unreadable where it was written to since.
  [[nodiscard]] Result<void> check_unchanged() const;

 private:
  void swap(OpenFile& other) noexcept;

  int descriptor_ = -1;
  uint64_t size_ = 0;
  timespec written_{};
  std::string name_;
};

// The whole of a file. Errors: as open, limit where it has more than `most` bytes, unreadable where reading fails.
[[nodiscard]] Result<std::string> read_whole_file(const std::filesystem::path& path,
                                                  uint64_t most = kMostDocumentBytes);

// Its first bytes: no more than `most`, fewer where it is shorter.
[[nodiscard]] Result<std::string> read_start_of_file(const std::filesystem::path& path, uint64_t most);

}  // namespace pbprobe
