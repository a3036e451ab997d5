// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pbprobe {

// What follows the last slash, slashes at the end aside: a view into `path`, and all of it where it has none.
[[nodiscard]] constexpr std::string_view base_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

}  // namespace pbprobe
