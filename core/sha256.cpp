// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/sha256.hpp"

#include <array>

#include <openssl/evp.h>

namespace pbprobe {
namespace {

std::span<const uint8_t> view_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(context_, EVP_sha256(), nullptr);
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_);
}

void Sha256::update(std::span<const uint8_t> piece) {
  EVP_DigestUpdate(context_, piece.data(), piece.size());
}

std::string Sha256::hex() {
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context_, digest.data(), &length);
  return encode_hex(std::span(digest).first(length));
}

std::string compute_sha256(std::span<const uint8_t> bytes) {
  Sha256 sum;
  sum.update(bytes);
  return sum.hex();
}

std::string compute_sha256(std::string_view text) {
  return compute_sha256(view_bytes(text));
}

std::string encode_hex(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace pbprobe
