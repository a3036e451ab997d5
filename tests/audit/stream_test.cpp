// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests members of wheels whose fatbin entries are left out of memory: the facts equal the facts of the file on disk.
#include "probes/audit/stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/facts/json.hpp"
#include "core/sha256.hpp"
#include "paths.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/containers/mapped_file.hpp"
#include "probes/audit/containers/zip.hpp"
#include "zip_builder.hpp"

namespace pbprobe {
namespace {

using test::append;
using test::Content;
using test::ElfBuilder;
using test::fatbin;
using test::make_content;
using test::TempFolder;
using test::ZipBuilder;

Content random_bytes(size_t size) {
  Content content(size);
  uint32_t state = 1;
  for (auto& byte : content) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return content;
}

Content entries() {
  Content section;
  for (int unit = 0; unit < 40; ++unit)
    append(section, fatbin({{.sm = 80, .payload = random_bytes(100'000)},
                            {.sm = 90, .header_bytes = 112, .payload = random_bytes(60'008)},
                            {.kind = 1, .sm = 90, .payload = random_bytes(5'000)}}));
  return section;
}

ElfBuilder library() {
  ElfBuilder elf;
  elf.sections = {{".text", SHT_PROGBITS, random_bytes(300'000)},
                  {".nv_fatbin", SHT_PROGBITS, entries()},
                  {".rodata", SHT_PROGBITS, random_bytes(50'000)}};
  elf.dynamic = {{DT_SONAME, "libx.so"}, {DT_NEEDED, "libmade-up.so"}};
  return elf;
}

// One member read by each inflating library, and completely.
struct Streams {
  Content file;
  ZipArchive archive;
  explicit Streams(const Content& object) {
    ZipBuilder builder;
    builder.members = {{.name = "torch/lib/libx.so", .content = object, .level = 1}};
    file = builder.build();
    auto read = read_zip(Bytes(file, "x.whl"));
    EXPECT_TRUE(read.ok());
    if (read) archive = std::move(*read);
  }
  [[nodiscard]] StreamedMember stream(bool keep_all) const {
    auto member = stream_member(archive, archive.members.at(0), {}, keep_all);
    EXPECT_TRUE(member.ok());
    return std::move(*member);
  }
};

// Libraries of nixl and mooncake are padded so: they grow over 200 times.
TEST(Stream, KeepsNoMemoryForZeros) {
  constexpr uint64_t kPadding = 64ULL << 20;
  ElfBuilder elf = library();
  elf.sections.push_back({".data", SHT_PROGBITS, Content(kPadding, 0)});
  const Content object = elf.build();
  const Streams streams(object);
  ASSERT_LT(streams.file.size(), kPadding / 2);
  uint64_t granted = 0;
  const auto member = stream_member(streams.archive, streams.archive.members.at(0), {}, true,
                                    [&](uint64_t bytes) { granted += bytes; });
  ASSERT_TRUE(member.ok()) << member.error().message;
  EXPECT_LT(granted, kPadding / 2);
  const auto bytes = member->memory.bytes();
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), object.begin(), object.end()));
}

// Returns the library as the audit of its wheel reports it; the audit of the folder must report the same.
File listed_alike(const Streams& streams, const Content& object) {
  const TempFolder folder;
  folder.write("torch/version.py", "__version__ = '2.10.0'\n");
  folder.write("torch/lib/libx.so", object);
  auto wheel = audit(folder.write("x.whl", streams.file));
  auto unpacked = audit(folder.path());
  EXPECT_TRUE(wheel.ok() && unpacked.ok());
  if (!wheel.ok() || !unpacked.ok() || wheel->files.empty()) return {};
  EXPECT_EQ(to_json(wheel->files), to_json(unpacked->files));
  return wheel->files[0];
}

TEST(Stream, InflatesAMemberOnceForItsFactsAndItsDigest) {
  const Content object = library().build();
  const Streams streams(object);
  const TempFolder folder;
  const auto wheel = folder.write("x.whl", streams.file);
  const int64_t before = read_counts().inflated;
  const auto known = audit(wheel, {.digests = true});
  ASSERT_TRUE(known.ok() && known->files.size() == 1);
  EXPECT_EQ(read_counts().inflated - before, 1);
  EXPECT_EQ(known->files[0].sha256, compute_sha256(std::span<const uint8_t>(object)));
}

TEST(Stream, LeavesEntriesOutAndKeepsTheRest) {
  const Content object = library().build();
  const Streams streams(object);
  const StreamedMember member = streams.stream(false);
  ASSERT_EQ(member.left_out.size(), 120U);
  EXPECT_TRUE(left_out_nothing_else(member, "libx.so"));
  Content expected = object;
  for (const auto& left : member.left_out) std::memset(expected.data() + left.offset, 0, left.bytes);
  ASSERT_EQ(member.memory.bytes().size(), object.size());
  EXPECT_EQ(std::memcmp(member.memory.bytes().data(), expected.data(), object.size()), 0);
  EXPECT_EQ(std::memcmp(streams.stream(true).memory.bytes().data(), object.data(), object.size()), 0);
}

// A container in code, before and beside the real ones: nothing may hide behind it.
TEST(Stream, KeepsDataThatLooksLikeFatbin) {
  ElfBuilder elf = library();
  const Content fake = fatbin({{.sm = 75, .payload = random_bytes(2'000)}});
  std::memcpy(elf.sections[0].bytes.data() + 4096, fake.data(), fake.size());
  elf.sections[0].flags = SHF_ALLOC | SHF_EXECINSTR;
  const Content object = elf.build();
  const Streams streams(object);
  EXPECT_FALSE(left_out_nothing_else(streams.stream(false), "libx.so"));
  const File file = listed_alike(streams, object);
  ASSERT_TRUE(file.device_code);
  EXPECT_FALSE(file.device_code->cubin.contains("sm_75"));
}

// The library hands them to the driver itself: they are counted apart, and the constants around them are read.
TEST(Stream, EntriesAmongConstantsAreLeftOutToo) {
  Content constants = make_content(std::string("\0libcupti.so.13\0", 16));
  append(constants,
         fatbin({{.sm = 100, .payload = random_bytes(100'000)}, {.sm = 90, .payload = random_bytes(8'000)}}));
  append(constants, make_content(std::string("\0libnvrtc.so.13\0", 16)));
  ElfBuilder elf = library();
  elf.sections[2].bytes = constants;
  for (const char* name : {".rodata", ".lrodata", ".rodata.fatbins"}) {
    elf.sections[2].name = name;
    const Content object = elf.build();
    const Streams streams(object);
    const StreamedMember member = streams.stream(false);
    EXPECT_EQ(member.left_out.size(), 122U);
    EXPECT_TRUE(left_out_nothing_else(member, "libx.so")) << name;
    const File file = listed_alike(streams, object);
    ASSERT_TRUE(file.self_loaded_code);
    EXPECT_EQ(file.self_loaded_code->cubin, (std::map<std::string, int64_t>{{"sm_90", 1}, {"sm_100", 1}}));
    EXPECT_FALSE(file.device_code->cubin.contains("sm_100"));
    EXPECT_EQ(file.links->opened->size(), 2U);
  }
}

// A table overlaps the bytes of a fatbin entry: the file is read again, completely.
TEST(Stream, KeepsEntryThatHoldsOtherParts) {
  const Content object = library().build();
  const auto elf = read_elf(Bytes(object, "libx.so"));
  const auto* entries = find_section(*elf, ".nv_fatbin");
  for (const bool segment : {false, true}) {
    Content copy = object;
    auto& header = *reinterpret_cast<Elf64_Ehdr*>(copy.data());
    auto* sections = reinterpret_cast<Elf64_Shdr*>(copy.data() + header.e_shoff);
    auto* segments = reinterpret_cast<Elf64_Phdr*>(copy.data() + header.e_phoff);
    if (segment) {
      segments[1].p_offset = entries->header.sh_offset + 4096;
    } else {
      sections[3].sh_offset = entries->header.sh_offset + 4096;
    }
    const Streams streams(copy);
    EXPECT_FALSE(left_out_nothing_else(streams.stream(false), "libx.so")) << segment;
  }
}

TEST(Stream, MemoryIsAskedForAsItIsKept) {
  std::vector<uint64_t> asked;
  const Streams streams(random_bytes(40 << 20));
  auto member = stream_member(streams.archive, streams.archive.members.at(0), {}, true,
                              [&](uint64_t bytes) { asked.push_back(bytes); });
  ASSERT_TRUE(member.ok());
  EXPECT_EQ(asked, (std::vector<uint64_t>{16 << 20, 16 << 20, 8 << 20}));
}

TEST(Stream, FindsSameFactsWithoutSectionHeaders) {
  ElfBuilder elf = library();
  elf.with_section_headers = false;
  const Content object = elf.build();
  const Streams streams(object);
  EXPECT_TRUE(left_out_nothing_else(streams.stream(false), "libx.so"));
  const TempFolder folder;
  folder.write("torch/version.py", "__version__ = '2.10.0'\n");
  folder.write("torch/lib/libx.so", object);
  auto wheel = audit(folder.write("x.whl", streams.file), {});
  auto unpacked = audit(folder.path(), {});
  ASSERT_TRUE(wheel.ok() && unpacked.ok());
  EXPECT_EQ(wheel->files[0].device_code->cubin.at("sm_90"), 40);
}

// A library of this build's compiler.
Content linked() {
  const auto mapping = map_file(PBPROBE_FIXTURE_RPATH);
  EXPECT_TRUE(mapping.ok());
  return {mapping->bytes().begin(), mapping->bytes().end()};
}

std::vector<LeftOut> list_left_out_code(const StreamedMember& member) {
  std::vector<LeftOut> code;
  std::copy_if(member.left_out.begin(), member.left_out.end(), std::back_inserter(code),
               [](const LeftOut& left) { return left.code; });
  return code;
}

TEST(Stream, OmitsUncountedCode) {
  const Content object = linked();
  const Streams streams(object);
  const StreamedMember member = streams.stream(false);
  const auto code = list_left_out_code(member);
  const auto elf = read_elf(Bytes(object, "libx.so"));
  const auto segment = std::find_if(elf->segments.begin(), elf->segments.end(), [](const Elf64_Phdr& header) {
    return header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0;
  });
  if (segment->p_offset == 0) GTEST_SKIP() << "this linker puts code and tables into one segment";
  ASSERT_EQ(code.size(), 1U);
  EXPECT_EQ(code[0].offset, segment->p_offset);
  EXPECT_EQ(code[0].bytes, segment->p_filesz);
  EXPECT_TRUE(left_out_nothing_else(member, "libx.so"));
  auto counted =
      stream_member(streams.archive, streams.archive.members.at(0), {.host_code = HostCodeScope::all}, false);
  EXPECT_TRUE(list_left_out_code(*counted).empty());
  EXPECT_EQ(std::memcmp(counted->memory.bytes().data(), object.data(), object.size()), 0);
  const File file = listed_alike(streams, object);
  EXPECT_FALSE(file.needed.empty());
}

// Tables hidden in a segment of code: the file is read again, whole.
TEST(Stream, KeepsCodeThatHoldsOtherParts) {
  struct Trick {
    const char* name;
    std::function<void(Elf64_Ehdr&, Elf64_Phdr*, Elf64_Shdr*, size_t)> play;
  };
  const Content object = linked();
  const auto elf = read_elf(Bytes(object, "libx.so"));
  size_t text = 0;
  while (elf->sections[text].name != ".text") ++text;
  for (const Trick& trick :
       {Trick{"a note", [&](auto&, auto*, auto*sections, size_t) { sections[text].sh_type = SHT_NOTE; }},
        Trick{"data", [&](auto&, auto*, auto*sections, size_t) { sections[text].sh_flags = SHF_ALLOC; }},
        Trick{"another name",
              [&](auto&, auto*, auto*sections, size_t names) {
                for (size_t i = 0; i < names; ++i) {
                  if (elf->sections[i].name == ".dynsym") sections[text].sh_name = sections[i].sh_name;
                }
              }},
        Trick{"the dynamic table", [&](auto&header, auto*segments, auto*sections, size_t) {
                for (size_t i = 0; i < header.e_phnum; ++i) {
                  if (segments[i].p_type == PT_DYNAMIC) segments[i].p_offset = sections[text].sh_offset;
                }
              }}}) {
    Content copy = object;
    auto& header = *reinterpret_cast<Elf64_Ehdr*>(copy.data());
    trick.play(header, reinterpret_cast<Elf64_Phdr*>(copy.data() + header.e_phoff),
               reinterpret_cast<Elf64_Shdr*>(copy.data() + header.e_shoff), elf->sections.size());
    const Streams streams(copy);
    const StreamedMember member = streams.stream(false);
    if (list_left_out_code(member).empty()) GTEST_SKIP() << "this linker puts code and tables into one segment";
    EXPECT_FALSE(left_out_nothing_else(member, "libx.so")) << trick.name;
  }
}

TEST(Stream, InflatesEquallyWithBothLibraries) {
  const Content object = library().build();
  const Streams streams(object);
  for (const auto choice : {Inflate::zlib, Inflate::isal}) {
    if (choice == Inflate::isal && best_inflate() != Inflate::isal) continue;  // not on this machine
    Content content;
    auto inflated = inflate_member(
        streams.archive, streams.archive.members[0],
        [&](std::span<const uint8_t> piece) {
          content.insert(content.end(), piece.begin(), piece.end());
          return true;
        },
        choice);
    ASSERT_TRUE(inflated.ok()) << inflated.error().message;
    EXPECT_EQ(content, object);
  }
}

// Deflate data whose end is missing, by each library.
TEST(Stream, CutDataAreReportedAlike) {
  const Content object = random_bytes(100'000);
  const Streams streams(object);
  ZipMember member = streams.archive.members.at(0);
  member.compressed_bytes /= 2;
  for (const auto choice : {Inflate::zlib, Inflate::isal}) {
    if (choice == Inflate::isal && best_inflate() != Inflate::isal) continue;
    auto inflated = inflate_member(
        streams.archive, member, [](std::span<const uint8_t>) { return true; }, choice);
    ASSERT_FALSE(inflated.ok());
    EXPECT_EQ(inflated.error().message, "x.whl: member torch/lib/libx.so: its deflate data end too early");
  }
}

}  // namespace
}  // namespace pbprobe
