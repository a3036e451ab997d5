// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: probes of TMA copies to shared memory, of one block or of both blocks of a cluster, and of reads of another
// block's shared memory. Family header: see tile.cuh. Source: PTX ISA, "cp.async.bulk.tensor", "barrier.cluster".
//
// Shared memory at exit: the other block writes this block's stages by multicast, arrives at its `empty` barriers
// (fetch_boxes) or reads its memory (probe_cluster). cluster_sync() at the end orders these accesses.
#pragma once

#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/pipeline.cuh"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kProbeStages = 5;  // boxes of 8 KiB: with four blocks on an SM 160 KiB are under way
using ProbeRing = Ring<kProbeStages, kBoxBytes>;

// Fetches all boxes of 64 lines × 128 bytes, `rounds` times, by clusters of kCluster blocks. Each box goes to all
// blocks of the cluster, which request boxes in alternation. seen: for each block, the first word of its last box.
template <int kCluster>
__device__ inline void fetch_boxes(const GpuTensorMap& map, int boxes, int rounds, unsigned* seen) {
  __shared__ __align__(kPatternBytes) unsigned char room[kProbeStages * kBoxBytes + ProbeRing::kBarrierBytes];
  const unsigned base = shared_address(room);
  ProbeRing ring(base, base + kProbeStages * kBoxBytes);
  const unsigned rank = kCluster > 1 ? cluster_rank() : 0;
  if (threadIdx.x == 0) {
    prefetch_map(map);
    ring.begin(kCluster);
    fence_barrier_init();
  }
  if (kCluster > 1) {
    cluster_sync_after_init();
  } else {
    __syncthreads();
  }
  const int first = static_cast<int>(blockIdx.x) / kCluster;
  const int step = static_cast<int>(gridDim.x) / kCluster;
  const int count = first < boxes ? (boxes - first + step - 1) / step * rounds : 0;
  if (threadIdx.x == 0) {
    int box = first;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      ring.await_empty();
      arrive_expect_tx(ring.full(), kBoxBytes);
      if constexpr (kCluster == 1) {
        load_box(ring.stage(), map, 0, box * 64, ring.full());
      } else if (i % kCluster == static_cast<int>(rank)) {
        load_box_for(ring.stage(), map, 0, box * 64, ring.full(), (1U << kCluster) - 1);
      }
      ring.advance();
      box = box + step < boxes ? box + step : first;
    }
  } else if (threadIdx.x == 32) {
    unsigned last = 0;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      ring.await_full();
      last = load_word(ring.stage());
#pragma unroll
      for (unsigned block = 0; block < kCluster; ++block) arrive_at(ring.empty(), block);
      ring.advance();
    }
    seen[blockIdx.x] = last;
  }
  // Orders this block's arrivals at the other block's barriers before any block exits.
  if (kCluster > 1) cluster_sync();
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

extern "C" __global__ void __launch_bounds__(64)
    probe_tensor_copy(PBPROBE_PARAMETER pbprobe::GpuTensorMap map, int boxes, int rounds, unsigned* seen) {
  pbprobe::PBPROBE_TARGET::fetch_boxes<1>(map, boxes, rounds, seen);
}

extern "C" __global__ void __launch_bounds__(64)
    probe_multicast(PBPROBE_PARAMETER pbprobe::GpuTensorMap map, int boxes, int rounds, unsigned* seen) {
  pbprobe::PBPROBE_TARGET::fetch_boxes<2>(map, boxes, rounds, seen);
}

// Clusters of two: seen[block] is the number of the block beside it, as that block's shared memory has it.
extern "C" __global__ void __launch_bounds__(32) probe_cluster(unsigned* seen) {
  using namespace pbprobe::PBPROBE_TARGET;
  __shared__ uint4 own;
  if (threadIdx.x == 0) own = make_uint4(blockIdx.x, 0, 0, 0);
  cluster_sync();
  if (threadIdx.x == 0) seen[blockIdx.x] = bits_of(read_of_block(shared_address(&own), cluster_rank() ^ 1).x);
  cluster_sync();  // orders the read above before any block exits
}
