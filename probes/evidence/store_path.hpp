// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What Nix knows of an artifact in its store.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace pbprobe {

struct StoreOutput {
  std::string path;      // "/nix/store/…-python3.13-torch-2.10.0"
  std::string nar_hash;  // "sha256:…", as `nix-store -q --hash` says it
  std::string nar_hex;   // the same in hexadecimal digits
};

// The store path in which a file or folder lies, links followed; null where it lies in none. Errors: failed_child where
// nix-store does not tell its hash.
[[nodiscard]] Result<std::optional<StoreOutput>> find_store_path(const std::filesystem::path& place);

// Nix writes digests in base 32 of its own, last digit first: 52 digits of 256 bits. Null where it is none.
[[nodiscard]] std::optional<std::string> hex_of_nix32(std::string_view digits);

}  // namespace pbprobe
