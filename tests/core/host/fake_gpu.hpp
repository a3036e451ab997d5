// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Answers of the fakes of libcuda and NVML. Tests set them through fake_cuda_set() and fake_nvml_set().
#pragma once

#include <cstddef>

struct FakeGpu {
  const char* name = "";
  int major = 0;
  int minor = 0;
  size_t memory = 0;
  int sm_count = 0;
  int l2_bytes = 0;
  int integrated = 0;
  int ecc = 0;
  int sm_khz = 0;
  int memory_khz = 0;
  int compute_mode = 0;
  const char* bus = "";
  int get_result = 0;   // result of cuDeviceGet
  int name_result = 0;  // result of cuDeviceGetName
};

struct FakeCuda {
  int version = 13000;
  int init = 0;
  int count = 0;
  FakeGpu gpus[4];
};

// Value of a field. A nonzero `result` is returned as an error instead.
struct FakeField {
  unsigned value = 0;
  int result = 0;
};

struct FakeProcess {
  unsigned pid = 0;
  const char* name = "";              // "" if not readable
  unsigned long long memory = ~0ULL;  // all ones: not reported
};

struct FakeNvmlGpu {
  const char* bus = "";
  FakeField handle;
  FakeField sm_mhz;
  FakeField memory_mhz;
  FakeField milliwatts;
  FakeField mig;
  FakeField ecc;
  unsigned long long total = 0;  // 0: NOT_SUPPORTED
  unsigned long long free = 0;
  FakeField utilization;
  unsigned process_count = 0;
  FakeProcess processes[100];
};

struct FakeNvml {
  int init = 0;
  const char* version = "";
  unsigned count = 0;
  FakeNvmlGpu gpus[4];
};
