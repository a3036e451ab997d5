// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// SHA-256 of data that arrives in pieces, computed by OpenSSL.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace pbprobe {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const uint8_t> piece);
  // Finishes the hash and returns 64 lower-case hex digits. Call once.
  [[nodiscard]] std::string hex();

 private:
  evp_md_ctx_st* context_;
};

// Return the hash of the data as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string compute_sha256(std::span<const uint8_t> bytes);
[[nodiscard]] std::string compute_sha256(std::string_view text);

// Returns the bytes as lower-case hex digits.
[[nodiscard]] std::string encode_hex(std::span<const uint8_t> bytes);

}  // namespace pbprobe
