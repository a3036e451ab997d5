// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builders.hpp"
#include "probes/audit/audit.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using test::build_library;
using test::Content;
using test::ElfBuilder;
using test::TempFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kVersion = "__version__ = '2.10.0'\ncuda: Optional[str] = '12.8'\n";

Content object() {
  return build_library();
}

void make_torch(const TempFolder& folder, const fs::path& packages) {
  folder.write(packages / "torch/version.py", kVersion);
  folder.write(packages / "torch/lib/libtorch_cpu.so", object());
  folder.write(packages / "torch/_C.cpython-313-x86_64-linux-gnu.so", object());
}

std::vector<std::string> paths(const Inventory& inventory) {
  std::vector<std::string> names;
  for (const auto& file : inventory.files) names.push_back(file.path);
  return names;
}

TEST(ArtifactLayout, SitePackagesEnvironmentTorchAndItsLibAreOneArtifact) {
  const TempFolder folder;
  make_torch(folder, "lib/python3.13/site-packages");
  folder.write("lib/python3.13/site-packages/nvidia/nccl/lib/libnccl.so.2", object());
  folder.write("lib/python3.13/site-packages/unrelated/libother.so", object());
  const fs::path packages = folder.path() / "lib/python3.13/site-packages";
  for (const auto& path : {folder.path(), packages, packages / "torch", packages / "torch/lib", packages / "torch/"}) {
    auto inventory = audit(path);
    ASSERT_TRUE(inventory.ok()) << inventory.error().message;
    EXPECT_EQ(inventory->layout, "site-packages");
    EXPECT_EQ(inventory->torch_version, "2.10.0");
    EXPECT_EQ(inventory->cuda_version, "12.8");
    EXPECT_EQ(inventory->platform, "x86_64-linux");
    EXPECT_EQ(inventory->libtorch_dir, fs::canonical(packages / "torch/lib").string());
    EXPECT_THAT(paths(*inventory),
                ElementsAre("nvidia/nccl/lib/libnccl.so.2", "torch/_C.cpython-313-x86_64-linux-gnu.so",
                            "torch/lib/libtorch_cpu.so"));
    EXPECT_THAT(inventory->problems, IsEmpty());
  }
}

TEST(ArtifactLayout, NixOutputsAreJoinedByTheirLink) {
  const TempFolder folder;
  make_torch(folder, "out/lib/python3.13/site-packages");
  fs::create_directories(folder.path() / "out/nix-support");
  fs::create_directories(folder.path() / "libout");
  fs::rename(folder.path() / "out/lib/python3.13/site-packages/torch/lib", folder.path() / "libout/lib");
  fs::create_directory_symlink(folder.path() / "libout/lib",
                               folder.path() / "out/lib/python3.13/site-packages/torch/lib");
  fs::create_directory_symlink("out", folder.path() / "result-made-up");
  for (const char* name : {"result-made-up", "result-made-up/"}) {
    auto inventory = audit(folder.path() / name);
    ASSERT_TRUE(inventory.ok()) << inventory.error().message;
    EXPECT_EQ(inventory->layout, "nix");
    EXPECT_THAT(paths(*inventory),
                ElementsAre("torch/_C.cpython-313-x86_64-linux-gnu.so", "torch/lib/libtorch_cpu.so"));
    EXPECT_EQ(inventory->libtorch_dir, fs::canonical(folder.path() / "libout/lib").string());
  }
}

TEST(ArtifactLayout, UsesNixLibOutputForBrokenLink) {
  const TempFolder folder;
  make_torch(folder, "result-x/lib/python3.13/site-packages");
  const fs::path lib = folder.path() / "result-x/lib/python3.13/site-packages/torch/lib";
  fs::create_directories(folder.path() / "result-x-lib");
  fs::rename(lib, folder.path() / "result-x-lib/lib");
  fs::create_directory_symlink("/nix/store/gone/lib", lib);
  auto inventory = audit(folder.path() / "result-x");
  ASSERT_TRUE(inventory.ok()) << inventory.error().message;
  EXPECT_EQ(inventory->layout, "nix");
  EXPECT_THAT(paths(*inventory), ElementsAre("torch/_C.cpython-313-x86_64-linux-gnu.so", "torch/lib/libtorch_cpu.so"));
}

TEST(ArtifactLayout, ReadsLibtorchArchive) {
  const TempFolder folder;
  folder.write("libtorch/lib/libtorch_cpu.so", object());
  folder.write("libtorch/lib/libc10.so", object());
  folder.write("libtorch/build-version", "2.11.0+cu130\n");
  for (const char* name : {"libtorch", "libtorch/lib"}) {
    auto inventory = audit(folder.path() / name);
    ASSERT_TRUE(inventory.ok()) << inventory.error().message;
    EXPECT_EQ(inventory->layout, "libtorch");
    EXPECT_THAT(paths(*inventory), ElementsAre("lib/libc10.so", "lib/libtorch_cpu.so"));
    EXPECT_EQ(inventory->torch_version, "2.11.0+cu130");
    EXPECT_EQ(inventory->cuda_version, "13.0");
  }
}

TEST(ArtifactLayout, DebianListsOnlyTorchAndEachFileOnce) {
  const TempFolder folder;
  folder.write("usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13", object());
  folder.write("usr/lib/x86_64-linux-gnu/libc10.so.1.13", object());
  folder.write("usr/lib/x86_64-linux-gnu/libother.so.1", object());
  fs::create_symlink("libtorch_cpu.so.1.13", folder.path() / "usr/lib/x86_64-linux-gnu/libtorch_cpu.so");
  folder.write("usr/share/cmake/Torch/TorchConfigVersion.cmake", "set(PACKAGE_VERSION \"1.13.1\")\n");
  for (const char* name : {"", "usr", "usr/lib/x86_64-linux-gnu"}) {
    auto inventory = audit(folder.path() / name);
    ASSERT_TRUE(inventory.ok()) << inventory.error().message;
    EXPECT_EQ(inventory->layout, "debian");
    EXPECT_THAT(paths(*inventory), ElementsAre("usr/lib/x86_64-linux-gnu/libc10.so.1.13",
                                               "usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13"));
    EXPECT_EQ(inventory->torch_version, "1.13.1");
  }
}

TEST(ArtifactLayout, ReadsSingleSharedObject) {
  const TempFolder folder;
  auto inventory = audit(folder.write("libx.so", object()));
  ASSERT_TRUE(inventory.ok()) << inventory.error().message;
  EXPECT_EQ(inventory->layout, "file");
  EXPECT_THAT(paths(*inventory), ElementsAre("libx.so"));
  EXPECT_EQ(inventory->torch_version, std::nullopt);
}

TEST(ArtifactLayout, ReportsLoopOfFoldersAndContinues) {
  const TempFolder folder;
  make_torch(folder, "");
  fs::create_directory_symlink("..", folder.path() / "torch/lib/again");
  fs::create_directory_symlink("../torch/lib", folder.path() / "torch/same");  // no loop: the folder is entered once
  auto inventory = audit(folder.path());
  ASSERT_TRUE(inventory.ok()) << inventory.error().message;
  EXPECT_EQ(inventory->files.size(), 2U);
  EXPECT_THAT(
      inventory->problems,
      ElementsAre(testing::MatchesRegex("torch/(lib|same)/again/: a link back to a folder above it: not followed")));
}

TEST(ArtifactLayout, ReportsDanglingLink) {
  const TempFolder folder;
  make_torch(folder, "");
  fs::create_symlink("libgone.so.1", folder.path() / "torch/lib/libgone.so");
  auto inventory = audit(folder.path());
  ASSERT_TRUE(inventory.ok());
  EXPECT_THAT(*inventory->broken_links, ElementsAre("torch/lib/libgone.so"));
  EXPECT_THAT(inventory->problems, ElementsAre());  // no file was left unread
}

TEST(ArtifactLayout, ListsOutsideLinkByItsOwnName) {
  const TempFolder folder;
  make_torch(folder, "packages");
  folder.write("store/libelsewhere.so.1", object());
  fs::create_symlink("../../../store/libelsewhere.so.1", folder.path() / "packages/torch/lib/liblinked.so");
  auto inventory = audit(folder.path() / "packages");
  ASSERT_TRUE(inventory.ok());
  EXPECT_THAT(paths(*inventory), testing::Contains("torch/lib/liblinked.so"));
}

TEST(ArtifactLayout, SkipsPipeNamedLikeLibrary) {
  const TempFolder folder;
  make_torch(folder, "");
  ASSERT_EQ(mkfifo((folder.path() / "torch/lib/libpipe.so").c_str(), 0600), 0);
  auto inventory = audit(folder.path());
  ASSERT_TRUE(inventory.ok());
  ASSERT_EQ(inventory->files.size(), 3U);
  EXPECT_EQ(inventory->files[1].path, "torch/lib/libpipe.so");
  EXPECT_THAT(inventory->files[1].problem.value_or(""), HasSubstr("is a named pipe: "));
}

// Root can read every file, so file access is tried as user 65534.
class UnprivilegedUser : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() == 0) setfsuid(65534);
  }
  void TearDown() override {
    if (geteuid() == 0) setfsuid(0);
  }
};

TEST_F(UnprivilegedUser, ReportsUnreadableFilesAndContinues) {
  setfsuid(geteuid());
  const TempFolder folder;
  make_torch(folder, "");
  folder.write("torch/hidden/libh.so", object());
  fs::permissions(folder.path() / "torch/lib/libtorch_cpu.so", fs::perms::none);
  fs::permissions(folder.path() / "torch/hidden", fs::perms::none);
  SetUp();
  auto inventory = audit(folder.path());
  auto single = audit(folder.path() / "torch/lib/libtorch_cpu.so");
  TearDown();
  fs::permissions(folder.path() / "torch/hidden", fs::perms::owner_all);
  ASSERT_TRUE(inventory.ok()) << inventory.error().message;
  EXPECT_THAT(inventory->problems, ElementsAre("torch/hidden/: cannot list the folder: Permission denied"));
  ASSERT_EQ(inventory->files.size(), 2U);
  EXPECT_EQ(inventory->files[0].problem, std::nullopt);
  EXPECT_THAT(inventory->files[1].problem.value_or(""), HasSubstr("Permission denied: run as a user who may read it"));
  ASSERT_FALSE(single.ok());
  EXPECT_EQ(single.error().code, ErrorCode::unreadable);
}

TEST(FindTorch, ReturnsFirstRootWithTorch) {
  const TempFolder folder;
  make_torch(folder, "env/lib/python3.13/site-packages");
  auto torch = find_torch({folder.path() / "missing", folder.path() / "env"});
  ASSERT_TRUE(torch.ok()) << torch.error().message;
  EXPECT_EQ(*torch, folder.path() / "env/lib/python3.13/site-packages/torch");
}

TEST(FindTorch, FollowsAnEditableInstall) {
  const TempFolder folder;
  make_torch(folder, "src/pytorch");
  folder.write("env/lib/python3.13/site-packages/__editable__.torch.pth",
               "import something\n# comment\n" + (folder.path() / "src/pytorch").string() + "\n");
  auto torch = find_torch({folder.path() / "env"});
  ASSERT_TRUE(torch.ok()) << torch.error().message;
  EXPECT_EQ(*torch, folder.path() / "src/pytorch/torch");
}

TEST(FindTorch, FollowsAnEnvironmentThatSeesItsBase) {
  const TempFolder folder;
  make_torch(folder, "base/lib/python3.13/site-packages");
  const std::string home = "home = " + (folder.path() / "base/bin").string() + "\n";
  folder.write("env/pyvenv.cfg", home + "include-system-site-packages = true\n");
  folder.write("closed/pyvenv.cfg", home + "include-system-site-packages = false\n");
  ASSERT_TRUE(find_torch({folder.path() / "env"}).ok());
  EXPECT_FALSE(find_torch({folder.path() / "closed"}).ok());
}

TEST(FindTorch, ListsSearchedFoldersIfNotFound) {
  auto torch = find_torch({"/made/up", "/also/made-up"});
  ASSERT_FALSE(torch.ok());
  EXPECT_EQ(torch.error().code, ErrorCode::not_found);
  EXPECT_EQ(torch.error().message,
            "no torch found; looked in /made/up, /also/made-up: activate an environment that "
            "has one, or give the path of an artifact");
}

}  // namespace
}  // namespace pbprobe
