// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/torch_symbols.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Symbols listed by `nm -D` in the wheels of these releases.
TEST(TorchSymbols, FindsReleasesThatExportASymbol) {
  EXPECT_EQ(TorchReleases::with("_ZN3c108free_cpuEPv").names(), TorchReleases::all().names());
  EXPECT_THAT(TorchReleases::with("_ZN3c1018FatalSignalHandler18fatalSignalHandlerEi").names(),
              ElementsAre("2.8", "2.9", "2.10"));
  EXPECT_THAT(TorchReleases::with("_ZN3c104cuda7MemPoolC1EPNS0_20CUDACachingAllocator13CUDAAllocatorEbb").names(),
              ElementsAre("2.9"));
  EXPECT_THAT(TorchReleases::with("torch_list_size").names(),
              ElementsAre("2.10", "2.11", "2.12", "2.13", "2.14", "2.15"));
}

TEST(TorchSymbols, FindsNoReleaseForUnknownSymbol) {
  int taken = 0;
  for (int i = 0; i < 10000; ++i)
    taken += TorchReleases::with(fmt::format("_ZN3c107nowhereILi{}EEvv", i)).empty() ? 0 : 1;
  EXPECT_LT(taken, 20);  // 2.4 of 10,000 are expected
}

TEST(TorchSymbols, FindsReleasesThatExportAllSymbols) {
  TorchReleases both = TorchReleases::with("_ZN3c1018FatalSignalHandler18fatalSignalHandlerEi");
  both &= TorchReleases::with("torch_list_size");
  EXPECT_THAT(both.names(), ElementsAre("2.10"));
}

TEST(TorchSymbols, JoinsConsecutiveReleases) {
  EXPECT_EQ(known_torch_releases(), "2.8 to 2.15");
  EXPECT_EQ(join_ranges({"2.9", "2.11", "2.12"}), "2.9, 2.11 to 2.12");
  EXPECT_THAT(join_ranges({}), IsEmpty());
}

}  // namespace
}  // namespace pbprobe
