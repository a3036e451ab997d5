// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/retry_on_eintr.hpp"

namespace pbprobe {
namespace {

std::string reason(int number) {
  return std::generic_category().message(number);
}

Error cannot_open(const std::filesystem::path& path, int number) {
  const bool missing = number == ENOENT || number == ENOTDIR;
  std::error_code error;
  if (const auto target = std::filesystem::read_symlink(path, error); missing && !error)
    return make_error(ErrorCode::not_found, "{} is a link to {}, which is missing", path.string(), target.string());
  return make_error(missing ? ErrorCode::not_found : ErrorCode::unreadable, "cannot open {}: {}{}", path.string(),
                    reason(number), number == EACCES ? ": run as a user who may read it" : "");
}

// Describes a file that is not regular, with the fix; null for a regular file.
const char* other_kind(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISDIR(mode)) return "a folder: name a file in it";
  if (S_ISFIFO(mode)) return "a named pipe: write its output to a file, and name that file";
  if (S_ISSOCK(mode)) return "a socket: give a file";
  return "a device: give a file";
}

Result<std::string> read_prefix(const OpenFile& file, const std::filesystem::path& path, uint64_t most) {
  // Files in /proc and /sys report size 0.
  constexpr uint64_t kFirst = 4096;
  std::string text(std::min(std::max(file.size() + 1, kFirst), most), '\0');
  uint64_t done = 0;
  while (done < most) {
    if (done == text.size()) text.resize(std::min(2 * done, most));
    const ssize_t got =
        retry_on_eintr([&] { return ::read(file.descriptor(), text.data() + done, text.size() - done); });
    if (got < 0) return make_error(ErrorCode::unreadable, "cannot read {}: {}", path.string(), reason(errno));
    if (got == 0) break;
    done += static_cast<uint64_t>(got);
  }
  text.resize(done);
  return text;
}

}  // namespace

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OpenFile::swap(OpenFile& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(written_, other.written_);
  std::swap(name_, other.name_);
}

Result<OpenFile> OpenFile::open(const std::filesystem::path& path) {
  // Checked before opening, because opening a device may have side effects, and after it, because the path may have
  // changed.
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return cannot_open(path, errno);
  OpenFile file;
  if (other_kind(status.st_mode) == nullptr) {
    file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &status) != 0) return cannot_open(path, errno);
  }
  if (const char* kind = other_kind(status.st_mode); kind != nullptr)
    return make_error(ErrorCode::unreadable, "{} is {}", path.string(), kind);
  file.size_ = static_cast<uint64_t>(status.st_size);
  file.written_ = status.st_mtim;
  file.name_ = path.string();
  return file;
}

uint64_t OpenFile::hole_bytes(uint64_t enough) const {
  constexpr int kMostSteps = 1 << 16;
  uint64_t holes = 0;
  off_t at = 0;
  for (int step = 0; step < kMostSteps && holes < enough && static_cast<uint64_t>(at) < size_; ++step) {
    const off_t hole = ::lseek(descriptor_, at, SEEK_HOLE);
    if (hole < 0) break;
    const off_t data = ::lseek(descriptor_, hole, SEEK_DATA);
    const uint64_t end = data < 0 ? size_ : static_cast<uint64_t>(data);  // ENXIO: a hole up to the end
    if (end <= static_cast<uint64_t>(hole)) break;
    holes += end - static_cast<uint64_t>(hole);
    at = static_cast<off_t>(end);
  }
  return std::min(holes, enough);
}

Result<void> OpenFile::check_unchanged() const {
  struct stat status {};
  if (descriptor_ < 0) return {};
  if (::fstat(descriptor_, &status) != 0)
    return make_error(ErrorCode::unreadable, "cannot stat {}: {}", name_, reason(errno));
  const auto now = static_cast<uint64_t>(status.st_size);
  if (now < size_)
    return make_error(ErrorCode::malformed, "{}: it was cut from {} to {} bytes while it was read", name_, size_, now);
  const bool same = status.st_mtim.tv_sec == written_.tv_sec && status.st_mtim.tv_nsec == written_.tv_nsec;
  if (now == size_ && same) return {};
  return make_error(ErrorCode::unreadable,
                    "{}: the file changed during reading: read it again when no process writes to it", name_);
}

Result<std::string> read_whole_file(const std::filesystem::path& path, uint64_t most) {
  PBPROBE_TRY(const OpenFile file, OpenFile::open(path));
  PBPROBE_TRY(std::string text, read_prefix(file, path, file.size() > most ? 0 : most + 1));
  if (file.size() <= most && text.size() <= most) return text;
  return make_error(ErrorCode::limit, "{}: this text has {} bytes, and pbprobe reads at most {}", path.string(),
                    std::max<uint64_t>(file.size(), text.size()), most);
}

Result<std::string> read_start_of_file(const std::filesystem::path& path, uint64_t most) {
  PBPROBE_TRY(const OpenFile file, OpenFile::open(path));
  return read_prefix(file, path, most);
}

}  // namespace pbprobe
