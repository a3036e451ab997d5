// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Fake of libnvidia-ml.so.1.
#include <cstdio>
#include <cstring>

#include "tests/core/host/fake_gpu.hpp"

namespace {

// nvmlProcessInfo_t, version 3.
struct NvmlProcess {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

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
EXPORT int nvmlDeviceGetMemoryInfo(FakeNvmlGpu* device, unsigned long long* memory) {
  if (device->total == 0) return 3;
  memory[0] = device->total;
  memory[1] = device->free;
  memory[2] = device->total - device->free;
  return 0;
}
EXPORT int nvmlDeviceGetUtilizationRates(FakeNvmlGpu* device, unsigned* utilization) {
  utilization[1] = 0;
  return answer(device->utilization, utilization);
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(FakeNvmlGpu* device, unsigned* count, NvmlProcess* processes) {
  const unsigned room = *count;
  *count = device->process_count;
  if (device->process_count > room) return 7;
  for (unsigned i = 0; i < *count; ++i) processes[i] = {device->processes[i].pid, device->processes[i].memory, 0, 0};
  return 0;
}
EXPORT int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  for (unsigned i = 0; i < state.count; ++i) {
    for (const auto& process : state.gpus[i].processes) {
      if (process.pid != pid || process.name[0] == '\0') continue;
      std::snprintf(name, length, "%s", process.name);
      return 0;
    }
  }
  return 4;
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
