// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Declarations of the CUDA driver API and NVML. The functions are loaded at run time, so that detection is equal in
// every build and needs no CUDA headers. tests/core/host/driver_prototypes_test.cpp compares the prototypes with
// cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// Opaque types of cuda.h, so that handles have the same type in code that includes both headers.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUfunc_st;
struct CUlib_st;
struct CUkern_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct nvmlDevice_st;

namespace pbprobe {

using CuResult = int;  // CUresult: 0 is success
using CuDevice = int;
using CuDevicePtr = unsigned long long;
using CuContext = ::CUctx_st*;
using CuStream = ::CUstream_st*;  // also cudaStream_t
using CuEvent = ::CUevent_st*;
using CuFunction = ::CUfunc_st*;
using CuLibrary = ::CUlib_st*;
using CuKernel = ::CUkern_st*;
using CuGraph = ::CUgraph_st*;
using CuGraphNode = ::CUgraphNode_st*;

struct CuUuid {
  unsigned char bytes[16];
};

// CUlaunchAttribute with its 64-byte value: `dims` is the cluster size, `flag` the value of boolean attributes.
struct CuLaunchAttribute {
  int id = 0;  // CuLaunch::…
  int pad = 0;
  union {
    unsigned char bytes[64];
    unsigned dims[3];
    int flag;
    void* pointer;
  } value = {};
};

// CUlaunchConfig.
struct CuLaunchConfig {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  CuStream stream = nullptr;
  CuLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

// CUDA_KERNEL_NODE_PARAMS: either the function or the kernel is set.
struct CuKernelNode {
  CuFunction function = nullptr;
  unsigned grid[3] = {};
  unsigned block[3] = {};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  CuKernel kernel = nullptr;
  CuContext context = nullptr;
};

// The values of CUresult, CUdevice_attribute, CUfunction_attribute and the like that the project uses.
enum CuError : int {
  kCudaSuccess = 0,
  kCudaErrorOutOfMemory = 2,
  kCudaErrorStubLibrary = 34,
  kCudaErrorDeviceUnavailable = 46,
  kCudaErrorNoDevice = 100,
  kCudaErrorNoBinaryForGpu = 209,
  kCudaErrorEccUncorrectable = 214,
  kCudaErrorOperatingSystem = 304,
  kCudaErrorIllegalAddress = 700,
  kCudaErrorLaunchTimeout = 702,
  kCudaErrorIllegalInstruction = 715,
  kCudaErrorMisalignedAddress = 716,
  kCudaErrorLaunchFailed = 719,
  kCudaErrorSystemNotReady = 802,
  kCudaErrorSystemDriverMismatch = 803,
  kCudaErrorCompatNotSupported = 804,
  kCudaErrorUnknown = 999,
};
enum CuDeviceAttribute : int {
  kCuMaxSharedPerBlock = 8,
  kCuClockRateKhz = 13,
  kCuMultiprocessorCount = 16,
  kCuIntegrated = 18,
  kCuComputeMode = 20,  // 2: prohibited
  kCuEccEnabled = 32,
  kCuMemoryClockRateKhz = 36,
  kCuMemoryBusWidth = 37,
  kCuL2CacheBytes = 38,
  kCuCapabilityMajor = 75,
  kCuCapabilityMinor = 76,
  kCuMaxSharedPerMultiprocessor = 81,
  kCuMaxSharedPerBlockOptin = 97,
};
enum CuFunctionAttribute : int {
  kCuFuncMaxThreadsPerBlock = 0,
  kCuFuncStaticSharedBytes = 1,
  kCuFuncLocalBytes = 3,
  kCuFuncRegisters = 4,
  kCuFuncPtxVersion = 5,
  kCuFuncBinaryVersion = 6,
  kCuFuncMaxDynamicSharedBytes = 8,
};
enum CuLaunch : int { kCuLaunchCooperative = 2, kCuLaunchClusterDimension = 4, kCuLaunchProgrammaticSerialization = 6 };
enum CuFlags : unsigned { kCuStreamNonBlocking = 1, kCuEventDisableTiming = 2 };
enum CuPointerAttribute : int { kCuPointerMemoryType = 2, kCuPointerIsManaged = 8, kCuPointerDeviceOrdinal = 9 };
enum CuMemoryType : unsigned { kCuMemoryHost = 1, kCuMemoryDevice = 2 };
enum CuCapture : int { kCuCaptureRelaxed = 2 };
enum CuNodeType : int { kCuNodeKernel = 0 };

// Functions for detection, present in every driver since CUDA 4. A library that lacks one of them is not a CUDA driver.
// FUNCTION(name, symbol, parameters): all return CUresult.
#define PBPROBE_DRIVER_DETECT(FUNCTION)                                                         \
  FUNCTION(cuInit, "cuInit", (unsigned flags))                                                  \
  FUNCTION(cuDriverGetVersion, "cuDriverGetVersion", (int* version))                            \
  FUNCTION(cuGetErrorName, "cuGetErrorName", (CuResult error, const char** name))               \
  FUNCTION(cuGetErrorString, "cuGetErrorString", (CuResult error, const char** text))           \
  FUNCTION(cuDeviceGetCount, "cuDeviceGetCount", (int* count))                                  \
  FUNCTION(cuDeviceGet, "cuDeviceGet", (CuDevice * device, int ordinal))                        \
  FUNCTION(cuDeviceGetName, "cuDeviceGetName", (char* name, int length, CuDevice device))       \
  FUNCTION(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, CuDevice device))          \
  FUNCTION(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char* id, int length, CuDevice device)) \
  FUNCTION(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int* value, int attribute, CuDevice device))

// Functions that are null in older drivers: the first one before CUDA 11.4 (470), functions that inspect a stream
// capture before 12.3 (545).
#define PBPROBE_DRIVER_OPTIONAL(FUNCTION)                                                                              \
  FUNCTION(cuDeviceGetUuid, "cuDeviceGetUuid_v2", (CuUuid * uuid, CuDevice device))                                    \
  FUNCTION(cuFuncGetName, "cuFuncGetName", (const char** name, CuFunction function))                                   \
  FUNCTION(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (int* mode))                        \
  FUNCTION(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CuStream stream, int mode))                               \
  FUNCTION(cuStreamEndCapture, "cuStreamEndCapture", (CuStream stream, CuGraph * graph))                               \
  FUNCTION(cuGraphGetNodes, "cuGraphGetNodes", (CuGraph graph, CuGraphNode * nodes, size_t * count))                   \
  FUNCTION(cuGraphNodeGetType, "cuGraphNodeGetType", (CuGraphNode node, int* type))                                    \
  FUNCTION(cuGraphKernelNodeGetParams, "cuGraphKernelNodeGetParams_v2", (CuGraphNode node, CuKernelNode * parameters)) \
  FUNCTION(cuGraphDestroy, "cuGraphDestroy", (CuGraph graph))

// Functions that run and time kernels; CUDA 12.0 (525) has all of them. Null in older drivers; see require_launch().
#define PBPROBE_DRIVER_LAUNCH(FUNCTION)                                                                                \
  FUNCTION(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CuContext * context, CuDevice device))               \
  FUNCTION(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CuDevice device))                               \
  FUNCTION(cuCtxSetCurrent, "cuCtxSetCurrent", (CuContext context))                                                    \
  FUNCTION(cuCtxGetCurrent, "cuCtxGetCurrent", (CuContext * context))                                                  \
  FUNCTION(cuCtxGetDevice, "cuCtxGetDevice", (CuDevice * device))                                                      \
  FUNCTION(cuCtxSynchronize, "cuCtxSynchronize", ())                                                                   \
  FUNCTION(cuMemGetInfo, "cuMemGetInfo_v2", (size_t * free, size_t * total))                                           \
  FUNCTION(cuMemAlloc, "cuMemAlloc_v2", (CuDevicePtr * pointer, size_t bytes))                                         \
  FUNCTION(cuMemFree, "cuMemFree_v2", (CuDevicePtr pointer))                                                           \
  FUNCTION(cuPointerGetAttributes, "cuPointerGetAttributes",                                                           \
           (unsigned count, int* attributes, void** values, CuDevicePtr pointer))                                      \
  FUNCTION(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (CuDevicePtr to, const void* from, size_t bytes))                          \
  FUNCTION(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void* to, CuDevicePtr from, size_t bytes))                                \
  FUNCTION(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                                  \
           (CuDevicePtr to, const void* from, size_t bytes, CuStream stream))                                          \
  FUNCTION(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                                                  \
           (CuDevicePtr to, CuDevicePtr from, size_t bytes, CuStream stream))                                          \
  FUNCTION(cuMemsetD8, "cuMemsetD8_v2", (CuDevicePtr pointer, unsigned char value, size_t count))                      \
  FUNCTION(cuMemsetD8Async, "cuMemsetD8Async",                                                                         \
           (CuDevicePtr pointer, unsigned char value, size_t count, CuStream stream))                                  \
  FUNCTION(cuStreamCreate, "cuStreamCreate", (CuStream * stream, unsigned flags))                                      \
  FUNCTION(cuStreamDestroy, "cuStreamDestroy_v2", (CuStream stream))                                                   \
  FUNCTION(cuStreamSynchronize, "cuStreamSynchronize", (CuStream stream))                                              \
  FUNCTION(cuEventCreate, "cuEventCreate", (CuEvent * event, unsigned flags))                                          \
  FUNCTION(cuEventRecord, "cuEventRecord", (CuEvent event, CuStream stream))                                           \
  FUNCTION(cuEventSynchronize, "cuEventSynchronize", (CuEvent event))                                                  \
  FUNCTION(cuEventElapsedTime, "cuEventElapsedTime", (float* milliseconds, CuEvent start, CuEvent end))                \
  FUNCTION(cuEventDestroy, "cuEventDestroy_v2", (CuEvent event))                                                       \
  FUNCTION(cuLibraryLoadData, "cuLibraryLoadData",                                                                     \
           (CuLibrary * library, const void* code, int* jit_options, void** jit_values, unsigned jit_count,            \
            int* options, void** values, unsigned count))                                                              \
  FUNCTION(cuLibraryUnload, "cuLibraryUnload", (CuLibrary library))                                                    \
  FUNCTION(cuLibraryGetKernel, "cuLibraryGetKernel", (CuKernel * kernel, CuLibrary library, const char* name))         \
  FUNCTION(cuKernelGetFunction, "cuKernelGetFunction", (CuFunction * function, CuKernel kernel))                       \
  FUNCTION(cuKernelGetAttribute, "cuKernelGetAttribute",                                                               \
           (int* value, int attribute, CuKernel kernel, CuDevice device))                                              \
  FUNCTION(cuKernelSetAttribute, "cuKernelSetAttribute", (int attribute, int value, CuKernel kernel, CuDevice device)) \
  FUNCTION(cuFuncGetAttribute, "cuFuncGetAttribute", (int* value, int attribute, CuFunction function))                 \
  FUNCTION(                                                                                                            \
      cuLaunchKernel, "cuLaunchKernel",                                                                                \
      (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,     \
       unsigned block_z, unsigned shared_bytes, CuStream stream, void** parameters, void** extra))                     \
  FUNCTION(cuLaunchKernelEx, "cuLaunchKernelEx",                                                                       \
           (const CuLaunchConfig* config, CuFunction function, void** parameters, void** extra))                       \
  FUNCTION(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                           \
           (void* map, int type, unsigned rank, void* address, const uint64_t* sizes, const uint64_t* strides,         \
            const uint32_t* box, const uint32_t* steps, int interleave, int swizzle, int promotion, int fill))

#define PBPROBE_DECLARE_FUNCTION(name, symbol, parameters) int(*name) parameters = nullptr;

struct DriverApi {
  std::string library;               // file that was loaded, links resolved
  std::vector<std::string> missing;  // functions of CUDA 12.0 that this driver lacks
  PBPROBE_DRIVER_DETECT(PBPROBE_DECLARE_FUNCTION)
  PBPROBE_DRIVER_OPTIONAL(PBPROBE_DECLARE_FUNCTION)
  PBPROBE_DRIVER_LAUNCH(PBPROBE_DECLARE_FUNCTION)
};

// The machine's driver: libcuda.so.1 by the normal search, then where NixOS and WSL keep it. Loaded once, never
// unloaded, nothing initialized. Errors: not_found (tried where, seen what), unsupported (no CUDA driver library).
[[nodiscard]] const Result<DriverApi>& driver_api();

// Loads one library by path, or by name through the normal search.
[[nodiscard]] Result<DriverApi> load_driver_api(const std::string& path);

// Returns an error `unsupported` that names the missing functions if the driver is older than CUDA 12.0 and cannot
// launch pbprobe's kernels.
[[nodiscard]] Result<void> require_launch(const DriverApi& api);

// "cuMemAlloc(4096 bytes): CUDA_ERROR_OUT_OF_MEMORY (2), out of memory: free memory of the GPU …": code `device`.
[[nodiscard]] Error driver_error(const DriverApi& api, CuResult result, std::string_view what);

// Returns the name of a result, "CUDA_ERROR_NO_DEVICE"; "CUDA error 4711" if the driver does not know it.
[[nodiscard]] std::string driver_error_name(const DriverApi& api, CuResult result);

// PBPROBE_CU(api, "while copying A", cuMemcpyHtoD(a, host, bytes)): returns driver_error from the function if the call
// fails.
#define PBPROBE_CU(api, what, call)                                                                 \
  do {                                                                                              \
    if (const ::pbprobe::CuResult pbprobe_cu_ = (api).call; pbprobe_cu_ != ::pbprobe::kCudaSuccess) \
      return ::pbprobe::driver_error((api), pbprobe_cu_, what);                                     \
  } while (false)

// --- NVML: explains, and is never needed. Any function may be null and any field may answer NOT_SUPPORTED. ---

using NvmlReturn = int;
using NvmlDevice = ::nvmlDevice_st*;

enum NvmlValue : int {
  kNvmlSuccess = 0,
  kNvmlNotSupported = 3,
  kNvmlInsufficientSize = 7,
  kNvmlDriverNotLoaded = 9,
  kNvmlGpuIsLost = 15,
  kNvmlResetRequired = 16,
};
// nvmlProcessInfo_t of version 2 and 3, nvmlMemory_t and nvmlUtilization_t.
struct NvmlProcess {
  unsigned pid = 0;
  unsigned long long memory = 0;  // all ones: not reported
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
struct NvmlMemory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
struct NvmlUtilization {
  unsigned gpu = 0;  // percent of the time
  unsigned memory = 0;
};
enum NvmlClock : int { kNvmlClockGraphics = 0, kNvmlClockSm = 1, kNvmlClockMemory = 2 };

#define PBPROBE_NVML_NEEDED(FUNCTION)   \
  FUNCTION(nvmlInit, "nvmlInit_v2", ()) \
  FUNCTION(nvmlShutdown, "nvmlShutdown", ())
#define PBPROBE_NVML_OPTIONAL(FUNCTION)                                                                              \
  FUNCTION(nvmlSystemGetDriverVersion, "nvmlSystemGetDriverVersion", (char* text, unsigned length))                  \
  FUNCTION(nvmlDeviceGetCount, "nvmlDeviceGetCount_v2", (unsigned* count))                                           \
  FUNCTION(nvmlDeviceGetHandleByIndex, "nvmlDeviceGetHandleByIndex_v2", (unsigned index, NvmlDevice* device))        \
  FUNCTION(nvmlDeviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2", (const char* id, NvmlDevice* device))  \
  FUNCTION(nvmlDeviceGetMaxClockInfo, "nvmlDeviceGetMaxClockInfo", (NvmlDevice device, int clock, unsigned* mhz))    \
  FUNCTION(nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo", (NvmlDevice device, int clock, unsigned* mhz))          \
  FUNCTION(nvmlDeviceGetMigMode, "nvmlDeviceGetMigMode", (NvmlDevice device, unsigned* current, unsigned* pending))  \
  FUNCTION(nvmlDeviceGetEccMode, "nvmlDeviceGetEccMode", (NvmlDevice device, int* current, int* pending))            \
  FUNCTION(nvmlDeviceGetEnforcedPowerLimit, "nvmlDeviceGetEnforcedPowerLimit", (NvmlDevice device, unsigned* mw))    \
  FUNCTION(nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage", (NvmlDevice device, unsigned* mw))                    \
  FUNCTION(nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature", (NvmlDevice device, int sensor, unsigned* celsius)) \
  FUNCTION(nvmlDeviceGetMemoryInfo, "nvmlDeviceGetMemoryInfo", (NvmlDevice device, NvmlMemory * memory))             \
  FUNCTION(nvmlDeviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates",                                           \
           (NvmlDevice device, NvmlUtilization * utilization))                                                       \
  FUNCTION(nvmlDeviceGetComputeRunningProcesses, "nvmlDeviceGetComputeRunningProcesses_v3",                          \
           (NvmlDevice device, unsigned* count, NvmlProcess* processes))                                             \
  FUNCTION(nvmlDeviceGetComputeRunningProcesses2, "nvmlDeviceGetComputeRunningProcesses_v2",                         \
           (NvmlDevice device, unsigned* count, NvmlProcess* processes))                                             \
  FUNCTION(nvmlSystemGetProcessName, "nvmlSystemGetProcessName", (unsigned pid, char* name, unsigned length))        \
  FUNCTION(nvmlDeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons",                   \
           (NvmlDevice device, unsigned long long* reasons))

struct NvmlApi {
  std::string library;
  PBPROBE_NVML_NEEDED(PBPROBE_DECLARE_FUNCTION)
  PBPROBE_NVML_OPTIONAL(PBPROBE_DECLARE_FUNCTION)
};

// The machine's libnvidia-ml.so.1, as driver_api(); the caller calls nvmlInit and nvmlShutdown.
[[nodiscard]] const Result<NvmlApi>& nvml_api();
[[nodiscard]] Result<NvmlApi> load_nvml_api(const std::string& path);

}  // namespace pbprobe
