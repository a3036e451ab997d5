// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests the audit's messages on malformed files, word for word, with the remedy: a table for each reader, each input
// named by its defect. Tests of the readers cover further defects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "probes/audit/audit.hpp"
#include "zip_builder.hpp"

namespace pbprobe {
namespace {

using test::append;
using test::build_library;
using test::Content;
using test::ElfBuilder;
using test::fatbin;
using test::make_content;
using test::patch;
using test::TempFolder;
using test::ZipBuilder;

constexpr std::string_view kVersion = "__version__ = '2.10.0'\n";
constexpr std::string_view kFile = "torch/lib/libx.so";

// The first thing that is wrong in a torch with this file beside a sound libtorch_cpu.so.
std::string find_first_error(const std::string& path, const Content& content) {
  const TempFolder folder;
  folder.write("torch/version.py", kVersion);
  folder.write("torch/lib/libtorch_cpu.so", build_library());
  folder.write(path, content);
  const auto inventory = audit(folder.path(), {.host_code = HostCodeScope::all});
  if (!inventory) return inventory.error().message;
  for (const auto& file : inventory->files) {
    if (file.problem) return file.path == path ? *file.problem : "in " + file.path + ": " + *file.problem;
  }
  return inventory->problems.empty() ? "sound" : inventory->problems.front();
}

struct Defect {
  std::string name;
  std::function<Content()> make;
  std::string message;
};
void PrintTo(const Defect& defect, std::ostream* out) {
  *out << defect.name;
}

std::string print_name(const testing::TestParamInfo<Defect>& test) {
  return test.param.name;
}

Content object() {
  ElfBuilder elf;
  elf.sections = {{".text", SHT_PROGBITS, Content(64, 0x90), SHF_EXECINSTR}};
  elf.dynamic = {{DT_SONAME, "libx.so"}, {DT_NEEDED, "libc.so.6"}};
  return elf.build();
}

template <class Change>
std::function<Content()> changed(Content (*make)(), Change change) {
  return [=] {
    Content content = make();
    change(content);
    return content;
  };
}

Elf64_Ehdr& header(Content& content) {
  return *reinterpret_cast<Elf64_Ehdr*>(content.data());
}
Elf64_Shdr& section(Content& content, size_t index) {
  return *reinterpret_cast<Elf64_Shdr*>(content.data() + header(content).e_shoff + index * sizeof(Elf64_Shdr));
}

// ---- ELF -----------------------------------------------------------------------------------------------------------

class MalformedFile : public testing::TestWithParam<Defect> {};

TEST_P(MalformedFile, IsReportedWithItsWayOut) {
  EXPECT_EQ(find_first_error(std::string(kFile), GetParam().make()), GetParam().message);
}

TEST(MalformedFiles, TheirTwinsAreSound) {
  EXPECT_EQ(find_first_error(std::string(kFile), object()), "sound");
}

const std::vector<Defect> kElf{
    {"Empty", [] { return Content(); }, "libx.so: the file is empty (0 bytes): copy, download or build it again"},
    {"Text", [] { return make_content("no library"); },
     "libx.so: neither ELF nor fatbin: copy, download or build it again"},
    {"ALinkerScript", [] { return make_content("GROUP ( libx.so.1 )"); }, "sound"},
    {"AnLfsPointer", [] { return make_content("version https://git-lfs.github.com/spec/v1\n"); },
     "libx.so: a Git LFS pointer instead of the file: run `git lfs pull`"},
    {"CutInItsHeader", changed(object, [](Content& c) { c.resize(40); }),
     "libx.so+0x0: ELF header needs 64 bytes, 40 left: copy, download or build it again"},
    {"CutInItsCode", changed(object, [](Content& c) { c.resize(300); }),
     "libx.so: a segment of 0x230 bytes at 0x0, but the file ends at 0x12c: the file is truncated: copy, download or "
     "build it again"},
    {"Elf32", changed(object, [](Content& c) { c[EI_CLASS] = ELFCLASS32; }),
     "libx.so: ELF class 1, byte order 1: only 64-bit little-endian files are read (class 2, order 1)"},
    {"MoreSectionsThanTheLimit",
     changed(object,
             [](Content& c) {
               header(c).e_shnum = 0;
               section(c, 0).sh_size = 70000;
             }),
     "libx.so: 70000 sections, 65000 are the limit: report it if you trust its maker, else delete it"},
    {"SectionsThatOverlap",
     [] {
       ElfBuilder elf;
       for (int i = 0; i < 100; ++i)
         elf.sections.push_back({".rodata", SHT_PROGBITS, i == 0 ? Content(100'000) : Content()});
       Content content = elf.build();
       for (size_t i = 2; i < 101; ++i) {
         section(content, i).sh_offset = section(content, 1).sh_offset;
         section(content, i).sh_size = 100'000;
       }
       return content;
     },
     "libx.so: the file has 0x1a3c8 bytes, and its sections together more than 8 times as many: they overlap: copy, "
     "download or "
     "build it again"},
    {"ANameLongerThanTheLimit",
     [] {
       ElfBuilder elf;
       elf.dynamic = {{DT_NEEDED, std::string(70'000, 'x')}};
       return elf.build();
     },
     "libx.so+0xb1: dynamic string of more than 65536 bytes: report it if you trust its maker, else delete it"},
    {"MoreDynamicNamesThanTheLimit",
     [] {
       ElfBuilder elf;
       elf.dynamic.assign(1001, {DT_NEEDED, ""});
       return elf.build();
     },
     "libx.so: more than 1000 names in its dynamic section: report it if you trust its maker, else delete it"},
    {"SegmentsThatOverlap",
     [] {
       Content content(sizeof(Elf64_Ehdr));
       std::memcpy(content.data(), object().data(), content.size());
       header(content).e_shoff = 0;
       header(content).e_shnum = 0;
       header(content).e_phnum = 50;
       for (int i = 0; i < 50; ++i)
         append(content, Elf64_Phdr{.p_type = PT_LOAD,
                                    .p_flags = PF_R,
                                    .p_offset = 0,
                                    .p_vaddr = 0,
                                    .p_paddr = 0,
                                    .p_filesz = 2864,
                                    .p_memsz = 2864,
                                    .p_align = 8});
       return content;
     },
     "libx.so: its segments together hold many times the file's 0xb30 bytes: they overlap: copy, download or build it "
     "again"},
    {"SymbolsThatShareALongName",
     [] {
       Content symbols;
       for (int i = 0; i < 20; ++i)
         append(symbols,
                Elf64_Sym{.st_name = 1, .st_info = 0x12, .st_other = 0, .st_shndx = 1, .st_value = 0, .st_size = 0});
       Content names(1002, 'x');
       names.front() = names.back() = 0;
       ElfBuilder elf;
       elf.sections = {{".symtab", SHT_SYMTAB, symbols}, {".strtab", SHT_STRTAB, names}};
       elf.dynamic = {{DT_SONAME, "libx.so"}};
       elf.links = {{".symtab", 2}};
       return elf.build();
     },
     "libx.so .symtab+0x180: the names of its symbols overlap: together more than 16032 bytes, from a section of 1002 "
     "bytes: report it if "
     "you "
     "trust its maker, else delete it"},
    {"CodeOutsideTheFile", changed(object, [](Content& c) { section(c, 1).sh_size = 1 << 20; }),
     "libx.so: section .text has 0x100000 bytes at 0x118, but the file ends at 0x230: copy, download or build it "
     "again"},
};
INSTANTIATE_TEST_SUITE_P(Elf, MalformedFile, testing::ValuesIn(kElf), print_name);

// ---- fatbins -------------------------------------------------------------------------------------------------------

Content entries() {
  ElfBuilder elf;
  elf.sections = {{".nv_fatbin", SHT_PROGBITS, fatbin({{.kind = 1, .sm = 80}, {.kind = 1, .sm = 90}})}};
  elf.dynamic = {{DT_SONAME, "libx.so"}};
  return elf.build();
}

size_t find_container(const Content& content) {
  const Content magic{0x50, 0xed, 0x55, 0xba};
  return static_cast<size_t>(std::search(content.begin(), content.end(), magic.begin(), magic.end()) - content.begin());
}

const std::vector<Defect> kFatbins{
    {"AnotherMagic", changed(entries, [](Content& c) { c[find_container(c)] = 0; }),
     "libx.so .nv_fatbin+0x0: fatbin magic 0xba55ed00, 0xba55ed50 expected: copy, download or build it again"},
    {"ABodyLongerThanItsSection", changed(entries, [](Content& c) { patch<uint64_t>(c, find_container(c) + 8, 4096); }),
     "libx.so .nv_fatbin+0x10: fatbin needs 4096 bytes, 256 left: copy, download or build it again"},
    {"AShortEntryHeader", changed(entries, [](Content& c) { patch<uint32_t>(c, find_container(c) + 20, 32); }),
     "libx.so .nv_fatbin+0x10: fatbin entry header of 32 bytes, at least 64 expected: copy, download or build it "
     "again"},
    {"ABomb",
     changed(entries,
             [](Content& c) {
               patch<uint64_t>(c, find_container(c) + 16 + 0x28, 0x8011);
               patch<uint64_t>(c, find_container(c) + 16 + 0x38, uint64_t{1} << 30);
             }),
     "libx.so .nv_fatbin+0x10: fatbin entry of 1073741824 bytes uncompressed, 536870912 are the limit: report it if "
     "you trust "
     "its maker, else delete it"},
};
INSTANTIATE_TEST_SUITE_P(Fatbin, MalformedFile, testing::ValuesIn(kFatbins), print_name);

// ---- cubins --------------------------------------------------------------------------------------------------------

Content cubin() {
  ElfBuilder elf;
  elf.machine = 190;
  elf.abi_version = 8;
  elf.flags = 0x6005a04;
  elf.sections = {{".nv.compat", SHT_PROGBITS, {2, 9, 1, 0}},
                  {".note.nv.tkinfo", SHT_NOTE, make_content("release 13.0, V13.0.88 -arch sm_90a")},
                  {".text.kernel", SHT_PROGBITS, Content(64, 0), SHF_EXECINSTR}};
  return elf.build();
}

const std::vector<Defect> kCubins{
    {"CutInItsHeader", changed(cubin, [](Content& c) { c.resize(20); }),
     "libx.so+0x0: ELF header needs 64 bytes, 20 left: copy, download or build it again"},
    {"CutInItsSections", changed(cubin, [](Content& c) { c.resize(200); }),
     "libx.so: a segment of 0x260 bytes at 0x0, but the file ends at 0xc8: the file is truncated: copy, download or "
     "build it again"},
    {"AnAbiOfTomorrow", changed(cubin, [](Content& c) { c[EI_ABIVERSION] = 9; }),
     "libx.so: cubin of ABI version 9: pbprobe reads only 7 (CUDA 9 to 12) and 8 (since 12.8)"},
    {"CompatOutside", changed(cubin, [](Content& c) { section(c, 1).sh_offset = 1 << 20; }),
     "libx.so+0x100000: .nv.compat needs 4 bytes, 0 left: copy, download or build it again"},
    {"TheAssemblersNoteOutside", changed(cubin, [](Content& c) { section(c, 2).sh_size = 1 << 20; }),
     "libx.so+0x80: .note.nv.tkinfo needs 1048576 bytes, 480 left: copy, download or build it again"},
    {"AKernelOutside", changed(cubin, [](Content& c) { section(c, 3).sh_size = 1 << 20; }),
     "libx.so+0xa8: .text.kernel needs 1048576 bytes, 440 left: copy, download or build it again"},
};
INSTANTIATE_TEST_SUITE_P(Cubin, MalformedFile, testing::ValuesIn(kCubins), print_name);

TEST(MalformedFiles, AcceptsSoundTwinOfDeviceCode) {
  EXPECT_EQ(find_first_error(std::string(kFile), entries()), "sound");
  EXPECT_EQ(find_first_error(std::string(kFile), cubin()), "sound");
}

// ---- small texts of torch's package --------------------------------------------------------------------------------

struct Text {
  std::string name;
  std::string path;
  std::string text;
  std::string message;
};
void PrintTo(const Text& text, std::ostream* out) {
  *out << text.name;
}

class MalformedText : public testing::TestWithParam<Text> {};

TEST_P(MalformedText, IsReportedWithItsWayOut) {
  EXPECT_EQ(find_first_error(GetParam().path, make_content(GetParam().text)), GetParam().message);
}

const std::string kNul("a\0b", 3);
constexpr auto kVersionPy = "torch/version.py";
constexpr auto kMetadata = "torch-2.10.0.dist-info/METADATA";
constexpr auto kWheel = "torch-2.10.0.dist-info/WHEEL";
const std::string kName = "Name: torch\n";

const std::vector<Text> kTexts{
    {"VersionPySound", kVersionPy, "__version__ = '2.10.0a0+git1'\ncuda = None\n", "sound"},
    {"VersionPyEmpty", kVersionPy, "",
     "version.py: it assigns no quoted text to __version__: install this torch again"},
    {"VersionPyOfAnother", kVersionPy, "version = '2.10.0'\n",
     "version.py: it assigns no quoted text to __version__: install this torch again"},
    {"VersionPyCutInItsVersion", kVersionPy, "__version__ = '2.10",
     "version.py: line 1: the string literal does not end: install this torch again"},
    {"VersionPyWithANumber", kVersionPy, "__version__ = 2.10\n",
     "version.py: it assigns no quoted text to __version__: install this torch again"},
    {"VersionPyWithoutDigits", kVersionPy, "__version__ = 'unknown'\n",
     "version.py: its __version__ is \"unknown\", which is not a version: install this torch again"},
    {"VersionPyWithAnEmptyVersion", kVersionPy, "__version__ = ''\n",
     "version.py: its __version__ is empty: install this torch again"},
    {"VersionPyOfBytes", kVersionPy, "__version__ = '2.10.0'\n" + kNul,
     "version.py: holds NUL bytes, so it is not text: install this torch again"},
    {"MetadataSound", kMetadata, kName + "Requires-Dist: a>=1\nRequires-Dist: b==1.0; extra == \"c\"\n", "sound"},
    {"MetadataEmpty", kMetadata, "", "METADATA: no Name in it: install this torch again"},
    {"MetadataOfBytes", kMetadata, kName + kNul,
     "METADATA: holds NUL bytes, so it is not text: install this torch again"},
    {"MetadataNamesNoPackage", kMetadata, kName + "Requires-Dist: ==9.1\n",
     "METADATA: \"Requires-Dist: ==9.1\" names no package: install this torch again"},
    {"MetadataRequiresNothing", kMetadata, kName + "Requires-Dist:\n",
     "METADATA: \"Requires-Dist: \" names no package: install this torch again"},
    {"MetadataPinsNoVersion", kMetadata, kName + "Requires-Dist: nvidia-cudnn-cu13==; platform_system == 'Linux'\n",
     "METADATA: \"Requires-Dist: nvidia-cudnn-cu13==; platform_system == 'Linux'\" has no version after ==: install "
     "this "
     "torch again"},
    {"WheelSound", kWheel, "Wheel-Version: 1.0\r\nTag: cp311-cp311-linux_x86_64\r\n", "sound"},
    {"WheelEmpty", kWheel, "", "WHEEL: no Tag in it: install this torch again"},
    {"WheelOfBytes", kWheel, "Tag: cp311-cp311-linux_x86_64\n" + kNul,
     "WHEEL: holds NUL bytes, so it is not text: install this torch again"},
    {"WheelWithATagOfTwoParts", kWheel, "Tag: cp311-linux_x86_64\n",
     "WHEEL: the tag \"cp311-linux_x86_64\" does not have the form PYTHON-ABI-PLATFORM: install this torch again"},
    {"WheelWithAnEmptyPart", kWheel, "Tag: cp311--linux_x86_64\n",
     "WHEEL: the tag \"cp311--linux_x86_64\" does not have the form PYTHON-ABI-PLATFORM: install this torch again"},
};
INSTANTIATE_TEST_SUITE_P(Table, MalformedText, testing::ValuesIn(kTexts),
                         [](const auto& test) { return test.param.name; });

TEST(MalformedTexts, IgnoresTextBeyondLimit) {
  const TempFolder folder;
  folder.write("torch/lib/libtorch_cpu.so", build_library());
  const auto file = folder.write("torch/version.py", Content((1 << 20) + 1, 'x'));
  EXPECT_THAT(audit(folder.path())->problems,
              testing::ElementsAre(
                  file.string() +
                  ": this text has 1048577 bytes, and pbprobe reads at most 1048576: install this torch again"));
}

// libtorch archives and Debian have no version.py.
TEST(MalformedTexts, SurvivesTextsOfLibtorchFolder) {
  for (const auto& [name, text, message] :
       {std::tuple{"build-version", "\n", "build-version: its version is empty: install this torch again"},
        std::tuple{"build-version", "unknown\n",
                   "build-version: its version is \"unknown\", which is not a version: install this torch again"},
        std::tuple{"share/cmake/Torch/TorchConfigVersion.cmake", "set(VERSION 1)\n",
                   "TorchConfigVersion.cmake: it assigns no quoted text to PACKAGE_VERSION: install this torch "
                   "again"}}) {
    const TempFolder folder;
    folder.write("lib/libtorch_cpu.so", build_library());
    folder.write(name, text);
    EXPECT_THAT(audit(folder.path())->problems, testing::ElementsAre(message));
  }
}

// ---- wheels --------------------------------------------------------------------------------------------------------

std::string answer_for_wheel(ZipBuilder builder, const std::function<void(Content&)>& damage = {}) {
  Content content = builder.build();
  if (damage) damage(content);
  const TempFolder folder;
  const auto inventory = audit(folder.write("x.whl", content));
  if (!inventory) return inventory.error().message;
  for (const auto& file : inventory->files) {
    if (file.problem) return *file.problem;
  }
  return inventory->problems.empty() ? "sound" : inventory->problems.front();
}

ZipBuilder wheel() {
  ZipBuilder builder;
  builder.members = {{.name = "torch/lib/libx.so", .content = object()},
                     {.name = "torch/version.py", .content = make_content(kVersion)}};
  return builder;
}

TEST(MalformedWheels, AreReportedWithTheirWayOut) {
  EXPECT_EQ(answer_for_wheel(wheel()), "sound");
  EXPECT_EQ(
      answer_for_wheel(wheel(), [](Content& c) { c.resize(c.size() - 1); }),
      "x.whl: no end record of a ZIP directory in it: the file is truncated, or no wheel: download it again from its "
      "publisher");
  ZipBuilder escape = wheel();
  escape.members[0].name = "../libx.so";
  escape.members.push_back({.name = "torch/lib/liby.so", .content = object()});
  EXPECT_EQ(
      answer_for_wheel(escape),
      "x.whl: member ../libx.so leads out of the archive (\"..\" in its name): refused: download it again from its "
      "publisher");
  ZipBuilder large = wheel();
  large.members.push_back(
      {.name = "torch/lib/libz.so", .content = Content(9 << 20, 0), .announced_bytes = 9ULL << 30, .zip64 = true});
  EXPECT_EQ(answer_for_wheel(large),
            "x.whl: more than 8589934592 bytes uncompressed, at member torch/lib/libz.so: report it if you trust its "
            "maker, else delete it");
  EXPECT_EQ(answer_for_wheel(wheel(), [](Content& c) { c[30 + 17] |= 7; }),
            "x.whl: member torch/lib/libx.so: broken deflate data: download it again from its publisher");
}

}  // namespace
}  // namespace pbprobe
