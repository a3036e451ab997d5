// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/printable.hpp"

#include <gtest/gtest.h>

#include "core/json.hpp"

namespace pbprobe {
namespace {

TEST(Printable, KeepsVisibleCharacters) {
  for (const std::string text : {"", "libtorch_cuda.so", "3 × é — 東京 🙂", "~ !\"$%&'()*+"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
  }
}

TEST(Printable, ReplacesControlCharacters) {
  EXPECT_EQ(printable("a\033[31mb\007\177c"), "a?[31mb??c");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "?31m");                                  // CSI as one character
  EXPECT_EQ(printable("a\r\nPASS\tb"), "a? PASS b");  // no line of its own
  EXPECT_EQ(printable_lines("a\r\nb\tc\033\n"), "a?\nb\tc?\n");
}

TEST(Printable, ReplacesDirectionMarksAndInvisibleCharacters) {
  for (const char* hidden :
       {"\u202E", "\u2066", "\u2069", "\u200F", "\u061C", "\u200B", "\u2028", "\uFEFF", "\U000E0041"})
    EXPECT_EQ(printable(std::string("a") + hidden + "b"), "a?b") << hidden;
  EXPECT_EQ(printable("\u2010\u2030\u205F\u2070"), "\u2010\u2030\u205F\u2070");  // their neighbours
}

TEST(Printable, ReplacesInvalidUtf8) {
  EXPECT_EQ(printable("\xFF\xC3"), "??");
  EXPECT_EQ(printable("\xC0\xAF"), "??");  // overlong: two bytes, three, four
  EXPECT_EQ(printable("\xE0\x80\xAF"), "???");
  EXPECT_EQ(printable("\xF0\x80\x80\xAF"), "????");
  EXPECT_EQ(printable("\xED\xA0\x80"), "???");       // half of a pair
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "????");  // beyond the last
  EXPECT_EQ(printable("\xE2\x82"), "??");            // cut off
}

TEST(Printable, KeepsOwnColours) {
  EXPECT_EQ(printable_lines("\033[1;32mPASS\033[0m\n\033[2Jx", true), "\033[1;32mPASS\033[0m\n?[2Jx");
  EXPECT_EQ(printable_lines("\033[1;32mPASS", false), "?[1;32mPASS");
  EXPECT_EQ(printable_lines("\033[", true), "?[");
  EXPECT_EQ(printable_lines("\033[1;", true), "?[1;");
}

TEST(Printable, EscapesMarkdown) {
  EXPECT_EQ(printable_markdown("a|b`c`<img>[x](y)&*\\\n"), "a\\|b\\`c\\`&lt;img&gt;\\[x\\](y)&amp;\\*\\\\ ");
  EXPECT_EQ(printable_markdown("libtorch_cuda-2.11.0+cu130.whl"), "libtorch_cuda-2.11.0+cu130.whl");
}

TEST(Printable, WritesSafeJsonOfSameDocument) {
  const Json document{{"name", "a\033[31m\177\u009B31m\u202E\U000E0041é\n"}, {"plain", "東京 🙂"}};
  const std::string text = dump_json(document, -1);
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(text, "{\"name\":\"a\\u001b[31m\\u007f\\u009b31m\\u202e\\udb40\\udc41é\\n\",\"plain\":\"東京 🙂\"}");
  const auto read = parse_json(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, document);
  EXPECT_EQ(dump_json(Json{{"name", "\xFF"}}, -1), "{\"name\":\"\uFFFD\"}");
}

}  // namespace
}  // namespace pbprobe
