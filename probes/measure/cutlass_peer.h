/* SPDX-FileCopyrightText: 2026 The pbprobe authors
 * SPDX-License-Identifier: MIT
 *
 * What libpbprobe_cutlass.so gives: CUTLASS's own kernels, compiled for one SM, as a peer of `pbprobe bench`. Plain C,
 * so that the program needs neither CUTLASS nor the CUDA runtime. A[m,k], B[n,k] → C[m,n], all of it packed.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum PbprobeCutlassType { kPbprobeCutlassBf16, kPbprobeCutlassInt8, kPbprobeCutlassTf32 }; /* of A and B */

struct PbprobeCutlassKernel {
  const char* family; /* "sm80": device::Gemm on mma.sync; "sm90": a collective on wgmma */
  const char* name;   /* tile, stages, schedule, cluster */
  int type;           /* PbprobeCutlassType; C is BF16, s32, FP32 */
};

struct PbprobeCutlassCall {
  const void* a;
  const void* b;
  void* c;
  int m, n, k;
  void* workspace;
  size_t workspace_bytes;
  void* stream;
};

/* How many kernels there are; what one is, or null; launches it: 0, else cutlass::Status. */
__attribute__((visibility("default"))) int pbprobe_cutlass_count(void);
__attribute__((visibility("default"))) const struct PbprobeCutlassKernel* pbprobe_cutlass_kernel(int index);
__attribute__((visibility("default"))) int pbprobe_cutlass_run(int index, const struct PbprobeCutlassCall* call);

#ifdef __cplusplus
}
#endif
