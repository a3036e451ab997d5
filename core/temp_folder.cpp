// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/temp_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// What Nix puts into a store is read-only, folders too.
void make_writable(const fs::path& folder) {
  std::error_code error;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_symlink(ignored) && entry->is_directory(ignored)) make_writable(entry->path());
  }
}

}  // namespace

Result<TempFolder> TempFolder::make() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string pattern = (parent / "pbprobe-XXXXXX").string();
  if (error || mkdtemp(pattern.data()) == nullptr) {
    const auto why = error ? error : std::error_code(errno, std::generic_category());
    return make_error(ErrorCode::unreadable, "no temporary folder can be made as {}: {}: set TMPDIR", pattern,
                      why.message());
  }
  return TempFolder(pattern);
}

TempFolder::~TempFolder() {
  if (path_.empty()) return;
  std::error_code error;
  make_writable(path_);
  fs::remove_all(path_, error);
}

}  // namespace pbprobe
