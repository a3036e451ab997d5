// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/statuses.hpp"

#include <algorithm>
#include <array>

namespace pbprobe {
namespace {

using enum StatusSource;
using enum Obstacle;
constexpr std::nullopt_t kFault = std::nullopt;

// Sources: CUDA driver API, "CUresult"; cuBLAS, "cublasStatus_t"; cuDNN 8 (below 1000) and 9, "cudnnStatus_t"; NCCL,
// "ncclResult_t". Errors caused by a kernel (700, 715, 716, 719, …) and missing code for the device (209) are faults. A
// disabled JIT compiler (223) is a fault too: only a user who disables it gets this error.
constexpr std::array<Status, 177> kStatuses{{
    {cuda, 1, "CUDA_ERROR_INVALID_VALUE", kFault},
    {cuda, 2, "CUDA_ERROR_OUT_OF_MEMORY", out_of_memory},
    {cuda, 3, "CUDA_ERROR_NOT_INITIALIZED", kFault},
    {cuda, 4, "CUDA_ERROR_DEINITIALIZED", device_failed},
    {cuda, 5, "CUDA_ERROR_PROFILER_DISABLED", kFault},
    {cuda, 6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", kFault},
    {cuda, 7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", kFault},
    {cuda, 8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", kFault},
    {cuda, 34, "CUDA_ERROR_STUB_LIBRARY", missing},
    {cuda, 36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", driver},
    {cuda, 46, "CUDA_ERROR_DEVICE_UNAVAILABLE", busy},
    {cuda, 100, "CUDA_ERROR_NO_DEVICE", no_device},
    {cuda, 101, "CUDA_ERROR_INVALID_DEVICE", no_device},
    {cuda, 102, "CUDA_ERROR_DEVICE_NOT_LICENSED", not_permitted},
    {cuda, 200, "CUDA_ERROR_INVALID_IMAGE", kFault},
    {cuda, 201, "CUDA_ERROR_INVALID_CONTEXT", kFault},
    {cuda, 202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", kFault},
    {cuda, 205, "CUDA_ERROR_MAP_FAILED", unexplained},
    {cuda, 206, "CUDA_ERROR_UNMAP_FAILED", kFault},
    {cuda, 207, "CUDA_ERROR_ARRAY_IS_MAPPED", kFault},
    {cuda, 208, "CUDA_ERROR_ALREADY_MAPPED", kFault},
    {cuda, 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", kFault},
    {cuda, 210, "CUDA_ERROR_ALREADY_ACQUIRED", kFault},
    {cuda, 211, "CUDA_ERROR_NOT_MAPPED", kFault},
    {cuda, 212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", kFault},
    {cuda, 213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", kFault},
    {cuda, 214, "CUDA_ERROR_ECC_UNCORRECTABLE", device_failed},
    {cuda, 215, "CUDA_ERROR_UNSUPPORTED_LIMIT", unsupported},
    {cuda, 216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", kFault},
    {cuda, 217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", unsupported},
    {cuda, 218, "CUDA_ERROR_INVALID_PTX", kFault},
    {cuda, 219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", kFault},
    {cuda, 220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", device_failed},
    {cuda, 221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", missing},
    {cuda, 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", driver},
    {cuda, 223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", kFault},
    {cuda, 224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", unsupported},
    {cuda, 225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", kFault},
    {cuda, 226, "CUDA_ERROR_CONTAINED", device_failed},
    {cuda, 300, "CUDA_ERROR_INVALID_SOURCE", kFault},
    {cuda, 301, "CUDA_ERROR_FILE_NOT_FOUND", missing},
    {cuda, 302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", missing},
    {cuda, 303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", missing},
    {cuda, 304, "CUDA_ERROR_OPERATING_SYSTEM", unexplained},
    {cuda, 400, "CUDA_ERROR_INVALID_HANDLE", kFault},
    {cuda, 401, "CUDA_ERROR_ILLEGAL_STATE", kFault},
    {cuda, 402, "CUDA_ERROR_LOSSY_QUERY", kFault},
    {cuda, 500, "CUDA_ERROR_NOT_FOUND", missing},
    {cuda, 600, "CUDA_ERROR_NOT_READY", kFault},
    {cuda, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", kFault},
    {cuda, 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", kFault},
    {cuda, 702, "CUDA_ERROR_LAUNCH_TIMEOUT", time_limit},
    {cuda, 703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", kFault},
    {cuda, 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", kFault},
    {cuda, 705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", kFault},
    {cuda, 708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", kFault},
    {cuda, 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", kFault},
    {cuda, 710, "CUDA_ERROR_ASSERT", kFault},
    {cuda, 711, "CUDA_ERROR_TOO_MANY_PEERS", unsupported},
    {cuda, 712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", kFault},
    {cuda, 713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", kFault},
    {cuda, 714, "CUDA_ERROR_HARDWARE_STACK_ERROR", kFault},
    {cuda, 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", kFault},
    {cuda, 716, "CUDA_ERROR_MISALIGNED_ADDRESS", kFault},
    {cuda, 717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", kFault},
    {cuda, 718, "CUDA_ERROR_INVALID_PC", kFault},
    {cuda, 719, "CUDA_ERROR_LAUNCH_FAILED", kFault},
    {cuda, 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", kFault},
    {cuda, 721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", kFault},
    {cuda, 800, "CUDA_ERROR_NOT_PERMITTED", not_permitted},
    {cuda, 801, "CUDA_ERROR_NOT_SUPPORTED", unsupported},
    {cuda, 802, "CUDA_ERROR_SYSTEM_NOT_READY", device_failed},
    {cuda, 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", driver},
    {cuda, 804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", driver},
    {cuda, 805, "CUDA_ERROR_MPS_CONNECTION_FAILED", busy},
    {cuda, 806, "CUDA_ERROR_MPS_RPC_FAILURE", device_failed},
    {cuda, 807, "CUDA_ERROR_MPS_SERVER_NOT_READY", busy},
    {cuda, 808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", busy},
    {cuda, 809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", busy},
    {cuda, 810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", device_failed},
    {cuda, 811, "CUDA_ERROR_CDP_NOT_SUPPORTED", unsupported},
    {cuda, 812, "CUDA_ERROR_CDP_VERSION_MISMATCH", kFault},
    {cuda, 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", kFault},
    {cuda, 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", kFault},
    {cuda, 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", kFault},
    {cuda, 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", kFault},
    {cuda, 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", kFault},
    {cuda, 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", kFault},
    {cuda, 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", kFault},
    {cuda, 907, "CUDA_ERROR_CAPTURED_EVENT", kFault},
    {cuda, 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", kFault},
    {cuda, 909, "CUDA_ERROR_TIMEOUT", time_limit},
    {cuda, 910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", kFault},
    {cuda, 911, "CUDA_ERROR_EXTERNAL_DEVICE", device_failed},
    {cuda, 912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", kFault},
    {cuda, 913, "CUDA_ERROR_FUNCTION_NOT_LOADED", kFault},
    {cuda, 914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", kFault},
    {cuda, 915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", kFault},
    {cuda, 916, "CUDA_ERROR_KEY_ROTATION", device_failed},
    {cuda, 999, "CUDA_ERROR_UNKNOWN", unexplained},
    {cublas, 1, "CUBLAS_STATUS_NOT_INITIALIZED", unexplained},
    {cublas, 3, "CUBLAS_STATUS_ALLOC_FAILED", out_of_memory},
    {cublas, 7, "CUBLAS_STATUS_INVALID_VALUE", kFault},
    {cublas, 8, "CUBLAS_STATUS_ARCH_MISMATCH", unsupported},
    {cublas, 11, "CUBLAS_STATUS_MAPPING_ERROR", unexplained},
    {cublas, 13, "CUBLAS_STATUS_EXECUTION_FAILED", kFault},
    {cublas, 14, "CUBLAS_STATUS_INTERNAL_ERROR", kFault},
    {cublas, 15, "CUBLAS_STATUS_NOT_SUPPORTED", unsupported},
    {cublas, 16, "CUBLAS_STATUS_LICENSE_ERROR", not_permitted},
    {cudnn, 1, "CUDNN_STATUS_NOT_INITIALIZED", unexplained},
    {cudnn, 2, "CUDNN_STATUS_ALLOC_FAILED", out_of_memory},
    {cudnn, 3, "CUDNN_STATUS_BAD_PARAM", kFault},
    {cudnn, 4, "CUDNN_STATUS_INTERNAL_ERROR", kFault},
    {cudnn, 5, "CUDNN_STATUS_INVALID_VALUE", kFault},
    {cudnn, 6, "CUDNN_STATUS_ARCH_MISMATCH", unsupported},
    {cudnn, 7, "CUDNN_STATUS_MAPPING_ERROR", unexplained},
    {cudnn, 8, "CUDNN_STATUS_EXECUTION_FAILED", kFault},
    {cudnn, 9, "CUDNN_STATUS_NOT_SUPPORTED", unsupported},
    {cudnn, 10, "CUDNN_STATUS_LICENSE_ERROR", not_permitted},
    {cudnn, 11, "CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING", missing},
    {cudnn, 12, "CUDNN_STATUS_RUNTIME_IN_PROGRESS", kFault},
    {cudnn, 13, "CUDNN_STATUS_RUNTIME_FP_OVERFLOW", kFault},
    {cudnn, 14, "CUDNN_STATUS_VERSION_MISMATCH", kFault},
    {cudnn, 1001, "CUDNN_STATUS_NOT_INITIALIZED", unexplained},
    {cudnn, 1002, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", kFault},
    {cudnn, 1003, "CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH", kFault},
    {cudnn, 1004, "CUDNN_STATUS_DEPRECATED", kFault},
    {cudnn, 1005, "CUDNN_STATUS_LICENSE_ERROR", not_permitted},
    {cudnn, 1006, "CUDNN_STATUS_RUNTIME_IN_PROGRESS", kFault},
    {cudnn, 1007, "CUDNN_STATUS_RUNTIME_FP_OVERFLOW", kFault},
    {cudnn, 1008, "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED", missing},
    {cudnn, 2000, "CUDNN_STATUS_BAD_PARAM", kFault},
    {cudnn, 2002, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER", kFault},
    {cudnn, 2003, "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER", kFault},
    {cudnn, 2004, "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED", kFault},
    {cudnn, 2005, "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND", kFault},
    {cudnn, 2006, "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT", kFault},
    {cudnn, 2007, "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH", kFault},
    {cudnn, 2008, "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH", kFault},
    {cudnn, 2009, "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES", kFault},
    {cudnn, 2010, "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE", kFault},
    {cudnn, 2011, "CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH", kFault},
    {cudnn, 2012, "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE", kFault},
    {cudnn, 3000, "CUDNN_STATUS_NOT_SUPPORTED", unsupported},
    {cudnn, 3001, "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN", unsupported},
    {cudnn, 3002, "CUDNN_STATUS_NOT_SUPPORTED_SHAPE", unsupported},
    {cudnn, 3003, "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE", unsupported},
    {cudnn, 3004, "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT", unsupported},
    {cudnn, 3005, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER", driver},
    {cudnn, 3006, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART", driver},
    {cudnn, 3007, "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", unsupported},
    {cudnn, 3008, "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", missing},
    {cudnn, 3009, "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE", missing},
    {cudnn, 3010, "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT", unsupported},
    {cudnn, 3011, "CUDNN_STATUS_NOT_SUPPORTED_PADDING", unsupported},
    {cudnn, 3012, "CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM", unsupported},
    {cudnn, 3013, "CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API", unsupported},
    {cudnn, 3014, "CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE", unsupported},
    {cudnn, 4000, "CUDNN_STATUS_INTERNAL_ERROR", kFault},
    {cudnn, 4001, "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED", kFault},
    {cudnn, 4002, "CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE", kFault},
    {cudnn, 4003, "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", out_of_memory},
    {cudnn, 4004, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", out_of_memory},
    {cudnn, 4005, "CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM", kFault},
    {cudnn, 4006, "CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED", kFault},
    {cudnn, 5000, "CUDNN_STATUS_EXECUTION_FAILED", kFault},
    {cudnn, 5001, "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER", kFault},
    {cudnn, 5002, "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS", kFault},
    {cudnn, 5003, "CUDNN_STATUS_EXECUTION_FAILED_CUDART", kFault},
    {cudnn, 5004, "CUDNN_STATUS_EXECUTION_FAILED_CURAND", kFault},
    {nccl, 1, "ncclUnhandledCudaError", unexplained},
    {nccl, 2, "ncclSystemError", unexplained},
    {nccl, 3, "ncclInternalError", kFault},
    {nccl, 4, "ncclInvalidArgument", kFault},
    {nccl, 5, "ncclInvalidUsage", kFault},
    {nccl, 6, "ncclRemoteError", unexplained},
    {nccl, 7, "ncclInProgress", kFault},
}};

// Phrases in the exceptions of libraries. Faults come first, because all later calls fail after a fault.
struct Phrase {
  std::string_view words;
  std::optional<Obstacle> obstacle;
};
constexpr std::array<Phrase, 28> kPhrases{{
    {"illegal memory access", kFault},
    {"illegal instruction", kFault},
    {"misaligned address", kFault},
    {"device-side assert triggered",
     kFault},  // every CUDA error of torch ends with a hint about device-side assertions
    {"unspecified launch failure", kFault},
    {"no kernel image", kFault},
    {"INTERNAL ASSERT", kFault},
    {"out of memory", out_of_memory},  // torch, and cudaErrorMemoryAllocation
    {"CUBLAS_STATUS_ALLOC_FAILED", out_of_memory},
    {"CUDNN_STATUS_ALLOC_FAILED", out_of_memory},
    {"ALLOCATION_FAILED", out_of_memory},  // cuDNN 9, for host and device memory
    {"CUSOLVER_STATUS_ALLOC_FAILED", out_of_memory},
    {"CUFFT_ALLOC_FAILED", out_of_memory},
    {"can't allocate memory", out_of_memory},  // torch's host allocator
    {"Cannot allocate memory", out_of_memory},
    {"std::bad_alloc", out_of_memory},
    {"Killed signal terminated", out_of_memory},  // gcc, about its own passes
    {"No space left on device", out_of_memory},
    {"Resource temporarily unavailable", not_permitted},  // a limit on threads or processes
    {"Too many open files", not_permitted},
    {"busy or unavailable", busy},
    {"uncorrectable ECC error", device_failed},
    {"GPU is lost", device_failed},
    {"system not yet initialized", device_failed},
    {"driver version is insufficient", driver},
    {"unsupported display driver / cuda driver combination", driver},
    {"no CUDA-capable device", no_device},
    {"the launch timed out", time_limit},
}};

const Phrase* find_phrase(std::string_view words) {
  const auto* const found = std::ranges::find_if(
      kPhrases, [&](const Phrase& phrase) { return words.find(phrase.words) != std::string_view::npos; });
  return found == kPhrases.end() ? nullptr : found;
}

}  // namespace

std::span<const Status> all_statuses() {
  return kStatuses;
}

std::optional<Obstacle> classify_status(StatusSource source, int code) {
  const auto found = std::ranges::find_if(
      kStatuses, [&](const Status& status) { return status.source == source && status.code == code; });
  return found == kStatuses.end() ? unexplained : found->obstacle;
}

std::optional<Obstacle> classify_message(std::string_view words) {
  const Phrase* const phrase = find_phrase(words);
  return phrase != nullptr ? phrase->obstacle : std::nullopt;
}

bool is_fault(std::string_view words) {
  const Phrase* const phrase = find_phrase(words);
  return phrase != nullptr && !phrase->obstacle;
}

}  // namespace pbprobe
