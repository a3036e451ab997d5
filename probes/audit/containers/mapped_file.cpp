// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/mapped_file.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <limits>
#include <mutex>
#include <system_error>

namespace pbprobe {
namespace {

std::string reason(int number) {
  return std::generic_category().message(number);
}

// Advises only whole pages.
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

void Mapping::disable_huge_pages(uint64_t offset, uint64_t size) {
  if (offset < size_) advise(bytes().subspan(offset, std::min(size, size_ - offset)), MADV_NOHUGEPAGE);
}

void release_pages(std::span<const uint8_t> part) {
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
    return make_error(ErrorCode::malformed, "{}: at least {} of its {} bytes are a hole that was never written",
                      path.string(), kMostHoleBytes, size);
  if (size > kMostFileBytes)
    return make_error(ErrorCode::limit, "{}: {} bytes, {} are the limit of a file", path.string(), size,
                      kMostFileBytes);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (address == MAP_FAILED)
    return make_error(ErrorCode::unreadable, "cannot map the {} bytes of {}: {}", size, path.string(), reason(errno));
  WatchedRange* range = watch_range(address, size);
  Mapping mapping(address, std::move(file), range);
  if (range == nullptr)
    return make_error(ErrorCode::limit, "{}: pbprobe has too many files open at once", path.string());
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

struct WatchedRange {
  std::atomic<bool> taken{false};
  std::atomic<uintptr_t> begin{0};  // 0: none; written last, and cleared first
  std::atomic<uintptr_t> end{0};
  std::atomic<uint64_t> failed{0};
};

namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
constexpr int kMostHandlers = 8;  // nested calls of other handlers; more are taken for a cycle

std::array<WatchedRange, 2048> ranges;
std::mutex installing;
size_t watched = 0;  // guarded by `installing`, as are the next two but for the handler, which only reads them
struct sigaction before {};
uintptr_t page_bytes = 0;
std::atomic<int> passed_on{0};

static_assert(std::atomic<uintptr_t>::is_always_lock_free);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Maps zeros from this page to the end of the range: a truncated file has no later pages, and single pages would split
// the mapping into more parts than the kernel allows.
bool read_as_zeros(uintptr_t address) {
  for (auto& range : ranges) {
    const uintptr_t begin = range.begin.load();
    const uintptr_t end = range.end.load();
    if (begin == 0 || begin != range.begin.load() || address < begin || address >= end) continue;
    const uintptr_t page = address / page_bytes * page_bytes;
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    void* zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, kFlags, -1, 0);
    if (zeros == MAP_FAILED) return false;
    uint64_t none = kNone;
    range.failed.compare_exchange_strong(none, page - begin);
    return true;
  }
  return false;
}

void call_previous_handler(int number, siginfo_t* info, void* context) {
  const bool circle = passed_on.fetch_add(1) >= kMostHandlers;
  if (!circle && (before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(number, info, context);
  } else if (!circle && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {  // the instruction is tried again, and the program ends as if we had never been
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    sigaction(number, &plain, nullptr);
  }
  passed_on.fetch_sub(1);
}

void handle_bus_error(int number, siginfo_t* info, void* context) {
  const int kept = errno;
  const bool ours = info->si_code > 0 && read_as_zeros(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = kept;
  if (!ours) call_previous_handler(number, info, context);
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle_bus_error;
}

void install() {
  struct sigaction now {};
  sigaction(SIGBUS, nullptr, &now);
  if (is_ours(now)) return;
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  before = now;
  struct sigaction ours {};
  ours.sa_sigaction = handle_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &ours, nullptr);
}

// Keeps a handler that was installed later: it may call this one.
void uninstall() {
  struct sigaction now {};
  sigaction(SIGBUS, nullptr, &now);
  if (is_ours(now)) sigaction(SIGBUS, &before, nullptr);
}

}  // namespace

WatchedRange* watch_range(void* address, uint64_t size) {
  for (auto& range : ranges) {
    if (range.taken.exchange(true)) continue;
    {
      const std::lock_guard lock(installing);
      if (watched++ == 0) install();
    }
    const auto begin = reinterpret_cast<uintptr_t>(address);
    range.failed = kNone;
    range.end = begin + size;
    range.begin = begin;
    return &range;
  }
  return nullptr;
}

void unwatch_range(WatchedRange* range) {
  range->begin = 0;
  range->end = 0;
  {
    const std::lock_guard lock(installing);
    if (--watched == 0) uninstall();
  }
  range->taken = false;
}

bool is_watched(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return std::ranges::any_of(ranges, [&](const WatchedRange& range) {
    const uintptr_t begin = range.begin.load();
    return begin != 0 && begin <= at && at < range.end.load();
  });
}

std::optional<uint64_t> first_failure(const WatchedRange& range) {
  const uint64_t failed = range.failed;
  return failed == kNone ? std::nullopt : std::optional(failed);
}

}  // namespace pbprobe
