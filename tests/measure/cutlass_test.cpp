// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests a missing and a wrong library of the peer. gpu_test.cpp tests the results of its kernels.
#include "probes/measure/cutlass.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Cutlass, NamesRemedyForMissingLibrary) {
  const auto library = Cutlass::load({"/nowhere/libpbprobe_cutlass.so"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, ErrorCode::not_found);
  EXPECT_THAT(library.error().message, HasSubstr("make cutlass"));
  EXPECT_THAT(library.error().message, HasSubstr("/nowhere/libpbprobe_cutlass.so"));
}

TEST(Cutlass, RejectsAnotherLibraryByName) {
  const auto library = Cutlass::load({"libm.so.6"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, ErrorCode::unsupported);
  EXPECT_THAT(library.error().message, HasSubstr("libm.so.6 has no pbprobe_cutlass_"));
}

TEST(Cutlass, SearchesOnlyNamedPath) {
  ASSERT_EQ(setenv("PBPROBE_CUTLASS_PEER", "/a/peer.so", 1), 0);
  EXPECT_THAT(cutlass_places(), ElementsAre("/a/peer.so"));
  ASSERT_EQ(unsetenv("PBPROBE_CUTLASS_PEER"), 0);
  EXPECT_THAT(cutlass_places().back(), "libpbprobe_cutlass.so");
}

}  // namespace
}  // namespace pbprobe
