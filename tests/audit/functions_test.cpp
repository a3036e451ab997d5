// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/functions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builders.hpp"
#include "probes/audit/host_code/host_code.hpp"

namespace pbprobe {
namespace {

using test::append;
using test::Content;
using test::ElfBuilder;
using test::make_content;

constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
constexpr uint16_t kText = 1;  // index of the first section

Elf64_Sym symbol(uint32_t name, uint8_t type, uint64_t value, uint64_t size = 0, uint8_t binding = STB_LOCAL) {
  return {.st_name = name,
          .st_info = static_cast<uint8_t>(ELF64_ST_INFO(binding, type)),
          .st_shndx = kText,
          .st_value = value,
          .st_size = size};
}

// 32 bytes of code with these symbols; names at 1 ("f"), 3 ("g"), 5 ("$d"), 8 ("$x").
struct Built {
  Content file;
  Result<Functions> functions;
};

Built build(const std::vector<Elf64_Sym>& symbols, uint16_t machine = EM_X86_64) {
  ElfBuilder builder;
  builder.machine = machine;
  Content table;
  append(table, Elf64_Sym{});
  for (const auto& entry : symbols) append(table, entry);
  builder.sections = {{".text", SHT_PROGBITS, Content(32, 0x90), kCode},
                      {".symtab", SHT_SYMTAB, table},
                      {".strtab", SHT_STRTAB, make_content(std::string_view("\0f\0g\0$d\0$x\0", 11))}};
  builder.links = {{".symtab", 3}};
  Content file = builder.build();
  auto elf = read_elf(Bytes(file, "libx.so"));
  EXPECT_TRUE(elf.ok());
  auto functions = list_functions(*elf);
  return {std::move(file), std::move(functions)};  // moved, not copied: the names are views on it
}

std::vector<std::pair<std::string, uint64_t>> spans(const Functions& functions) {
  std::vector<std::pair<std::string, uint64_t>> spans;
  for (const auto& f : functions.all) spans.emplace_back(std::string(f.data ? "data" : f.name), f.size);
  return spans;
}

TEST(Functions, CoverTheirSectionWithoutGaps) {
  const Built built = build({symbol(1, STT_FUNC, 8, 8), symbol(3, STT_FUNC, 20, 4, STB_WEAK)});
  ASSERT_TRUE(built.functions.ok()) << built.functions.error().message;
  using Spans = std::vector<std::pair<std::string, uint64_t>>;
  EXPECT_EQ(spans(*built.functions), (Spans{{"", 8}, {"f", 12}, {"g", 12}}));
  EXPECT_EQ(built.functions->all[2].binding, Binding::weak);
  EXPECT_EQ(find_function(*built.functions, 19)->name, "f");
  EXPECT_EQ(find_function(*built.functions, 32), nullptr);
}

TEST(Functions, EndWhereNoBranchLeadsPast) {
  const std::vector<uint8_t> jumps{0x74, 0x01, 0xC3, 0x90, 0xF3, 0xC3, 0xC5, 0xF8, 0x77};  // je +1; ret; nop; rep ret
  EXPECT_EQ(measure_flow(EM_X86_64, jumps), 6U);
  const std::vector<uint8_t> tail{0xF3, 0x0F, 0x1E, 0xFA, 0xE9, 0xF0, 0xFF, 0xFF, 0xFF, 0x90};  // endbr64; jmp back
  EXPECT_EQ(measure_flow(EM_X86_64, tail), 9U);
  const std::vector<uint8_t> open{0x90, 0x90};
  EXPECT_EQ(measure_flow(EM_X86_64, open), 2U);
  const std::vector<uint32_t> words{0xB4000040, 0xD65F03C0, 0xD503201F, 0x17FFFFFC, 0xD503201F};  // cbz +8; ret; nop; b
  const std::vector<uint8_t> arm(reinterpret_cast<const uint8_t*>(words.data()),
                                 reinterpret_cast<const uint8_t*>(words.data() + words.size()));
  EXPECT_EQ(measure_flow(EM_AARCH64, arm), 16U);
}

TEST(Functions, LabelsInsideAFunctionDoNotSplitIt) {
  const Built built = build({symbol(1, STT_FUNC, 0, 16), symbol(3, STT_NOTYPE, 8)});
  ASSERT_TRUE(built.functions.ok());
  EXPECT_EQ(built.functions->all.size(), 1U);
}

TEST(Functions, ArmLiteralsAreData) {
  const Built built =
      build({symbol(1, STT_FUNC, 0, 32), symbol(5, STT_NOTYPE, 8), symbol(8, STT_NOTYPE, 16)}, EM_AARCH64);
  ASSERT_TRUE(built.functions.ok());
  using Spans = std::vector<std::pair<std::string, uint64_t>>;
  EXPECT_EQ(spans(*built.functions), (Spans{{"f", 8}, {"data", 8}, {"f", 16}}));
}

TEST(Functions, SymbolsBeyondTheirSectionAreLeftOut) {
  const Built built = build({symbol(1, STT_FUNC, 32, 8), symbol(3, STT_FUNC, ~uint64_t{0}, 8)});
  ASSERT_TRUE(built.functions.ok());
  EXPECT_EQ(built.functions->all.size(), 1U);
}

TEST(Functions, SectionsOfCodeThatOverlapAreRefused) {
  ElfBuilder builder;
  builder.sections.assign(10, {".text", SHT_PROGBITS, Content(64, 0x90), kCode});
  Content file = builder.build();
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (size_t section = 1; section <= builder.sections.size(); ++section) {
    test::patch<uint64_t>(file, header.e_shoff + section * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset), 0);
    test::patch<uint64_t>(file, header.e_shoff + section * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
                          file.size());
  }
  auto elf = read_elf(Bytes(file, "libx.so"));
  ASSERT_TRUE(elf.ok());
  ASSERT_TRUE(elf->problem);
  EXPECT_EQ(elf->problem->message,
            fmt::format(
                "libx.so: the file has 0x{:x} bytes, and its sections together more than 8 times as many: they overlap",
                file.size()));
  EXPECT_TRUE(elf->sections.empty());
}

TEST(Functions, CodeBeyondTheFileIsNamed) {
  ElfBuilder builder;
  builder.sections = {{".text", SHT_PROGBITS, Content(64, 0x90), kCode}};
  Content file = builder.build();
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  test::patch<uint64_t>(file, header.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), 0x10000);
  auto elf = read_elf(Bytes(file, "libx.so"));
  ASSERT_TRUE(elf.ok());
  auto functions = list_functions(*elf);
  ASSERT_FALSE(functions.ok());
  EXPECT_THAT(functions.error().message, testing::StartsWith("libx.so: section .text has 0x10000 bytes at 0x"));
}

}  // namespace
}  // namespace pbprobe
