// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/decompress.hpp"

#include <lz4.h>
#include <zstd.h>

namespace pbprobe {
namespace {

constexpr uint64_t kSmallImage = 1 << 20;  // a few thousand equal bytes are no bomb
constexpr uint64_t kMaxImageRatio = 1000;

Result<void> unpack_zstd(std::span<const uint8_t> from, std::span<uint8_t> to, const std::string& name) {
  const auto announced = ZSTD_getFrameContentSize(from.data(), from.size());
  if (announced == ZSTD_CONTENTSIZE_ERROR)
    return make_error(ErrorCode::malformed, "{}: no zstd frame where one is announced", name);
  if (announced != ZSTD_CONTENTSIZE_UNKNOWN && announced != to.size())
    return make_error(ErrorCode::malformed, "{}: a zstd frame of {} bytes, {} announced by the image's header", name,
                      announced, to.size());
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
                          static_cast<int>(from.size()), static_cast<int>(to.size()));  // both at most kMaxImageBytes
  if (made < 0) return make_error(ErrorCode::malformed, "{}: broken LZ4 data", name);
  if (static_cast<uint64_t>(made) != to.size())
    return make_error(ErrorCode::malformed, "{}: {} bytes from its LZ4 data, {} announced", name, made, to.size());
  return {};
}

}  // namespace

Result<ImageContent> decompress_image(const DeviceImage& image, std::span<const uint8_t> payload,
                                      const std::string& name) {
  ImageContent content;
  content.bytes = payload;
  if (image.compression == Compression::none) return content;
  if (image.uncompressed_bytes > kMaxImageBytes || payload.size() > kMaxImageBytes)
    return make_error(ErrorCode::limit, "{}: image of {} bytes uncompressed, {} are the limit", name,
                      image.uncompressed_bytes, kMaxImageBytes);
  if (image.uncompressed_bytes > kSmallImage && image.uncompressed_bytes / kMaxImageRatio > payload.size())
    return make_error(ErrorCode::limit, "{}: grows from {} to {} bytes, more than {} times: refused", name,
                      payload.size(), image.uncompressed_bytes, kMaxImageRatio);
  PBPROBE_TRY(content.memory, map_memory(image.uncompressed_bytes));
  const auto target = content.memory.writable();
  if (image.compression == Compression::zstd) {
    PBPROBE_CHECK(unpack_zstd(payload, target, name));
  } else {
    PBPROBE_CHECK(unpack_lz4(payload, target, name));
  }
  content.bytes = target;
  return content;
}

}  // namespace pbprobe
