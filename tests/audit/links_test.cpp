// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builders.hpp"
#include "core/strings.hpp"
#include "paths.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/containers/mapped_file.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/packages.hpp"

namespace pbprobe {
namespace {

using test::append;
using test::Content;
using test::ElfBuilder;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(VersionLess, ComparesNumbersNotText) {
  EXPECT_TRUE(version_less("2.9", "2.28"));
  EXPECT_TRUE(version_less("2.28", "2.28.1"));
  EXPECT_FALSE(version_less("2.28", "2.9"));
  EXPECT_FALSE(version_less("3.4.22", "3.4.22"));
  EXPECT_FALSE(version_less("", ""));
}

// A file that needs these versions, all of one library; the names come right after the empty one.
ElfBuilder needing(const std::vector<std::string>& versions) {
  Content names{0};
  Content needs;
  append(needs, Elf64_Verneed{1, static_cast<uint16_t>(versions.size()), 0, sizeof(Elf64_Verneed), 0});
  for (size_t i = 0; i < versions.size(); ++i) {
    const uint32_t next = i + 1 < versions.size() ? sizeof(Elf64_Vernaux) : 0;
    append(needs, Elf64_Vernaux{0, 0, 0, static_cast<uint32_t>(names.size()), next});
    append(names, test::make_content(versions[i]));
    names.push_back(0);
  }
  ElfBuilder elf;
  elf.sections = {{".dynstr", SHT_STRTAB, names}, {".gnu.version_r", SHT_GNU_verneed, needs}};
  elf.links = {{".gnu.version_r", 1}};
  return elf;
}

Result<std::map<std::string, std::string>> floors(const Content& content) {
  return read_version_floors(*read_elf(Bytes(content, "libx.so")));
}

TEST(VersionFloors, ReturnsHighestOfEachSet) {
  const Content content =
      needing({"GLIBC_2.9", "GLIBC_2.28", "GLIBC_PRIVATE", "GLIBCXX_3.4.22", "GLIBC_2.2.5"}).build();
  auto result = floors(content);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(*result, UnorderedElementsAre(Pair("GLIBC", "2.28"), Pair("GLIBCXX", "3.4.22")));
}

TEST(VersionFloors, ReportsOffsetOfEntryPastEnd) {
  ElfBuilder elf = needing({"GLIBC_2.9"});
  elf.sections[1].bytes.resize(sizeof(Elf64_Verneed) + 5);
  EXPECT_EQ(floors(elf.build()).error().message, "libx.so .gnu.version_r+0x10: needed version needs 16 bytes, 5 left");
}

TEST(VersionFloors, RejectsEntryWithFarOffset) {
  ElfBuilder elf = needing({"GLIBC_2.9", "GLIBC_2.10"});
  test::patch<uint32_t>(elf.sections[1].bytes, 16 + 12, 0xfffffff0);
  EXPECT_FALSE(floors(elf.build()).ok());
}

// Made by this build's own compiler: it calls puts, so it needs some version of the C library.
TEST(VersionFloors, ReadsRealFile) {
  auto mapping = map_file(PBPROBE_FIXTURE_RPATH);
  ASSERT_TRUE(mapping.ok());
  auto result = read_version_floors(*read_elf(Bytes(mapping->bytes(), "fixture")));
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result->contains("GLIBC"));
  EXPECT_FALSE(version_less(result->at("GLIBC"), "2.2.5"));
}

Result<Contents> collect_contents(const std::vector<std::string>& names, uint16_t section = 1) {
  Content strings{0};
  Content symbols(sizeof(Elf64_Sym));
  for (const auto& name : names) {
    append(symbols, Elf64_Sym{static_cast<uint32_t>(strings.size()), 0, 0, section, 0, 0});
    append(strings, test::make_content(name));
    strings.push_back(0);
  }
  ElfBuilder elf;
  elf.sections = {{".dynstr", SHT_STRTAB, strings}, {".dynsym", SHT_DYNSYM, symbols}};
  elf.links = {{".dynsym", 1}};
  const Content content = elf.build();
  return read_contents(*read_elf(Bytes(content, "libx.so")));
}

TEST(Contents, TenDefinedFunctionsAreALibrary) {
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) names.push_back("magma_" + std::to_string(i));
  for (int i = 0; i < 9; ++i) names.push_back("mkl_" + std::to_string(i));
  EXPECT_THAT(collect_contents(names)->components, ElementsAre("MAGMA"));
  EXPECT_THAT(collect_contents(names, SHN_UNDEF)->components, ElementsAre());  // needed, not there
}

TEST(Contents, CountsTheTwoStringsOfTorchsExports) {
  const Contents contents = *collect_contents(
      {"_ZN3c105ErrorC1ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",  // c10::Error(std::string)
       "_ZN2at3addERKSs",                                                       // at::add(old string)
       "_ZN2at5SsoneEi",                                                        // at::Ssone(int)
       "_ZN5other3addERKSs"});                                                  // not a name of torch
  EXPECT_EQ(contents.cxx11_names, 1);
  EXPECT_EQ(contents.pre_cxx11_names, 1);
}

File named(const std::string& path, const char* component) {
  File file;
  file.path = path;
  if (component != nullptr) file.component = component;
  return file;
}

TEST(Packages, VersionsFromMetadataElseFromFileNames) {
  const auto versions = component_versions(
      {"nvidia_cudnn_cu13-9.19.0.56", "nvidia_cublas-13.1.0.3", "nvidia_cublasmp_cu13-0.4", "torch-2.11.0", "broken"},
      {named("lib/libcudnn.so.9.1.1", "cuDNN"), named("lib/libnccl.so.2.28.9", "NCCL"),
       named("lib/libcudart.so.13", "CUDA runtime"), named("lib/libtorch.so.1.13.1", "libtorch")});
  EXPECT_THAT(versions, UnorderedElementsAre(Pair("cuDNN", "9.19.0.56"), Pair("cuBLAS", "13.1.0.3"),
                                             Pair("NCCL", "2.28.9"), Pair("torch", "2.11.0")));
}

// Speech recognition adds the cuDNN 8 of CUDA 12 to a torch of CUDA 13.
TEST(Packages, PrefersTheVersionThatTorchRequires) {
  const std::vector<std::string> both{"nvidia_cudnn_cu12-8.9.7.29", "nvidia_cudnn_cu13-9.19.0.56"};
  EXPECT_THAT(component_versions(both, {}, {{"cuDNN", "9.19.0.56"}}), UnorderedElementsAre(Pair("cuDNN", "9.19.0.56")));
  EXPECT_THAT(component_versions(both, {}, {{"cuDNN", "9.20.0.48"}}),
              UnorderedElementsAre(Pair("cuDNN", "8.9.7.29")));  // neither: the first
}

// Lines of the METADATA of torch 2.11.0 and 2.8.0.
TEST(Packages, ReadsPinsOfTorchPackage) {
  const auto versions = required_versions(
      "Name: torch\nVersion: 2.11.0\nRequires-Dist: filelock\nRequires-Dist: setuptools<82\n"
      "Requires-Dist: cuda-toolkit[cublas,cudart]==13.0.2; platform_system == \"Linux\"\n"
      "Requires-Dist: cuda-bindings<14,>=13.0.3; platform_system == \"Linux\"\n"
      "Requires-Dist: nvidia-cudnn-cu13==9.19.0.56; platform_system == \"Linux\"\r\n"
      "Requires-Dist: nvidia-cublas-cu12==12.8.4.1; platform_system == \"Linux\" and platform_machine == \"x86_64\"\n"
      "Requires-Dist: triton==3.6.0; extra == \"opt\"\nRequires-Dist: mkl ; platform_system == \"Windows\"\n");
  EXPECT_THAT(versions, UnorderedElementsAre(Pair("CUDA toolkit", "13.0.2"), Pair("cuDNN", "9.19.0.56"),
                                             Pair("cuBLAS", "12.8.4.1")));
}

TEST(Packages, ReadsTagsOfWheel) {
  EXPECT_THAT(wheel_tags("Wheel-Version: 1.0\nTag: cp313-cp313t-manylinux_2_28_x86_64\nTag: x-y-z\n"),
              ElementsAre("cp313-cp313t-manylinux_2_28_x86_64", "x-y-z"));
  EXPECT_THAT(wheel_tags(""), ElementsAre());
}

TEST(Packages, PythonAbiFromTheModulesName) {
  EXPECT_EQ(python_abi({named("torch/_C.cpython-311-x86_64-linux-gnu.so", nullptr)}), "cp311");
  EXPECT_EQ(python_abi({named("torch/_C.cpython-313t-aarch64-linux-gnu.so", nullptr)}), "cp313t");
  EXPECT_EQ(python_abi({named("torch/_C.abi3.so", nullptr)}), "abi3");
  EXPECT_EQ(python_abi({named("torch/lib/libtorch.so", nullptr)}), std::nullopt);
}

}  // namespace
}  // namespace pbprobe
