// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Cached findings of one file. An entry is valid for one state of the file (device, inode, size, times of change), one
// program and one set of options. Gates do not use the cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/facts/inventory.hpp"
#include "probes/audit/audit.hpp"

namespace pbprobe {

class CachedFile {
 public:
  // `path`: path inside the artifact; `disk`: its path on disk. Stores nothing if options.cache is empty or a folder
  // that others may write to.
  CachedFile(const std::string& path, const std::filesystem::path& disk, const AuditOptions& options);

  // Returns nullopt if no entry matches the file's present state.
  [[nodiscard]] std::optional<File> find() const;

  // Stores `file` unless it changed recently or was not read completely.
  void keep(const File& file) const;

 private:
  std::string state_now() const;

  std::filesystem::path disk_;
  std::filesystem::path entry_;  // "" disables the cache
  std::string state_;
};

}  // namespace pbprobe
