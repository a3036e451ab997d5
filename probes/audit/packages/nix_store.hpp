// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The Nix store: which outputs an artifact is made of, and all that they refer to, as nix-store tells it.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// NIX_STORE_DIR, else /nix/store.
[[nodiscard]] std::filesystem::path nix_store_dir();

// "/nix/store/<hash>-<name>" of what lies in the store, after links were followed.
[[nodiscard]] std::optional<std::filesystem::path> store_path_of(const std::filesystem::path& path);

// The outputs that `flox build` and `nix build` link beside result-NAME: itself, -lib, -dev and the others, as far as
// they are there and lead into the store.
[[nodiscard]] std::vector<std::filesystem::path> outputs_beside(const std::filesystem::path& artifact);

// "python3.13-torch" and "2.10.0" of "<hash>-python3.13-torch-2.10.0-lib", without the output's name.
[[nodiscard]] StorePath parse_store_path(std::string_view path);

// What `nix-store -qR` prints: a path each line. Whether they are there is not looked at.
[[nodiscard]] std::vector<StorePath> parse_requisites(std::string_view text);

// `nix-store -qR` of these store paths. What keeps it from answering stands in `problem`.
[[nodiscard]] StoreClosure read_store_closure(const std::vector<std::filesystem::path>& outputs);

}  // namespace pbprobe
