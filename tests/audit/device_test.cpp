// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Device code in every form that nvcc writes (DeviceFixtures.cmake).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "paths.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/device_code/sass.hpp"

namespace pbprobe {
namespace {

using Counts = std::map<std::string, int64_t>;

class NvccFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(PBPROBE_FIXTURE_DEVICE).empty())
      GTEST_SKIP() << "nvcc was not found when this build was configured: set PBPROBE_TEST_NVCC, or run `make setup`";
  }

  static File read(const std::string& name) {
    auto inventory = audit(std::string(PBPROBE_FIXTURE_DEVICE) + "/" + name);
    EXPECT_TRUE(inventory.ok()) << inventory.error().message;
    if (!inventory) return {};
    EXPECT_EQ(inventory->files.size(), 1U);
    return inventory->files.at(0);
  }

  static void expect(const std::string& name, const Counts& cubin, const Counts& ptx, const Counts& lto = {}) {
    const File file = read(name);
    EXPECT_EQ(file.problem, std::nullopt) << name;
    ASSERT_TRUE(file.device_code) << name;
    EXPECT_EQ(file.device_code->cubin, cubin) << name;
    EXPECT_EQ(file.device_code->ptx, ptx) << name;
    EXPECT_EQ(file.device_code->lto_ir, lto) << name;
  }
};

const Counts kCubins{{"sm_75", 1}, {"sm_90a", 1}, {"sm_120f", 1}};
const Counts kPtx{{"sm_80", 1}};

TEST_F(NvccFiles, FindsSameEntriesInEachCompression) {
  for (const char* mode : {"default", "size", "speed", "balance", "none"})
    expect(std::string("lib") + mode + ".so", kCubins, kPtx);
}

TEST_F(NvccFiles, CompressionShowsOnlyInTheBytes) {
  const DeviceCode none = *read("libnone.so").device_code;
  const DeviceCode size = *read("libsize.so").device_code;
  EXPECT_EQ(none.stored_bytes, none.uncompressed_bytes);
  EXPECT_LT(size.stored_bytes, size.uncompressed_bytes / 2);
  EXPECT_NEAR(static_cast<double>(size.uncompressed_bytes), static_cast<double>(none.uncompressed_bytes), 64);
}

TEST_F(NvccFiles, ReadsBareFatbin) {
  expect("mixed.fatbin", kCubins, kPtx);
  EXPECT_EQ(read("mixed.fatbin").machine, std::nullopt);
}

TEST_F(NvccFiles, ReadsBareCubinsBySuffix) {
  for (const char* target : {"sm_75", "sm_90a", "sm_100a", "sm_120f", "sm_121"}) {
    expect(std::string(target) + ".cubin", {{target, 1}}, {});
    EXPECT_EQ(read(std::string(target) + ".cubin").machine, "cuda");
  }
}

TEST_F(NvccFiles, RelocatableObjectsBeforeAndAfterLinking) {
  const Counts once{{"sm_80", 1}, {"sm_90", 1}};
  expect("user.o", once, {});
  expect("linked.o", once, {});
  expect("librelocatable.so", once, {});  // not the two of its parts as well
}

TEST_F(NvccFiles, CountsRelocatablePtx) {
  const File file = read("relocatable.fatbin");
  EXPECT_EQ(file.problem, std::nullopt);
  EXPECT_EQ(file.device_code->other_entries, (std::map<std::string, Counts>{{"relocatable PTX", {{"sm_90", 1}}}}));
  EXPECT_EQ(file.device_code->units_without_code, 1);
}

TEST_F(NvccFiles, LinkTimeCodeIsNoMachineCode) {
  expect("lto.o", {}, {}, {{"sm_80", 1}});
}

TEST_F(NvccFiles, BytesPerSmAddUpToTheFiles) {
  const DeviceCode code = *read("libsize.so").device_code;
  int64_t stored = 0;
  int64_t uncompressed = 0;
  for (const auto* entries : {&code.cubin_bytes, &code.ptx_bytes}) {
    for (const auto& [target, bytes] : *entries) {
      EXPECT_LT(bytes.stored_bytes, bytes.uncompressed_bytes) << target;
      stored += bytes.stored_bytes;
      uncompressed += bytes.uncompressed_bytes;
    }
  }
  EXPECT_EQ(code.cubin_bytes.size(), 3U);
  EXPECT_EQ(stored, code.stored_bytes);
  EXPECT_EQ(uncompressed, code.uncompressed_bytes);
}

TEST_F(NvccFiles, UnitsAreReportedByTheSmsThatTheyHold) {
  EXPECT_EQ(read("libsize.so").device_code->unit_sets, (Counts{{"sm_120f sm_75 sm_90a", 1}}));
  EXPECT_EQ(read("librelocatable.so").device_code->unit_sets, (Counts{{"sm_80 sm_90", 1}}));
  EXPECT_EQ(read("lto.o").device_code->unit_sets, Counts{});
  EXPECT_EQ(read("lto.o").device_code->units_without_code, 1);
  EXPECT_EQ(read("libsize.so").device_code->units_without_code, 0);
}

TEST_F(NvccFiles, FindsSameKernelsInEachCompression) {
  for (const char* mode : {"default", "size", "speed", "balance", "none"}) {
    const File file = read(std::string("lib") + mode + ".so");
    EXPECT_EQ(file.problem, std::nullopt) << mode;
    ASSERT_TRUE(file.device_code->census) << mode;
    EXPECT_EQ(file.device_code->census->size(), 3U) << mode;
    for (const auto& [target, census] : *file.device_code->census) {
      EXPECT_EQ(census.kernels, 1) << mode << target;
      EXPECT_GT(census.words, 8) << mode << target;
      EXPECT_THAT(census.tensor_cubins, testing::IsEmpty()) << mode << target;
      EXPECT_EQ(census.trap_kernels, 0) << mode << target;
      EXPECT_EQ(census.idle_kernels, 0) << mode << target;
      EXPECT_EQ(census.cubins, 1) << mode << target;
      EXPECT_EQ(census.empty_cubins, 0) << mode << target;
      EXPECT_GT(census.stores, 0) << mode << target;
    }
    EXPECT_EQ(file.device_code->false_entries, 0) << mode;
    EXPECT_EQ(file.device_code->toolkits, (Counts{{"13.0", 3}})) << mode;
  }
}

TEST_F(NvccFiles, OpensNothingForListOfHeaders) {
  const auto listed = audit(std::string(PBPROBE_FIXTURE_DEVICE) + "/libsize.so", {.device_code_only = true});
  ASSERT_TRUE(listed.ok());
  const DeviceCode code = *listed->files.at(0).device_code;
  EXPECT_EQ(code.toolkits, Counts{});
  EXPECT_EQ(code.census, std::nullopt);
  EXPECT_EQ(code.false_entries, std::nullopt);
}

TEST_F(NvccFiles, KernelsThatOnlyTrapAreReportedByName) {
  for (const char* sm : {"sm_75", "sm_90a", "sm_121"}) {
    const File file = read(std::string("census_") + (sm + 3) + ".cubin");
    EXPECT_EQ(file.problem, std::nullopt);
    const SmCensus census = file.device_code->census->at(sm);
    EXPECT_EQ(census.kernels, 7) << sm;  // and one function that is not a kernel
    EXPECT_EQ(census.trap_kernels, 2) << sm;
    EXPECT_THAT(census.only_traps, testing::UnorderedElementsAre("_Z10only_trapsv", "_Z16prints_and_trapsPKf"));
    EXPECT_EQ(census.instructions.at("BPT"), 3) << sm;
    EXPECT_EQ(census.instructions.at("HMMA"), sm == std::string_view("sm_75") ? 5 : 1) << sm;
    EXPECT_THAT(census.tensor_cubins, testing::ElementsAre(1)) << sm;
    EXPECT_GT(census.instructions.at("STL"), 0) << sm;
    EXPECT_GT(census.instructions.at("LDL"), 0) << sm;
    EXPECT_FALSE(census.instructions.contains("HGMMA")) << sm;
  }
}

// Words as nvdisasm shows them: HMMA.884 of sm_75, VIADD of sm_90a with the same opcode, HMMA.1688 of both.
TEST(Sass, FindsOneGenerationForOpcode) {
  const std::vector<uint64_t> words{0x0000000c02047236, 0x008f640000005410, 0xffffff0001017836,
                                    0x001fe20000000000, 0x000000000806723c, 0x004fde0000001804};
  const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
  const auto hmma = [&](uint32_t sm) {
    const SassCounts counts = count_sass({bytes, words.size() * sizeof(uint64_t)}, sm);
    uint64_t sum = 0;
    for (size_t i = 0; i < sass_instructions().size(); ++i) {
      if (sass_instructions()[i].mnemonic == "HMMA") sum += counts.rows[i];
    }
    return sum;
  };
  EXPECT_EQ(hmma(75), 3U);  // sm_75 has no VIADD: there all of these words are HMMA
  EXPECT_EQ(hmma(80), 1U);
  EXPECT_EQ(hmma(90), 1U);
}

// Cubins of CUDA 12.9's assembler in containers of CUDA 13: the ABI of the former, in each compression mode.
TEST_F(NvccFiles, ReadsEntriesOfCuda12) {
  const Counts entries{{"sm_61", 1}, {"sm_75", 1}, {"sm_90a", 1}, {"sm_121", 1}};
  if (!std::filesystem::exists(std::string(PBPROBE_FIXTURE_DEVICE) + "/cuda12_none.fatbin"))
    GTEST_SKIP() << "no assembler of CUDA 12: give a site-packages with Triton by PBPROBE_TEST_TORCH";
  for (const char* sm : {"sm_61", "sm_75", "sm_90a", "sm_121"}) {
    const File file = read(std::string("cuda12_") + sm + ".cubin");
    EXPECT_EQ(file.device_code->cubin, (Counts{{sm, 1}}));
    EXPECT_EQ(file.device_code->toolkits, (Counts{{"12.9", 1}})) << sm;
    EXPECT_EQ(file.device_code->census->at(sm).kernels, 1) << sm;
  }
  for (const char* mode : {"size", "speed", "none"}) {
    const File file = read(std::string("cuda12_") + mode + ".fatbin");
    EXPECT_EQ(file.problem, std::nullopt);
    EXPECT_EQ(file.device_code->cubin, entries) << mode;
    EXPECT_EQ(file.device_code->toolkits, (Counts{{"12.9", 4}})) << mode;
  }
  EXPECT_EQ(read("two_toolkits.fatbin").device_code->toolkits, (Counts{{"12.9", 4}, {"13.0", 1}}));
}

}  // namespace
}  // namespace pbprobe
