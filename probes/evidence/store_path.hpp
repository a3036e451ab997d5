// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What Nix knows of a path in its store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace pbprobe {

struct NarHash {
  std::string nix;  // "sha256:…", as `nix-store -q --hash` says it
  std::string hex;  // the same in hexadecimal digits
};

// Of a store path. Error: failed_child, where nix-store does not tell it.
[[nodiscard]] Result<NarHash> read_nar_hash(const std::string& path);

// 32 bytes from Nix's own base 32, in hexadecimal digits; null: they are none.
[[nodiscard]] std::optional<std::string> hex_of_nix32(std::string_view digits);

}  // namespace pbprobe
