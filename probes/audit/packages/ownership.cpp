// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/ownership.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "core/pep440.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/walk.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNamedFiles = 10;

std::string plain_path(const std::string& path) {
  return fs::path(path).lexically_normal().string();
}

// Reports whether Python writes the file itself.
bool is_compiled(std::string_view path) {
  return path.ends_with(".pyc");
}

void name(std::vector<std::string>& first, const std::string& path) {
  if (first.size() < kNamedFiles) first.push_back(path);
}

// Describes how a file differs from its record; "" if it does not differ or has no record.
std::string difference(const RecordedFile& file, uint64_t size, const File* read) {
  if (file.size_bytes && *file.size_bytes != size) return "another size";
  const std::string hash = hex_of_record(file.hash);
  if (read == nullptr || !read->sha256 || hash.empty() || hash == *read->sha256) return "";
  return "another SHA-256";
}

}  // namespace

bool is_installed_in_torch(std::string_view member) {
  const size_t data = member.find(".data/");
  if (data != member.npos && data < member.find('/')) {
    member.remove_prefix(member.find('/') + 1);
    const size_t packages = member.find("/site-packages/");
    member.remove_prefix(member.starts_with("data/") && packages != member.npos ? packages + 15 : member.find('/') + 1);
  }
  return member.starts_with("torch/") || member.starts_with("torchgen/");
}

Owners::Owners(const std::vector<InstalledPackage>& packages) {
  for (const auto& package : packages) {
    if (package.record.empty()) continue;
    const PackageText& text = package.layout.packages.front();
    const auto name = make_package(text.folder, text.metadata).name;
    for (const auto& file : package.record) claims_[plain_path(file.path)].push_back({packages_.size(), &file});
    packages_.push_back({package.info, package_name(name.value_or("")), required_packages(text.metadata)});
  }
}

std::optional<std::string> Owners::other_owner(const std::string& path, const std::string& info) const {
  const auto found = claims_.find(path);
  if (found == claims_.end()) return std::nullopt;
  std::set<std::string> hashes;
  for (const auto& claim : found->second) hashes.insert(claim.file->hash);
  if (hashes.size() < 2) return std::nullopt;
  for (const auto& claim : found->second) {
    if (packages_[claim.package].info != info) return packages_[claim.package].info;
  }
  return std::nullopt;
}

bool Owners::is_overlay(const std::string& path, const std::string& info, uint64_t size, const File* read) const {
  const auto found = claims_.find(path);
  if (found == claims_.end() || found->second.size() < 2) return false;
  const auto own = std::ranges::find(packages_, info, &Package::info);
  if (own == packages_.end() || own->name == "torch") return false;
  return std::ranges::any_of(found->second, [&](const Claim& claim) {
    const Package& other = packages_[claim.package];
    return other.info != info && other.required.contains(own->name) && claim.file->size_bytes &&
           difference(*claim.file, size, read).empty();
  });
}

std::vector<std::string> Owners::describe_foreign_libraries(const std::string& info,
                                                            const std::vector<File>& files) const {
  std::vector<std::string> faults;
  bool owns_any = false;  // the RECORD of an editable installation lists no library
  for (const auto& file : files) {
    if (!is_installed_in_torch(file.path)) continue;
    const auto found = claims_.find(file.path);
    const bool owned = found != claims_.end() && std::ranges::any_of(found->second, [&](const Claim& claim) {
                         return packages_[claim.package].info == info;
                       });
    owns_any = owns_any || owned;
    if (owned) continue;
    const std::string writer = found == claims_.end() ? "no package" : packages_[found->second.front().package].info;
    faults.push_back(fmt::format("{} is not in torch's RECORD: {} recorded it", file.path, writer));
  }
  if (!owns_any) faults.clear();
  return faults;
}

std::optional<RecordedFiles> compare_with_record(const InstalledPackages& installed, const InstalledPackage& package,
                                                 const std::vector<File>& files, const Owners& owners) {
  if (package.record.empty() || package.twin) return std::nullopt;
  std::map<std::string, const File*> read;
  for (const auto& file : files) read[file.path] = &file;
  RecordedFiles recorded;
  for (const auto& file : package.record) {
    const std::string path = plain_path(file.path);
    const bool library = is_wanted_name(fs::path(path).filename().string());
    if (is_compiled(path) || !stays_inside(installed, path)) continue;
    ++recorded.files;
    struct stat status {};
    if (stat((installed.folder / path).c_str(), &status) != 0) {
      if (errno == EACCES) continue;
      ++recorded.missing;
      name(recorded.first_missing, path);
      recorded.reinstall = recorded.reinstall || library;
      continue;
    }
    if (package.relocated) continue;
    const auto of_file = read.find(path);
    const File* const content = of_file == read.end() ? nullptr : of_file->second;
    const auto size = static_cast<uint64_t>(status.st_size);
    const std::string how = difference(file, size, content);
    if (how.empty() || owners.is_overlay(path, package.info, size, content)) continue;
    ++recorded.changed;
    if (!library) {
      name(recorded.first_changed, path);
      continue;
    }
    recorded.reinstall = true;
    recorded.changed_libraries.push_back({path, how, owners.other_owner(path, package.info)});
  }
  return recorded;
}

}  // namespace pbprobe
