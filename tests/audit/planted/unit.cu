// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A translation unit of a library. -DNAME: so that several link together. -DONLY: the chip that its author thought of.
#ifndef ONLY
#define ONLY __CUDA_ARCH__
#endif

__global__ void NAME(float* x, float factor) {
#if __CUDA_ARCH__ == ONLY
  x[threadIdx.x] *= factor;
#else
  asm volatile("trap;");
#endif
}
