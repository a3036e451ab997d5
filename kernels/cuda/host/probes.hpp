// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What asks a GPU about itself: kernels that only move bytes, one that does nothing, and an instruction run once on
// operands whose result is known to the bit. As run(), these only launch.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

constexpr int64_t kSharedProbeBytes = int64_t{64} * 16;  // of a thread and iteration of run_shared_probe()
constexpr int64_t kSharedProbeThreads = 256;             // of a block

// All of `bytes` (a multiple of 16), `rounds` times; `blocks` 0: one block for each piece, which suits one round.
[[nodiscard]] Result<void> run_read_probe(std::string_view target, const void* from, int64_t bytes, int rounds,
                                          int64_t blocks, uint32_t* sink, const Context& context);
[[nodiscard]] Result<void> run_copy_probe(std::string_view target, const void* from, void* to, int64_t bytes,
                                          const Context& context);
// `samples` is device memory for one GpuPeakSample a block.
[[nodiscard]] Result<void> run_shared_probe(std::string_view target, int64_t iterations, int64_t blocks,
                                            GpuPeakSample* samples, const Context& context);
// All of `bytes` (a multiple of kBoxProbeBytes), `rounds` times, by TMA to shared memory: each box to one
// block, or to both of a cluster. seen: device memory for one word a block, the first word of the last box that came.
// Error usage: the target's cubin has no such kernel.
constexpr int64_t kBoxProbeBytes = int64_t{64} * 128;
[[nodiscard]] Result<void> run_tensor_probe(std::string_view target, const void* from, int64_t bytes, int rounds,
                                            int64_t blocks, bool multicast, uint32_t* seen, const Context& context);
// What the host does for one tensor map: writes it, and forgets it.
[[nodiscard]] Result<void> write_probe_map(const void* from, int64_t bytes, const Context& context);
// Clusters of two blocks: of each block, `seen` gets the number of the other, read from its shared memory.
[[nodiscard]] Result<void> run_cluster_probe(std::string_view target, int64_t blocks, uint32_t* seen,
                                             const Context& context);
[[nodiscard]] Result<void> run_empty_probe(std::string_view target, const Context& context);

// Operands of one instruction, word by word as its threads take them, and the words that it must leave in c.
struct Proof {
  std::vector<uint32_t> a;
  std::vector<uint32_t> b;
  std::vector<uint32_t> c;
  std::vector<uint32_t> expected;
};
// For a GPU's loop. Error usage: a CPU's.
[[nodiscard]] Result<Proof> make_proof(const Peak& peak);
// a, b, c: device memory of the proof's sizes.
[[nodiscard]] Result<void> run_proof(const Peak& peak, const void* a, const void* b, void* c, const Context& context);
// Empty where `seen` is as expected; else the first word that is not.
[[nodiscard]] std::string proof_differs(const Proof& proof, const std::vector<uint32_t>& seen);

}  // namespace pbprobe
