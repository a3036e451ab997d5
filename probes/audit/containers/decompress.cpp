// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/decompress.hpp"

#include <algorithm>

#include <lz4.h>
#include <zstd.h>

namespace pbprobe {
namespace {

constexpr uint64_t kSmallEntry = 1 << 20;  // a few thousand equal bytes are no bomb
constexpr uint64_t kMaxGrowth = 1000;
constexpr uint64_t kLeastScratch = 16 << 20;

Result<void> unpack_zstd(std::span<const uint8_t> from, std::span<uint8_t> to, const std::string& name) {
  const auto announced = ZSTD_getFrameContentSize(from.data(), from.size());
  if (announced == ZSTD_CONTENTSIZE_ERROR)
    return make_error(ErrorCode::malformed, "{}: no zstd frame where one is announced", name);
  if (announced != ZSTD_CONTENTSIZE_UNKNOWN && announced != to.size())
    return make_error(ErrorCode::malformed, "{}: a zstd frame of {} bytes, {} announced by the fatbin entry's header",
                      name, announced, to.size());
  const size_t made = ZSTD_decompress(to.data(), to.size(), from.data(), from.size());
  if (ZSTD_isError(made) != 0)
    return make_error(ErrorCode::malformed, "{}: broken zstd data ({})", name, ZSTD_getErrorName(made));
  if (made != to.size())
    return make_error(ErrorCode::malformed, "{}: {} bytes from its zstd data, {} announced", name, made, to.size());
  return {};
}

Result<void> unpack_lz4(std::span<const uint8_t> from, std::span<uint8_t> to, const std::string& name) {
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()),
                          static_cast<int>(from.size()), static_cast<int>(to.size()));  // both at most kMaxEntryBytes
  if (made < 0) return make_error(ErrorCode::malformed, "{}: broken LZ4 data", name);
  if (static_cast<uint64_t>(made) != to.size())
    return make_error(ErrorCode::malformed, "{}: {} bytes from its LZ4 data, {} announced", name, made, to.size());
  return {};
}

}  // namespace

Result<std::span<const uint8_t>> decompress_entry(const FatbinEntry& entry, std::span<const uint8_t> payload,
                                                  Mapping& scratch, const std::string& name) {
  if (entry.compression == Compression::none) return payload;
  if (entry.uncompressed_bytes > kMaxEntryBytes || payload.size() > kMaxEntryBytes)
    return make_error(ErrorCode::limit, "{}: fatbin entry of {} bytes uncompressed, {} are the limit", name,
                      entry.uncompressed_bytes, kMaxEntryBytes);
  if (entry.uncompressed_bytes > kSmallEntry && entry.uncompressed_bytes / kMaxGrowth > payload.size())
    return make_error(ErrorCode::limit, "{}: grows from {} to {} bytes, more than {} times: refused", name,
                      payload.size(), entry.uncompressed_bytes, kMaxGrowth);
  if (scratch.bytes().size() < entry.uncompressed_bytes) {
    PBPROBE_TRY(scratch, map_memory(std::max(entry.uncompressed_bytes, kLeastScratch)));
  }
  const auto target = scratch.writable().first(entry.uncompressed_bytes);
  if (entry.compression == Compression::zstd) {
    PBPROBE_CHECK(unpack_zstd(payload, target, name));
  } else {
    PBPROBE_CHECK(unpack_lz4(payload, target, name));
  }
  return std::span<const uint8_t>(target);
}

}  // namespace pbprobe
