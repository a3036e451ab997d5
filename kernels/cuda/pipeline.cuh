// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A ring of stages in shared memory: a producer fills, consumers empty, each waits for the other at a barrier a stage.
// A stage may also be reused as the epilogue's buffer: the producer marks it full without filling it, and the
// consumers' side releases it. Family header: see tile.cuh. Source: PTX ISA, "mbarrier", phase completion.
#pragma once

#include "kernels/cuda/tma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

template <int kStages, int kStageBytes>
struct Ring {
  static constexpr int kBarrierBytes = 2 * 8 * kStages;
  unsigned stages;    // addresses in shared memory
  unsigned barriers;  // kStages that say "full", then as many that say "empty"
  int slot = 0;
  unsigned phase = 0;

  __device__ Ring(unsigned at, unsigned barriers_at) : stages(at), barriers(barriers_at) {}
  __device__ unsigned stage() const { return stages + slot * kStageBytes; }
  __device__ unsigned full() const { return barriers + slot * 8; }
  __device__ unsigned empty() const { return barriers + (kStages + slot) * 8; }
  __device__ void advance() {
    if (++slot == kStages) {
      slot = 0;
      phase ^= 1;
    }
  }
  // Skips stages without waiting: stages of another warpgroup, or of a side that never waits.
  __device__ void skip(int count) {
    slot += count;
    phase ^= static_cast<unsigned>(slot / kStages) & 1U;
    slot %= kStages;
  }
  __device__ void hand_over() {
    await_empty();
    arrive(full());
    advance();
  }
  // Initializes the barriers. Call by one thread; fence_barrier_init() and a barrier of the block or cluster must
  // follow.
  __device__ void begin(unsigned consumers, unsigned producers = 1) const {
#pragma unroll
    for (int i = 0; i < kStages; ++i) {
      init_barrier(barriers + i * 8, producers);
      init_barrier(barriers + (kStages + i) * 8, consumers);
    }
  }
  // Producer: waits until the stage may be written. The first round needs no consumer.
  __device__ void await_empty() const {
    await_phase(empty(), phase ^ 1);
  }
  // Consumer: waits until the stage is filled.
  __device__ void await_full() const {
    await_phase(full(), phase);
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
