// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace pbprobe {
namespace {

std::string reason(int number) {
  return std::generic_category().message(number);
}

ErrorCode code_of(int number) {
  return number == ENOENT || number == ENOTDIR ? ErrorCode::not_found : ErrorCode::unreadable;
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

Mapping::~Mapping() {
  if (address_ != nullptr) munmap(address_, size_);
}

void Mapping::expect_gaps(uint64_t offset, uint64_t size) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = (offset + page - 1) / page * page;
  const uint64_t end = std::min(offset + size, size_) / page * page;
  if (first < end) madvise(static_cast<uint8_t*>(address_) + first, end - first, MADV_NOHUGEPAGE);
}

Result<Mapping> map_file(const std::filesystem::path& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) {
    const int number = errno;
    return make_error(code_of(number), "cannot open {}: {}{}", path.string(), reason(number),
                      number == EACCES ? ": run as a user who may read it" : "");
  }
  struct stat status {};
  if (fstat(file.number, &status) != 0)
    return make_error(ErrorCode::unreadable, "cannot look at {}: {}", path.string(), reason(errno));
  if (!S_ISREG(status.st_mode))
    return make_error(ErrorCode::unreadable, "{} is not a regular file: give a file or a folder", path.string());
  if (status.st_size == 0) return Mapping();
  const auto size = static_cast<uint64_t>(status.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (address == MAP_FAILED)
    return make_error(ErrorCode::unreadable, "cannot map the {} bytes of {}: {}", size, path.string(), reason(errno));
  return Mapping(address, size);
}

Result<Mapping> map_memory(uint64_t size) {
  if (size == 0) return Mapping();
  void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return make_error(ErrorCode::limit, "cannot get {} bytes of memory: {}", size, reason(errno));
  madvise(address, size, MADV_HUGEPAGE);  // a hint: large members fault in fewer, larger pages
  return Mapping(address, size);
}

}  // namespace pbprobe
