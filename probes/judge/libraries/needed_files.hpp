// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libraries that a file of an artifact needs and opens.
#pragma once

#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// Returns the libraries in the file's DT_NEEDED, with their providers.
inline const std::vector<Dependency>& list_dependencies(const File& file) {
  static const std::vector<Dependency> kNone;
  return file.links ? file.links->dependencies : kNone;
}

// Returns the libraries that a file may open at run time, with their providers: names among the file's constants.
inline const std::vector<Dependency>& list_opened(const File& file) {
  static const std::vector<Dependency> kNone;
  return file.links && file.links->opened ? *file.links->opened : kNone;
}

// Returns libtorch's own files, and the files of the artifact that they lead to.
[[nodiscard]] std::vector<const File*> collect_closure(const Inventory& inventory);

}  // namespace pbprobe
