// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90 and later: mbarriers, TMA, clusters.
// Family header: see tile.cuh. Source: PTX ISA, "mbarrier", "cp.async.bulk.tensor", "barrier.cluster", "mapa".
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// --- mbarriers: a phase completes with its arrivals and its expected bytes ---

__device__ inline void init_barrier(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes their initialization visible to TMA and to the cluster; __syncthreads() or cluster_sync_after_init() must
// follow.
__device__ inline void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void arrive_expect_tx(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives at the barrier of the same address in another block of the cluster. The default semantics, a release at block
// scope, suffice: a released stage was only read. The arrival may still be in flight when the next instruction runs, so
// the kernel must end with cluster_sync().
__device__ inline void arrive_at(unsigned barrier, unsigned block) {
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
      " mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(block)
      : "memory");
}
__device__ inline void await_phase(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n .reg .pred done;\n"
      "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      " @done bra over;\n bra again;\n"
      "over:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// --- clusters ---

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline unsigned cluster_size() {
  unsigned size;
  asm volatile("mov.u32 %0, %cluster_nctarank;" : "=r"(size));
  return size;
}
// Waits for all threads of the cluster. Their earlier operations are performed before it returns: writes to shared
// memory, reads of another block's shared memory, and arrivals at another block's barriers. A kernel in which a block
// accesses another block's shared memory or barriers must end with it, since such an access to a block that has exited
// faults ("CTA Not Present"). PTX ISA, "barrier.cluster": arrive.release and wait.acquire order earlier accesses;
// arrive.relaxed orders none.
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
// Publishes initialized mbarriers to the cluster: call after fence_barrier_init(), which is the release that the
// relaxed arrive lacks. PTX ISA, "fence.mbarrier_init". Orders nothing else: never end a kernel with it.
__device__ inline void cluster_sync_after_init() {
  asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
__device__ inline float4 read_of_block(unsigned address, unsigned block) {
  float4 four;
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %4, %5;\n"
      " ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
      : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
      : "r"(address), "r"(block)
      : "memory");
  return four;
}

// --- TMA: out of bounds it reads zeros and writes nothing ---

__device__ inline void prefetch_map(const GpuTensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
// `shared::cta`: with `shared::cluster`, which may name another block's memory, plain sm_120 calls a function for it.
__device__ inline void load_box(unsigned to, const GpuTensorMap& map, int x, int y, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}
// Multicast to the same address of every block in the mask `blocks`; each block's own barrier counts the bytes.
__device__ inline void load_box_for(unsigned to, const GpuTensorMap& map, int x, int y, unsigned barrier,
                                    unsigned blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}
// Stores whole units of 16 bytes: if the tensor's rows do not end with a unit, bytes behind them are overwritten.
__device__ inline void store_box(const GpuTensorMap& map, int x, int y, unsigned from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
               "r"(y), "r"(from)
               : "memory");
}
// Ends a group of this thread's stores.
__device__ inline void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until at most kPending groups of this thread's stores still read shared memory.
template <int kPending>
__device__ inline void await_stores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
// Before TMA or wgmma reads what this thread stored to shared memory.
__device__ inline void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
