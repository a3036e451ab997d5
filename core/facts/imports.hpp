// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Import: libraries mapped by a process of the environment's Python after it imported torch or an extension, compared
// with the libraries predicted from files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/obstacle.hpp"

namespace pbprobe {

// A library that came from elsewhere, or did not come.
struct OtherLibrary {
  std::string name;                   // "libcudnn.so.9"
  std::string predicted;              // path
  std::optional<std::string> loaded;  // path; null if no library of this name was loaded
};

struct Import {
  std::string module;                           // "torch", "vllm._C"; the path of a library without a Python module
  std::string path;                             // path of the file
  std::optional<std::string> refused_by_files;  // reason why the loader should refuse it; null if it should load
  std::optional<std::string> problem;    // end of the process, or the exception of Python; null if the import succeeded
  std::optional<Obstacle> obstacle;      // reason why it could not be tried; null if it was tried
  std::vector<std::string> predicted;    // paths, the interpreter's first
  std::vector<std::string> loaded;       // paths, of /proc/self/maps
  std::vector<OtherLibrary> others;      // predicted libraries that were loaded from another path, or not at all
  std::vector<std::string> unpredicted;  // loaded libraries that no file opened by Python requires
};

template <class Visitor, SameAs<OtherLibrary> T>
void fields(Visitor& visit, T& library) {
  visit("name", library.name, "file name");
  visit("predicted", library.predicted, "the one that the loader should take");
  visit("loaded", library.loaded, "library that the loader took; null if none of this name was loaded");
}

template <class Visitor, SameAs<Import> T>
void fields(Visitor& visit, T& import) {
  visit("module", import.module, "imported module; the path of a library without a Python module");
  visit("path", import.path, "its file");
  visit("refused_by_files", import.refused_by_files, "reason why the loader should refuse it; null if it should load");
  visit("problem", import.problem, "end of the process, or the exception of Python; null if the import succeeded");
  visit("obstacle", import.obstacle, "reason why it could not be tried; null if it was tried");
  visit("predicted", import.predicted, "libraries that the process should have, the interpreter first");
  visit("loaded", import.loaded, "loaded libraries, from /proc/self/maps");
  visit("others", import.others, "predicted libraries that were loaded from another path, or not at all");
  visit("unpredicted", import.unpredicted, "loaded libraries that no file opened by Python requires");
}

}  // namespace pbprobe
