// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Device code in every form that nvcc writes (DeviceFixtures.cmake).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/audit/audit.hpp"

namespace pbprobe {
namespace {

using Counts = std::map<std::string, int64_t>;

class NvccFiles : public ::testing::Test {
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

TEST_F(NvccFiles, EachCompressionModeTellsTheSameImages) {
  for (const char* mode : {"default", "size", "speed", "balance", "none"})
    expect(std::string("lib") + mode + ".so", kCubins, kPtx);
}

TEST_F(NvccFiles, CompressionShowsInTheBytesAlone) {
  const DeviceCode none = *read("libnone.so").device_code;
  const DeviceCode size = *read("libsize.so").device_code;
  EXPECT_EQ(none.stored_bytes, none.uncompressed_bytes);
  EXPECT_LT(size.stored_bytes, size.uncompressed_bytes / 2);
  EXPECT_NEAR(static_cast<double>(size.uncompressed_bytes), static_cast<double>(none.uncompressed_bytes), 64);
}

TEST_F(NvccFiles, ABareFatbin) {
  expect("mixed.fatbin", kCubins, kPtx);
  EXPECT_EQ(read("mixed.fatbin").machine, std::nullopt);
}

TEST_F(NvccFiles, BareCubinsBySuffix) {
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

TEST_F(NvccFiles, LinkTimeCodeIsNoMachineCode) {
  expect("lto.o", {}, {}, {{"sm_80", 1}});
}

}  // namespace
}  // namespace pbprobe
