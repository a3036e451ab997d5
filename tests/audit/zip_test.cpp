// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/zip.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "zip_builder.hpp"

namespace pbprobe {
namespace {

using test::append;
using test::Content;
using test::make_content;
using test::patch;
using test::ZipBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

Content pattern(size_t size) {
  Content content(size);
  for (size_t i = 0; i < size; ++i) content[i] = static_cast<uint8_t>((i * i) >> 7);
  return content;
}

Result<Content> inflate_all(const ZipArchive& archive, const ZipMember& member) {
  Content content;
  PBPROBE_CHECK(inflate_member(archive, member, [&](std::span<const uint8_t> piece) {
    content.insert(content.end(), piece.begin(), piece.end());
    return true;
  }));
  return content;
}

// The first thing that is wrong with an archive or with any of its members.
const ZipMember* find_member(const ZipArchive& archive, std::string_view name) {
  const auto found = std::find_if(archive.members.begin(), archive.members.end(),
                                  [&](const ZipMember& member) { return member.name == name; });
  return found == archive.members.end() ? nullptr : &*found;
}

std::string read_all(const Content& content) {
  auto archive = read_zip(Bytes(content, "x.whl"));
  if (!archive) return archive.error().message;
  if (!archive->refused.empty()) return archive->refused.front().message;
  if (!archive->unread.empty()) return explain_unread(*archive, archive->unread.front()).message;
  for (const auto& member : archive->members) {
    auto inflated = inflate_all(*archive, member);
    if (!inflated) return inflated.error().message;
  }
  return "sound";
}

TEST(Zip, ReadsStoredDeflatedAndZip64Members) {
  ZipBuilder builder;
  builder.members = {{.name = "torch/stored.txt", .content = make_content("stored"), .deflated = false},
                     {.name = "torch/", .content = {}, .deflated = false},
                     {.name = "torch/big.bin", .content = pattern(3 << 20), .level = Z_BEST_COMPRESSION},
                     {.name = "torch/zip64.bin", .content = pattern(1000), .zip64 = true},
                     {.name = "torch/empty", .content = {}}};
  builder.comment = "a comment after the end record";
  const Content file = builder.build();
  auto archive = read_zip(Bytes(file, "x.whl"));
  ASSERT_TRUE(archive.ok()) << archive.error().message;
  EXPECT_THAT(archive->refused, IsEmpty());
  EXPECT_EQ(archive->members.size(), 4U);
  EXPECT_EQ(find_member(*archive, "torch/missing"), nullptr);
  EXPECT_EQ(*inflate_all(*archive, *find_member(*archive, "torch/stored.txt")), make_content("stored"));
  EXPECT_EQ(*inflate_all(*archive, *find_member(*archive, "torch/big.bin")), pattern(3 << 20));
  EXPECT_EQ(*inflate_all(*archive, *find_member(*archive, "torch/zip64.bin")), pattern(1000));
  EXPECT_EQ(*inflate_all(*archive, *find_member(*archive, "torch/empty")), Content{});
}

TEST(Zip, LetsSinkStopEarly) {
  ZipBuilder builder;
  builder.members = {{.name = "big.bin", .content = pattern(3 << 20), .level = Z_BEST_COMPRESSION}};
  const Content file = builder.build();
  auto archive = read_zip(Bytes(file, "x.whl"));
  ASSERT_TRUE(archive.ok());
  size_t pieces = 0;
  EXPECT_TRUE(
      inflate_member(*archive, archive->members[0], [&](std::span<const uint8_t>) { return ++pieces < 2; }).ok());
  EXPECT_EQ(pieces, 2U);
}

struct ZipDefect {
  std::string name;
  std::function<void(ZipBuilder&)> lie;  // in what the archive says
  std::function<void(Content&)> damage;  // in its bytes
  std::string message;
};
void PrintTo(const ZipDefect& defect, std::ostream* out) {
  *out << defect.name;
}

class HostileZip : public testing::TestWithParam<ZipDefect> {};

// Local header of "a.so" at 0 with its data at 34; the directory is the last 2 × 50 + 22 bytes.
ZipBuilder sample() {
  ZipBuilder builder;
  builder.members = {{.name = "a.so", .content = make_content("0123456789"), .deflated = false},
                     {.name = "b.so", .content = pattern(4000)}};
  return builder;
}

TEST_P(HostileZip, IsRefusedByName) {
  ASSERT_EQ(read_all(sample().build()), "sound");
  ZipBuilder builder = sample();
  if (GetParam().lie) GetParam().lie(builder);
  Content file = builder.build();
  if (GetParam().damage) GetParam().damage(file);
  EXPECT_EQ(read_all(file), GetParam().message);
}

size_t find_zip_directory(const Content& file) {
  return file.size() - 22 - 2UL * 50;
}

constexpr auto kNoEnd = "x.whl: no end record of a ZIP directory in it: the file is truncated, or no wheel";

const std::vector<ZipDefect> kZipDefects{
    {"Empty", {}, [](Content& c) { c.clear(); }, kNoEnd},
    {"Truncated", {}, [](Content& c) { c.resize(c.size() - 1); }, kNoEnd},
    {"TrailingBytes", {}, [](Content& c) { c.push_back(0); }, kNoEnd},
    {"PathEscape",
     [](ZipBuilder& b) { b.members[0].name = "torch/../../etc/a.so"; },
     {},
     "x.whl: member torch/../../etc/a.so leads out of the archive (\"..\" in its name): refused"},
    {"AbsoluteName",
     [](ZipBuilder& b) { b.members[0].name = "/etc/a.so"; },
     {},
     "x.whl: member /etc/a.so has an absolute name: refused"},
    {"Backslash",
     [](ZipBuilder& b) { b.members[0].name = "a\\b.so"; },
     {},
     "x.whl: member a\\b.so has a backslash in its name: refused"},
    {"Drive",
     [](ZipBuilder& b) { b.members[0].name = "C:a.so"; },
     {},
     "x.whl: member C:a.so has a drive in its name: refused"},
    {"NoName", [](ZipBuilder& b) { b.members[0].name = ""; }, {}, "x.whl: member  has no name: refused"},
    {"Link",
     [](ZipBuilder& b) { b.members[0].external_attributes = 0120777U << 16; },
     {},
     "x.whl: member a.so is a link: refused"},
    {"Encrypted",
     [](ZipBuilder& b) { b.members[0].flags = 1; },
     {},
     "x.whl: member a.so is encrypted: pack the archive again without a password"},
    {"DuplicateName",
     [](ZipBuilder& b) { b.members[1].name = "a.so"; },
     {},
     "x.whl: member a.so appears twice: refused"},
    {"AnotherNameInTheLocalHeader",
     [](ZipBuilder& b) { b.members[0].local_name = "evil"; },
     {},
     "x.whl: member a.so is called evil in its local header: refused"},
    {"AnotherMethodInTheLocalHeader",
     {},
     [](Content& c) { patch<uint16_t>(c, 8, 8); },
     "x.whl: member a.so has another compression method or other flags in its local header: refused"},
    {"AnotherChecksumInTheLocalHeader",
     {},
     [](Content& c) { patch<uint32_t>(c, 14, 0); },
     "x.whl: member a.so has another checksum in its local header: refused"},
    {"AnotherSizeInTheLocalHeader",
     {},
     [](Content& c) { patch<uint32_t>(c, 22, 11); },
     "x.whl: member a.so has another size in its local header: refused"},
    {"UnknownMethod",
     {},
     [](Content& c) { patch<uint16_t>(c, find_zip_directory(c) + 10, 12); },
     "x.whl: member a.so is compressed by method 12 (bzip2): pack the archive again by 0 (stored) or 8 (deflate)"},
    {"Lzma",
     {},
     [](Content& c) { patch<uint16_t>(c, find_zip_directory(c) + 10, 14); },
     "x.whl: member a.so is compressed by method 14 (LZMA): pack the archive again by 0 (stored) or 8 (deflate)"},
    {"Prefix",
     {},
     [](Content& c) { c.insert(c.begin(), 7, 0); },
     "x.whl: 7 bytes precede the archive, as in a self-extracting program: pack the archive again"},
    {"StoredWithTwoSizes",
     {},
     [](Content& c) { patch<uint32_t>(c, find_zip_directory(c) + 24, 99); },
     "x.whl: member a.so is stored without compression, yet takes 10 bytes for 99: refused"},
    {"NoLocalHeader",
     {},
     [](Content& c) { patch<uint32_t>(c, find_zip_directory(c) + 42, 4); },
     "x.whl: member a.so has no local header at 0x4: refused"},
    {"LocalHeaderOutside",
     {},
     [](Content& c) { patch<uint32_t>(c, find_zip_directory(c) + 42, 0x7fffffff); },
     "x.whl: member a.so x.whl+0x7fffffff: local header needs 30 bytes, 0 left: refused"},
    {"DataInsideTheDirectory",
     {},
     [](Content& c) { patch<uint16_t>(c, 28, 0xffff); },
     "x.whl: member a.so reaches into the directory: refused"},
    {"OverlappingMembers",
     {},
     [](Content& c) { patch<uint16_t>(c, 28, 40); },
     "x.whl: member b.so shares bytes with the member before it: refused"},
    {"Bomb",
     [](ZipBuilder& b) { b.members[1].announced_bytes = 2'000'000'000; },
     {},
     "x.whl: member b.so states a size of 2000000000 bytes, but its 4005 compressed bytes cannot expand to more than "
     "1032 times as many: refused"},
    {"MoreBytesThanTheLimit",
     [](ZipBuilder& b) {
       b.members[0] = {.name = "a.so", .content = Content(64 << 20, 0), .announced_bytes = 9ULL << 30, .zip64 = true};
     },
     {},
     "x.whl: more than 8589934592 bytes uncompressed, at member a.so"},
    {"DirectoryLargerThanTheLimit",
     [](ZipBuilder& b) {
       for (int i = 0; i < 1200; ++i) b.members.push_back({.name = std::string(60000, 'a') + std::to_string(i)});
     },
     {},
     "x.whl: its ZIP directory has 72058990 bytes, and the limit is 67108864"},
    {"MoreMembersThanTheDirectoryHolds",
     [](ZipBuilder& b) { b.announced_members = 3; },
     {},
     "x.whl+0x1057: directory entry needs 46 bytes, 0 left"},
    {"ADirectoryEntryThatIsNone",
     {},
     [](Content& c) { patch<uint32_t>(c, find_zip_directory(c) + 50, 0); },
     "x.whl+0x1025: directory entry 2 of 2 has magic 0x00000000"},
    {"ADirectoryElsewhere",
     {},
     [](Content& c) { patch<uint32_t>(c, c.size() - 6, 5); },
     "x.whl: a ZIP directory of 100 bytes at 0x5 does not end at its end record at 0x1057"},
    {"FewerBytesThanAnnounced",
     [](ZipBuilder& b) { b.members[1].announced_bytes = 4001; },
     {},
     "x.whl: member b.so: holds 4000 bytes, not the 4001 announced: refused"},
    {"MoreBytesThanAnnounced",
     [](ZipBuilder& b) { b.members[1].announced_bytes = 3999; },
     {},
     "x.whl: member b.so: holds at least 4000 bytes, not the 3999 announced: refused"},
    {"DamagedStoredData",
     {},
     [](Content& c) { c[40] ^= 1; },
     "x.whl: member a.so: checksum 1e38a0a3, a684c7c6 announced"},
    {"DamagedDeflatedData", {}, [](Content& c) { c[44 + 34] |= 7; }, "x.whl: member b.so: broken deflate data"},
};

INSTANTIATE_TEST_SUITE_P(Table, HostileZip, testing::ValuesIn(kZipDefects),
                         [](const auto& test) { return test.param.name; });

// tensorflow 2.21.0 has 23,963 members.
TEST(Zip, ReadsArchiveOfManyMembers) {
  ZipBuilder builder;
  for (int i = 0; i < 30000; ++i) builder.members.push_back({.name = "pkg/" + std::to_string(i) + ".h", .content = {}});
  const Content file = builder.build();
  const auto archive = read_zip(Bytes(file, "x.whl"));
  ASSERT_TRUE(archive.ok()) << archive.error().message;
  EXPECT_EQ(archive->members.size(), 30000U);
}

TEST(Zip, NamesOnlyTheFirstRefusedMembers) {
  ZipBuilder builder;
  for (int i = 0; i < 150; ++i) builder.members.push_back({.name = "../" + std::to_string(i), .content = {}});
  const Content file = builder.build();
  const auto archive = read_zip(Bytes(file, "x.whl"));
  ASSERT_TRUE(archive.ok()) << archive.error().message;
  ASSERT_EQ(archive->refused.size(), 101U);
  EXPECT_EQ(archive->refused.back().message, "x.whl: 50 more members were refused");
}

TEST(Zip, ReadsOthersAfterRefusedMember) {
  ZipBuilder builder = sample();
  builder.members[0].name = "../a.so";
  const Content file = builder.build();
  auto archive = read_zip(Bytes(file, "x.whl"));
  ASSERT_TRUE(archive.ok());
  EXPECT_EQ(archive->refused.size(), 1U);
  ASSERT_EQ(archive->members.size(), 1U);
  EXPECT_EQ(*inflate_all(*archive, archive->members[0]), pattern(4000));
}

}  // namespace
}  // namespace pbprobe
