// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/strings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Strings, SplitLinesOmitsEndOfLastLine) {
  EXPECT_THAT(split_lines("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(split_lines("a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(split_lines("\n"), ElementsAre(""));
  EXPECT_THAT(split_lines(""), IsEmpty());
}

TEST(Strings, TrimRemovesBlanksAndNul) {
  EXPECT_EQ(trim(std::string_view(" \tab c\r\n\0", 9)), "ab c");
  EXPECT_EQ(trim(" \n"), "");
}

}  // namespace
}  // namespace pbprobe
