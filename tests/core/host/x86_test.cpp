// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/host/recorded_host.hpp"

namespace pbprobe::host {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> read_features(const HostSources& sources) {
  const auto host = detect_host(sources);
  return host ? host->cpu.features : std::vector<std::string>{host.error().message};
}

class SapphireRapids : public testing::Test {
 protected:
  FakeRoot root_;
  HostSources sources_ = make_recorded_sources(read_recorded("sapphire_rapids"), root_);
};

TEST_F(SapphireRapids, ClearsAvx512WithoutZmmState) {
  sources_.xcr0 = [] { return 0x60007; };
  const auto features = read_features(sources_);
  EXPECT_THAT(features, Not(Contains(HasSubstr("avx512"))));
  EXPECT_THAT(features, Contains("avx2"));
  EXPECT_THAT(features, Contains("avx_vnni"));
  EXPECT_THAT(features, Contains("amx_tile"));
}

TEST_F(SapphireRapids, RequiresEachZmmStateBit) {
  for (const uint64_t missing : {0x20, 0x40, 0x80}) {
    sources_.xcr0 = [missing] { return 0xE7 & ~missing; };
    EXPECT_THAT(read_features(sources_), Not(Contains("avx512f"))) << missing;
  }
}

TEST_F(SapphireRapids, ClearsAvxWithoutYmmState) {
  sources_.xcr0 = [] { return 0x3; };
  const auto features = read_features(sources_);
  EXPECT_THAT(features, Not(Contains(HasSubstr("avx"))));
  EXPECT_THAT(features, Not(Contains("fma")));
  EXPECT_THAT(features, Not(Contains("f16c")));
  EXPECT_THAT(features, Contains("sse4_2"));
  EXPECT_THAT(detect_host(sources_)->cpu.targets, IsEmpty());
}

TEST_F(SapphireRapids, SkipsXcr0WithoutOsxsave) {
  const auto real = sources_.cpuid;
  sources_.cpuid = [real](uint32_t leaf, uint32_t subleaf) {
    auto registers = real(leaf, subleaf);
    if (leaf == 1) registers.ecx &= ~(1U << 27);
    return registers;
  };
  bool asked = false;
  sources_.xcr0 = [&asked] {
    asked = true;
    return ~uint64_t{0};
  };
  EXPECT_THAT(read_features(sources_), Not(Contains("avx")));
  EXPECT_FALSE(asked);  // XGETBV would be an illegal instruction
}

TEST_F(SapphireRapids, RequiresPermissionAndTileStateForAmx) {
  sources_.amx_permission = [] { return false; };
  EXPECT_THAT(read_features(sources_), Not(Contains(HasSubstr("amx"))));
  bool asked = false;
  sources_.xcr0 = [] { return 0xE7; };
  sources_.amx_permission = [&asked] { return asked = true; };
  EXPECT_THAT(read_features(sources_), Not(Contains(HasSubstr("amx"))));
  EXPECT_FALSE(asked);
}

TEST_F(SapphireRapids, SkipsLeavesBeyondTheLimit) {
  const auto real = sources_.cpuid;
  sources_.cpuid = [real](uint32_t leaf, uint32_t subleaf) {
    if (leaf == 0) return CpuidRegisters{6, 0, 0, 0};
    return leaf == 7 ? CpuidRegisters{2, ~0U, ~0U, ~0U} : real(leaf, subleaf);  // old CPUs answer with garbage
  };
  EXPECT_THAT(read_features(sources_), Not(Contains("avx2")));
  sources_.cpuid = [real](uint32_t leaf, uint32_t subleaf) {
    if (leaf == 7 && subleaf == 1) return CpuidRegisters{~0U, ~0U, ~0U, ~0U};
    auto registers = real(leaf, subleaf);
    if (leaf == 7) registers.eax = 0;
    return registers;
  };
  EXPECT_THAT(read_features(sources_), Not(Contains("avx512_bf16")));
}

// One bit at a time: that bit gives this name and no other. From the SDM's table, as facts of the targets need them.
struct Bit {
  uint32_t leaf;
  uint32_t subleaf;
  int reg;  // 0 EAX, 1 EBX, 2 ECX, 3 EDX
  int bit;
  const char* name;
};
class OneBit : public testing::TestWithParam<Bit> {};

TEST_P(OneBit, GivesOneName) {
  const FakeRoot root;
  HostSources sources;
  sources.architecture = "x86_64";
  sources.root = root.path();
  const auto bit = GetParam();
  sources.cpuid = [bit](uint32_t leaf, uint32_t subleaf) {
    uint32_t values[4] = {0, 0, 0, 0};
    if (leaf == 0) values[0] = 0x20;
    if (leaf == 1) values[2] = 1U << 27;
    if (leaf == 7 && subleaf == 0) values[0] = 1;
    if (leaf == 0x80000000) values[0] = 0x80000008;
    if (leaf == bit.leaf && subleaf == bit.subleaf) values[bit.reg] |= 1U << bit.bit;
    // AMX permission is requested only if the CPU has tiles.
    if (leaf == 7 && subleaf == 0 && std::string_view(bit.name).starts_with("amx_")) values[3] |= 1U << 24;
    return CpuidRegisters{values[0], values[1], values[2], values[3]};
  };
  sources.xcr0 = [] { return 0x600E7; };
  sources.amx_permission = [] { return true; };
  auto features = read_features(sources);
  if (std::string_view(bit.name) != "amx_tile") std::erase(features, "amx_tile");
  EXPECT_THAT(features, ElementsAre(bit.name));
}

INSTANTIATE_TEST_SUITE_P(
    All, OneBit,
    testing::Values(Bit{1, 0, 2, 13, "cx16"}, Bit{1, 0, 2, 26, "xsave"}, Bit{0x80000001, 0, 2, 0, "lahf_lm"},
                    Bit{0x80000001, 0, 3, 27, "rdtscp"}, Bit{1, 0, 2, 12, "fma"}, Bit{1, 0, 2, 28, "avx"},
                    Bit{1, 0, 2, 29, "f16c"}, Bit{7, 0, 1, 5, "avx2"}, Bit{7, 0, 1, 16, "avx512f"},
                    Bit{7, 0, 1, 17, "avx512dq"}, Bit{7, 0, 1, 21, "avx512ifma"}, Bit{7, 0, 1, 28, "avx512cd"},
                    Bit{7, 0, 1, 30, "avx512bw"}, Bit{7, 0, 1, 31, "avx512vl"}, Bit{7, 0, 2, 1, "avx512vbmi"},
                    Bit{7, 0, 2, 6, "avx512_vbmi2"}, Bit{7, 0, 2, 11, "avx512_vnni"}, Bit{7, 0, 3, 22, "amx_bf16"},
                    Bit{7, 0, 3, 23, "avx512_fp16"}, Bit{7, 0, 3, 24, "amx_tile"}, Bit{7, 0, 3, 25, "amx_int8"},
                    Bit{7, 1, 0, 4, "avx_vnni"}, Bit{7, 1, 0, 5, "avx512_bf16"}, Bit{7, 1, 0, 21, "amx_fp16"},
                    Bit{7, 1, 0, 23, "avx_ifma"}, Bit{7, 1, 3, 4, "avx_vnni_int8"}, Bit{7, 1, 3, 5, "avx_ne_convert"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(X86, OmitsUnusableCpusFromCoreClasses) {
  const FakeRoot root;
  auto sources = make_recorded_sources(read_recorded("alder_lake_i9_12900k"), root);
  sources.hybrid_leaves = [] { return std::vector<uint32_t>{0x40000001, 0x20000001, 0x20000001, 0x10000000}; };
  const auto classes = detect_host(sources)->cpu.core_classes;
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_EQ(classes[0].name, "P");
  EXPECT_EQ(classes[0].count, 1);
  EXPECT_EQ(classes[1].name, "E");
  EXPECT_EQ(classes[1].count, 2);
  EXPECT_EQ(classes[2].name, "core type 0x10");
}

TEST(X86, UsesSignatureIfBrandStringIsMissing) {
  const FakeRoot root;
  auto sources = make_recorded_sources(read_recorded("zen_4"), root);
  const auto real = sources.cpuid;
  sources.cpuid = [real](uint32_t leaf, uint32_t subleaf) {
    return leaf > 0x80000001 ? CpuidRegisters{} : real(leaf, subleaf);
  };
  EXPECT_EQ(detect_host(sources)->cpu.name, "family 25 model 97 stepping 2");
}

}  // namespace
}  // namespace pbprobe::host
