// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/temp_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "core/list_folder.hpp"

namespace pbprobe {
namespace fs = std::filesystem;

namespace {

// Names of the existing folders. Static storage, so that they survive destructors and need no allocation.
struct FolderName {
  std::atomic<bool> taken = false;
  pid_t owner = 0;  // a forked child inherits the names of its parent
  std::array<char, PATH_MAX> name{};
};
std::array<FolderName, 64> kept;

FolderName* keep(std::string_view pattern) {
  for (FolderName& folder : kept) {
    if (pattern.size() >= folder.name.size() || folder.taken.exchange(true)) continue;
    folder.owner = ::getpid();
    *std::copy(pattern.begin(), pattern.end(), folder.name.begin()) = '\0';
    return &folder;
  }
  return nullptr;
}

void forget(const char* name) {
  for (FolderName& folder : kept) {
    if (folder.taken && std::strcmp(folder.name.data(), name) == 0) folder.taken = false;
  }
}

void remove_patiently(const char* name) noexcept {
  constexpr int kMostTries = 3;
  for (int tries = 0; tries < kMostTries; ++tries) {
    try {
      return remove_folder(name);
    } catch (const std::bad_alloc&) {  // memory may become available; try again
    }
  }
}

}  // namespace

Result<TempFolder> TempFolder::make() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (const char* const named = std::getenv("TMPDIR"); error && named != nullptr) parent = named;
  const std::string pattern = (parent / "pbprobe-XXXXXX").string();
  FolderName* const folder = error ? nullptr : keep(pattern);
  if (folder == nullptr || mkdtemp(folder->name.data()) == nullptr) {
    const auto why = error ? error : std::error_code(folder == nullptr ? EMFILE : errno, std::generic_category());
    if (folder != nullptr) folder->taken = false;
    return make_error(ErrorCode::unreadable, "no temporary folder can be made as {}: {}: set TMPDIR", pattern,
                      why.message());
  }
  try {
    return TempFolder(folder->name.data());
  } catch (const std::bad_alloc&) {
    ::rmdir(folder->name.data());
    folder->taken = false;
    throw;
  }
}

TempFolder::~TempFolder() {
  if (path_.empty()) return;
  remove_patiently(path_.c_str());
  forget(path_.c_str());
}

void remove_temp_folders() noexcept {
  for (FolderName& folder : kept) {
    if (folder.owner == ::getpid() && folder.taken.exchange(false)) remove_patiently(folder.name.data());
  }
}

namespace {

struct Paths {
  std::mutex mutex;
  std::multiset<std::filesystem::path> all;
};

// Never destroyed, because static objects may still refer to it when the program ends.
Paths& paths() {
  static auto* const paths = new Paths;
  return *paths;
}

}  // namespace

IncompletePathRegistration::IncompletePathRegistration(std::filesystem::path path) : path_(std::move(path)) {
  const std::lock_guard lock(paths().mutex);
  paths().all.insert(path_);
}

IncompletePathRegistration::IncompletePathRegistration(IncompletePathRegistration&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

IncompletePathRegistration& IncompletePathRegistration::operator=(IncompletePathRegistration&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

IncompletePathRegistration::~IncompletePathRegistration() {
  if (path_.empty()) return;
  const std::lock_guard lock(paths().mutex);
  const auto found = paths().all.find(path_);
  if (found != paths().all.end()) paths().all.erase(found);
}

size_t remove_incomplete_paths() {
  const std::lock_guard lock(paths().mutex);
  for (const auto& path : paths().all) {
    std::error_code error;
    if (std::filesystem::is_directory(std::filesystem::symlink_status(path, error)))
      remove_folder(path);
    else
      std::filesystem::remove(path, error);
  }
  return paths().all.size();
}

}  // namespace pbprobe
