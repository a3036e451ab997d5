// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Nix store: the outputs of an artifact and their closure, as reported by nix-store.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// Returns NIX_STORE_DIR, or /nix/store.
[[nodiscard]] std::filesystem::path nix_store_dir();

// Returns "/nix/store/<hash>-<name>" for a path in the store, after following links.
[[nodiscard]] std::optional<std::filesystem::path> find_store_path(const std::filesystem::path& path);

// Returns the outputs that `flox build` and `nix build` link next to result-NAME (itself, -lib, -dev, …), if they lead
// into the store.
[[nodiscard]] std::vector<std::filesystem::path> find_nix_outputs(const std::filesystem::path& artifact);

// Parses "<hash>-python3.13-torch-2.10.0-lib" as "python3.13-torch" and "2.10.0", without the output name.
[[nodiscard]] StorePath parse_store_path(std::string_view path);

// Parses the output of `nix-store -qR`, one path per line, without checking that the paths exist.
[[nodiscard]] std::vector<StorePath> parse_requisites(std::string_view text);

// Runs `nix-store -qR` for these store paths. Stores an error in `problem`.
[[nodiscard]] StoreClosure read_store_closure(const std::vector<std::filesystem::path>& outputs);

}  // namespace pbprobe
