// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Moves a pin or a version everywhere at once, by editing recipes/matrix.json and nothing else. No hash is invented:
// what changed its source has no hash until it was fetched.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

// The hash of what lies at a URL, unpacked, as Nix writes it.
using Fetch = std::function<Result<std::string>(const std::string& url)>;

struct LockRequest {
  std::optional<std::string> line;         // which line `rev` and `torch` are for
  std::optional<std::string> rev;          // new commit of nixpkgs
  std::optional<std::string> torch;        // new version of torch
  std::optional<std::string> source_hash;  // of its source, as Nix printed it
  bool fill = false;                       // fetch what has no hash
  // "{rev}" is put in; a file:// URL serves tests and mirrors.
  std::string pin_url = "https://github.com/NixOS/nixpkgs/archive/{rev}.tar.gz";
};

struct Locked {
  std::string text;                  // of matrix.json
  std::vector<std::string> changed;  // one sentence each
};

// Errors: usage (unknown line, a revision or version that is none, a change that would leave a hash empty without
// `fill`), malformed (the text), and what `fetch` says.
[[nodiscard]] Result<Locked> lock_matrix(std::string_view text, const LockRequest& request, const Fetch& fetch);

// nix-prefetch-url --unpack. Errors: unsupported (no Nix here), failed_child.
[[nodiscard]] Result<std::string> fetch_by_nix(const std::string& url);

}  // namespace pbprobe
