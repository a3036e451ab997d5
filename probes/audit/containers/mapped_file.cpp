// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/mapped_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace pbprobe {
namespace {

std::string reason(int number) {
  return std::generic_category().message(number);
}

// On its whole pages.
void advise(std::span<const uint8_t> part, int advice) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t end = (begin + part.size()) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, advice);
}

}  // namespace

Mapping::~Mapping() {
  if (range_ != nullptr) unwatch_range(range_);
  if (address_ != nullptr) munmap(address_, size_);
}

void Mapping::expect_gaps(uint64_t offset, uint64_t size) {
  if (offset < size_) advise(bytes().subspan(offset, std::min(size, size_ - offset)), MADV_NOHUGEPAGE);
}

void let_go(std::span<const uint8_t> part) {
  if (is_watched(part.data())) advise(part, MADV_DONTNEED);
}

Result<void> Mapping::check_whole() const {
  PBPROBE_CHECK(file_.check_unchanged());
  const auto failed = range_ == nullptr ? std::nullopt : first_failure(*range_);
  if (!failed) return {};
  return make_error(ErrorCode::unreadable, "{}: it cannot be read from byte {} on: look for errors of its disk",
                    file_.name(), *failed);
}

Result<Mapping> map_file(const std::filesystem::path& path) {
  PBPROBE_TRY(OpenFile file, OpenFile::open(path));
  const uint64_t size = file.size();
  if (size == 0) return Mapping();
  if (size >= kMostHoleBytes && file.hole_bytes(kMostHoleBytes) == kMostHoleBytes)
    return make_error(ErrorCode::malformed, "{}: of its {} bytes at least {} are a hole that was never written",
                      path.string(), size, kMostHoleBytes);
  if (size > kMostFileBytes)
    return make_error(ErrorCode::limit, "{}: {} bytes, {} are the limit of a file", path.string(), size,
                      kMostFileBytes);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (address == MAP_FAILED)
    return make_error(ErrorCode::unreadable, "cannot map the {} bytes of {}: {}", size, path.string(), reason(errno));
  WatchedRange* range = watch_range(address, size);
  Mapping mapping(address, std::move(file), range);
  if (range == nullptr) return make_error(ErrorCode::limit, "{}: too many files are open at once", path.string());
  return mapping;
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
