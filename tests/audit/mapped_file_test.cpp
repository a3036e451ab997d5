// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Files that others cut, write to and leave holes in while they are read.
#include "probes/audit/containers/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/temp_folder.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using testing::HasSubstr;

constexpr size_t kPages = 64;

size_t page() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

fs::path write_pages(const TempFolder& folder, char content) {
  folder.write("library", std::string(kPages * page(), content));
  return folder.path() / "library";
}

uint64_t sum(std::span<const uint8_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
}

TEST(MappedFile, ReadsUntouchedFileCompletely) {
  const TempFolder folder;
  const auto mapping = map_file(write_pages(folder, 1));
  ASSERT_TRUE(mapping.ok());
  EXPECT_EQ(sum(mapping->bytes()), kPages * page());
  EXPECT_TRUE(mapping->check_whole().ok());
}

// Pages of a mapping that this process holds.
size_t pages_held(std::span<const uint8_t> mapping) {
  std::ifstream maps("/proc/self/smaps");
  const std::string begin = fmt::format("{:x}-", reinterpret_cast<uintptr_t>(mapping.data()));
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    found = found || line.starts_with(begin);
    if (found && line.starts_with("Rss:")) return std::stoul(line.substr(4)) * 1024 / page();
  }
  return 0;
}

TEST(MappedFile, PagesThatAreLetGoComeAgainAndMemoryIsKept) {
  if (PBPROBE_EMULATED) GTEST_SKIP() << "QEMU's smaps describe its own process";
  const TempFolder folder;
  const auto mapping = map_file(write_pages(folder, 1));
  ASSERT_TRUE(mapping.ok());
  EXPECT_EQ(sum(mapping->bytes()), kPages * page());
  EXPECT_EQ(pages_held(mapping->bytes()), kPages);
  release_pages(mapping->bytes().subspan(1, 4 * page()));  // covers three whole pages
  EXPECT_EQ(pages_held(mapping->bytes()), kPages - 3);
  EXPECT_EQ(sum(mapping->bytes()), kPages * page());
  EXPECT_TRUE(mapping->check_whole().ok());
  auto memory = map_memory(page());
  ASSERT_TRUE(memory.ok());
  memory->writable()[0] = 1;
  release_pages(memory->bytes());
  EXPECT_EQ(sum(memory->bytes()), 1);
}

TEST(MappedFile, ReportsTruncatedPartAndReadsZeros) {
  const TempFolder folder;
  const fs::path file = write_pages(folder, 1);
  const auto mapping = map_file(file);
  ASSERT_TRUE(mapping.ok());
  ASSERT_EQ(truncate(file.c_str(), static_cast<off_t>(3 * page())), 0);
  EXPECT_EQ(sum(mapping->bytes()), 3 * page());
  const auto whole = mapping->check_whole();
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().code, ErrorCode::malformed);
  EXPECT_THAT(whole.error().message,
              HasSubstr("cut from " + std::to_string(kPages * page()) + " to " + std::to_string(3 * page())));
}

// Read backwards every page fails by itself; the threads do so at once.
TEST(MappedFile, ManyThreadsMayReadWhatWasCut) {
  const TempFolder folder;
  const fs::path file = write_pages(folder, 1);
  const auto mapping = map_file(file);
  ASSERT_EQ(truncate(file.c_str(), 0), 0);
  std::vector<std::thread> threads;
  std::vector<uint64_t> sums(8, 1);
  for (auto& result : sums) {
    threads.emplace_back([&] {
      uint64_t total = 0;
      for (size_t i = kPages; i-- > 0;) total += mapping->bytes()[i * page()];
      result = total;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(sums, testing::Each(0));
  EXPECT_FALSE(mapping->check_whole().ok());
}

TEST(MappedFile, KeepsOtherFilesAfterTruncation) {
  const TempFolder folder;
  const fs::path file = write_pages(folder, 1);
  folder.write("other", std::string(kPages * page(), 2));
  const auto cut = map_file(file);
  const auto other = map_file(folder.path() / "other");
  ASSERT_EQ(truncate(file.c_str(), 0), 0);
  EXPECT_EQ(sum(cut->bytes()), 0);
  EXPECT_EQ(sum(other->bytes()), 2 * kPages * page());
  EXPECT_TRUE(other->check_whole().ok());
}

TEST(MappedFile, RejectsHoleOfGigabytesAtOnce) {
  const TempFolder folder;
  const fs::path file = write_pages(folder, 1);
  const auto begin = std::chrono::steady_clock::now();
  for (const off_t size : {8LL << 30, 8'000'000'000LL, 400LL << 30}) {
    ASSERT_EQ(truncate(file.c_str(), size), 0);
    const auto refused = map_file(file);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::malformed);
    EXPECT_THAT(refused.error().message, HasSubstr("at least 4294967296 of its " + std::to_string(size) + " bytes"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

// Linkers leave holes; copies that keep them are no damage.
TEST(MappedFile, SmallHolesAreRead) {
  const TempFolder folder;
  const fs::path file = write_pages(folder, 1);
  ASSERT_EQ(truncate(file.c_str(), 64LL << 20), 0);
  const auto mapping = map_file(file);
  ASSERT_TRUE(mapping.ok());
  EXPECT_EQ(sum(mapping->bytes()), kPages * page());
  EXPECT_TRUE(mapping->check_whole().ok());
}

// ---- a program that only uses us ----------------------------------------------------------------------------------

struct Foreign {
  Foreign(const TempFolder& folder, const char* name) {
    const fs::path file = folder.write(name, std::string(page(), 1));
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    address = static_cast<const volatile char*>(mmap(nullptr, page(), PROT_READ, MAP_PRIVATE, descriptor, 0));
    close(descriptor);
    EXPECT_EQ(truncate(file.c_str(), 0), 0);
  }
  const volatile char* address;
};

TEST(MappedFileDeathTest, KeepsBusErrorsOfForeignFiles) {
  const TempFolder folder;
  const fs::path file = write_pages(folder, 1);
  const Foreign foreign(folder, "foreign");
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_DFL);  // a sanitizer has a handler of its own
        const auto mapping = map_file(file);
        (void)*foreign.address;
      },
      testing::KilledBySignal(SIGBUS), "");
}

void answer(int, siginfo_t*, void*) {
  _exit(42);
}

TEST(MappedFileDeathTest, ItsOwnHandlerStillGetsWhatIsNotOurs) {
  const TempFolder folder;
  const Foreign foreign(folder, "foreign");
  const fs::path file = write_pages(folder, 1);
  EXPECT_EXIT(
      {
        struct sigaction own {};
        own.sa_sigaction = answer;
        own.sa_flags = SA_SIGINFO;
        sigaction(SIGBUS, &own, nullptr);
        const auto mapping = map_file(file);
        if (truncate(file.c_str(), 0) != 0 || sum(mapping->bytes()) != 0) _exit(1);
        (void)*foreign.address;
      },
      testing::ExitedWithCode(42), "");
}

TEST(MappedFile, AfterwardsTheSignalIsWhoseItWas) {
  struct sigaction own {};
  own.sa_sigaction = answer;
  own.sa_flags = SA_SIGINFO;
  struct sigaction before {};
  sigaction(SIGBUS, &own, &before);
  {
    const TempFolder folder;
    const auto mapping = map_file(write_pages(folder, 1));
    struct sigaction during {};
    sigaction(SIGBUS, nullptr, &during);
    EXPECT_NE(during.sa_sigaction, own.sa_sigaction);
  }
  struct sigaction after {};
  sigaction(SIGBUS, &before, &after);
  EXPECT_EQ(after.sa_sigaction, own.sa_sigaction);
}

}  // namespace
}  // namespace pbprobe
