// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Fake of libcuda.so.1 of an old driver: it has the functions for detection, but not the functions that launch kernels.
#include <cstdio>

#include "tests/core/host/fake_gpu.hpp"

namespace {

FakeCuda state;
int contexts = 0;
bool initialized = false;

const FakeGpu* find_gpu(int device) {
  return initialized && device >= 0 && device < state.count ? &state.gpus[device] : nullptr;
}

constexpr int kNotInitialized = 3;
constexpr int kInvalidValue = 1;
constexpr int kInvalidDevice = 101;

struct Name {
  int error;
  const char* name;
  const char* text;
};
constexpr Name kNames[] = {
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void fake_cuda_set(const FakeCuda* next) {
  state = *next;
  contexts = 0;
  initialized = false;
}
EXPORT int fake_cuda_contexts() {
  return contexts;
}

EXPORT int cuInit(unsigned) {
  initialized = state.init == 0;
  return state.init;
}
EXPORT int cuDriverGetVersion(int* version) {
  *version = state.version;
  return 0;
}
EXPORT int cuGetErrorName(int error, const char** name) {
  for (const auto& entry : kNames) {
    if (entry.error == error) {
      *name = entry.name;
      return 0;
    }
  }
  *name = nullptr;
  return kInvalidValue;
}
EXPORT int cuGetErrorString(int error, const char** text) {
  for (const auto& entry : kNames) {
    if (entry.error == error) {
      *text = entry.text;
      return 0;
    }
  }
  *text = nullptr;
  return kInvalidValue;
}
EXPORT int cuDeviceGetCount(int* count) {
  if (!initialized) return kNotInitialized;
  *count = state.count;
  return 0;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  if (find_gpu(ordinal) == nullptr) return kInvalidDevice;
  *device = ordinal;
  return state.gpus[ordinal].get_result;
}
EXPORT int cuDeviceGetName(char* name, int length, int device) {
  const auto* gpu = find_gpu(device);
  if (gpu == nullptr) return kInvalidDevice;
  std::snprintf(name, static_cast<size_t>(length), "%s", gpu->name);
  return gpu->name_result;
}
EXPORT int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  if (find_gpu(device) == nullptr) return kInvalidDevice;
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(i * 16 + device);
  return 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  const auto* gpu = find_gpu(device);
  if (gpu == nullptr) return kInvalidDevice;
  *bytes = gpu->memory;
  return 0;
}
EXPORT int cuDeviceGetPCIBusId(char* id, int length, int device) {
  const auto* gpu = find_gpu(device);
  if (gpu == nullptr) return kInvalidDevice;
  std::snprintf(id, static_cast<size_t>(length), "%s", gpu->bus);
  return 0;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const auto* gpu = find_gpu(device);
  if (gpu == nullptr) return kInvalidDevice;
  switch (attribute) {
    case 13: *value = gpu->sm_khz; return 0;
    case 16: *value = gpu->sm_count; return 0;
    case 18: *value = gpu->integrated; return 0;
    case 20: *value = gpu->compute_mode; return 0;
    case 32: *value = gpu->ecc; return 0;
    case 36: *value = gpu->memory_khz; return 0;
    case 38: *value = gpu->l2_bytes; return 0;
    case 75: *value = gpu->major; return 0;
    case 76: *value = gpu->minor; return 0;
    default: return kInvalidValue;
  }
}
// Detection must call neither.
EXPORT int cuDevicePrimaryCtxRetain(void**, int) {
  ++contexts;
  return 0;
}
EXPORT int cuCtxCreate_v2(void**, unsigned, int) {
  ++contexts;
  return 0;
}
