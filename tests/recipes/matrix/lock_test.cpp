// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/lock.hpp"

#include <gmock/gmock.h>

#include "paths.hpp"
#include "recipes/src/matrix.hpp"
#include "tests/recipes/matrix/nix.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const std::string kHash = "sha256-0123456789abcdefghijABCDEFGHIJ0123456789abc=";
const std::string kRev = "0123456789abcdef0123456789abcdef01234567";

std::string committed() {
  return nix::read(std::string(PBPROBE_SOURCE_DIR) + "/recipes/matrix.json");
}

Result<std::string> unreachable(const std::string& url) {
  return make_error(ErrorCode::failed_child, "asked for {}", url);
}

TEST(Lock, FillsEveryPinFromOneFetchAPin) {
  std::vector<std::string> urls;
  const auto locked = lock_matrix(committed(), {.fill = true}, [&](const std::string& url) -> Result<std::string> {
    urls.push_back(url);
    return kHash;
  });
  ASSERT_TRUE(locked) << locked.error().message;
  EXPECT_THAT(urls, SizeIs(2));
  EXPECT_THAT(locked->changed, SizeIs(3));
  const auto m = parse_matrix(locked->text);
  ASSERT_TRUE(m) << m.error().message;
  for (const auto& line : m->lines) EXPECT_EQ(line.pin.hash, kHash);
  // The rest of the text is unchanged.
  EXPECT_EQ(locked->text.size(), committed().size() + 3 * (kHash.size() + 2 - std::string("null").size()));
}

TEST(Lock, MovesAPinWithItsHash) {
  const auto locked = lock_matrix(committed(), {.line = "cuda12_8", .rev = kRev, .fill = true},
                                  [](const std::string&) -> Result<std::string> { return kHash; });
  ASSERT_TRUE(locked) << locked.error().message;
  const auto m = parse_matrix(locked->text);
  EXPECT_EQ(m->find_line("cuda12_8")->pin.rev, kRev);
  EXPECT_EQ(m->find_line("cuda13_0")->pin.rev, "6a030d535719c5190187c4cec156f335e95e3211");
}

TEST(Lock, LeavesNoHashEmptyOrInvented) {
  EXPECT_THAT(lock_matrix(committed(), {.rev = kRev}, unreachable).error().message, HasSubstr("add --fill"));
  EXPECT_THAT(lock_matrix(committed(), {.torch = "2.10.1"}, unreachable).error().message, HasSubstr("--source-hash"));
  EXPECT_THAT(lock_matrix(committed(), {.fill = true}, unreachable).error().message,
              HasSubstr("asked for https://github.com/NixOS/nixpkgs/archive/fe5e41d7"));
  EXPECT_THAT(lock_matrix(committed(), {.torch = "2.10.1", .source_hash = "sha256-oops"}, unreachable).error().message,
              HasSubstr("is not a hash"));
}

TEST(Lock, MovesAVersionEverywhere) {
  const auto locked = lock_matrix(committed(), {.torch = "2.11.0", .source_hash = kHash}, unreachable);
  ASSERT_TRUE(locked) << locked.error().message;
  const auto m = parse_matrix(locked->text);
  ASSERT_TRUE(m) << m.error().message;
  const auto& line = m->default_matrix_line();
  EXPECT_EQ(line.torch, "2.11.0");
  EXPECT_EQ(line.pname_prefix, "pytorch211");
  EXPECT_EQ(line.source->tag, "v2.11.0");
  EXPECT_EQ(line.source->hash, kHash);
  EXPECT_EQ(m->find_line("cuda12_9")->torch, "2.9.1");
}

TEST(Lock, RejectsInvalidRevisionOrVersion) {
  EXPECT_THAT(lock_matrix(committed(), {.rev = "main", .fill = true}, unreachable).error().message,
              HasSubstr("\"main\" is not a commit of nixpkgs"));
  EXPECT_THAT(lock_matrix(committed(), {.torch = "nightly"}, unreachable).error().message,
              HasSubstr("\"nightly\" is not a version"));
  EXPECT_THAT(lock_matrix(committed(), {.line = "cuda11_8", .rev = kRev}, unreachable).error().message,
              HasSubstr("unknown line"));
  EXPECT_THAT(lock_matrix(committed(), {.line = "cuda12_9", .torch = "2.9.2"}, unreachable).error().message,
              HasSubstr("builds the torch of its pin"));
}

TEST(Lock, NixHashesATarball) {
  if (!nix::present()) GTEST_SKIP() << "nix-instantiate is not installed: apt install nix-bin";
  const nix::TempFolder scratch;
  nix::write(scratch.path() / "nixpkgs-x" / "default.nix", "{ }\n");
  const auto tarball = scratch.path() / (kRev + ".tar.gz");
  ASSERT_EQ(std::system(("tar -C '" + scratch.path().string() + "' -czf '" + tarball.string() + "' nixpkgs-x").c_str()),
            0);
  for (const char* folder : {"store", "etc"}) std::filesystem::create_directories(scratch.path() / "nix" / folder);
  const auto root = (scratch.path() / "nix").string();
  ::setenv("NIX_STORE_DIR", (root + "/store").c_str(), 1);
  ::setenv("NIX_STATE_DIR", (root + "/var").c_str(), 1);
  ::setenv("NIX_LOG_DIR", (root + "/log").c_str(), 1);
  ::setenv("NIX_CONF_DIR", (root + "/etc").c_str(), 1);
  ::setenv("NIX_REMOTE", "", 1);
  const auto hash = fetch_by_nix("file://" + tarball.string());
  ASSERT_TRUE(hash) << hash.error().message;
  // Another program of Nix computes the hash of the unpacked folder.
  ASSERT_EQ(
      std::system(("nix --extra-experimental-features nix-command hash path '" +
                   (scratch.path() / "nixpkgs-x").string() + "' >'" + (scratch.path() / "expected").string() + "'")
                      .c_str()),
      0);
  auto expected = nix::read(scratch.path() / "expected");
  while (expected.ends_with('\n')) expected.pop_back();
  EXPECT_EQ(*hash, expected);
  EXPECT_EQ(fetch_by_nix("file:///nowhere.tar.gz").error().code, ErrorCode::failed_child);
  EXPECT_EQ(fetch_by_nix("file:///x'; echo").error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace pbprobe
