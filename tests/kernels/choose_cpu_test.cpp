// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which CPU kernel is chosen: by the table, by the vendor, and by measured rates.
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/dispatch/choose.hpp"
#include "tests/kernels/hosts.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

TEST(Choose, TakesTheTablesOrder) {
  if (!is_built("avx512") || !is_built("avx2")) GTEST_SKIP() << "not built: make build TARGETS=avx2,avx512";
  const auto plan = choose(make_problem(64, 64, 64, DType::fp32), cpu_host({"avx2", "avx512"}));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->kernel->target, "avx512");
  EXPECT_THAT(plan->why, HasSubstr("first row of the kernel table"));
  const auto older = choose(make_problem(64, 64, 64, DType::fp32), cpu_host({"avx2"}));
  ASSERT_TRUE(older.ok());
  EXPECT_EQ(older->kernel->target, "avx2");
}

TEST(Choose, PrefersBf16InstructionsOnAmd) {
  if (!is_built("avx512") || !is_built("avx512bf16")) GTEST_SKIP() << "not built: make build TARGETS=avx512,avx512bf16";
  auto host = cpu_host({"avx2", "avx512", "avx512bf16"});
  const auto p = make_problem(64, 64, 64, DType::bf16);
  for (const auto& [vendor, target, why] : {std::tuple("AuthenticAMD", "avx512bf16", "this vendor's CPUs"),
                                            std::tuple("GenuineIntel", "avx512", "first row of the kernel table")}) {
    host.cpu.vendor = vendor;
    const auto plan = choose(p, host);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->kernel->target, target);
    EXPECT_THAT(plan->why, HasSubstr(why));
  }
  host.cpu.vendor = "AuthenticAMD";  // measured rates decide before the vendor
  Rates rates;
  for (const auto& peak : peak_table()) rates[std::string(peak.name)] = peak.target == "avx512" ? 90 : 80;
  EXPECT_EQ(choose(p, host, rates)->kernel->target, "avx512");
}

TEST(Choose, TakesTheFastestOfGivenRates) {
  if (!is_built("avx512") || !is_built("avx2")) GTEST_SKIP() << "not built: make build TARGETS=avx2,avx512";
  const auto host = cpu_host({"avx2", "avx512"});
  const auto p = make_problem(64, 64, 64, DType::fp32);
  Rates rates;
  for (const auto& peak : peak_table()) rates[std::string(peak.name)] = peak.target == "avx2" ? 90 : 80;
  const auto plan = choose(p, host, rates);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->kernel->target, "avx2");
  EXPECT_THAT(plan->why, HasSubstr("90 Gop/s"));
  // One rate that is missing makes the others worthless.
  rates.erase("peak_fp32_avx512");
  EXPECT_EQ(choose(p, host, rates)->kernel->target, "avx512");
}

}  // namespace
}  // namespace pbprobe
