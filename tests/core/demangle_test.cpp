// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "core/demangle.hpp"

namespace pbprobe {
namespace {

TEST(Demangle, DemanglesNames) {
  EXPECT_EQ(demangled("_ZN2at6native4AVX23addEi"), "at::native::AVX2::add(int)");
  EXPECT_EQ(demangled("plain"), "plain");
  EXPECT_EQ(demangled("i"), "i");  // also a type's mangled name
  EXPECT_EQ(demangled(std::string(5000, 'x')).size(), 200U);
  EXPECT_EQ(demangled("_ZN2at6native4AVX23addEi", 10), "at::nat...");
}

TEST(Demangle, OmitsArgumentsInFunctionName) {
  EXPECT_EQ(function_name("_ZN2at6native29vectorized_elementwise_kernelILi4EEEviT_"),
            "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(function_name("sm90_xmma_gemm_bf16"), "sm90_xmma_gemm_bf16");
}

TEST(Demangle, KeepsAnonymousNamespacesAndOperators) {
  EXPECT_EQ(function_name("_ZN6vision3ops12_GLOBAL__N_115nms_kernel_implIfEEvidPKT_Py"),
            "vision::ops::(anonymous namespace)::nms_kernel_impl");
  EXPECT_EQ(function_name("_ZN2at7FunctorclEf"), "at::Functor::operator()");
  EXPECT_EQ(function_name("_ZN2atlsERSoRKNS_6TensorE"), "at::operator<<");
}

TEST(Demangle, OmitsArgumentsOfTooLongNames) {
  std::string arguments;
  for (int i = 0; i < 500; ++i) arguments += "Li1E";
  const std::string name = "_ZN7cutlass13device_kernelI" + arguments + "EEvv";
  EXPECT_EQ(demangled(name), "cutlass::device_kernel<...>");
  EXPECT_EQ(function_name(name), "cutlass::device_kernel");
  EXPECT_EQ(demangled("_ZN99999999999999999999a"), "_ZN99999999999999999999a");
  EXPECT_EQ(demangled("_ZN9short"), "_ZN9short");
}

TEST(Demangle, ReturnsNulloptForUnmangledNames) {
  EXPECT_EQ(demangle("memcpy"), std::nullopt);
  EXPECT_EQ(demangle("_Z"), std::nullopt);
  EXPECT_EQ(demangle("_Z1f" + std::string(5000, 'i')), std::nullopt);
}

}  // namespace
}  // namespace pbprobe
