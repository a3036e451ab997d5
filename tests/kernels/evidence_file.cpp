// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/evidence_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/json.hpp"

namespace pbprobe::test {
namespace {

// An open file with an exclusive lock, which closing releases.
class LockedFile {
 public:
  explicit LockedFile(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0) {
      ::close(fd_);
      fd_ = -1;
    }
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;
  ~LockedFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] bool good() const { return fd_ >= 0; }
  [[nodiscard]] bool read(std::string& text) const {
    char buffer[8192];
    for (;;) {
      const ssize_t got = ::read(fd_, buffer, sizeof buffer);
      if (got == 0) return true;
      if (got < 0) return false;
      text.append(buffer, static_cast<size_t>(got));
    }
  }
  [[nodiscard]] bool replace(const std::string& text) const {
    if (::lseek(fd_, 0, SEEK_SET) != 0 || ::ftruncate(fd_, 0) != 0) return false;
    for (size_t done = 0; done < text.size();) {
      const ssize_t put = ::write(fd_, text.data() + done, text.size() - done);
      if (put <= 0) return false;
      done += static_cast<size_t>(put);
    }
    return true;
  }

 private:
  int fd_;
};

// Reads the records of a file, lets `edit` change them, and writes them, all under one lock.
template <class Edit>
Result<void> edit_records(const std::filesystem::path& path, const Edit& edit) {
  const LockedFile file(path);
  std::string text;
  if (!file.good() || !file.read(text)) {
    return make_error(ErrorCode::unreadable, "{}: cannot be opened, locked and read: {}", path.string(),
                      std::strerror(errno));
  }
  std::vector<EvidenceRecord> records;
  if (!text.empty()) {
    PBPROBE_TRY(auto json, parse_json(text), "{}", path.string());
    PBPROBE_TRY(records, from_json<std::vector<EvidenceRecord>>(json), "{}", path.string());
  }
  PBPROBE_CHECK(edit(records));
  if (!file.replace(to_json(records).dump(2) + '\n')) {
    return make_error(ErrorCode::unreadable, "{}: cannot be written: {}", path.string(), std::strerror(errno));
  }
  return {};
}

}  // namespace

Result<void> add_record(const std::filesystem::path& path, const EvidenceRecord& record) {
  return edit_records(path, [&](std::vector<EvidenceRecord>& records) -> Result<void> {
    const auto obsolete = [&](const EvidenceRecord& old) {
      const bool same = old.level == record.level && old.via == record.via && old.device == record.device;
      return old.kernel == record.kernel && (same || old.digest != record.digest);
    };
    records.erase(std::remove_if(records.begin(), records.end(), obsolete), records.end());
    const auto place = std::upper_bound(records.begin(), records.end(), record,
                                        [](const auto& a, const auto& b) { return a.kernel < b.kernel; });
    records.insert(place, record);
    return {};
  });
}

Result<void> add_launches(const std::filesystem::path& path, std::string_view kernel, std::string_view digest,
                          std::string_view device, int64_t launches) {
  return edit_records(path, [&](std::vector<EvidenceRecord>& records) -> Result<void> {
    const auto found = std::find_if(records.begin(), records.end(), [&](const EvidenceRecord& record) {
      return record.kernel == kernel && record.digest == digest && record.device == device;
    });
    if (found == records.end()) {
      return make_error(ErrorCode::usage,
                        "{} has no record of {} on {}: run kernels_test with PBPROBE_EVIDENCE_DIR first", path.string(),
                        kernel, device);
    }
    found->launches = launches;
    return {};
  });
}

}  // namespace pbprobe::test
