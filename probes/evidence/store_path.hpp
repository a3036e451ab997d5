// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// NAR hash of a path in the Nix store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace pbprobe {

struct NarHash {
  std::string nix;  // "sha256:…", as printed by `nix-store -q --hash`
  std::string hex;  // the hash in hexadecimal digits
};

// Returns the NAR hash of a store path. Error: failed_child, if nix-store does not report it.
[[nodiscard]] Result<NarHash> read_nar_hash(const std::string& path);

// Converts 32 bytes in Nix's base 32 to hexadecimal digits; nullopt if `digits` is malformed.
[[nodiscard]] std::optional<std::string> decode_nix32(std::string_view digits);

}  // namespace pbprobe
