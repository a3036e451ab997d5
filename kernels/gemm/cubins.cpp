// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Decompresses embedded cubins on request; a process requests only the cubins of its GPUs.
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include <zstd.h>

#include <fmt/format.h>

#include "kernels/built.hpp"  // PBPROBE_PREFIXES (cmake/Kernels.cmake)
#include "kernels/gemm/table.hpp"

namespace pbprobe {
namespace {

// A cubin by name ("sm121_blocks"), and the cubin that its decompression needs as prefix.
struct Prefix {
  std::string_view cubin;
  std::string_view prefix;
};
constexpr Prefix kPrefixes[] = {PBPROBE_PREFIXES{"", ""}};

std::string name_of(const TargetBuild& build) {
  return build.part.empty() ? std::string(build.target) : fmt::format("{}_{}", build.target, build.part);
}

// Returns the cubin that `build` needs as prefix, or nullptr.
const TargetBuild* prefix_of(const TargetBuild& build) {
  const std::string name = name_of(build);
  for (const auto& [cubin, prefix] : kPrefixes) {
    if (cubin != name) continue;
    for (const auto& builds : {target_builds(), part_builds()}) {
      for (const auto& other : builds) {
        if (name_of(other) == prefix) return &other;
      }
    }
  }
  return nullptr;
}

struct Bytes {
  std::unique_ptr<std::byte[]> data;
  size_t size = 0;
};

Result<Bytes> decompressed(const TargetBuild& build, const Bytes* prefix) {
  const unsigned long long size = ZSTD_getFrameContentSize(build.frame.data(), build.frame.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
    return make_error(ErrorCode::malformed, "the cubin of {} in this program cannot be decompressed: install it again",
                      build.target);
  // With a zero behind it: the driver takes PTX as text.
  Bytes bytes{.data = std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[size + 1]()), .size = size};
  if (bytes.data == nullptr)
    return make_error(ErrorCode::limit, "no memory for the cubin of {}: {} bytes", build.target, size);
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (prefix != nullptr) ZSTD_DCtx_refPrefix(context.get(), prefix->data.get(), prefix->size);
  const size_t made =
      ZSTD_decompressDCtx(context.get(), bytes.data.get(), size, build.frame.data(), build.frame.size());
  if (ZSTD_isError(made) != 0 || made != size)
    return make_error(ErrorCode::malformed, "the cubin of {} in this program is broken: install it again",
                      build.target);
  return bytes;
}

using Cubins = std::map<const std::byte*, Bytes>;

Result<const Bytes*> cubin_in(Cubins& cubins, const TargetBuild& build) {
  if (const auto known = cubins.find(build.frame.data()); known != cubins.end()) return &known->second;
  const Bytes* prefix = nullptr;
  if (const TargetBuild* const other = prefix_of(build)) {
    PBPROBE_TRY(prefix, cubin_in(cubins, *other));
  }
  PBPROBE_TRY(Bytes bytes, decompressed(build, prefix));
  return &cubins.emplace(build.frame.data(), std::move(bytes)).first->second;
}

}  // namespace

Result<std::span<const std::byte>> cubin_of(const TargetBuild& build) {
  static std::mutex mutex;
  static Cubins cubins;
  const std::lock_guard lock(mutex);
  PBPROBE_TRY(const Bytes* const bytes, cubin_in(cubins, build));
  return std::span<const std::byte>(bytes->data.get(), bytes->size);
}

}  // namespace pbprobe
