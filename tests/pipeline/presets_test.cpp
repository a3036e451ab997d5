// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/presets.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

std::string list_shapes(int64_t count, uint64_t seed) {
  std::string text;
  for (const auto& [m, n, k] : random_shapes(count, seed))
    text += std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " ";
  return text;
}

// Figures of two versions are compared by their shapes.
TEST(RandomShapes, DependOnTheSeedAlone) {
  EXPECT_EQ(list_shapes(3, 1), "3459x7x1390 181x2008x22 11x1447x62 ");
  EXPECT_EQ(list_shapes(1, 1), "3459x7x1390 ");
  EXPECT_NE(list_shapes(3, 2), list_shapes(3, 1));
  for (const auto& [m, n, k] : random_shapes(1000, 1)) {
    EXPECT_TRUE(m >= 1 && n >= 1 && k >= 1 && m <= 16384 && n <= 16384 && k <= 16384) << m << "x" << n << "x" << k;
  }
}

}  // namespace
}  // namespace pbprobe
