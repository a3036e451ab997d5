// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/environments.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/packages/distributions.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 5;             // /home/ada/src/project/.venv
constexpr size_t kMostFolders = 20000;  // that are looked into
constexpr uint64_t kMaxListBytes = 1 << 20;

void add(const fs::path& root, std::vector<fs::path>& folders) {
  const auto packages = packages_folder(root);
  std::error_code error;
  const bool known = packages && std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
                       return fs::equivalent(folder, *packages, error);  // lib may be a link to usr/lib
                     });
  if (packages && !known) folders.push_back(*packages);
}

bool is_root(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "etc/os-release", error) || fs::exists(folder / "usr/lib/os-release", error);
}

// Links are not followed: an absolute one leads to another system.
void search(const fs::path& given, std::vector<fs::path>& folders) {
  const std::set<std::string> passed_over{"proc",  "sys",   "dev",     "run",         "lib",
                                          "lib64", "share", "include", "node_modules"};
  std::error_code none;
  const fs::path root = fs::canonical(given, none);
  std::deque<std::pair<fs::path, int>> left{{root, 0}};
  for (size_t looked = 0; !left.empty() && looked < kMostFolders; ++looked) {
    const auto [folder, depth] = std::move(left.front());
    left.pop_front();
    std::error_code error;
    const auto packages = packages_folder(folder);
    if (packages && inside_root(root, *packages) == fs::canonical(*packages, error)) add(folder, folders);
    for (const auto& entry : depth < kDeepest ? list_folder(folder, error) : std::vector<FolderEntry>()) {
      const std::string name = entry.path.filename().string();
      if (entry.type == fs::file_type::directory && !passed_over.contains(name))
        left.emplace_back(entry.path, depth + 1);
    }
  }
}

// What Nix puts into the environment of whoever uses the result, one file of store paths each.
void add_propagated(const fs::path& root, std::vector<fs::path>& folders) {
  std::deque<fs::path> left{root};
  std::set<std::string> seen;
  while (!left.empty()) {
    const fs::path one = std::move(left.front());
    left.pop_front();
    if (!seen.insert(one.string()).second) continue;
    add(one, folders);
    const auto text = read_whole_file(one / "nix-support/propagated-build-inputs", kMaxListBytes);
    std::istringstream words(text ? *text : std::string());
    for (std::string word; words >> word;) left.emplace_back(word);
  }
}

}  // namespace

FoundEnvironments environments_in(const fs::path& root) {
  FoundEnvironments found;
  std::error_code error;
  if (fs::exists(root / "nix-support/propagated-build-inputs", error)) {
    add_propagated(root, found.folders);
  } else if (is_root(root)) {
    search(root, found.folders);
  } else {
    add(root, found.folders);
  }
  return found;
}

}  // namespace pbprobe
