// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/constants.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builders.hpp"

namespace pbprobe {
namespace {

using test::Content;
using test::ElfBuilder;
using test::make_content;
using testing::ElementsAre;

// A file whose constants are these strings, each ended by a NUL.
Content build_constants_file(const std::vector<std::string>& strings, const std::string& section = ".rodata") {
  Content bytes{0};
  for (const auto& text : strings) {
    test::append(bytes, make_content(text));
    bytes.push_back(0);
  }
  ElfBuilder elf;
  elf.sections = {{section, SHT_PROGBITS, bytes}};
  return elf.build();
}

std::vector<std::string> read_names(const Content& content) {
  auto names = read_library_names(*read_elf(Bytes(content, "libx.so")));
  EXPECT_TRUE(names.ok()) << names.error().message;
  return names.ok() ? *names : std::vector<std::string>{};
}

Compiler read_compiler_or_fail(const Content& content) {
  auto compiler = read_compiler(*read_elf(Bytes(content, "ptxas")));
  EXPECT_TRUE(compiler.ok()) << compiler.error().message;
  return compiler.ok() ? *compiler : Compiler{};
}

TEST(LibraryNames, AreWholeStringsAndNothingElse) {
  EXPECT_THAT(read_names(build_constants_file({"libcupti.so.13", "libcudnn_ops.so", "cannot open libm.so",
                                               "lib/libz.so", "libc", "libx.so %s", "libcupti.so.13", "library.sock"})),
              ElementsAre("libcudnn_ops.so", "libcupti.so.13"));
}

TEST(LibraryNames, CountsOnlyConstants) {
  EXPECT_THAT(read_names(build_constants_file({"libcupti.so.13"}, ".rodata.str1.1")), ElementsAre("libcupti.so.13"));
  EXPECT_THAT(read_names(build_constants_file({"libcupti.so.13"}, ".dynstr")), ElementsAre());
}

TEST(LibraryNames, FindsFirstStringOfSection) {
  ElfBuilder elf;
  elf.sections = {{".rodata", SHT_PROGBITS, make_content(std::string("libz.so.1\0x", 11))}};
  EXPECT_THAT(read_names(elf.build()), ElementsAre("libz.so.1"));
  elf.sections = {{".rodata", SHT_PROGBITS, make_content("libz.so.1")}};
  EXPECT_THAT(read_names(elf.build()), ElementsAre());
}

TEST(LibraryNames, IgnoresUnterminatedName) {
  ElfBuilder elf;
  elf.sections = {{".rodata", SHT_PROGBITS, make_content(std::string("\0libz.so.1", 10))}};
  EXPECT_THAT(read_names(elf.build()), ElementsAre());
  EXPECT_THAT(read_names(build_constants_file({"lib" + std::string(200, 'x') + ".so"})), ElementsAre());
}

TEST(Compilers, AreReportedByTheirFileNames) {
  for (const char* name : {"ptxas", "ptxas-blackwell", "libnvrtc.so.13", "libnvJitLink.so.13"})
    EXPECT_TRUE(is_compiler(name)) << name;
  for (const char* name : {"libnvrtc-builtins.so.13.0", "ptxas.py", "libcudart.so.13"})
    EXPECT_FALSE(is_compiler(name)) << name;
}

// Strings as in NVRTC and ptxas: a plain name, an option, the end of another string, and a sentence about an old SM.
TEST(Compilers, KnowWhatTheirOptionsName) {
  const Compiler compiler = read_compiler_or_fail(build_constants_file(
      {"compute_120a", "-arch=compute_90", "check_malloccompute_75", "compute_100f", "compute_",
       "lower than compute_52", "compute_5", "compute_1000", "compute_90x", "compute_90 and on",
       "Cuda compilation tools, release %d.%d, ", "Cuda compilation tools, release 12.8, V12.8.93"}));
  EXPECT_THAT(compiler.knows, ElementsAre("sm_75", "sm_90", "sm_100f", "sm_120a"));
  EXPECT_EQ(compiler.version, "12.8.93");
}

TEST(Compilers, FindsNoneInFileWithoutNames) {
  const Compiler compiler = read_compiler_or_fail(build_constants_file({"hello"}));
  EXPECT_TRUE(compiler.knows.empty());
  EXPECT_EQ(compiler.version, std::nullopt);
}

}  // namespace
}  // namespace pbprobe
