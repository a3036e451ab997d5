// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pbprobe {

// Returns the part of `path` after the last slash, ignoring trailing slashes; all of `path` if it has no slash. The
// result is a view into `path`.
[[nodiscard]] constexpr std::string_view base_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

}  // namespace pbprobe
