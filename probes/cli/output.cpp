// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Output of documents to standard output, a file, a pipe or a device.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/open_file.hpp"
#include "core/printable.hpp"
#include "core/temp_folder.hpp"
#include "probes/cli/cli.hpp"

namespace pbprobe::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStandardOutput = "-";

Error cannot_write(const fs::path& file, int reason) {
  return make_error(ErrorCode::unreadable, "{} cannot be written: {}: name a file in a writable folder", file.string(),
                    std::strerror(reason));
}

// Takes the descriptor over.
Result<void> write_all(int descriptor, std::string_view text, const fs::path& file) {
  std::FILE* stream = descriptor < 0 ? nullptr : ::fdopen(descriptor, "wb");
  bool written = stream != nullptr && std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if (stream != nullptr) written = std::fclose(stream) == 0 && written;
  if (!written) return cannot_write(file, errno);
  return {};
}

// Returns the target of a chain of links, which need not exist.
fs::path behind_links(fs::path file) {
  constexpr int kMaxLinks = 40;  // limit of the kernel
  std::error_code error;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(fs::symlink_status(file, error)); ++i)
    file = file.parent_path() / fs::read_symlink(file, error);
  return file;
}

// Reports whether a file is the artifact under this or another name, or is inside its folder.
bool is_within(const fs::path& file, const fs::path& artifact) {
  std::error_code error;
  if (artifact.empty() || !fs::exists(artifact, error)) return false;
  if (fs::equivalent(file, artifact, error)) return true;
  if (!fs::is_directory(artifact, error)) return false;
  const std::string folder = fs::canonical(artifact, error).string() + "/";
  return fs::weakly_canonical(fs::absolute(file), error).string().starts_with(folder);
}

// Reports whether a file is a program, a library or a wheel: an artifact has links to such files outside its folder.
bool is_artifact(const fs::path& file) {
  const auto magic = read_start_of_file(file, 4);
  return magic && (*magic == "\177ELF" || *magic == "PK\3\4");
}

// Writes to a temporary file in the same folder and renames it: readers see the old or the new document, never a part.
// Keeps mode and owner.
Result<void> replace(const fs::path& file, std::string_view text, const struct stat* before) {
  const IncompletePathRegistration unfinished(file.string() + fmt::format(".{}.partial", ::getpid()));
  const fs::path& partial = unfinished.path();
  const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0 && before != nullptr &&
      (::fchown(descriptor, before->st_uid, before->st_gid) != 0 ||
       ::fchmod(descriptor, before->st_mode & 07777) != 0)) {
    ::close(descriptor);
    ::unlink(partial.c_str());
    return write_all(::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC), text, file);  // another's file
  }
  auto written = write_all(descriptor, text, file);
  if (written && std::rename(partial.c_str(), file.c_str()) != 0) written = cannot_write(file, errno);
  if (!written && descriptor >= 0) ::unlink(partial.c_str());
  return written;
}

// Fails for a pipe without a reader, which would block forever.
Result<void> write_in_place(const fs::path& file, std::string_view text) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0 && errno == ENXIO)
    return make_error(ErrorCode::unreadable,
                      "{} cannot be written: no process reads it: name a file, or start its reader first",
                      file.string());
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFL, O_WRONLY);
  return write_all(descriptor, text, file);
}

Result<void> write_file(std::string_view text, const fs::path& named) {
  PBPROBE_CHECK(check_output_file(named));
  struct stat before {};
  if (::stat(named.c_str(), &before) != 0) return replace(behind_links(named), text, nullptr);
  if (!S_ISREG(before.st_mode)) return write_in_place(named, text);
  return replace(behind_links(named), text, &before);
}

}  // namespace

Result<void> check_output_file(const fs::path& file, const fs::path& artifact) {
  std::error_code error;
  if (file == kStandardOutput) return {};
  if (is_within(file, artifact))
    return make_error(ErrorCode::usage, "{} is a part of what is judged, {}: name a file elsewhere", file.string(),
                      artifact.string());
  if (fs::is_directory(file, error)) return make_error(ErrorCode::usage, "{} is a folder: name a file", file.string());
  if (is_artifact(file))
    return make_error(ErrorCode::usage, "{} is a program, a library or an archive: name another file", file.string());
  const bool there = fs::exists(file, error);
  if (there && ::access(file.c_str(), W_OK) != 0) return cannot_write(file, errno);
  const fs::path folder = behind_links(file).parent_path();
  if (!there && !folder.empty() && !fs::is_directory(folder, error)) return cannot_write(file, ENOENT);
  return {};
}

Result<int> write_output(std::string_view text, const std::optional<fs::path>& file) {
  wait_if_stopped();
  const bool to_file = file && *file != kStandardOutput;
  const std::string shown = printable_lines(text, !to_file && text_options().colour);
  if (to_file) {
    PBPROBE_CHECK(write_file(shown, *file));
    return kPassed;
  }
  const bool written = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() && std::fflush(stdout) == 0;
  if (written) return kPassed;
  return make_error(ErrorCode::unreadable, "standard output cannot be written: {}", std::strerror(errno));
}

}  // namespace pbprobe::cli
