# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# The pinned nixpkgs. With hash = null, the download is not verified, and pure evaluation refuses it;
# `pbprobe recipes lock --fill` writes the hash.
{ rev, hash }:
fetchTarball (
  {
    url = "https://github.com/NixOS/nixpkgs/archive/${rev}.tar.gz";
  }
  // (if hash == null then { } else { sha256 = hash; })
)
