// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Changes a pin or a version by editing recipes/matrix.json only. A changed source has no hash until it was fetched:
// hashes are never invented.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

// Fetches and unpacks a URL, and returns its hash in the form of Nix.
using Fetch = std::function<Result<std::string>(const std::string& url)>;

struct LockRequest {
  std::optional<std::string> line;         // line of `rev` and `torch`; nullopt for the default line
  std::optional<std::string> rev;          // new commit of nixpkgs
  std::optional<std::string> torch;        // new version of torch
  std::optional<std::string> source_hash;  // hash of the source of torch, as Nix prints it
  bool fill = false;                       // fetch pins without a hash
  // URL of a pin, where the commit replaces "{rev}"; a file:// URL serves tests and mirrors.
  std::string pin_url = "https://github.com/NixOS/nixpkgs/archive/{rev}.tar.gz";
};

struct Locked {
  std::string text;                  // new matrix.json
  std::vector<std::string> changed;  // one sentence for each change
};

// Applies `request` to the text of matrix.json. Errors: usage (unknown line, invalid revision or version, a change that
// leaves a hash empty without `fill`), malformed (the text), errors of `fetch`.
[[nodiscard]] Result<Locked> lock_matrix(std::string_view text, const LockRequest& request, const Fetch& fetch);

// Fetches with nix-prefetch-url --unpack; returns the SRI hash, "sha256-…". Errors: usage (a character that no pin
// has), unsupported (Nix is not installed), failed_child.
[[nodiscard]] Result<std::string> fetch_by_nix(const std::string& url);

}  // namespace pbprobe
