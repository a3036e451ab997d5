// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Operands to time on: random normal data, in as many copies as it takes to miss the last-level cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/result.hpp"
#include "kernels/gemm/problem.hpp"
#include "probes/measure/libtorch.hpp"

namespace pbprobe {

// Where the copies of A, B and C lie in one allocation.
struct Rotation {
  size_t b_offset = 0;  // within a copy; A lies at 0
  size_t c_offset = 0;
  size_t scale_a_offset = 0;  // 0: there is none
  size_t scale_b_offset = 0;
  size_t blocks_a_offset = 0;
  size_t blocks_b_offset = 0;
  size_t copy_bytes = 0;
  size_t copies = 1;

  [[nodiscard]] size_t bytes() const { return copy_bytes * copies; }
  // Copy number `index`, counted round.
  [[nodiscard]] Operands operands(void* base, size_t index) const;
};

// Copies that together exceed twice the cache, as far as `most_bytes` allows; always one at least. Room for C is also
// enough for a peer that writes C in the type of A.
[[nodiscard]] Rotation plan_rotation(const Problem& problem, int64_t cache_bytes, size_t most_bytes);

// Calls write(offset, bytes, count) until A, B and the scales of the first copy are filled: pieces of normal data in
// their types (integers: rounded, over most of their range), the same in every run.
using WriteBytes = std::function<Result<void>(size_t offset, const void* bytes, size_t count)>;
[[nodiscard]] Result<void> fill_operands(const Problem& problem, const Rotation& rotation, const WriteBytes& write);

// The type of C that libtorch writes of such a problem, whatever ours is.
[[nodiscard]] DType peer_result(const Problem& problem);

// What libtorch is to multiply: A [m,k], B [k,n] and C [m,n] as views on our operands. Error unsupported: types that
// its shims do not multiply.
struct PeerViews {
  MatrixView a, b, c;
};
[[nodiscard]] Result<PeerViews> peer_views(const Problem& problem, const Operands& operands, int32_t device);

// Zeroed memory of whole pages, in huge ones where the system has them.
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
