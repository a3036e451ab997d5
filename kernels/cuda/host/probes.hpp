// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Probes of a GPU: kernels that only move bytes, an empty kernel, and single instructions on operands with an exactly
// known result. Like run(), these functions only launch.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

constexpr int64_t kSharedProbeBytes = int64_t{64} * 16;  // per thread and iteration of run_shared_probe()
constexpr int64_t kSharedProbeThreads = 256;             // per block

// Reads all of `bytes` (a multiple of 16), `rounds` times; `blocks` 0: one block for each piece, which suits one round.
[[nodiscard]] Result<void> run_read_probe(std::string_view target, const void* from, int64_t bytes, int rounds,
                                          int64_t blocks, uint32_t* sink, const Context& context);
[[nodiscard]] Result<void> run_copy_probe(std::string_view target, const void* from, void* to, int64_t bytes,
                                          const Context& context);
// `samples` is device memory for one GpuPeakSample a block.
[[nodiscard]] Result<void> run_shared_probe(std::string_view target, int64_t iterations, int64_t blocks,
                                            GpuPeakSample* samples, const Context& context);
// Reads all of `bytes` (a multiple of kBoxProbeBytes), `rounds` times, by TMA to shared memory: each box to one
// block, or to both of a cluster. seen: device memory for one word a block, the first word of the last box that came.
// Error usage: the target's cubin has no such kernel.
constexpr int64_t kBoxProbeBytes = int64_t{64} * 128;
[[nodiscard]] Result<void> run_tensor_probe(std::string_view target, const void* from, int64_t bytes, int rounds,
                                            int64_t blocks, bool multicast, uint32_t* seen, const Context& context);
// Writes one tensor map and discards it, to time the host's work.
[[nodiscard]] Result<void> write_probe_map(const void* from, int64_t bytes, const Context& context);
// Launches clusters of two blocks. `seen` gets, for each block, the number of the other block, read from the other's
// shared memory.
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
// Makes the operands and the expected result for a GPU's loop. Error usage: `peak` is a CPU's loop.
[[nodiscard]] Result<Proof> make_proof(const Peak& peak);
// a, b, c: device memory of the proof's sizes.
[[nodiscard]] Result<void> run_proof(const Peak& peak, const void* a, const void* b, void* c, const Context& context);
// Returns "" if `seen` is as expected; else describes the first word that differs.
[[nodiscard]] std::string proof_differs(const Proof& proof, const std::vector<uint32_t>& seen);

}  // namespace pbprobe
