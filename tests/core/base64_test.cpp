// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/base64.hpp"

#include <array>
#include <utility>

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

using namespace std::string_view_literals;

TEST(Base64, ConvertsExamplesOfRfc4648) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kVectors{
      {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xff\xef\0"sv, "/+8A"}}};
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
}

TEST(Base64, RejectsInvalidText) {
  for (const auto* text : {"Zg", "Zg=", "Z===g", "Zm9*", "_-8A"}) EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace pbprobe
