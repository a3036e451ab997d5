// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/base64.hpp"

#include <algorithm>
#include <cstdint>

#include <openssl/evp.h>

namespace pbprobe {
namespace {

const uint8_t* get_bytes(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<uint8_t*>(text.data()), get_bytes(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string bytes(3 * (text.size() / 4) + 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<uint8_t*>(bytes.data()), get_bytes(text), static_cast<int>(text.size()));
  if (length < 0 || text.size() % 4 != 0) return std::nullopt;
  // Padding is counted as zero bytes.
  const auto padding = std::count(text.end() - std::min<std::ptrdiff_t>(2, std::ssize(text)), text.end(), '=');
  bytes.resize(static_cast<size_t>(length - padding));
  return bytes;
}

}  // namespace pbprobe
