// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares pbprobe's declarations with cuda.h if a toolkit is installed: symbols, parameters and layouts.
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "core/driver/driver_api.hpp"

#if defined(PBPROBE_HAS_CUDA_H)

namespace pbprobe {
// Taken before cuda.h comes: it defines macros of the same names (cuMemAlloc is cuMemAlloc_v2).
struct Ours {
#define PBPROBE_OURS(name, symbol, parameters)   \
  using type_##name = decltype(DriverApi::name); \
  static constexpr std::string_view symbol_##name = symbol;
  PBPROBE_DRIVER_DETECT(PBPROBE_OURS)
  PBPROBE_DRIVER_OPTIONAL(PBPROBE_OURS)
  PBPROBE_DRIVER_LAUNCH(PBPROBE_OURS)
};
}  // namespace pbprobe

#include <cuda.h>

namespace pbprobe {
namespace {

// Enumerations are ints for us, and three structures have names of ours.
template <class T>
struct Plain {
  using type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <>
struct Plain<CUuuid> {
  using type = CuUuid;
};
template <>
struct Plain<CUtensorMap> {
  using type = void;
};
template <>
struct Plain<CUlaunchConfig> {
  using type = CuLaunchConfig;
};
template <>
struct Plain<CUDA_KERNEL_NODE_PARAMS> {
  using type = CuKernelNode;
};
template <class T>
struct Plain<const T> {
  using type = const typename Plain<T>::type;
};
template <class T>
struct Plain<T*> {
  using type = typename Plain<T>::type*;
};
template <class R, class... Args>
struct Plain<R(Args...)> {
  using type = typename Plain<R>::type(typename Plain<Args>::type...);
};

#define PBPROBE_TEXT(macro) #macro
#define PBPROBE_EXPANDED(macro) PBPROBE_TEXT(macro)

TEST(DriverPrototypes, MatchesPrototypesInCudaH) {
  int compared = 0;
#define PBPROBE_COMPARE(name, symbol, parameters)                                                         \
  EXPECT_TRUE((std::is_same_v<Ours::type_##name, Plain<decltype(::name)>::type*>)) << PBPROBE_TEXT(name); \
  ++compared;
  PBPROBE_DRIVER_DETECT(PBPROBE_COMPARE)
  PBPROBE_DRIVER_OPTIONAL(PBPROBE_COMPARE)
  PBPROBE_DRIVER_LAUNCH(PBPROBE_COMPARE)
  EXPECT_GE(compared, 50);
}

TEST(DriverPrototypes, MatchesSymbolsInCudaH) {
  // CUDA 12.8 gave this one a _v2 of the same meaning; the first is in every driver.
  constexpr std::string_view kOlder = "cuEventElapsedTime";
#define PBPROBE_COMPARE_SYMBOL(name, symbol, parameters) \
  EXPECT_TRUE(Ours::symbol_##name == kOlder || Ours::symbol_##name == PBPROBE_EXPANDED(name)) << PBPROBE_EXPANDED(name);
  PBPROBE_DRIVER_DETECT(PBPROBE_COMPARE_SYMBOL)
  PBPROBE_DRIVER_OPTIONAL(PBPROBE_COMPARE_SYMBOL)
  PBPROBE_DRIVER_LAUNCH(PBPROBE_COMPARE_SYMBOL)
}

TEST(DriverPrototypes, MatchesLayoutsInCudaH) {
  EXPECT_EQ(sizeof(CuUuid), sizeof(CUuuid));
  EXPECT_EQ(sizeof(CuLaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(CuLaunchConfig, grid), offsetof(CUlaunchConfig, gridDimX));
  EXPECT_EQ(offsetof(CuLaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
  EXPECT_EQ(offsetof(CuLaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(CuLaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(CuLaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(CuLaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(CuKernelNode), sizeof(CUDA_KERNEL_NODE_PARAMS));
  EXPECT_EQ(offsetof(CuKernelNode, function), offsetof(CUDA_KERNEL_NODE_PARAMS, func));
  EXPECT_EQ(offsetof(CuKernelNode, kernel), offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
  EXPECT_EQ(sizeof(CuLaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(CuLaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(alignof(CuLaunchAttribute), alignof(CUlaunchAttribute));
}

TEST(DriverPrototypes, MatchesValuesInCudaH) {
  EXPECT_EQ(int{kCudaErrorStubLibrary}, int{CUDA_ERROR_STUB_LIBRARY});
  EXPECT_EQ(int{kCudaErrorNoDevice}, int{CUDA_ERROR_NO_DEVICE});
  EXPECT_EQ(int{kCudaErrorNoBinaryForGpu}, int{CUDA_ERROR_NO_BINARY_FOR_GPU});
  EXPECT_EQ(int{kCudaErrorOutOfMemory}, int{CUDA_ERROR_OUT_OF_MEMORY});
  EXPECT_EQ(int{kCudaErrorDeviceUnavailable}, int{CUDA_ERROR_DEVICE_UNAVAILABLE});
  EXPECT_EQ(int{kCudaErrorOperatingSystem}, int{CUDA_ERROR_OPERATING_SYSTEM});
  EXPECT_EQ(int{kCudaErrorSystemNotReady}, int{CUDA_ERROR_SYSTEM_NOT_READY});
  EXPECT_EQ(int{kCudaErrorSystemDriverMismatch}, int{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH});
  EXPECT_EQ(int{kCudaErrorCompatNotSupported}, int{CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE});
  EXPECT_EQ(int{kCudaErrorUnknown}, int{CUDA_ERROR_UNKNOWN});
  EXPECT_EQ(int{kCuMaxSharedPerBlock}, int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK});
  EXPECT_EQ(int{kCuClockRateKhz}, int{CU_DEVICE_ATTRIBUTE_CLOCK_RATE});
  EXPECT_EQ(int{kCuMultiprocessorCount}, int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
  EXPECT_EQ(int{kCuIntegrated}, int{CU_DEVICE_ATTRIBUTE_INTEGRATED});
  EXPECT_EQ(int{kCuComputeMode}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_MODE});
  EXPECT_EQ(int{kCuEccEnabled}, int{CU_DEVICE_ATTRIBUTE_ECC_ENABLED});
  EXPECT_EQ(int{kCuMemoryClockRateKhz}, int{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE});
  EXPECT_EQ(int{kCuMemoryBusWidth}, int{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH});
  EXPECT_EQ(int{kCuL2CacheBytes}, int{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE});
  EXPECT_EQ(int{kCuCapabilityMajor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
  EXPECT_EQ(int{kCuCapabilityMinor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
  EXPECT_EQ(int{kCuMaxSharedPerMultiprocessor}, int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR});
  EXPECT_EQ(int{kCuMaxSharedPerBlockOptin}, int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN});
  EXPECT_EQ(int{kCuFuncMaxThreadsPerBlock}, int{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK});
  EXPECT_EQ(int{kCuFuncStaticSharedBytes}, int{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES});
  EXPECT_EQ(int{kCuFuncLocalBytes}, int{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES});
  EXPECT_EQ(int{kCuFuncRegisters}, int{CU_FUNC_ATTRIBUTE_NUM_REGS});
  EXPECT_EQ(int{kCuFuncBinaryVersion}, int{CU_FUNC_ATTRIBUTE_BINARY_VERSION});
  EXPECT_EQ(int{kCuFuncMaxDynamicSharedBytes}, int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
  EXPECT_EQ(int{kCuLaunchCooperative}, int{CU_LAUNCH_ATTRIBUTE_COOPERATIVE});
  EXPECT_EQ(int{kCuLaunchClusterDimension}, int{CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION});
  EXPECT_EQ(int{kCuLaunchProgrammaticSerialization}, int{CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION});
  EXPECT_EQ(unsigned{kCuStreamNonBlocking}, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(unsigned{kCuEventDisableTiming}, unsigned{CU_EVENT_DISABLE_TIMING});
}

}  // namespace
}  // namespace pbprobe

#else

TEST(DriverPrototypes, MatchesPrototypesInCudaH) {
  GTEST_SKIP() << "cuda.h was not found: set CUDA_HOME to a CUDA toolkit and configure again";
}

#endif
