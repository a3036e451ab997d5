// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/core/host/fake_root.hpp"

namespace pbprobe::host {
namespace {

using testing::ElementsAre;

TEST(Files, ParsesCpuLists) {
  EXPECT_THAT(parse_cpu_list("0-3,8\n").value(), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(parse_cpu_list("5").value(), ElementsAre(5));
}

TEST(Files, RejectsMalformedCpuLists) {
  for (const auto* text : {"", "\n", "0-", "-3", "3-1", "0-3,", "a", "0-1-2", "0-65536", "99999999999999999999", "0 1"})
    EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
}

TEST(Files, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_number("42"), 42U);
  EXPECT_EQ(parse_number("0x00000000410fd490"), 0x410fd490U);
  for (const auto* text : {"", "0x", "4 2", "-1", "+1", "1.5", "0x1g", "18446744073709551616"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(Files, FindsValueAfterKey) {
  EXPECT_EQ(find_value("MemTotal:       16 kB\nMemFree: 1 kB\n", "MemFree"), "1 kB");
  EXPECT_EQ(find_value("CPU part\t: 0xd49\n", "CPU part"), "0xd49");
  EXPECT_EQ(find_value("MemTotalHuge: 1\n", "MemTotal"), std::nullopt);
  EXPECT_EQ(find_value("no colon", "no colon"), std::nullopt);
}

TEST(Files, ReturnsNulloptForFolderMissingOrEmptyFile) {
  const FakeRoot root;
  root.write("/empty", "");
  root.write("/blank", " \n");
  EXPECT_EQ(read_line(root.path(), "/empty"), std::nullopt);
  EXPECT_EQ(read_line(root.path(), "/blank"), std::nullopt);
  EXPECT_EQ(read_text(root.path(), "/absent"), std::nullopt);
  EXPECT_EQ(read_line(root.path(), "/"), std::nullopt);
}

TEST(Files, ReadsHugeFileUpToLimit) {
  const FakeRoot root;
  root.write("/huge", "");
  std::filesystem::resize_file(root.path() + "/huge", uintmax_t{1} << 40);
  EXPECT_EQ(read_text(root.path(), "/huge").value().size(), size_t{1} << 20);
}

TEST(Files, SkipsFilesThatAreNotRegular) {
  EXPECT_EQ(read_text("", "/dev/zero"), std::nullopt);
}

}  // namespace
}  // namespace pbprobe::host
