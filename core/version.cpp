// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/version.hpp"

namespace pbprobe {

std::string_view version() {
  return PBPROBE_VERSION;
}

std::string_view commit() {
  return
#include "commit.inc"  // cmake/Version.cmake
      ;
}

}  // namespace pbprobe
