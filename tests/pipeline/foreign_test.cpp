// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/foreign.hpp"

#include <map>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temp_folder.hpp"

namespace pbprobe::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

#if defined(__x86_64__)
constexpr const char* kLoader = "ld-linux-x86-64.so.2";
#define ARCHITECTURE "x86-64"
#else
constexpr const char* kLoader = "ld-linux-aarch64.so.1";
#define ARCHITECTURE "AArch64"
#endif

// A folder with the libraries on a libtorch's run path, and a machine with a driver in a folder of the test.
class Foreign : public ::testing::Test {
 protected:
  void bring(const std::string& version) {
    folder_.write("glibc/libc.so.6",
                  "\x7f"
                  "ELF…GNU C Library (GNU libc) stable release version " +
                      version + ".\nCopyright");
    folder_.write(std::string("glibc/") + kLoader, "loader");
  }
  [[nodiscard]] Inventory inventory() const {
    Links links;
    links.dependencies.push_back({.name = "libc.so.6",
                                  .provider = Provider::outside,
                                  .path = (folder_.path() / "glibc/libc.so.6").string(),
                                  .by = "DT_RUNPATH of torch/lib/libtorch_cpu.so"});
    if (cxx_)
      links.dependencies.push_back({"libstdc++.so.6", Provider::outside, "/nix/gcc/lib/libstdc++.so.6", "DT_RUNPATH"});
    Inventory result;
    result.files.push_back({.path = "torch/lib/libtorch_cpu.so", .component = "libtorch", .links = links});
    return result;
  }
  [[nodiscard]] DriverPlaces places() const {
    return {.opengl_driver = folder_.path() / "opengl",
            .ldconfig = [this] { return ldconfig_; },
            .env =
                [this](const char* name) {
                  const auto found = env_.find(name);
                  return found == env_.end() ? std::nullopt : std::optional(found->second);
                }};
  }
  [[nodiscard]] Result<std::optional<ForeignClosure>> find() const {
    return find_foreign_closure(inventory(), "2.36", places());
  }
  [[nodiscard]] ForeignClosure found() const {
    auto closure = find();
    if (!closure.ok() || !*closure) throw std::runtime_error(closure.ok() ? "none" : closure.error().message);
    return std::move(**closure);
  }

  TempFolder folder_;
  bool cxx_ = true;
  std::string ldconfig_;
  std::map<std::string, std::string> env_;
};

TEST_F(Foreign, StartsANewerLibcByItsLoader) {
  bring("2.40");
  const ForeignClosure closure = found();
  const std::string glibc = (folder_.path() / "glibc").string();
  EXPECT_EQ(closure.loader.path, glibc + "/" + kLoader);
  EXPECT_EQ(closure.loader.glibc, "2.40");
  EXPECT_EQ(closure.loader.driver, std::nullopt);
  EXPECT_FALSE(closure.loader.finds_libcuda);
  EXPECT_THAT(closure.words, ::testing::ElementsAre(closure.loader.path, "--library-path",
                                                    glibc + ":/nix/gcc/lib:" + closure.links.path().string()));
  EXPECT_TRUE(fs::is_empty(closure.links.path()));
}

TEST_F(Foreign, NeedsNothingForAnOlderLibc) {
  for (const char* version : {"2.36", "2.9", "1.99"}) {
    bring(version);
    const auto closure = find();
    ASSERT_TRUE(closure.ok()) << closure.error().message;
    EXPECT_FALSE(*closure) << version;
  }
}

TEST_F(Foreign, FailsWithoutTheLoader) {
  bring("2.40");
  fs::remove(folder_.path() / "glibc" / kLoader);
  const auto closure = find();
  ASSERT_FALSE(closure.ok());
  EXPECT_EQ(closure.error().code, ErrorCode::not_found);
  EXPECT_THAT(closure.error().message, HasSubstr("(glibc 2.40; this machine has 2.36)"));
}

TEST_F(Foreign, AddsItsOwnCxxLibrary) {
  if (PBPROBE_EMULATED) GTEST_SKIP() << "the paths of its own libraries are those inside QEMU's folder";
  bring("2.40");
  cxx_ = false;
  const ForeignClosure closure = found();
  EXPECT_TRUE(fs::exists(closure.links.path() / "libstdc++.so.6"));
  EXPECT_TRUE(fs::exists(closure.links.path() / "libgcc_s.so.1"));
}

TEST_F(Foreign, LinksOnlyFilesOfTheDriver) {
  bring("2.40");
  ldconfig_ =
      "3 libs found in cache\n"
      "\tlibcuda.so.1 (libc6) => /usr/lib/i386-linux-gnu/libcuda.so.1\n"
      "\tlibcuda.so.1 (libc6," ARCHITECTURE
      ") => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
      "\tlibnvidia-ml.so.1 (libc6," ARCHITECTURE
      ") => /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1\n"
      "\tlibc.so.6 (libc6," ARCHITECTURE ", OS ABI: Linux 3.2.0) => /usr/lib/x86_64-linux-gnu/libc.so.6\n";
  const ForeignClosure closure = found();
  EXPECT_EQ(closure.loader.driver, "ldconfig");
  EXPECT_FALSE(closure.loader.finds_libcuda) << "libraries that pbprobe links are missing in the user's environment";
  std::map<std::string, std::string> links;
  for (const auto& entry : fs::directory_iterator(closure.links.path()))
    links[entry.path().filename()] = fs::read_symlink(entry.path());
  EXPECT_EQ(links, (std::map<std::string, std::string>{
                       {"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"},
                       {"libnvidia-ml.so.1", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"},
                   }));
}

TEST_F(Foreign, PrefersTheFolderOfNixos) {
  bring("2.40");
  folder_.write("opengl/libcuda.so.1", "");
  ldconfig_ = "\tlibcuda.so.1 (libc6," ARCHITECTURE ") => /usr/lib/libcuda.so.1\n";
  const ForeignClosure closure = found();
  EXPECT_EQ(closure.loader.driver, (folder_.path() / "opengl").string());
  EXPECT_TRUE(closure.loader.finds_libcuda);
  EXPECT_TRUE(fs::is_empty(closure.links.path()));
}

TEST_F(Foreign, FindsLibcudaByTheEnvironment) {
  bring("2.40");
  env_["LD_FLOXLIB_FILES_PATH"] = "/somewhere";
  EXPECT_TRUE(found().loader.finds_libcuda);
  env_ = {{"LD_LIBRARY_PATH", ":" + (folder_.path() / "mine").string()}};
  EXPECT_FALSE(found().loader.finds_libcuda);
  folder_.write("mine/libcuda.so.1", "");
  EXPECT_TRUE(found().loader.finds_libcuda);
}

TEST_F(Foreign, FindsNoVersionWithoutTheBanner) {
  for (const char* text : {"",
                           "\x7f"
                           "ELF musl",
                           "GNU C Library (GNU libc) stable release version ."}) {
    EXPECT_EQ(read_glibc_version(folder_.write("libc.so.6", text)), std::nullopt) << text;
  }
  EXPECT_EQ(read_glibc_version(folder_.path() / "absent"), std::nullopt);
}

}  // namespace
}  // namespace pbprobe::test
