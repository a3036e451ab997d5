// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/statuses.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

namespace pbprobe {
namespace {

using enum StatusSource;
using enum Obstacle;
constexpr std::nullopt_t kFault = std::nullopt;

// Sources: CUDA driver API, "CUresult"; cuBLAS, "cublasStatus_t"; cuDNN 8 (below 1000) and 9, "cudnnStatus_t"; NCCL,
// "ncclResult_t". Errors caused by a kernel (700, 715, 716, 719, …) and missing code for the device (209) are faults. A
// disabled JIT compiler (223) is a fault too: only a user who disables it gets this error.
constexpr int kCudaFaults[] = {1,   3,   5,   6,   7,   8,   200, 201, 202, 206, 207, 208, 209, 210, 211,
                               212, 213, 216, 218, 219, 223, 225, 300, 400, 401, 402, 600, 700, 701, 703,
                               704, 705, 708, 709, 710, 712, 713, 714, 715, 716, 717, 718, 719, 720, 721,
                               812, 900, 901, 902, 903, 904, 905, 906, 907, 908, 910, 912, 913, 914, 915};
constexpr int kCublasFaults[] = {7, 13, 14};
constexpr int kCudnnFaults[] = {3,    4,    5,    8,    12,   13,   14,   1002, 1003, 1004, 1006, 1007,
                                2000, 2002, 2003, 2004, 2005, 2006, 2007, 2008, 2009, 2010, 2011, 2012,
                                4000, 4001, 4002, 4005, 4006, 5000, 5001, 5002, 5003, 5004};
constexpr int kNcclFaults[] = {3, 4, 5, 7};

// Codes in none of these lists are unexplained, as CUDA_ERROR_UNKNOWN.
struct Status {
  StatusSource source;
  int code;
  Obstacle obstacle;
};
constexpr Status kObstacles[] = {
    {cuda, 2, out_of_memory},      // CUDA_ERROR_OUT_OF_MEMORY
    {cuda, 4, device_failed},      // CUDA_ERROR_DEINITIALIZED
    {cuda, 34, missing},           // CUDA_ERROR_STUB_LIBRARY
    {cuda, 36, driver},            // CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER
    {cuda, 46, busy},              // CUDA_ERROR_DEVICE_UNAVAILABLE
    {cuda, 100, no_device},        // CUDA_ERROR_NO_DEVICE
    {cuda, 101, no_device},        // CUDA_ERROR_INVALID_DEVICE
    {cuda, 102, not_permitted},    // CUDA_ERROR_DEVICE_NOT_LICENSED
    {cuda, 214, device_failed},    // CUDA_ERROR_ECC_UNCORRECTABLE
    {cuda, 215, unsupported},      // CUDA_ERROR_UNSUPPORTED_LIMIT
    {cuda, 217, unsupported},      // CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
    {cuda, 220, device_failed},    // CUDA_ERROR_NVLINK_UNCORRECTABLE
    {cuda, 221, missing},          // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
    {cuda, 222, driver},           // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    {cuda, 224, unsupported},      // CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
    {cuda, 226, device_failed},    // CUDA_ERROR_CONTAINED
    {cuda, 301, missing},          // CUDA_ERROR_FILE_NOT_FOUND
    {cuda, 302, missing},          // CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
    {cuda, 303, missing},          // CUDA_ERROR_SHARED_OBJECT_INIT_FAILED
    {cuda, 500, missing},          // CUDA_ERROR_NOT_FOUND
    {cuda, 702, time_limit},       // CUDA_ERROR_LAUNCH_TIMEOUT
    {cuda, 711, unsupported},      // CUDA_ERROR_TOO_MANY_PEERS
    {cuda, 800, not_permitted},    // CUDA_ERROR_NOT_PERMITTED
    {cuda, 801, unsupported},      // CUDA_ERROR_NOT_SUPPORTED
    {cuda, 802, device_failed},    // CUDA_ERROR_SYSTEM_NOT_READY
    {cuda, 803, driver},           // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
    {cuda, 804, driver},           // CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
    {cuda, 805, busy},             // CUDA_ERROR_MPS_CONNECTION_FAILED
    {cuda, 806, device_failed},    // CUDA_ERROR_MPS_RPC_FAILURE
    {cuda, 807, busy},             // CUDA_ERROR_MPS_SERVER_NOT_READY
    {cuda, 808, busy},             // CUDA_ERROR_MPS_MAX_CLIENTS_REACHED
    {cuda, 809, busy},             // CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED
    {cuda, 810, device_failed},    // CUDA_ERROR_MPS_CLIENT_TERMINATED
    {cuda, 811, unsupported},      // CUDA_ERROR_CDP_NOT_SUPPORTED
    {cuda, 909, time_limit},       // CUDA_ERROR_TIMEOUT
    {cuda, 911, device_failed},    // CUDA_ERROR_EXTERNAL_DEVICE
    {cuda, 916, device_failed},    // CUDA_ERROR_KEY_ROTATION
    {cublas, 3, out_of_memory},    // CUBLAS_STATUS_ALLOC_FAILED
    {cublas, 8, unsupported},      // CUBLAS_STATUS_ARCH_MISMATCH
    {cublas, 15, unsupported},     // CUBLAS_STATUS_NOT_SUPPORTED
    {cublas, 16, not_permitted},   // CUBLAS_STATUS_LICENSE_ERROR
    {cudnn, 2, out_of_memory},     // CUDNN_STATUS_ALLOC_FAILED
    {cudnn, 6, unsupported},       // CUDNN_STATUS_ARCH_MISMATCH
    {cudnn, 9, unsupported},       // CUDNN_STATUS_NOT_SUPPORTED
    {cudnn, 10, not_permitted},    // CUDNN_STATUS_LICENSE_ERROR
    {cudnn, 11, missing},          // CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING
    {cudnn, 1005, not_permitted},  // CUDNN_STATUS_LICENSE_ERROR
    {cudnn, 1008, missing},        // CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED
    {cudnn, 3000, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED
    {cudnn, 3001, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN
    {cudnn, 3002, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_SHAPE
    {cudnn, 3003, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE
    {cudnn, 3004, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_LAYOUT
    {cudnn, 3005, driver},         // CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER
    {cudnn, 3006, driver},         // CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART
    {cudnn, 3007, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH
    {cudnn, 3008, missing},        // CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING
    {cudnn, 3009, missing},        // CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE
    {cudnn, 3010, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT
    {cudnn, 3011, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_PADDING
    {cudnn, 3012, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM
    {cudnn, 3013, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API
    {cudnn, 3014, unsupported},    // CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE
    {cudnn, 4003, out_of_memory},  // CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED
    {cudnn, 4004, out_of_memory},  // CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
};

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

std::span<const int> list_faults(StatusSource source) {
  switch (source) {
    case cuda: return kCudaFaults;
    case cublas: return kCublasFaults;
    case cudnn: return kCudnnFaults;
    case nccl: return kNcclFaults;
  }
  return {};
}

const Phrase* find_phrase(std::string_view words) {
  const auto* const found = std::ranges::find_if(
      kPhrases, [&](const Phrase& phrase) { return words.find(phrase.words) != std::string_view::npos; });
  return found == kPhrases.end() ? nullptr : found;
}

}  // namespace

std::optional<Obstacle> classify_status(StatusSource source, int code) {
  if (std::ranges::find(list_faults(source), code) != list_faults(source).end()) return std::nullopt;
  const auto* const found = std::ranges::find_if(
      kObstacles, [&](const Status& status) { return status.source == source && status.code == code; });
  return found == std::end(kObstacles) ? unexplained : found->obstacle;
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
