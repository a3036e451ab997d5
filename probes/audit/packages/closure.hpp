// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where each library that a file needs comes from, by the rules of ld.so.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// Looks a file up by a path that is absolute or, inside the artifact, relative to its root: what it is called in the
// artifact, or nothing.
struct Found {
  Provider provider = Provider::artifact;
  std::string path;
};
using Lookup = std::function<std::optional<Found>(const std::string& path)>;

// Fills the dependencies of every file that has `links`, and where what it opens lies. A file's DT_RPATH counts only
// where it has no DT_RUNPATH; it is also searched for the libraries of those that it loads. The driver's libraries are
// never unresolved.
void resolve_closure(std::vector<File>& files, const Lookup& lookup);

}  // namespace pbprobe
