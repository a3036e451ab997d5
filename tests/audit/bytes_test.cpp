// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/bytes.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pbprobe {
namespace {

const std::vector<uint8_t> kData{0x50, 0xed, 0x55, 0xba, 'a', 'b', 0, 'c'};
const Bytes kFile(kData, "libx.so");

TEST(Bytes, ReadsLittleEndian) {
  auto value = kFile.read<uint32_t>(0, "magic");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 0xba55ed50U);
}

TEST(Bytes, NamesFileAndOffsetOfShortRead) {
  EXPECT_EQ(kFile.read<uint32_t>(6, "header").error().message, "libx.so+0x6: header needs 4 bytes, 2 left");
  EXPECT_EQ(kFile.read<uint8_t>(9, "header").error().message, "libx.so+0x9: header needs 1 bytes, 0 left");
}

TEST(Bytes, OffsetsThatWouldOverflowAreRefused) {
  constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
  EXPECT_FALSE(kFile.slice(kHuge, 2, "slice").ok());
  EXPECT_FALSE(kFile.slice(2, kHuge, "slice").ok());
  EXPECT_FALSE(kFile.slice(kHuge - 1, kHuge - 1, "slice").ok());
}

TEST(Bytes, CountsOffsetsOfPartsAndSlices) {
  const Bytes part = *kFile.part(4, 4, ".nv_fatbin");
  EXPECT_EQ(part.slice(1, 3, "rest")->read<uint64_t>(1, "header").error().message,
            "libx.so .nv_fatbin+0x2: header needs 8 bytes, 2 left");
}

TEST(Bytes, RequiresNulAtEndOfString) {
  EXPECT_EQ(*kFile.string(4, "name"), "ab");
  EXPECT_EQ(kFile.string(7, "name").error().message,
            "libx.so+0x7: name has no terminating NUL within the 1 bytes left");
}

}  // namespace
}  // namespace pbprobe
