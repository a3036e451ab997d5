// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Stands for libnvidia-ml.so.1.
#include <cstdio>
#include <cstring>

#include "tests/core/host/fake_gpu.hpp"

namespace {

FakeNvml state;
int open_sessions = 0;

constexpr int kNotFound = 6;

template <class Value>
int answer(const FakeField& field, Value* value) {
  if (field.result == 0) *value = static_cast<Value>(field.value);
  return field.result;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void fake_nvml_set(const FakeNvml* next) {
  state = *next;
  open_sessions = 0;
}
EXPORT int fake_nvml_sessions() {
  return open_sessions;
}

EXPORT int nvmlInit_v2() {
  if (state.init == 0) ++open_sessions;
  return state.init;
}
EXPORT int nvmlShutdown() {
  --open_sessions;
  return 0;
}
EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "%s", state.version);
  return 0;
}
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = state.count;
  return 0;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, FakeNvmlGpu** device) {
  if (index >= state.count) return kNotFound;
  *device = &state.gpus[index];
  return state.gpus[index].handle.result;
}
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, FakeNvmlGpu** device) {
  for (unsigned i = 0; i < state.count; ++i) {
    if (std::strcmp(bus, state.gpus[i].bus) != 0) continue;
    *device = &state.gpus[i];
    return state.gpus[i].handle.result;
  }
  return kNotFound;
}
EXPORT int nvmlDeviceGetMaxClockInfo(FakeNvmlGpu* device, int clock, unsigned* mhz) {
  return answer(clock == 2 ? device->memory_mhz : device->sm_mhz, mhz);
}
EXPORT int nvmlDeviceGetEnforcedPowerLimit(FakeNvmlGpu* device, unsigned* milliwatts) {
  return answer(device->milliwatts, milliwatts);
}
EXPORT int nvmlDeviceGetMigMode(FakeNvmlGpu* device, unsigned* current, unsigned* pending) {
  *pending = 0;
  return answer(device->mig, current);
}
EXPORT int nvmlDeviceGetEccMode(FakeNvmlGpu* device, int* current, int* pending) {
  *pending = 0;
  return answer(device->ecc, current);
}
