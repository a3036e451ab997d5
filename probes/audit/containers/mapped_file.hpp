// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Memory that the audit reads: a file mapped read-only, or anonymous pages for an inflated member of a wheel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "core/open_file.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct WatchedRange;  // one of a fixed number, which the signal handler goes through

// Makes unreadable pages of a file mapping read as zeros, where SIGBUS would end the program, until unwatch_range().
// Returns nullptr if too many ranges are watched. Requires a mapping of whole pages.
[[nodiscard]] WatchedRange* watch_range(void* address, uint64_t size);

// Stops watching `range`: from then on an unreadable page ends the program again. Call before unmapping it.
void unwatch_range(WatchedRange* range);

// Reports whether `address` is in a watched range.
[[nodiscard]] bool is_watched(const void* address);

// Returns the offset of the first failed page in bytes.
[[nodiscard]] std::optional<uint64_t> first_failure(const WatchedRange& range);
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* address, uint64_t size) : address_(address), size_(size) {}
  Mapping(void* address, OpenFile file, WatchedRange* range)
      : address_(address), size_(file.size()), file_(std::move(file)), range_(range) {}
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Mapping();

  [[nodiscard]] std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(address_), size_}; }
  // Only for anonymous mappings: a mapped file is read-only.
  [[nodiscard]] std::span<uint8_t> writable() { return {static_cast<uint8_t*>(address_), size_}; }
  // Disables huge pages for a sparsely written part: they would fill it with zeros.
  void disable_huge_pages(uint64_t offset, uint64_t size);
  // Fails if bytes of a mapped file could not be read: they read as zeros. Call after reading. Errors: malformed (the
  // file was truncated), unreadable (a disk error, or a write during the audit).
  [[nodiscard]] Result<void> check_whole() const;

 private:
  void swap(Mapping& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    std::swap(file_, other.file_);
    std::swap(range_, other.range_);
  }

  void* address_ = nullptr;
  uint64_t size_ = 0;
  OpenFile file_;
  WatchedRange* range_ = nullptr;
};

// Limits above the size of any library.
inline constexpr uint64_t kMostFileBytes = 64ULL << 30;
inline constexpr uint64_t kMostHoleBytes = 4ULL << 30;

// Maps a regular file, or returns an empty mapping for an empty file: a pipe named *.so would block for ever. Errors:
// the errors of OpenFile; malformed (a sparse file: mostly holes); limit.
[[nodiscard]] Result<Mapping> map_file(const std::filesystem::path& path);

// Drops the whole pages of `part` that were read from a mapped file; the kernel reads them again on access. Ignores
// other memory.
void release_pages(std::span<const uint8_t> part);

// Maps zeroed pages, which take memory only after a write.
[[nodiscard]] Result<Mapping> map_memory(uint64_t size);

}  // namespace pbprobe
