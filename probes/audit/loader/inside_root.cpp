// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/inside_root.hpp"

#include <deque>
#include <system_error>

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // limit of the Linux kernel

void put_before(std::deque<fs::path>& left, const fs::path& parts) {
  std::deque<fs::path> all;
  for (const auto& part : parts.relative_path()) all.push_back(part);
  left.insert(left.begin(), all.begin(), all.end());
}

}  // namespace

fs::path root_above(const fs::path& folder) {
  fs::path found;
  std::error_code error;
  for (fs::path at = fs::canonical(folder, error); at.has_relative_path(); at = at.parent_path()) {
    if (fs::exists(at / "etc/os-release", error) || fs::exists(at / "usr/lib/os-release", error)) found = at;
  }
  return found;
}

fs::path inside_root(const fs::path& root, const fs::path& path) {
  if (root.empty()) return path;
  std::deque<fs::path> left;
  put_before(left, fs::path("/") / path.lexically_relative(root));
  fs::path inside = "/";
  for (int links = 0; !left.empty();) {
    const fs::path part = std::move(left.front());
    left.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      inside = inside.parent_path();
      continue;
    }
    const fs::path here = root / (inside / part).relative_path();
    std::error_code error;
    if (!fs::is_symlink(here, error)) {
      inside /= part;
      continue;
    }
    const fs::path target = fs::read_symlink(here, error);
    if (error || ++links > kMostLinks) return path;
    if (target.is_absolute()) inside = "/";
    put_before(left, target);
  }
  return root / inside.relative_path();
}

}  // namespace pbprobe
