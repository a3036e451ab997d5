// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/list_folder.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

struct Close {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Most file systems return the type with the name, which saves a stat.
fs::file_type find_type(const dirent& entry, const fs::path& path) {
  switch (entry.d_type) {
    case DT_REG: return fs::file_type::regular;
    case DT_DIR: return fs::file_type::directory;
    case DT_LNK: return fs::file_type::symlink;
    case DT_UNKNOWN: break;
    default: return fs::file_type::unknown;
  }
  std::error_code error;
  return fs::symlink_status(path, error).type();
}

}  // namespace

std::vector<FolderEntry> list_folder(const fs::path& folder, std::error_code& error) {
  std::vector<FolderEntry> entries;
  const std::unique_ptr<DIR, Close> open(::opendir(folder.c_str()));
  while (open != nullptr) {
    errno = 0;
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    fs::path path = folder / name;
    const fs::file_type type = find_type(*entry, path);
    entries.push_back({std::move(path), type});
  }
  error = {errno, std::generic_category()};  // 0 at the end of the folder
  return entries;
}

void remove_folder(const fs::path& folder) {
  ::chmod(folder.c_str(), S_IRWXU);  // folders in the Nix store are read-only
  std::error_code error;
  for (const FolderEntry& entry : list_folder(folder, error)) {
    if (entry.type == fs::file_type::directory) {
      remove_folder(entry.path);
    } else {
      ::unlink(entry.path.c_str());
    }
  }
  ::rmdir(folder.c_str());
}

}  // namespace pbprobe
