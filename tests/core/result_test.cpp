// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/result.hpp"

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return make_error(ErrorCode::usage, "{} is odd", number);
  return number / 2;
}

Result<std::string> quarter(int number) {
  PBPROBE_TRY(int first, half(number));
  PBPROBE_TRY(const int second, half(first), "halving {} again", number);
  return std::to_string(second);
}

Result<void> must_be_even(int number) {
  PBPROBE_CHECK(half(number), "checking");
  return {};
}

TEST(Result, TryUnwrapsAValue) {
  auto result = quarter(12);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, "3");
}

TEST(Result, ReturnsErrorWithContext) {
  auto result = quarter(6);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::usage);
  EXPECT_EQ(result.error().message, "halving 6 again: 3 is odd");
  EXPECT_EQ(quarter(7).error().message, "7 is odd");
}

TEST(Result, ReturnsErrorOfVoidResult) {
  EXPECT_TRUE(must_be_even(2).ok());
  EXPECT_EQ(must_be_even(3).error().message, "checking: 3 is odd");
}

TEST(Result, NamesEachCode) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::device); ++code)
    EXPECT_NE(name_of(static_cast<ErrorCode>(code)), "unknown") << code;
}

}  // namespace
}  // namespace pbprobe
