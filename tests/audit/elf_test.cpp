// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/elf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "builders.hpp"
#include "paths.hpp"
#include "probes/audit/containers/mapped_file.hpp"

namespace pbprobe {
namespace {

using test::append;
using test::Content;
using test::ElfBuilder;
using test::patch;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kProgramHeaders = sizeof(Elf64_Ehdr);
constexpr size_t kDynamicHeader = kProgramHeaders + sizeof(Elf64_Phdr);

ElfBuilder sample() {
  ElfBuilder builder;
  builder.sections = {{".nv_fatbin", SHT_PROGBITS, Content(32, 1)}, {".bss", SHT_NOBITS, {}}};
  builder.dynamic = {{DT_SONAME, "libx.so.1"}, {DT_NEEDED, "libc.so.6"}, {DT_RPATH, "$ORIGIN:/opt/lib"}};
  return builder;
}

// Everything that the audit asks of an ELF file; the first thing that is wrong.
std::string read_all(const Content& content) {
  auto elf = read_elf(Bytes(content, "libx.so"));
  if (!elf) return elf.error().message;
  if (elf->problem) return elf->problem->message;
  auto dynamic = read_dynamic(*elf);
  if (!dynamic) return dynamic.error().message;
  for (const auto& section : elf->sections) {
    auto bytes = section_bytes(*elf, section);
    if (!bytes) return bytes.error().message;
  }
  return "sound";
}

TEST(Elf, ReadsSectionsAndTheDynamicTable) {
  const Content content = sample().build();
  auto elf = read_elf(Bytes(content, "libx.so"));
  ASSERT_TRUE(elf.ok()) << elf.error().message;
  EXPECT_FALSE(elf->problem);
  EXPECT_EQ(machine_name(elf->header.e_machine), "x86_64");
  ASSERT_NE(find_section(*elf, ".nv_fatbin"), nullptr);
  EXPECT_EQ(section_bytes(*elf, *find_section(*elf, ".nv_fatbin"))->size(), 32U);
  EXPECT_EQ(find_section(*elf, ".missing"), nullptr);
  auto dynamic = read_dynamic(*elf);
  ASSERT_TRUE(dynamic.ok()) << dynamic.error().message;
  EXPECT_EQ(dynamic->soname, "libx.so.1");
  EXPECT_THAT(dynamic->needed, ElementsAre("libc.so.6"));
  EXPECT_THAT(dynamic->rpath, ElementsAre("$ORIGIN", "/opt/lib"));
  EXPECT_THAT(dynamic->runpath, IsEmpty());
}

TEST(Elf, ReadsDynamicTableWithoutSectionHeaders) {
  ElfBuilder builder = sample();
  builder.with_section_headers = false;
  const Content content = builder.build();
  auto elf = read_elf(Bytes(content, "libx.so"));
  ASSERT_TRUE(elf.ok());
  EXPECT_FALSE(elf->problem);
  EXPECT_THAT(elf->sections, IsEmpty());
  EXPECT_THAT(read_dynamic(*elf)->needed, ElementsAre("libc.so.6"));
}

// Made by this build's own compiler and linker (tests/audit/CMakeLists.txt).
TEST(Elf, ReadsWhatTheLinkerWrites) {
  for (const auto& [path, rpath] :
       {std::pair{PBPROBE_FIXTURE_RPATH, true}, std::pair{PBPROBE_FIXTURE_RUNPATH, false}}) {
    auto mapping = map_file(path);
    ASSERT_TRUE(mapping.ok()) << mapping.error().message;
    auto elf = read_elf(Bytes(mapping->bytes(), "fixture"));
    ASSERT_TRUE(elf.ok()) << elf.error().message;
    EXPECT_FALSE(elf->problem);
    EXPECT_EQ(machine_name(elf->header.e_machine), PBPROBE_FIXTURE_MACHINE);
    auto dynamic = read_dynamic(*elf);
    ASSERT_TRUE(dynamic.ok()) << dynamic.error().message;
    EXPECT_THAT(dynamic->needed, testing::Contains("libc.so.6"));
    const auto& paths = rpath ? dynamic->rpath : dynamic->runpath;
    EXPECT_THAT(paths, ElementsAre("$ORIGIN/../lib", "/opt/made-up"));
    EXPECT_THAT(rpath ? dynamic->runpath : dynamic->rpath, IsEmpty());
    EXPECT_NE(find_section(*elf, ".text"), nullptr);
  }
}

TEST(Elf, ReadsASearchPathOfManyStoreFolders) {
  ElfBuilder elf;
  std::string path;
  for (int i = 0; i < 200; ++i) path += fmt::format("/nix/store/{:032}-python3.13-nvidia-libraries-13.0/lib:", i);
  elf.dynamic = {{DT_RUNPATH, path}};
  const auto bytes = elf.build();
  const auto read = read_elf(Bytes(bytes, "libx.so"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto dynamic = read_dynamic(*read);
  ASSERT_TRUE(dynamic.ok()) << dynamic.error().message;
  EXPECT_EQ(dynamic->runpath.size(), 201U);  // the last entry is "": ld.so takes the current folder
}

struct ElfDefect {
  std::string name;
  std::function<void(Content&)> make;
  std::string message;
};
void PrintTo(const ElfDefect& defect, std::ostream* out) {
  *out << defect.name;
}

class MalformedElf : public testing::TestWithParam<ElfDefect> {};

TEST_P(MalformedElf, IsReportedByItsDefect) {
  Content content = sample().build();
  ASSERT_EQ(read_all(content), "sound");
  GetParam().make(content);
  EXPECT_EQ(read_all(content), GetParam().message);
}

Elf64_Ehdr& header(Content& content) {
  return *reinterpret_cast<Elf64_Ehdr*>(content.data());
}
Elf64_Phdr& segment(Content& content, size_t at) {
  return *reinterpret_cast<Elf64_Phdr*>(content.data() + at);
}
Elf64_Shdr& section(Content& content, size_t index) {
  return *reinterpret_cast<Elf64_Shdr*>(content.data() + header(content).e_shoff + index * sizeof(Elf64_Shdr));
}

const std::vector<ElfDefect> kElfDefects{
    {"Empty", [](Content& c) { c.clear(); }, "libx.so: not an ELF file"},
    {"Text", [](Content& c) { c = test::make_content("GROUP ( libx.so.1 )"); }, "libx.so: not an ELF file"},
    {"CutInTheHeader", [](Content& c) { c.resize(40); }, "libx.so+0x0: ELF header needs 64 bytes, 40 left"},
    {"Elf32", [](Content& c) { c[EI_CLASS] = ELFCLASS32; },
     "libx.so: ELF class 1, byte order 1: only 64-bit little-endian files are read (class 2, order 1)"},
    {"BigEndian", [](Content& c) { c[EI_DATA] = ELFDATA2MSB; },
     "libx.so: ELF class 2, byte order 2: only 64-bit little-endian files are read (class 2, order 1)"},
    {"CutInTheProgramHeaders", [](Content& c) { c.resize(100); },
     "libx.so+0x40: program headers needs 112 bytes, 36 left"},
    {"ProgramHeadersOfAnotherSize", [](Content& c) { header(c).e_phentsize = 32; },
     "libx.so: program headers of 32 bytes, 56 expected"},
    {"CutInHalf", [](Content& c) { c.resize(320); },
     "libx.so: a segment of 0x278 bytes at 0x0, but the file ends at 0x140: the file is truncated"},
    {"SectionHeadersPastTheEnd", [](Content& c) { header(c).e_shoff = 0x10000; },
     "libx.so: section headers at 0x10000, but the file ends at 0x278: the file is truncated"},
    {"SectionHeadersOfAnotherSize", [](Content& c) { header(c).e_shentsize = 40; },
     "libx.so: section headers of 40 bytes, 64 expected"},
    {"MoreSectionsThanThereAre", [](Content& c) { header(c).e_shnum = 9; },
     "libx.so+0x178: section headers needs 576 bytes, 256 left"},
    {"MoreSectionsThanTheLimit",
     [](Content& c) {
       header(c).e_shnum = 0;
       section(c, 0).sh_size = 70000;
     },
     "libx.so: 70000 sections, 65000 are the limit"},
    {"NamesInAMissingSection", [](Content& c) { header(c).e_shstrndx = 4; },
     "libx.so: section 4 should hold the section names, but the file has only 4 sections"},
    {"NamesOutsideTheFile", [](Content& c) { section(c, 3).sh_offset = 0x10000; },
     "libx.so+0x10000: section names needs 27 bytes, 0 left"},
    {"ANameOutsideTheNames", [](Content& c) { section(c, 1).sh_name = 5000; },
     "libx.so section names+0x1388: section name needs 1 bytes, 0 left"},
    {"ASectionOutsideTheFile", [](Content& c) { section(c, 1).sh_size = 0x10000; },
     "libx.so+0x138: .nv_fatbin needs 65536 bytes, 320 left"},
    {"ASectionThatOverflows", [](Content& c) { section(c, 1).sh_offset = ~uint64_t{0}; },
     "libx.so+0xffffffffffffffff: .nv_fatbin needs 32 bytes, 0 left"},
    {"DynamicTableOutsideTheFile", [](Content& c) { segment(c, kDynamicHeader).p_offset = 0x10000; },
     "libx.so+0x10000: dynamic section needs 96 bytes, 0 left"},
    {"DynamicTableCutInAnEntry", [](Content& c) { segment(c, kDynamicHeader).p_filesz = 24; },
     "libx.so dynamic section+0x10: dynamic entry needs 16 bytes, 8 left"},
    {"NoSegmentHoldsTheStrings", [](Content& c) { segment(c, kProgramHeaders).p_vaddr = 0x100000; },
     "libx.so: dynamic strings at address 0xb0, which no segment holds"},
    {"StringsLongerThanTheirSegment",
     [](Content& c) { patch<uint64_t>(c, segment(c, kDynamicHeader).p_offset + 4UL * 16 + 8, 0x10000); },
     "libx.so+0xb0: dynamic strings needs 65536 bytes, 456 left"},
    {"ANeededNameOutsideTheStrings",
     [](Content& c) { patch<uint64_t>(c, segment(c, kDynamicHeader).p_offset + 16 + 8, 0x999); },
     "libx.so+0xa49: dynamic string needs 1 bytes, 0 left"},
};

INSTANTIATE_TEST_SUITE_P(Table, MalformedElf, testing::ValuesIn(kElfDefects),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pbprobe
