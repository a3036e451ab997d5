// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/file_cache.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/open_file.hpp"
#include "core/sha256.hpp"
#include "core/version.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostEntryBytes = 64ULL << 20;
constexpr time_t kSettledSeconds = 2;  // a file that changed within a clock tick of its reading may change unseen
constexpr time_t kKeptSeconds = 30L * 24 * 3600;

std::string format_file_state(const struct stat& status) {
  return fmt::format("{}:{}:{}:{}.{:09}:{}.{:09}", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

// Another build of the same commit may have other findings.
const std::string& program_state() {
  static const std::string state = [] {
    Dl_info own{};
    struct stat status {};
    const bool known = dladdr(reinterpret_cast<const void*>(&default_cache), &own) != 0 &&
                       stat(own.dli_fname[0] == '/' ? own.dli_fname : "/proc/self/exe", &status) == 0;
    return fmt::format("{} {} {}", version(), commit(), known ? format_file_state(status) : "?");
  }();
  return state;
}

// Reports whether only this user may write to the folder.
bool is_private(const fs::path& folder) {
  struct stat status {};
  return stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Deletes entries of one folder that were unused for a month.
void forget_old(const fs::path& folder) {
  std::error_code error;
  const time_t now = std::time(nullptr);
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    struct stat status {};
    if (stat(at->path().c_str(), &status) == 0 && now - status.st_mtime > kKeptSeconds)
      static_cast<void>(unlink(at->path().c_str()));
  }
}

}  // namespace

fs::path default_cache() {
  const auto folder = [](const char* name) -> fs::path {
    const char* const value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? fs::path(value) : fs::path();
  };
  if (const fs::path cache = folder("XDG_CACHE_HOME"); !cache.empty()) return cache / "pbprobe";
  const fs::path home = folder("HOME");
  return home.empty() ? home : home / ".cache/pbprobe";
}

CachedFile::CachedFile(const std::string& path, const fs::path& disk, const AuditOptions& options) : disk_(disk) {
  if (options.cache.empty()) return;
  std::error_code error;
  const fs::path files = options.cache / "files";
  fs::create_directories(files, error);
  if (error || !is_private(options.cache) || !is_private(files)) return;
  state_ = state_now();
  if (state_.empty()) return;
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}{}{}{}{}{}{}", program_state(), path, state_, options.device_code_only,
                  options.links_only, static_cast<int>(options.host_code), options.open_libraries, options.digests,
                  options.kernel_names, options.kernel_families);
  const std::string digest = compute_sha256(std::string_view(key));
  entry_ = files / digest.substr(0, 2) / digest;
}

std::string CachedFile::state_now() const {
  struct stat status {};
  return stat(disk_.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? format_file_state(status) : std::string();
}

std::optional<File> CachedFile::find() const {
  if (entry_.empty() || !is_private(entry_.parent_path())) return std::nullopt;
  const auto text = read_whole_file(entry_, kMostEntryBytes);
  constexpr size_t kDigest = 64;
  if (!text || text->size() <= kDigest) return std::nullopt;
  const std::string_view content = std::string_view(*text).substr(kDigest);
  if (compute_sha256(content) != std::string_view(*text).substr(0, kDigest)) return std::nullopt;
  const Json json = Json::parse(content, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  auto file = from_json<File>(json);
  if (!file) return std::nullopt;
  struct stat status {};
  constexpr time_t kDay = time_t{24} * 3600;
  if (stat(entry_.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime > kDay)
    static_cast<void>(utimensat(AT_FDCWD, entry_.c_str(), nullptr, 0));
  return std::move(*file);
}

void CachedFile::keep(const File& file) const {
  struct stat status {};
  if (entry_.empty() || file.problem || stat(disk_.c_str(), &status) != 0 || format_file_state(status) != state_)
    return;
  if (std::time(nullptr) - std::max(status.st_ctim.tv_sec, status.st_mtim.tv_sec) < kSettledSeconds) return;
  const fs::path folder = entry_.parent_path();
  std::error_code error;
  if (fs::create_directory(folder, error)) fs::permissions(folder, fs::perms::owner_all, error);
  if (error || !is_private(folder)) return;
  static std::atomic<uint64_t> count{0};
  const fs::path written = folder / fmt::format(".{}.{}", getpid(), count++);
  std::string content;
  try {
    content = to_json(file).dump();
  } catch (const Json::exception&) {  // a name in it is not UTF-8: JSON would change it
    return;
  }
  {
    std::ofstream out(written, std::ios::binary);
    out << compute_sha256(std::string_view(content)) << content;
    out.close();
    if (!out) return static_cast<void>(unlink(written.c_str()));
  }
  if (rename(written.c_str(), entry_.c_str()) != 0) return static_cast<void>(unlink(written.c_str()));
  if (count % 64 == 1) forget_old(folder);
}

}  // namespace pbprobe
