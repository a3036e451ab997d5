// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What was found in a file, kept for the next time. An entry holds for one state of the file (device, inode, size,
// times of change), one program and one way to look; whatever else it says, it is read again. Gates take nothing from
// it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/facts/inventory.hpp"
#include "probes/audit/audit.hpp"

namespace pbprobe {

class CachedFile {
 public:
  // `path` as inside the artifact, `disk` where it lies. Nothing is kept where options.cache is empty, nor in a folder
  // that others may write to.
  CachedFile(const std::string& path, const std::filesystem::path& disk, const AuditOptions& options);

  // Null: nothing is known of the file as it is now.
  [[nodiscard]] std::optional<File> find() const;

  // Not where the file changed in the meantime or just before, nor where it could not be read whole.
  void keep(const File& file) const;

 private:
  std::string state_now() const;

  std::filesystem::path disk_;
  std::filesystem::path entry_;  // empty: nothing is kept
  std::string state_;
};

}  // namespace pbprobe
