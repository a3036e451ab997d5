// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/temp_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

class TempFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
  }
  void TearDown() override {
    if (before_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

TEST_F(TempFolders, RemovesFolderWithContents) {
  fs::path kept;
  {
    auto first = TempFolder::make();
    auto second = TempFolder::make();
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_NE(first->path(), second->path());
    kept = first->path();
    EXPECT_EQ(fs::status(kept).permissions(), fs::perms::owner_all);
    fs::create_directories(kept / "store/locked");
    std::ofstream(kept / "store/locked/file") << "x";
    fs::create_directory_symlink("/", kept / "store/elsewhere");
    fs::permissions(kept / "store/locked", fs::perms::owner_read | fs::perms::owner_exec);
    fs::permissions(kept / "store", fs::perms::owner_read | fs::perms::owner_exec);
  }
  EXPECT_FALSE(fs::exists(kept));
}

TEST_F(TempFolders, KeepsFolderAfterMove) {
  auto made = TempFolder::make();
  ASSERT_TRUE(made.ok());
  const fs::path path = made->path();
  TempFolder kept = std::move(*made);
  made = Error{};
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(kept.path(), path);
}

TEST_F(TempFolders, CreatesFolderBelowTmpdir) {
  auto outer = TempFolder::make();
  ASSERT_TRUE(outer.ok());
  setenv("TMPDIR", outer->path().c_str(), 1);
  auto inner = TempFolder::make();
  ASSERT_TRUE(inner.ok());
  EXPECT_EQ(inner->path().parent_path(), outer->path());
}

TEST_F(TempFolders, RemovesFoldersOfOwnProcessOnly) {
  auto made = TempFolder::make();
  ASSERT_TRUE(made.ok());
  std::ofstream(made->path() / "file") << "x";
  const pid_t fork_of_ours = fork();
  if (fork_of_ours == 0) {
    remove_temp_folders();
    _exit(0);
  }
  ASSERT_EQ(waitpid(fork_of_ours, nullptr, 0), fork_of_ours);
  EXPECT_TRUE(fs::exists(made->path()));
  remove_temp_folders();
  EXPECT_FALSE(fs::exists(made->path()));
}

TEST_F(TempFolders, NamesTmpdirInError) {
  setenv("TMPDIR", "/made/up", 1);
  auto made = TempFolder::make();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::unreadable);
  EXPECT_THAT(made.error().message, ::testing::StartsWith("no temporary folder can be made as /made/up/pbprobe-"));
  EXPECT_THAT(made.error().message, ::testing::EndsWith("No such file or directory: set TMPDIR"));
}

}  // namespace
}  // namespace pbprobe
