// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/fatbin.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>

#include "builders.hpp"
#include "probes/audit/containers/cubin.hpp"
#include "probes/audit/containers/elf.hpp"

namespace pbprobe {
namespace {

using test::append;
using test::Content;
using test::ElfBuilder;
using test::EntryBuilder;
using test::fatbin;
using test::patch;
using Numbers = std::map<std::string, int>;

constexpr uint64_t kFlagA = 0x100000;
constexpr uint64_t kFlagF = 0x200000;

Numbers count(const Fatbins& fatbins) {
  Numbers counts;
  for (const auto& entry : fatbins.entries) {
    const std::string kind = entry.kind == EntryKind::cubin ? "" : std::string(name_kind(entry.kind)) + " ";
    ++counts[kind + sm_name(entry.sm)];
  }
  return counts;
}

Fatbins read(const Content& content) {
  return read_fatbins(Bytes(content, "libx.so .nv_fatbin"));
}

TEST(Fatbin, CountsKindsAndSuffixesOverContainers) {
  Content section = fatbin({{.sm = 90, .flags = 0x11 | kFlagA}, {.kind = 1, .sm = 80}, {.kind = 8, .sm = 86}});
  append(section, fatbin({{.sm = 120, .flags = 0x11 | kFlagF}, {.sm = 90}, {.sm = 90, .header_bytes = 112}}));
  const Fatbins fatbins = read(section);
  EXPECT_FALSE(fatbins.problem);
  EXPECT_EQ(fatbins.containers, 2U);
  EXPECT_EQ(count(fatbins),
            (Numbers{{"sm_90a", 1}, {"PTX sm_80", 1}, {"LTO-IR sm_86", 1}, {"sm_120f", 1}, {"sm_90", 2}}));
  EXPECT_EQ(fatbins.entries[0].container, 0U);
  EXPECT_EQ(fatbins.entries[3].container, 1U);
}

TEST(Fatbin, ReadsBothSizesOfCompressedEntry) {
  const Fatbins fatbins = read(fatbin({{.flags = 0x8011, .compressed_bytes = 60, .uncompressed_bytes = 4096},
                                       {.flags = 0x2011, .compressed_bytes = 33, .uncompressed_bytes = 100},
                                       {.flags = 0x11}}));
  ASSERT_EQ(fatbins.entries.size(), 3U);
  EXPECT_EQ(fatbins.entries[0].compression, Compression::zstd);
  EXPECT_EQ(fatbins.entries[0].stored_bytes, 60U);
  EXPECT_EQ(fatbins.entries[0].payload.size(), 60U);
  EXPECT_EQ(fatbins.entries[0].uncompressed_bytes, 4096U);
  EXPECT_EQ(fatbins.entries[1].compression, Compression::lz4);
  EXPECT_EQ(fatbins.entries[1].uncompressed_bytes, 100U);
  EXPECT_EQ(fatbins.entries[2].compression, Compression::none);
  EXPECT_EQ(fatbins.entries[2].uncompressed_bytes, 64U);
}

TEST(Fatbin, ZerosBetweenContainersArePadding) {
  Content section(8, 0);
  append(section, fatbin({{.sm = 75}}));
  section.resize(section.size() + 24);
  append(section, fatbin({{.sm = 80}}));
  section.resize(section.size() + 3);
  const Fatbins fatbins = read(section);
  EXPECT_FALSE(fatbins.problem) << fatbins.problem->message;
  EXPECT_EQ(count(fatbins), (Numbers{{"sm_75", 1}, {"sm_80", 1}}));
}

TEST(Fatbin, CountsKindsThatNeedAnotherCompiler) {
  const Fatbins fatbins =
      read(fatbin({{.kind = 0x40, .sm = 90}, {.kind = 0x80, .sm = 120}, {.kind = 0x10, .sm = 100}}));
  EXPECT_FALSE(fatbins.problem);
  EXPECT_EQ(count(fatbins), (Numbers{{"relocatable PTX sm_90", 1}, {"Tile IR sm_120", 1}, {"Mercury sm_100", 1}}));
}

TEST(Fatbin, ReportsUnknownKindAndReadsOn) {
  const Fatbins fatbins = read(fatbin({{.kind = 512}, {.sm = 80}}));
  ASSERT_TRUE(fatbins.problem);
  EXPECT_EQ(fatbins.problem->message,
            "libx.so .nv_fatbin+0x10: fatbin entry of unknown kind 512, left out: a newer pbprobe may know it");
  EXPECT_EQ(count(fatbins), (Numbers{{"sm_80", 1}}));
}

struct FatbinDefect {
  std::string name;
  std::function<void(Content&)> make;
  std::string message;
  int entries = 0;  // read before the defect
};
void PrintTo(const FatbinDefect& defect, std::ostream* out) {
  *out << defect.name;
}

class MalformedFatbin : public testing::TestWithParam<FatbinDefect> {};

TEST_P(MalformedFatbin, IsReportedByItsDefect) {
  Content section = fatbin({{.sm = 75}});  // 16 + 64 + 64 bytes
  append(section, fatbin({{.sm = 80}, {.sm = 90}}));
  ASSERT_FALSE(read(section).problem);
  GetParam().make(section);
  const Fatbins fatbins = read(section);
  ASSERT_TRUE(fatbins.problem);
  EXPECT_EQ(fatbins.problem->message, GetParam().message);
  EXPECT_EQ(fatbins.entries.size(), static_cast<size_t>(GetParam().entries));
}

constexpr size_t kSecond = 144;  // offset of the second container

const std::vector<FatbinDefect> kFatbinDefects{
    {"CutInAContainerHeader", [](Content& c) { c.resize(kSecond + 9); },
     "libx.so .nv_fatbin+0x90: fatbin header needs 16 bytes, 9 left", 1},
    {"CutInAnEntry", [](Content& c) { c.resize(kSecond + 100); },
     "libx.so .nv_fatbin+0xa0: fatbin needs 256 bytes, 84 left", 1},
    {"AnotherMagic", [](Content& c) { patch<uint32_t>(c, kSecond, 0x464c457f); },
     "libx.so .nv_fatbin+0x90: fatbin magic 0x464c457f, 0xba55ed50 expected", 1},
    {"AnotherVersion", [](Content& c) { patch<uint16_t>(c, kSecond + 4, 2); },
     "libx.so .nv_fatbin+0x90: fatbin version 2 with a header of 16 bytes: pbprobe reads only version 1 with a header "
     "of 16 bytes",
     1},
    {"ALongerContainerHeader", [](Content& c) { patch<uint16_t>(c, kSecond + 6, 32); },
     "libx.so .nv_fatbin+0x90: fatbin version 1 with a header of 32 bytes: pbprobe reads only version 1 with a header "
     "of 16 bytes",
     1},
    {"ABodyThatOverflows", [](Content& c) { patch<uint64_t>(c, kSecond + 8, ~uint64_t{0} - 8); },
     "libx.so .nv_fatbin+0xa0: fatbin needs 18446744073709551607 bytes, 256 left", 1},
    {"ABodyShorterThanAnEntryHeader", [](Content& c) { patch<uint64_t>(c, kSecond + 8, 48); },
     "libx.so .nv_fatbin+0xa0: fatbin entry header needs 64 bytes, 48 left", 1},
    {"AShortEntryHeader", [](Content& c) { patch<uint32_t>(c, kSecond + 16 + 4, 32); },
     "libx.so .nv_fatbin+0xa0: fatbin entry header of 32 bytes, at least 64 expected", 1},
    {"AnEntryHeaderPastTheContainer", [](Content& c) { patch<uint32_t>(c, kSecond + 16 + 4, 0x10000); },
     "libx.so .nv_fatbin+0x100a0: fatbin entry needs 64 bytes, 0 left", 1},
    {"AnEntryPastTheContainer", [](Content& c) { patch<uint64_t>(c, kSecond + 16 + 128 + 8, 0x100); },
     "libx.so .nv_fatbin+0x160: fatbin entry needs 256 bytes, 64 left", 2},
    {"AnEntryThatOverflows",
     [](Content& c) {
       patch<uint64_t>(c, kSecond + 16 + 8, ~uint64_t{0} - 63);
       patch<uint64_t>(c, kSecond + 16 + 0x28, 0x8011);
     },
     "libx.so .nv_fatbin+0xe0: fatbin entry needs 18446744073709551552 bytes, 192 left", 1},
    {"CompressedLargerThanItsPlace",
     [](Content& c) {
       patch<uint64_t>(c, kSecond + 16 + 0x28, 0x8011);
       patch<uint32_t>(c, kSecond + 16 + 0x10, 65);
     },
     "libx.so .nv_fatbin+0xa0: fatbin entry of 65 compressed bytes in a place of 64", 1},
    {"ABomb",
     [](Content& c) {
       patch<uint64_t>(c, kSecond + 16 + 0x28, 0x8011);
       patch<uint64_t>(c, kSecond + 16 + 0x38, uint64_t{1} << 30);
     },
     "libx.so .nv_fatbin+0xa0: fatbin entry of 1073741824 bytes uncompressed, 536870912 are the limit", 1},
    {"AnSmThatIsNone", [](Content& c) { patch<uint32_t>(c, kSecond + 16 + 0x1c, 0x12345678); },
     "libx.so .nv_fatbin+0xa0: fatbin entry for SM 305419896, 9999 is the limit", 1},
};

INSTANTIATE_TEST_SUITE_P(Table, MalformedFatbin, testing::ValuesIn(kFatbinDefects),
                         [](const auto& test) { return test.param.name; });

Fatbins embedded(const Content& content) {
  auto elf = read_elf(Bytes(content, "libx.so"));
  EXPECT_TRUE(elf.ok());
  return read_embedded_fatbins(*elf);
}

TEST(EmbeddedFatbins, CountsOnlyLinkedEntriesIfAny) {
  ElfBuilder elf;
  elf.sections = {{"__nv_relfatbin", SHT_PROGBITS, fatbin({{.sm = 80}, {.sm = 90}})}};
  EXPECT_EQ(count(embedded(elf.build())), (Numbers{{"sm_80", 1}, {"sm_90", 1}}));
  elf.sections.push_back({".nv_fatbin", SHT_PROGBITS, fatbin({{.sm = 80}})});
  EXPECT_EQ(count(embedded(elf.build())), (Numbers{{"sm_80", 1}}));
  elf.sections.back().name = "cubins";  // whatever its name
  EXPECT_EQ(count(embedded(elf.build())), (Numbers{{"sm_80", 1}}));
}

TEST(EmbeddedFatbins, SearchesSegmentsWithoutSectionHeaders) {
  ElfBuilder elf;
  Content look_alike;  // the magic is not yet a container
  append<uint32_t>(look_alike, kFatbinMagic);
  look_alike.resize(64, 0xff);
  Content section = fatbin({{.sm = 80}});
  append(section, fatbin({{.sm = 90, .flags = 0x11 | kFlagA}}));
  elf.sections = {{".rodata", SHT_PROGBITS, look_alike}, {".nv_fatbin", SHT_PROGBITS, section}};
  elf.with_section_headers = false;
  const Fatbins fatbins = embedded(elf.build());
  EXPECT_FALSE(fatbins.problem);
  EXPECT_EQ(count(fatbins), (Numbers{{"sm_80", 1}, {"sm_90a", 1}}));
}

// Whatever its name, and at whatever offset; but neither code nor what is not loaded.
TEST(EmbeddedFatbins, AnyLoadedSectionMayHoldEntries) {
  ElfBuilder elf;
  Content shifted(3, 0);
  append(shifted, fatbin({{.sm = 90}}));
  elf.sections = {{".nv_fatbin", SHT_PROGBITS, fatbin({{.sm = 80}})}, {".data.fatbins", SHT_PROGBITS, shifted}};
  EXPECT_EQ(count(embedded(elf.build())), (Numbers{{"sm_80", 1}, {"sm_90", 1}}));
  elf.sections.erase(elf.sections.begin());
  const Fatbins single = embedded(elf.build());
  EXPECT_EQ(count(single), (Numbers{{"sm_90", 1}}));
  EXPECT_FALSE(single.problem);
}

TEST(EmbeddedFatbins, ReadsSectionMarkedAsEmpty) {
  ElfBuilder elf;
  elf.sections = {{".nv_fatbin", SHT_NOBITS, fatbin({{.sm = 80}})}};
  EXPECT_EQ(count(embedded(elf.build())), (Numbers{{"sm_80", 1}}));
}

TEST(EmbeddedFatbins, ReportsEmptySection) {
  ElfBuilder elf;
  elf.sections = {{".nv_fatbin", SHT_PROGBITS, Content(64, 0)}};
  const Fatbins fatbins = embedded(elf.build());
  ASSERT_TRUE(fatbins.problem);
  EXPECT_EQ(fatbins.problem->message,
            "libx.so: the file was linked with device code, but its section .nv_fatbin holds none");
}

TEST(EmbeddedFatbins, FindsBareCubinsAmongConstants) {
  ElfBuilder cubin;
  cubin.machine = kMachineCuda;
  cubin.abi_version = 8;
  cubin.flags = 0x6005a04;
  cubin.sections = {{".text.k", SHT_PROGBITS, Content(32, 0)}};
  Content constants(5, 1);
  append(constants, test::make_content("\x7f"
                                       "ELF is no more than a text"));
  append(constants, cubin.build());
  append(constants, fatbin({{.sm = 80, .payload = cubin.build()}}));  // cubin of the container
  append(constants, cubin.build());
  ElfBuilder elf;
  elf.sections = {{".rodata", SHT_PROGBITS, constants}};
  const Content content = elf.build();
  const Fatbins found = read_constant_fatbins(*read_elf(Bytes(content, "libx.so")));
  EXPECT_FALSE(found.problem);
  EXPECT_EQ(count(found), (Numbers{{"sm_90", 2}, {"sm_80", 1}}));
  EXPECT_EQ(found.containers, 3U);
  EXPECT_TRUE(embedded(content).entries.empty());
}

TEST(EmbeddedFatbins, StopsSearchAfterManyLookAlikes) {
  ElfBuilder elf;
  Content look_alikes;
  const Content entry = fatbin({{.sm = 80}});
  for (int i = 0; i < 3000; ++i) append(look_alikes, entry);
  for (int i = 0; i < 3000; ++i) patch<uint64_t>(look_alikes, static_cast<size_t>(i) * entry.size() + 8, 1 << 30);
  elf.sections = {{".rodata", SHT_PROGBITS, look_alikes}};
  elf.with_section_headers = false;
  const Fatbins fatbins = embedded(elf.build());
  ASSERT_TRUE(fatbins.problem);
  EXPECT_TRUE(fatbins.entries.empty());
}

// A look-alike holds all later ones: a hundred look-alikes would be read a hundred times.
TEST(EmbeddedFatbins, StopsSearchAfterLargeLookAlikes) {
  Content look_alikes;
  const Content entry = fatbin({{.sm = 80}});
  for (int i = 0; i < 100; ++i) append(look_alikes, entry);
  const size_t size = look_alikes.size();
  for (size_t at = 0; at < size; at += entry.size()) patch<uint64_t>(look_alikes, at + 8, size - at - 16);
  ElfBuilder elf;
  elf.sections = {{".rodata", SHT_PROGBITS, look_alikes}};
  elf.with_section_headers = false;
  EXPECT_TRUE(embedded(elf.build()).problem);
}

// e_flags, .nv.compat and the assembler's note as CUDA 12 (ABI 7) and CUDA 13 (ABI 8) write them.
TEST(Cubin, ReadsTargetByAbi) {
  const auto target = [](uint8_t abi, uint32_t flags, const Content& compat, std::string_view note) -> std::string {
    ElfBuilder elf;
    elf.machine = kMachineCuda;
    elf.abi_version = abi;
    elf.flags = flags;
    elf.sections = {{".nv.compat", SHT_PROGBITS, compat}, {".note.nv.tkinfo", SHT_NOTE, test::make_content(note)}};
    const Content content = elf.build();
    auto entry = read_cubin(Bytes(content, "k.cubin"));
    return entry ? sm_name(entry->sm) : entry.error().message;
  };
  const Content none;
  const Content specific{2, 2, 1, 0, 4, 11, 8, 0, 2, 9, 9, 9, 9, 9, 9, 9, 2, 9, 1, 0};
  EXPECT_EQ(target(7, 0x005a055a, none, ""), "sm_90");
  EXPECT_EQ(target(7, 0x005a0d5a, none, ""), "sm_90a");
  for (const auto& [flags, name] : {std::pair(0x00320d32U, "sm_50"), {0x003d0d3dU, "sm_61"}, {0x00560d56U, "sm_86"}})
    EXPECT_EQ(target(7, flags, none, ""), name);  // before 9.0 the bit has no meaning: cuBLAS 12.1 has it set
  EXPECT_EQ(target(8, 0x6004b04, none, "-arch sm_75 -m 64"), "sm_75");
  EXPECT_EQ(target(8, 0x6004b0c, none, "-arch sm_75 -m 64"), "sm_75");
  EXPECT_EQ(target(8, 0x6005a04, specific, "-arch sm_90a -m 64"), "sm_90a");
  EXPECT_EQ(target(8, 0x6007802, {2, 9, 0, 0}, "-arch sm_120f -m 64"), "sm_120f");
  EXPECT_EQ(target(8, 0x6007902, {2, 9, 0, 0}, "-arch sm_121 -m 64"), "sm_121");
  EXPECT_EQ(target(9, 0x6007902, none, ""),
            "k.cubin: cubin of ABI version 9: pbprobe reads only 7 (CUDA 9 to 12) and 8 (since 12.8)");
}

}  // namespace
}  // namespace pbprobe
