// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/incomplete_path.hpp"

#include <mutex>
#include <set>
#include <utility>

#include "core/list_folder.hpp"

namespace pbprobe {
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

IncompletePath::IncompletePath(std::filesystem::path path) : path_(std::move(path)) {
  const std::lock_guard lock(paths().mutex);
  paths().all.insert(path_);
}

IncompletePath::IncompletePath(IncompletePath&& other) noexcept : path_(std::exchange(other.path_, {})) {}

IncompletePath& IncompletePath::operator=(IncompletePath&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

IncompletePath::~IncompletePath() {
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
