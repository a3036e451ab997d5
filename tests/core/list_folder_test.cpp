// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/list_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <map>

#include "core/temp_folder.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using testing::Pair;
using testing::UnorderedElementsAre;

int entries_left = -1;  // until reading the folder fails; negative: it does not
bool without_types = false;

class ListFolder : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(made_.ok());
    folder_ = made_->path() / "listed";
    fs::create_directories(folder_ / "folder/below");
    std::ofstream(folder_ / "file") << "x";
    fs::create_directory_symlink("folder", folder_ / "link");
    fs::create_symlink("nowhere", folder_ / "broken");
    ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), S_IRUSR | S_IWUSR), 0);
  }
  void TearDown() override {
    entries_left = -1;
    without_types = false;
  }
  std::map<std::string, fs::file_type> listed(std::error_code& error) const {
    std::map<std::string, fs::file_type> types;
    for (const FolderEntry& entry : list_folder(folder_, error)) {
      EXPECT_EQ(entry.path.parent_path(), folder_);
      types[entry.path.filename().string()] = entry.type;
    }
    return types;
  }

  Result<TempFolder> made_ = TempFolder::make();
  fs::path folder_;
};

TEST_F(ListFolder, ReturnsNameAndTypeOfEachEntry) {
  std::error_code error = std::make_error_code(std::errc::io_error);  // left from an earlier call
  EXPECT_THAT(listed(error),
              UnorderedElementsAre(Pair("folder", fs::file_type::directory), Pair("file", fs::file_type::regular),
                                   Pair("link", fs::file_type::symlink), Pair("broken", fs::file_type::symlink),
                                   Pair("pipe", fs::file_type::unknown)));
  EXPECT_FALSE(error);
}

TEST_F(ListFolder, CallsStatIfTypeIsUnknown) {
  without_types = true;
  std::error_code error;
  EXPECT_THAT(listed(error),
              UnorderedElementsAre(Pair("folder", fs::file_type::directory), Pair("file", fs::file_type::regular),
                                   Pair("link", fs::file_type::symlink), Pair("broken", fs::file_type::symlink),
                                   Pair("pipe", fs::file_type::fifo)));
  EXPECT_FALSE(error);
}

TEST_F(ListFolder, ReturnsErrorWithEntriesListedBefore) {
  entries_left = 4;  // "." and ".." may be two of them
  std::error_code error;
  const auto types = listed(error);
  EXPECT_EQ(error, std::errc::io_error);
  EXPECT_GE(types.size(), 2U);
  EXPECT_LE(types.size(), 4U);
}

TEST_F(ListFolder, FailsForPathThatIsNotAFolder) {
  std::error_code error;
  EXPECT_TRUE(list_folder(folder_ / "file", error).empty());
  EXPECT_EQ(error, std::errc::not_a_directory);
  EXPECT_TRUE(list_folder(folder_ / "made-up", error).empty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
}

TEST_F(ListFolder, RemovesFolderWithoutFollowingLinks) {
  fs::create_directories(made_->path() / "kept/below");
  fs::create_directory_symlink(made_->path() / "kept", folder_ / "away");
  fs::permissions(folder_ / "folder", fs::perms::owner_read | fs::perms::owner_exec);
  remove_folder(folder_);
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_TRUE(fs::exists(made_->path() / "kept/below"));
}

}  // namespace
}  // namespace pbprobe

// Replaces readdir of the C library, and calls it.
extern "C" dirent* readdir(DIR* folder) {
  using pbprobe::entries_left;
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  if (entries_left == 0) {
    errno = EIO;
    return nullptr;
  }
  if (entries_left > 0) --entries_left;
  dirent* const entry = real(folder);
  if (entry != nullptr && pbprobe::without_types) entry->d_type = DT_UNKNOWN;
  return entry;
}
