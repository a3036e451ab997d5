// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/open_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/temp_folder.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using ::testing::HasSubstr;

fs::path with(const TempFolder& folder, const std::string& text) {
  folder.write("file", text);
  return folder.path() / "file";
}

TEST(OpenFile, ReadsWholeFile) {
  const TempFolder folder;
  for (const size_t size : {0, 1, 4096, 100000}) {
    const std::string text(size, 'x');
    const auto read = read_whole_file(with(folder, text));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, text);
  }
  EXPECT_EQ(*read_start_of_file(with(folder, "0123456789"), 4), "0123");
  EXPECT_EQ(*read_start_of_file(with(folder, "012"), 4), "012");
}

// Such files say that they are empty.
TEST(OpenFile, ReadsKernelFileToItsEnd) {
  const auto read = read_whole_file("/proc/self/status");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(*read, HasSubstr("Threads:"));
}

TEST(OpenFile, ReadsFilesUpToTheLimit) {
  const TempFolder folder;
  const fs::path file = with(folder, std::string(100, 'x'));
  EXPECT_TRUE(read_whole_file(file, 100).ok());
  const auto refused = read_whole_file(file, 99);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
  EXPECT_THAT(refused.error().message, HasSubstr("this text has 100 bytes, and pbprobe reads at most 99"));
}

TEST(OpenFile, CountsHugeHolesQuickly) {
  const TempFolder folder;
  const fs::path file = with(folder, "{");
  ASSERT_EQ(truncate(file.c_str(), 5LL << 30), 0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(read_whole_file(file).error().code, ErrorCode::limit);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  const auto open = OpenFile::open(file);
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->hole_bytes(1ULL << 30), 1ULL << 30);
}

TEST(OpenFile, ReportsNoHolesForDenseFile) {
  const TempFolder folder;
  const auto open = OpenFile::open(with(folder, std::string(1 << 20, 'x')));
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->hole_bytes(1ULL << 30), 0);
}

TEST(OpenFile, RejectsSpecialFilesAtOnce) {
  const TempFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [path, word] : {std::pair<fs::path, const char*>{pipe, "a named pipe: "},
                                   {folder.path(), "a folder: name a file in it"},
                                   {"/dev/zero", "a device: "}}) {
    const auto read = read_whole_file(path);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::unreadable);
    EXPECT_THAT(read.error().message, HasSubstr(path.string() + " is " + word));
  }
}

TEST(OpenFile, ReportsMissingFileAsNotFound) {
  const TempFolder folder;
  EXPECT_EQ(read_whole_file(folder.path() / "none").error().code, ErrorCode::not_found);
  fs::create_symlink("loop", folder.path() / "loop");
  const auto loop = read_whole_file(folder.path() / "loop");
  EXPECT_EQ(loop.error().code, ErrorCode::unreadable);
  EXPECT_THAT(loop.error().message, HasSubstr("symbolic links"));
}

TEST(OpenFile, DetectsChangeAfterOpening) {
  const TempFolder folder;
  const fs::path file = with(folder, std::string(100, 'x'));
  const auto open = OpenFile::open(file);
  EXPECT_TRUE(open->check_unchanged().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the kernel's clock of files is a coarse one
  ASSERT_EQ(truncate(file.c_str(), 10), 0);
  EXPECT_THAT(open->check_unchanged().error().message, HasSubstr("cut from 100 to 10 bytes"));
  ASSERT_EQ(truncate(file.c_str(), 100), 0);
  EXPECT_THAT(open->check_unchanged().error().message, HasSubstr("the file changed during reading"));
}

TEST(OpenFile, IgnoresReadsAndNewLinks) {
  const TempFolder folder;
  const fs::path file = with(folder, "text");
  const auto open = OpenFile::open(file);
  fs::create_hard_link(file, folder.path() / "other");
  ASSERT_TRUE(read_whole_file(file).ok());
  fs::remove(file);
  EXPECT_TRUE(open->check_unchanged().ok());
}

}  // namespace
}  // namespace pbprobe
