// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libraries that a file of an artifact needs and opens.
#pragma once

#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// Returns where the libraries that a file needs come from.
inline const std::vector<Dependency>& list_dependencies(const File& file) {
  static const std::vector<Dependency> kNone;
  return file.links ? file.links->dependencies : kNone;
}

// Returns where the libraries that a file may open as it runs come from.
inline const std::vector<Dependency>& list_opened(const File& file) {
  static const std::vector<Dependency> kNone;
  return file.links && file.links->opened ? *file.links->opened : kNone;
}

// Returns libtorch's own files, and the files of the artifact that they lead to.
[[nodiscard]] std::vector<const File*> collect_closure(const Inventory& inventory);

}  // namespace pbprobe
