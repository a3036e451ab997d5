/* SPDX-FileCopyrightText: 2026 The pbprobe authors
 * SPDX-License-Identifier: MIT
 *
 * Stands for libcuda.so.1 and libnvidia-ml.so.1 of a machine with one H200 on which nothing can be started: whatever
 * takes a context answers FAKE_CUDA_ANSWER, a CUresult, and NVML shows who is there unless FAKE_NVML_NOBODY is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(void) { return atoi(getenv("FAKE_CUDA_ANSWER")); }

/* Driver functions that pbprobe looks up and that are not defined below: REFUSE(cuMemAlloc_v2) … */
#define REFUSE(name) \
  int name(void) { return refuse(); }
#include "refused.inc"

int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuGetErrorName(int error, const char** name) {
  *name = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THIS_TEST";
  return 0;
}
int cuGetErrorString(int error, const char** text) {
  (void)error;
  *text = "so says this test";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? 0 : 101;
}
int cuDeviceGetName(char* name, int length, int device) {
  (void)device;
  snprintf(name, (size_t)length, "NVIDIA H200");
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = 150109880320;
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int length, int device) {
  (void)device;
  snprintf(id, (size_t)length, "0000:1B:00.0");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 13: *value = 1980000; return 0;
    case 16: *value = 132; return 0;
    case 20:
    case 76: *value = 0; return 0;
    case 75: *value = 9; return 0;
    default: *value = 1; return 0;
  }
}

/* Called by CUDA's runtime before it requests a device. */
static int fine(void) { return 0; }
int cuGetExportTable(const void** table, const void* id) {
  static const void* entries[256];
  (void)id;
  for (int i = 1; i < 256; ++i) entries[i] = (const void*)&fine;
  entries[0] = (const void*)sizeof entries;
  *table = entries;
  return 0;
}
int cuGetProcAddress_v2(const char* symbol, void** function, int version, unsigned long long flags, int* status) {
  static const char* const ends[] = {"_v2", ""};
  char name[200];
  Dl_info info;
  (void)version, (void)flags;
  dladdr((void*)&cuInit, &info);
  void* const self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  *function = NULL;
  for (int i = 0; i < 2 && *function == NULL; ++i) {
    snprintf(name, sizeof name, "%s%s", symbol, ends[i]);
    *function = dlsym(self, name);
  }
  if (*function == NULL) *function = (void*)&refuse;
  if (status != NULL) *status = 0;
  return 0;
}
int cuGetProcAddress(const char* symbol, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}

/* --- NVML --- */

struct process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  snprintf(text, length, "580.159.04");
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  static int only;
  (void)id;
  *device = &only;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
  (void)device;
  memory[0] = 140ULL << 30;
  memory[1] = 1ULL << 28;
  memory[2] = memory[0] - memory[1];
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) {
  (void)device;
  rates[0] = rates[1] = 0;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct process* processes) {
  (void)device;
  *count = getenv("FAKE_NVML_NOBODY") != NULL ? 0 : 1;
  if (*count > 0) processes[0] = (struct process){4711, 139ULL << 30, 0, 0};
  return 0;
}
int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  (void)pid;
  snprintf(name, length, "/usr/bin/python3");
  return 0;
}
