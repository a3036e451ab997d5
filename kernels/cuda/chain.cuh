// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Kernels that follow each other in a stream and begin before the one ahead has ended, where the launch asks for it:
// barriers are set up and tensor maps fetched meanwhile. Family header: see tile.cuh.
// Source: PTX ISA, "griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch".
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Until all kernels ahead have ended and what they wrote is there. Nothing of global memory is read or written before:
// not C either, which a kernel ahead may still read. Every kernel of such a launch calls it, so that one that has ended
// says that those ahead of it have.
__device__ inline void await_kernels_ahead() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// The next kernel's blocks may take the places that this one's leave.
__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
