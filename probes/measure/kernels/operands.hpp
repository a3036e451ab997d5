// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Operands for timing: random normal data, in enough copies to miss the last-level cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/result.hpp"
#include "kernels/gemm/problem.hpp"
#include "probes/measure/libtorch/libtorch.hpp"

namespace pbprobe {

// Layout of the copies of A, B and C in one allocation.
struct Rotation {
  size_t b_offset = 0;  // within a copy; A is at 0
  size_t c_offset = 0;
  size_t scale_a_offset = 0;  // 0 if missing
  size_t scale_b_offset = 0;
  size_t blocks_a_offset = 0;
  size_t blocks_b_offset = 0;
  size_t copy_bytes = 0;
  size_t copies = 1;

  [[nodiscard]] size_t bytes() const { return copy_bytes * copies; }
  // Returns copy `index` modulo the number of copies.
  [[nodiscard]] Operands operands(void* base, size_t index) const;
};

// Plans copies that exceed twice the cache together, limited by `most_bytes`; at least one. C has room for a peer that
// writes it in the type of A.
[[nodiscard]] Rotation plan_rotation(const Problem& problem, int64_t cache_bytes, size_t most_bytes);

// Calls write(offset, bytes, count) until A, B and the scales of the first copy are filled: pieces of normal data in
// their types (integers: rounded, over most of their range), the same in every run.
using WriteBytes = std::function<Result<void>(size_t offset, const void* bytes, size_t count)>;
[[nodiscard]] Result<void> fill_operands(const Problem& problem, const Rotation& rotation, const WriteBytes& write);

// Returns the type of C that libtorch writes for the problem.
[[nodiscard]] DType peer_result(const Problem& problem);

// Returns A [m,k], B [k,n] and C [m,n] as libtorch views on the operands. Error unsupported: types that its shims do
// not multiply.
struct PeerViews {
  MatrixView a, b, c;
};
[[nodiscard]] Result<PeerViews> peer_views(const Problem& problem, const Operands& operands, int32_t device);

// Zeroed memory of whole pages. It does not ask for huge pages, because torch's allocator does not either: with them,
// a kernel whose operands exceed the TLB's reach would look faster than users find it.
class HostMemory {
 public:
  [[nodiscard]] static Result<HostMemory> allocate(size_t bytes);
  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace pbprobe
