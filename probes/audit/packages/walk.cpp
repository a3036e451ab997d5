// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/walk.hpp"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "core/list_folder.hpp"
#include "core/open_file.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

using FileId = std::pair<dev_t, ino_t>;

FileId get_file_id(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

bool is_program_file(const fs::path& path) {
  const auto head = read_start_of_file(path, kProgramHeadBytes);
  return head && is_program(*head);
}

struct Walk {
  WalkScope scope;
  const std::function<bool(std::string_view)>& wanted;
  ArtifactLayout& layout;
  std::set<FileId> entered = {};
  std::vector<FileId> above = {};

  void folder(const fs::path& path, const std::string& prefix, const FileId& id);
  void entry(const FolderEntry& entry, const std::string& prefix);
};

void Walk::entry(const FolderEntry& entry, const std::string& prefix) {
  const std::string name = entry.path.filename().string();
  const bool link = entry.type == fs::file_type::symlink;
  const bool shared_object = wanted(name);
  const bool folder_itself = entry.type == fs::file_type::directory;
  const bool unknown = !shared_object && scope == WalkScope::tree_and_programs && may_be_program(name);
  if (!link && !shared_object && !folder_itself && !unknown) return;  // no stat for the thousands of other files
  struct stat status {};
  if (stat(entry.path.c_str(), &status) != 0) {
    const int why = errno;
    if (shared_object && link && why == ENOENT) {
      layout.broken_links.push_back(prefix + name);
    } else if (shared_object || folder_itself) {
      layout.problems.push_back(
          fmt::format("{}{}: cannot read: {}", prefix, name, std::generic_category().message(why)));
    }
    return;
  }
  if (S_ISDIR(status.st_mode)) {
    if (scope != WalkScope::folder) folder(entry.path, prefix + name + "/", get_file_id(status));
  } else if (shared_object || (unknown && is_program_file(entry.path))) {
    layout.items.push_back({prefix + name, static_cast<uint64_t>(status.st_size), entry.path, nullptr, {}});
  }
}

void Walk::folder(const fs::path& path, const std::string& prefix, const FileId& id) {
  if (std::ranges::find(above, id) != above.end()) {
    layout.problems.push_back(fmt::format("{}: a link back to a folder above it: not followed", prefix));
    return;
  }
  if (!entered.insert(id).second) return;
  std::error_code error;
  const auto listed = list_folder(path, error);
  above.push_back(id);
  for (const auto& one : listed) entry(one, prefix);
  above.pop_back();
  if (error)
    layout.problems.push_back(
        fmt::format("{}: cannot list {}: {}", prefix, listed.empty() ? "the folder" : "all of it", error.message()));
}

}  // namespace

void walk_shared_objects(const fs::path& folder, const std::string& prefix, WalkScope scope,
                         const std::function<bool(std::string_view)>& wanted, ArtifactLayout& layout) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
  Walk walk{scope, wanted, layout};
  walk.folder(folder, prefix, get_file_id(status));
}

bool may_be_program(std::string_view name) {
  constexpr std::array kTexts{".h", ".hpp", ".cuh", ".py", ".pyi", ".pyc", ".cmake"};
  return std::ranges::none_of(kTexts, [&](std::string_view end) { return name.ends_with(end); });
}

bool is_program(std::string_view head) {
  if (head.size() < kProgramHeadBytes || !head.starts_with(std::string_view(ELFMAG, SELFMAG))) return false;
  const bool known = head[EI_CLASS] == ELFCLASS64 && head[EI_DATA] == ELFDATA2LSB && head[EI_NIDENT + 1] == 0;
  return known && (head[EI_NIDENT] == ET_EXEC || head[EI_NIDENT] == ET_DYN);
}

void settle_items(ArtifactLayout& layout) {
  std::ranges::sort(layout.items, {}, &Item::path);
  std::set<FileId> by_name;  // files with a name that is not a link
  std::error_code error;
  for (const auto& item : layout.items) {
    struct stat status {};
    if (!item.disk.empty() && lstat(item.disk.c_str(), &status) == 0 && !S_ISLNK(status.st_mode))
      by_name.insert(get_file_id(status));
  }
  std::set<FileId> linked;
  std::erase_if(layout.items, [&](const Item& item) {
    struct stat status {};
    if (item.disk.empty() || !fs::is_symlink(item.disk, error) || stat(item.disk.c_str(), &status) != 0) return false;
    return by_name.contains(get_file_id(status)) || !linked.insert(get_file_id(status)).second;
  });
}

std::vector<std::string> list_entry_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : list_folder(folder, error)) names.push_back(entry.path.filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace pbprobe
