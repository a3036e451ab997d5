// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// .eh_frame: sound ones of gcc are in host_code_test.cpp; here are malformed ones, named by their defect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builders.hpp"
#include "probes/audit/host_code/functions.hpp"

namespace pbprobe {
namespace {

using testing::append;
using testing::Content;
using testing::ElfBuilder;

// A common entry whose frames write addresses by `encoding`.
Content common(uint8_t encoding = 0x00, uint8_t version = 1, const std::string& augmentation = "zR") {
  Content body;
  append<uint32_t>(body, 0);
  body.push_back(version);
  for (const char letter : augmentation) body.push_back(static_cast<uint8_t>(letter));
  append(body, Content{0, 1, 0x78, 16, 1, encoding});
  body.resize((body.size() + 3) / 4 * 4);
  Content entry;
  append<uint32_t>(entry, static_cast<uint32_t>(body.size()));
  append(entry, body);
  return entry;
}

// A frame of the function at this address; its common entry begins the section.
Content frame(const Content& before, uint64_t address, uint32_t back_by = 0) {
  Content entry = before;
  append<uint32_t>(entry, 20);
  append<uint32_t>(entry, static_cast<uint32_t>(before.size() + 4 - back_by));
  append<uint64_t>(entry, address);
  append<uint64_t>(entry, 16);
  return entry;
}

Result<std::vector<uint64_t>> parse_starts(const Content& frames) {
  ElfBuilder builder;
  builder.sections = {{".eh_frame", SHT_PROGBITS, frames}};
  const Content file = builder.build();
  auto elf = read_elf(Bytes(file, "libx.so"));
  EXPECT_TRUE(elf.ok());
  return read_frame_starts(*elf);
}

std::string message(const Content& frames) {
  auto starts = parse_starts(frames);
  return starts.ok() ? "no error" : starts.error().message;
}

TEST(Frames, TellWhereFunctionsBegin) {
  auto starts = parse_starts(frame(frame(common(), 0x1000), 0x2000));
  ASSERT_TRUE(starts.ok()) << starts.error().message;
  EXPECT_THAT(*starts, ::testing::ElementsAre(0x1000, 0x2000));
}

TEST(Frames, GoOnBehindTheEndOfOneObject) {
  Content frames = frame(common(), 0x1000);
  append<uint32_t>(frames, 0);
  auto starts = parse_starts(frame(frames, 0x2000));
  ASSERT_TRUE(starts.ok()) << starts.error().message;
  EXPECT_THAT(*starts, ::testing::ElementsAre(0x1000, 0x2000));
}

TEST(Frames, MalformedOnesAreNamed) {
  Content beyond = frame(common(), 0x1000);
  testing::patch<uint32_t>(beyond, common().size(), 400);
  EXPECT_EQ(message(beyond), "libx.so .eh_frame+0x14: a frame of 400 bytes, 20 left");
  EXPECT_EQ(message(frame(common(), 0x1000, 4)), "libx.so .eh_frame+0x14: a frame whose common entry is missing");
  Content wide = common();
  append<uint32_t>(wide, 0xFFFFFFFF);
  EXPECT_EQ(message(wide), "libx.so .eh_frame+0x14: a frame with a 64-bit length");
  EXPECT_EQ(message(common(0, 9)), "libx.so .eh_frame+0x8: a common entry of version 9");
  EXPECT_EQ(message(frame(common(0x07), 0x1000)), "libx.so .eh_frame+0x1c: pointer encoding 0x7 is not known");
  Content endless = common(0, 1, "zR");
  for (size_t i = 12; i < endless.size(); ++i) endless[i] = 0xFF;
  EXPECT_EQ(message(endless), "libx.so .eh_frame+0x14: LEB128 number needs 1 bytes, 0 left");
  Content unnamed;
  append<uint32_t>(unnamed, 8);
  append<uint32_t>(unnamed, 0);
  append<uint32_t>(unnamed, 0x7a7a7a01);
  EXPECT_EQ(message(unnamed), "libx.so .eh_frame+0x9: augmentation has no end within the 3 bytes left");
}

}  // namespace
}  // namespace pbprobe
