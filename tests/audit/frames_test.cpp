// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// .eh_frame and landing pads: sound frames of gcc are in host_code_test.cpp; here are malformed ones, named by their
// defect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builders.hpp"
#include "probes/audit/host_code/functions.hpp"

namespace pbprobe {
namespace {

using test::append;
using test::Content;
using test::ElfBuilder;

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
  EXPECT_THAT(*starts, testing::ElementsAre(0x1000, 0x2000));
}

TEST(Frames, GoOnBehindTheEndOfOneObject) {
  Content frames = frame(common(), 0x1000);
  append<uint32_t>(frames, 0);
  auto starts = parse_starts(frame(frames, 0x2000));
  ASSERT_TRUE(starts.ok()) << starts.error().message;
  EXPECT_THAT(*starts, testing::ElementsAre(0x1000, 0x2000));
}

TEST(Frames, MalformedOnesAreNamed) {
  Content beyond = frame(common(), 0x1000);
  test::patch<uint32_t>(beyond, common().size(), 400);
  EXPECT_EQ(message(beyond), "libx.so .eh_frame+0x14: a frame of 400 bytes, 20 left");
  EXPECT_EQ(message(frame(common(), 0x1000, 4)),
            "libx.so .eh_frame+0x14: the common entry (CIE) that a frame of .eh_frame names is missing");
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
  EXPECT_EQ(message(unnamed), "libx.so .eh_frame+0x9: augmentation has no terminating NUL within the 3 bytes left");
}

constexpr uint64_t kFunction = 0x1000;

// A file with the frame of one function, and its table of calls: the search table of the unwinder begins it.
struct Unwound {
  Content content;
  Elf elf;
};

Unwound make_unwound(const Content& calls, uint8_t encoding = 0x01) {
  Unwound file;
  Content& all = file.content;
  append(all, Content{1, 0x1B, 0x03, 0x3B});
  append<uint32_t>(all, 0);  // .eh_frame, which the reader does not need
  append<uint32_t>(all, 1);
  append<uint32_t>(all, kFunction);
  append<uint32_t>(all, 52);  // frame
  append<uint32_t>(all, 28);  // length of the common entry
  append<uint32_t>(all, 0);
  append(all, Content{1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16, 6, 0x1B, 0, 0, 0, 0, 0x1B, 0x00});
  all.resize(52);
  append<uint32_t>(all, 28);  // length of the frame
  append<uint32_t>(all, 56 - 20);
  append<uint64_t>(all, kFunction);
  append<uint64_t>(all, 0x100);
  all.push_back(4);
  append<uint32_t>(all, 84 - 77);  // table of calls, relative to this place
  all.resize(84);
  append(all, Content{0xFF, 0xFF, encoding, static_cast<uint8_t>(calls.size())});
  append(all, calls);
  file.elf.file = Bytes(all, "libx.so");
  Elf64_Phdr segment{};
  segment.p_filesz = segment.p_memsz = all.size();
  for (const uint32_t type : {uint32_t{PT_LOAD}, uint32_t{PT_GNU_EH_FRAME}}) {
    segment.p_type = type;
    file.elf.segments.push_back(segment);
  }
  return file;
}

Result<std::vector<CallSite>> read_calls(const Unwound& file, uint64_t function = kFunction) {
  auto pads = LandingPads::make(file.elf);
  if (!pads.ok()) return pads.error();
  return pads->read(file.elf, function);
}

TEST(LandingPads, ReadsCallsThatHaveOne) {
  const Unwound file = make_unwound({0, 8, 0, 0, 8, 4, 0x90, 1, 1, 0x10, 0x80, 1, 0x20, 3});
  auto calls = read_calls(file);
  ASSERT_TRUE(calls.ok()) << calls.error().message;
  ASSERT_EQ(calls->size(), 2U);
  EXPECT_EQ((*calls)[0].begin, kFunction + 8);
  EXPECT_EQ((*calls)[0].end, kFunction + 12);
  EXPECT_EQ((*calls)[0].pad, kFunction + 0x90);
  EXPECT_EQ((*calls)[1].begin, kFunction + 0x10);
  EXPECT_EQ((*calls)[1].end, kFunction + 0x90);
  EXPECT_EQ((*calls)[1].pad, kFunction + 0x20);
}

TEST(LandingPads, FindsNoneWithoutFrame) {
  const Unwound file = make_unwound({8, 4, 0x20, 0});
  auto calls = read_calls(file, kFunction + 8);
  ASSERT_TRUE(calls.ok()) << calls.error().message;
  EXPECT_TRUE(calls->empty());
  Elf bare = file.elf;
  bare.segments.pop_back();
  auto pads = LandingPads::make(bare);
  ASSERT_TRUE(pads.ok()) << pads.error().message;
  auto none = pads->read(bare, kFunction);
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_TRUE(none->empty());
}

TEST(LandingPads, RejectsMalformedCalls) {
  const Unwound cut = make_unwound({8, 4, 0x20});
  auto calls = read_calls(cut);
  ASSERT_FALSE(calls.ok());
  EXPECT_EQ(calls.error().message, "libx.so+0x5b: LEB128 number needs 1 bytes, 0 left");
  const Unwound unknown = make_unwound({8, 4, 0x20, 0}, 0x07);
  calls = read_calls(unknown);
  ASSERT_FALSE(calls.ok());
  EXPECT_EQ(calls.error().message, "libx.so+0x58: pointer encoding 0x7 is not known");
}

}  // namespace
}  // namespace pbprobe
