# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# The pinned nixpkgs. hash = null: fetched without verification, which pure evaluation refuses;
# `pbprobe recipes lock --fill` writes the hash.
{ rev, hash }:
fetchTarball (
  {
    url = "https://github.com/NixOS/nixpkgs/archive/${rev}.tar.gz";
  }
  // (if hash == null then { } else { sha256 = hash; })
)
