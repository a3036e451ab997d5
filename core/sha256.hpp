// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// SHA-256, piece by piece, by OpenSSL.
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
  // 64 lower-case hexadecimal digits; to be asked once.
  [[nodiscard]] std::string hex();

 private:
  evp_md_ctx_st* context_;
};

[[nodiscard]] std::string sha256_of(std::span<const uint8_t> bytes);
[[nodiscard]] std::string sha256_of(std::string_view text);

// Lower-case hexadecimal digits of bytes.
[[nodiscard]] std::string hex_of(std::span<const uint8_t> bytes);

}  // namespace pbprobe
