// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Names of this machine in other systems, which select packages or builders by them.
#pragma once

#include <cstdint>
#include <string>

#include "core/facts/host.hpp"

namespace pbprobe {

enum class Naming : uint8_t {
  variant,  // variant properties of wheels (PEP 817 and 825, drafts): "nvidia :: sm_arch :: 90_real"
  conda,    // virtual packages as `conda info` lists them: "__cuda_arch=9.0=0"
  nix,      // system-features of nix.conf that this machine may offer: "gccarch-x86-64-v4", "cuda"
};

// Renders one name per line, the most specific last. Returns "" if this machine has no name in this naming.
[[nodiscard]] std::string host_names(const Host& host, Naming naming);

}  // namespace pbprobe
