// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The census of small libtorches that gcc built for the test (HostCodeFixtures.cmake), each beside its stripped twin.
#include "probes/audit/host_code/host_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "builders.hpp"
#include "paths.hpp"
#include "probes/audit/containers/mapped_file.hpp"
#include "probes/audit/host_code/census.hpp"
#include "probes/audit/host_code/loaded.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using test::ElfBuilder;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::UnorderedElementsAre;

struct Library {
  std::string name;
  std::string minimum_cpu;
};

const std::vector<Library> kX86{{"generic", "x86_64"}, {"leak", "x86_64"},   {"lost", "x86_64"},      {"avx", "avx"},
                                {"avx2", "avx2"},      {"avx512", "avx512"}, {"avx512bf16", "avx512"}};
const std::vector<Library> kArm{{"arm_generic", "aarch64"}, {"armv8_2", "armv8_2"}, {"armv9", "armv9"}};

class HostCodeOf : public testing::Test {
 protected:
  HostCode census(const std::string& path) {
    const fs::path file = fs::path(PBPROBE_FIXTURE_HOST_CODE) / path;
    mapping_ = std::move(*map_file(file));
    auto elf = read_elf(Bytes(mapping_.bytes(), file.filename().string()));
    EXPECT_TRUE(elf.ok()) << (elf.ok() ? "" : elf.error().message);
    auto code = read_code(*elf, CodeScope::against_names, 2);
    EXPECT_TRUE(code.ok()) << (code.ok() ? "" : code.error().message);
    return code.ok() ? code->counted.value_or(HostCode{}) : HostCode{};
  }
  static bool built(const std::string& name) {
    return fs::exists(fs::path(PBPROBE_FIXTURE_HOST_CODE) / ("lib" + name + ".so"));
  }

 private:
  Mapping mapping_;
};

TEST_F(HostCodeOf, MinimumCpuIsWhatTheFlagsSay) {
  int seen = 0;
  for (const auto& libraries : {kX86, kArm}) {
    for (const auto& [name, least] : libraries) {
      if (!built(name)) continue;
      SCOPED_TRACE(name);
      const HostCode code = census("lib" + name + ".so");
      EXPECT_EQ(code.functions_from, ".symtab");
      EXPECT_EQ(code.minimum_cpu, least);
      EXPECT_EQ(code.minimum_cpu_at_most, std::nullopt);
      ++seen;
    }
  }
  if (seen == 0) GTEST_SKIP() << "neither x86_64-linux-gnu-g++ nor aarch64-linux-gnu-g++ is installed";
}

// Names of CPU capabilities are gone; what DispatchStub's pointers reach tells the same.
TEST_F(HostCodeOf, StrippedFilesHaveTheSameMinimumCpu) {
  int seen = 0;
  for (const auto& libraries : {kX86, kArm}) {
    for (const auto& [name, least] : libraries) {
      if (!built(name)) continue;
      SCOPED_TRACE(name);
      const HostCode code = census("stripped/lib" + name + ".so");
      EXPECT_EQ(code.functions_from, ".eh_frame");
      EXPECT_EQ(code.minimum_cpu, least);
      ++seen;
    }
  }
  if (seen == 0) GTEST_SKIP() << "neither x86_64-linux-gnu-g++ nor aarch64-linux-gnu-g++ is installed";
}

TEST_F(HostCodeOf, CpuCapabilitiesHoldTheirInstructions) {
  if (!built("generic")) GTEST_SKIP() << "x86_64-linux-gnu-g++ is not installed";
  for (const char* path : {"libgeneric.so", "stripped/libgeneric.so"}) {
    SCOPED_TRACE(path);
    const HostCode code = census(path);
    EXPECT_THAT(code.cpu_capabilities, UnorderedElementsAre(Key("AVX2"), Key("AVX512"), Key("DEFAULT")));
    EXPECT_THAT(code.cpu_capabilities.at("AVX2").features, Contains(Key("fma")));
    EXPECT_THAT(code.cpu_capabilities.at("AVX512").features, Contains(Key("avx512f")));
    EXPECT_THAT(code.cpu_capabilities.at("DEFAULT").features, IsEmpty());
    EXPECT_GE(code.cpu_capabilities.at("AVX512").functions, 2);  // the kernel, and what it calls
    EXPECT_THAT(code.unguarded, IsEmpty());
    EXPECT_THAT(code.offenders, IsEmpty());
  }
}

TEST_F(HostCodeOf, InlineFunctionOfACpuCapabilityIsALeak) {
  if (!built("leak")) GTEST_SKIP() << "x86_64-linux-gnu-g++ is not installed";
  const HostCode code = census("libleak.so");
  ASSERT_EQ(code.offenders.size(), 1U);
  EXPECT_EQ(code.offenders[0].code_class, CodeClass::capability_leak);
  EXPECT_EQ(code.offenders[0].function, "shared::scale(float*, int, float)");
  EXPECT_THAT(code.offenders[0].features, Contains("avx512f"));
  EXPECT_EQ(code.offenders[0].section, ".text");
}

// Hidden functions are local names, which show no CPU capability: their callers show it.
TEST_F(HostCodeOf, InlineFunctionThatOneCpuCapabilityCallsIsItsOwn) {
  if (!built("own")) GTEST_SKIP() << "x86_64-linux-gnu-g++ is not installed";
  const HostCode leak = census("libhidden_leak.so");
  ASSERT_EQ(leak.offenders.size(), 1U);
  EXPECT_EQ(leak.offenders[0].code_class, CodeClass::capability_leak);
  EXPECT_THAT(leak.leaked, Contains(Key("avx512f")));
  EXPECT_EQ(leak.minimum_cpu, "x86_64");
  const HostCode own = census("libown.so");
  EXPECT_THAT(own.offenders, IsEmpty());
  EXPECT_THAT(own.leaked, IsEmpty());
  EXPECT_EQ(own.cpu_capabilities.at("AVX512").functions, leak.cpu_capabilities.at("AVX512").functions + 1);
}

TEST_F(HostCodeOf, InitializersRunUnguarded) {
  if (!built("initializer")) GTEST_SKIP() << "x86_64-linux-gnu-g++ is not installed";
  for (const char* path : {"libinitializer.so", "stripped/libinitializer.so"}) {
    SCOPED_TRACE(path);
    const HostCode code = census(path);
    EXPECT_NE(code.minimum_cpu, "x86_64");
    EXPECT_THAT(code.at_load, Contains(Key("avx")));
    ASSERT_FALSE(code.offenders.empty());
    EXPECT_EQ(code.offenders[0].code_class, CodeClass::static_initializer);
  }
  EXPECT_THAT(census("libinitializer.so").offenders[0].function, HasSubstr("_GLOBAL__sub_I_"));
}

TEST(HostCode, FilesWithoutCodeHaveNone) {
  const auto content = ElfBuilder().build();
  auto elf = read_elf(Bytes(content, "x"));
  ASSERT_TRUE(elf.ok());
  auto code = read_code(*elf, CodeScope::against_names, 1);
  ASSERT_TRUE(code.ok());
  EXPECT_FALSE(code->counted.has_value());
}

CodeOwner owner(std::string_view name, std::string_view source = {}) {
  return find_code_owner({.name = name, .source = source, .binding = Binding::local}, true);
}

TEST(Owners, FindsOwnersByName) {
  using enum CodeClass;
  EXPECT_EQ(owner("_ZN2at6native4AVX212_GLOBAL__N_13addEv").label, "AVX2");
  EXPECT_EQ(owner("_ZN2at6native7DEFAULT3addEv").code_class, default_capability);
  EXPECT_EQ(owner("_ZN2at6native14AVX2KernelInfo3addEv").code_class,
            dispatched);  // no CPU capability, but named after one
  EXPECT_EQ(owner("_ZN2at6native17DEFAULT_THRESHOLD3addEv").code_class, unguarded);
  EXPECT_EQ(owner("helper", "BinaryOps.cpp.AVX512.cpp").label, "AVX512");
  EXPECT_EQ(owner("_GLOBAL__sub_I_BinaryOps.cpp.AVX2.cpp").code_class, static_initializer);
  EXPECT_EQ(owner("_ZN4dnnl4impl3cpu3x64foo").label, "oneDNN");
  EXPECT_EQ(owner("_ZNK6fbgemm6PackedEv").label, "FBGEMM");
  EXPECT_EQ(owner("_ZN16fbgemm6PackedEv").code_class, unguarded);
  EXPECT_EQ(owner("mkl_blas_avx2_sgemm").label, "MKL");
  EXPECT_EQ(owner("scale", "mkl_gdft.c").label, "MKL");
  EXPECT_EQ(owner("__svml_exp8").label, "SVML");                         // numpy links it without MKL
  EXPECT_EQ(owner("scale", "mkldnn_tensor.cpp").code_class, unguarded);  // torch's own
  EXPECT_EQ(owner("Sleef_sinf8_u10avx2").label, "SLEEF");
  EXPECT_EQ(owner("sgemm_kernel_SKYLAKEX").code_class, dispatched);
  EXPECT_EQ(owner("max__avx").code_class, dispatched);
  EXPECT_EQ(owner("sgemm_kernel_A64FX").code_class, dispatched);
  EXPECT_EQ(owner("__aarch64_ldadd4_acq_rel").code_class, dispatched);  // asks for LSE first
  EXPECT_EQ(owner("libnvpl_blas_core_275ed07fa3be74bc").label, "NVPL");
  EXPECT_EQ(owner("__aarch64_other").code_class, unguarded);
  EXPECT_EQ(owner("memcpy").code_class, unguarded);
  EXPECT_EQ(owner("").code_class, unclassified);
}

TEST(Owners, NeighboursOfOneLibraryBelongToIt) {
  Functions functions;
  for (const char* name : {"first", "mkl_one", "local_name", "mkl_two", "last", "Sleef_x"})
    functions.all.push_back({.name = name, .binding = Binding::local});
  const auto owners = find_owners(functions, std::vector<CodeCount>(functions.all.size()));
  EXPECT_EQ(owners[0].code_class, CodeClass::unguarded);
  EXPECT_EQ(owners[2].label, "MKL");
  EXPECT_EQ(owners[4].code_class, CodeClass::unguarded);  // between two libraries
}

// BOLT renames a function that it moved to "f.org.0", and keeps the functions that it did not move in the old section.
TEST(Owners, CopiesThatBoltMovedDoNotRun) {
  Elf elf;
  elf.sections = {{"", {}}, {".bolt.org.text", {}}, {".text", {}}};
  Functions functions;
  functions.all = {{.name = "_Z1fv.org.0", .section = 1, .binding = Binding::local},
                   {.name = "_Z1gv", .section = 1, .binding = Binding::local},
                   {.name = "_Z1hv.org.x", .section = 1, .binding = Binding::local},
                   {.name = "_Z1iv.org.0", .section = 2, .binding = Binding::local}};
  Census census{.functions = functions, .owners = std::vector<CodeOwner>(functions.all.size())};
  census.targets.resize(functions.all.size());
  set_aside_replaced(elf, Pointers(), census);
  EXPECT_EQ(census.owners[0].code_class, CodeClass::replaced);
  for (size_t i = 1; i < census.owners.size(); ++i) EXPECT_EQ(census.owners[i].code_class, CodeClass::unguarded) << i;
}

// Returns the class of a copy "f.org.0" that other code calls. `start` precedes an instruction of AVX-512 and a return.
CodeClass decide_called_copy(std::vector<uint8_t> start, uint64_t target) {
  start.insert(start.end(), {0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1, 0xc3});
  start.resize(32, 0xCC);
  Elf elf;
  elf.header.e_machine = EM_X86_64;
  elf.file = Bytes(start, "libx.so");
  elf.sections = {{"", {}}, {".bolt.org.text", {}}};
  Census census;
  census.functions.all = {{.address = 0x1000, .size = 16, .name = "_Z1fv.org.0", .section = 1},
                          {.address = 0x1010, .offset = 16, .size = 16, .name = "_Z1gv", .section = 1}};
  census.owners.resize(2);
  census.targets = {{}, {target}};
  set_aside_replaced(elf, Pointers(), census);
  return census.owners[0].code_class;
}

TEST(Owners, CopyThatCodeEntersRuns) {
  const std::vector<uint8_t> jump{0xE9, 0, 0x10, 0, 0};
  EXPECT_NE(decide_called_copy({}, 0x1000), CodeClass::replaced);
  EXPECT_NE(decide_called_copy({0x90}, 0x1000), CodeClass::replaced);
  EXPECT_EQ(decide_called_copy(jump, 0x1000), CodeClass::replaced);
  EXPECT_NE(decide_called_copy(jump, 0x1005), CodeClass::replaced);
  EXPECT_EQ(decide_called_copy({}, 0x1010), CodeClass::replaced);
}

// Returns the class of a second copy if code enters only the first copy, which begins with these bytes.
CodeClass decide_copy_behind(std::vector<uint8_t> first) {
  first.resize(16, 0xCC);
  first.insert(first.end(), {0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1, 0xc3});
  first.resize(32, 0xCC);
  Elf elf;
  elf.header.e_machine = EM_X86_64;
  elf.file = Bytes(first, "libx.so");
  elf.sections = {{"", {}}, {".bolt.org.text", {}}};
  Census census;
  census.functions.all = {{.address = 0x1000, .size = 16, .name = "_Z1fv.org.0", .section = 1},
                          {.address = 0x1010, .offset = 16, .size = 16, .name = "_Z1gv.org.0", .section = 1},
                          {.address = 0x1020, .offset = 32, .size = 0, .name = "_Z1hv", .section = 1}};
  census.owners.resize(3);
  census.targets = {{0x1010}, {}, {0x1000}};
  set_aside_replaced(elf, Pointers(), census);
  return census.owners[1].code_class;
}

TEST(Owners, CopyOnTheWayOutOfAnotherCopyRuns) {
  EXPECT_NE(decide_copy_behind({0xE9, 0x0B, 0, 0, 0}), CodeClass::replaced);                       // jmp to it
  EXPECT_NE(decide_copy_behind({0xE8, 0x0B, 0, 0, 0, 0xE9, 0, 0x10, 0, 0}), CodeClass::replaced);  // call before a jmp
  EXPECT_NE(decide_copy_behind({0xE8, 0x0B, 0, 0, 0, 0xC3}), CodeClass::replaced);                 // no jmp
  EXPECT_EQ(decide_copy_behind({0xE9, 0, 0x10, 0, 0, 0xE8, 0x06, 0, 0, 0}), CodeClass::replaced);  // call behind a jmp
}

}  // namespace
}  // namespace pbprobe
