// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The embedded cubins, decompressed: only those of the GPU that is there are ever asked for.
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include <zstd.h>

#include "kernels/gemm/table.hpp"

namespace pbprobe {
namespace {

struct Bytes {
  std::unique_ptr<std::byte[]> data;
  size_t size = 0;
};

Result<Bytes> decompressed(const TargetBuild& build) {
  const unsigned long long size = ZSTD_getFrameContentSize(build.frame.data(), build.frame.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
    return make_error(ErrorCode::malformed, "the cubin of {} in this program cannot be decompressed: install it again",
                      build.target);
  // With a zero behind it: the driver takes PTX as text.
  Bytes bytes{.data = std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[size + 1]()), .size = size};
  if (bytes.data == nullptr)
    return make_error(ErrorCode::limit, "no memory for the cubin of {}: {} bytes", build.target, size);
  const size_t made = ZSTD_decompress(bytes.data.get(), size, build.frame.data(), build.frame.size());
  if (ZSTD_isError(made) != 0 || made != size)
    return make_error(ErrorCode::malformed, "the cubin of {} in this program is broken: install it again",
                      build.target);
  return bytes;
}

}  // namespace

Result<std::span<const std::byte>> cubin_of(const TargetBuild& build) {
  static std::mutex mutex;
  static std::map<const std::byte*, Bytes> cubins;
  const std::lock_guard lock(mutex);
  auto known = cubins.find(build.frame.data());
  if (known == cubins.end()) {
    PBPROBE_TRY(Bytes bytes, decompressed(build));
    known = cubins.emplace(build.frame.data(), std::move(bytes)).first;
  }
  return std::span<const std::byte>(known->second.data.get(), known->second.size);
}

}  // namespace pbprobe
