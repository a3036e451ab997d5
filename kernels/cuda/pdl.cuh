// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Programmatic dependent launch: where the launch asks for it, a kernel begins before the one ahead in its stream has
// ended, to set up barriers and fetch tensor maps. Family header: see tile.cuh.
// Source: PTX ISA, "griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch".
//
// Reuse of a workspace: the passes and kernels of one call, and calls that share a workspace in one stream, follow each
// other in that stream. Each of them accesses global memory only after wait_on_dependencies(), so it starts to write
// the workspace after all earlier kernels have ended. Calls in different streams need different workspaces.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Until all kernels ahead have ended and their writes are visible. No global memory is touched before, not even C,
// which a kernel ahead may still read. Every kernel that is launched so must call it: the end of one then implies the
// end of those ahead of it.
__device__ inline void wait_on_dependencies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// The next kernel's blocks may start as this one's exit.
__device__ inline void launch_dependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
